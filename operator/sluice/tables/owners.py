"""Which namespaces may have a policy for which tables, where whoever runs the operator says so.

A table that nobody was given may have a policy from any namespace. One that was given to several, by one entry or by more, may
have it from each of these.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from sluice.api.base import Model
from sluice.api.bounds import EACH_ONCE, NOT_EMPTY
from sluice.api.identifiers import NamespaceName
from sluice.api.sql import ONE_LINE
from sluice.api.validation import Checked, Validation, matching
from sluice.tables.identity import TableKey, key_of_name, key_of_path
from sluice.tables.locations import may_lie_in

FolderOfTables = Annotated[
    str,
    Field(max_length=1024),
    Checked(
        matching(ONE_LINE, "must be one line"),
        matching(
            r"^(/|[a-zA-Z][a-zA-Z0-9+.-]*:/)",
            "must be absolute, such as s3://lake/sales: it stands for itself and for all below it",
        ),
    ),
]
NamePattern = Annotated[
    str,
    Field(max_length=386),
    Checked(
        matching(
            r"^[A-Za-z0-9_*-]+([.][A-Za-z0-9_*-]+){0,2}$",
            "must be a catalog name of one to three parts, in which * stands for any characters of a part, such as sales.*",
        )
    ),
]


class TableOwner(Model):
    """Tables, and the namespaces that may have policies for them."""

    namespaces: Annotated[tuple[NamespaceName, ...], Field(max_length=256), Checked(NOT_EMPTY, EACH_ONCE)]
    paths: Annotated[tuple[FolderOfTables, ...], Field(max_length=256), Checked(EACH_ONCE)] = ()
    """Folders, each of which stands for itself and for all below it."""
    names: Annotated[tuple[NamePattern, ...], Field(max_length=256), Checked(EACH_ONCE)] = ()
    """Catalog names, in which * stands for any characters of one part."""

    validations = (
        Validation(
            "has(self.paths) && size(self.paths) > 0 || has(self.names) && size(self.names) > 0",
            "names no table: list folders under paths, catalog names under names, or both",
            lambda owner: bool(owner.paths or owner.names),
        ),
    )

    def is_of(self, table: TableKey) -> bool:
        """Whether the table is, or may be, one of these."""
        if table.is_name:
            return any(_is_named(pattern, table.text) for pattern in self.names)
        return any(_holds(key_of_path(folder).text, table.text) for folder in self.paths)


def _holds(folder: str, location: str) -> bool:
    return location.startswith(f"{folder.rstrip('/')}/") or may_lie_in(folder, location)


def _is_named(pattern: str, name: str) -> bool:
    """Compares them from the end: a name may leave out the catalog or the schema that the other one says."""
    wanted, given = key_of_name(pattern).text.split("."), name.split(".")
    shared = min(len(wanted), len(given))
    return all(map(fnmatchcase, given[-shared:], wanted[-shared:]))


@dataclass(frozen=True)
class Owners:
    given: tuple[TableOwner, ...] = ()

    def why_not(self, namespace: str, tables: Iterable[TableKey | None]) -> str | None:
        """Says why a policy of this namespace may not be for these tables, which are a table's name and its location; None if it
        may."""
        return next(self._refusals(namespace, tables), None)

    def of(self, table: TableKey) -> tuple[str, ...]:
        """The namespaces that a table was given to."""
        return tuple(sorted({one for owner in self.given if owner.is_of(table) for one in owner.namespaces}))

    def _refusals(self, namespace: str, tables: Iterable[TableKey | None]) -> Iterator[str]:
        for table in tables:
            may = () if table is None else self.of(table)
            if may and namespace not in may:
                yield (
                    f"the operator's configuration (tableOwners) leaves policies for {table} to {_listed(may)}, and this one is in "
                    f"{namespace}: nothing of it counts. Move it there, or ask whoever runs the operator to add {namespace}"
                )


def _listed(namespaces: Sequence[str]) -> str:
    kind = "namespace" if len(namespaces) == 1 else "namespaces"
    return f"the {kind} {', '.join(namespaces)}"


NOBODY = Owners()
"""Each namespace may have policies for all tables."""

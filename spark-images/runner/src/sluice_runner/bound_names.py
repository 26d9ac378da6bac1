"""Names that were judged to lead to locations: by each of them the driver finds the table that the job was judged by, or runs
nothing.

Where policies bind a name and only this driver knows its catalog, the catalog is ours (`dev.sluice.delta.BoundCatalog`), to which
the name is the table at its location. A catalog that others use as well (a metastore, one of the profile's own) stays as it is,
and is asked. So is any catalog about a name of which earlier runs reported where it leads: nobody leads others by a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from sluice_runner import tables
from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.catalogs import BOUND, SETTING, Catalogs, Name, lower
from sluice_runner.java_classes import has_class, java_class
from sluice_runner.locations import is_same
from sluice_runner.plan import BoundName
from sluice_runner.reported_names import Leads
from sluice_runner.targets import CREATES_A_TABLE, LIKE, WRITE, ParsedStatement, RefusedStatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BOUND_NAMES = "dev.sluice.delta.BoundNames"
_CLONES = "CloneTableStatement"
_VIEW = "VIEW"
_TO_FORGET = (
    "name in the job what is meant, or, if the name is no table for good, have its line taken out of the operator's ConfigMap "
    "DEPLOYMENT-reported-names"
)
_ONCE_MORE = "have the job run once more (sluice retry), which does nothing twice"
_MOVES = frozenset({"DropTable", "RenameTable", "SetTableLocation"})
_MAKES = CREATES_A_TABLE | LIKE | {_CLONES}


def may_make_its_table(statement: ParsedStatement) -> bool:
    return statement.command in _MAKES | {WRITE}


def may_lead_its_name_elsewhere(statement: ParsedStatement) -> bool:
    return may_make_its_table(statement) or statement.command in _MOVES


@dataclass(frozen=True)
class _Judged:
    """A name that is compared with what a catalog says of it."""

    full: Name
    paths: tuple[str, ...]
    """Several only if runs reported it at each of them, and the job was judged as at any."""
    is_reported: bool
    is_shared: bool

    def is_at(self, location: str) -> bool:
        return any(is_same(location, path) for path in self.paths)

    @property
    def places(self) -> str:
        return " or ".join(self.paths)

    @property
    def name(self) -> str:
        return ".".join(self.full)

    @property
    def told(self) -> str:
        return "an earlier run reported" if self.is_reported else "a policy says"


def _in_full(catalogs: Catalogs, names: Sequence[BoundName]) -> Iterator[tuple[BoundName, Name, bool]]:
    """Each name in full, and whether others use its catalog as well. What differs from the name of such a catalog in its case alone
    is another word of the job's texts."""
    told = [(name, catalogs.in_full(name.parts)) for name in names]
    shared = {lower(full) for _, full in told if catalogs.is_shared(full[0])}
    for name, full in told:
        is_shared = catalogs.is_shared(full[0])
        if is_shared or lower(full) not in shared:
            yield name, full, is_shared


class Bound:
    """The bound names of this driver."""

    def __init__(
        self,
        spark: SparkSession,
        catalogs: Catalogs,
        names: Sequence[BoundName],
        leads: Leads,
        mentioned: Callable[[], Iterable[Name]],
    ) -> None:
        """`leads`: told of a name that leads elsewhere. `mentioned`: what all statements mention."""
        self._spark = spark
        self._catalogs = catalogs
        self._leads = leads
        self._ours: dict[Name, str] = {}
        """Locations by name, all in lower case."""
        self._compared: dict[Name, _Judged] = {}
        """By the name in lower case."""
        self._refused = "nothing was run"
        bound_here = set()
        for name, full, is_shared in _in_full(catalogs, names):
            if name.is_reported or is_shared:
                known = self._compared.get(lower(full))
                paths = (*(known.paths if known is not None else ()), name.path)
                self._compared[lower(full)] = _Judged(full, paths, name.is_reported, is_shared)
            else:
                bound_here.add(full[0])
                self._ours[lower(full)] = name.path
        if bound_here:
            self._bind(bound_here)
        self._compare_all(mentioned)
        self._refused = "the statement was not run"

    def there(self, name: Name) -> Name:
        """The table's name by its location, if the name is bound in a catalog of ours; otherwise the name."""
        path = self._ours.get(lower(self._catalogs.completed(name))) if self._ours else None
        return name if path is None else tables.path_name(path)

    def refuse(self, statement: ParsedStatement, mentioned: Callable[[], Iterable[Name]]) -> None:
        """Refuses a statement that would lead a bound name elsewhere, or mentions one that leads elsewhere."""
        if not self._ours and not self._compared:
            return
        for position, name in enumerate(statement.names):
            creates = position == 0 and statement.command in _MAKES
            full = lower(self._catalogs.completed(name, creates=creates))
            if full in self._ours:
                if position == 0:
                    self._refuse_elsewhere(statement, name, self._ours[full])
            elif full in self._compared:
                judged = self._compared[full]
                if not self._is_there(judged) and position == 0:
                    self._refuse_unless_located(statement, judged)
        if self._compared:
            self._compare(name for name in mentioned() if name not in statement.names)

    def _compare_all(self, mentioned: Callable[[], Iterable[Name]]) -> None:
        """Of reported names only those that are used: of the others nobody has said that they lead to one place everywhere."""
        for judged in self._compared.values():
            if not judged.is_reported:
                self._is_there(judged)
        if any(judged.is_reported for judged in self._compared.values()):
            self._compare(mentioned())

    def _compare(self, names: Iterable[Name]) -> None:
        for name in names:
            judged = self._compared.get(lower(self._catalogs.completed(name)))
            if judged is not None:
                self._is_there(judged)

    def _refuse_elsewhere(self, statement: ParsedStatement, name: Name, path: str) -> None:
        """Spark and Delta would make these past the catalog, where tables are kept by default."""
        what = f"{'.'.join(name)}, which a policy binds to {path}"
        if statement.command in LIKE:
            raise RefusedStatementError(
                f"CREATE TABLE ... LIKE would not make {what}, there: write delta.`{path}`, or the columns"
            )
        if statement.command in CREATES_A_TABLE and (statement.provider or "").lower() != "delta":
            raise RefusedStatementError(
                f"the statement would make {what}, in another format elsewhere: write USING delta"
            )
        if statement.command == _CLONES:
            raise RefusedStatementError(f"the clone would not make {what}, there: write delta.`{path}`")

    def _bind(self, catalogs: Iterable[str]) -> None:
        if not has_class(self._spark, _BOUND_NAMES):
            raise NotAsJudgedError(
                f"nothing was run, because the image has no {_BOUND_NAMES}, by which a driver knows the names that "
                "policies bind: use an image of the operator's version, with sluice-logstore.jar among Spark's jars"
            )
        for full, path in self._ours.items():
            java_class(self._spark, _BOUND_NAMES).bind(".".join(full), path)
        for catalog in sorted(catalogs):
            self._spark.conf.set(SETTING + catalog, BOUND)
            found = self._catalogs.manager.catalog(catalog).getClass().getName()
            if found != BOUND:
                raise NotAsJudgedError(
                    f"nothing was run, because names of catalog {catalog} can't be bound any more: it is a {found} already"
                )

    def _is_there(self, judged: _Judged) -> bool:
        """Whether the catalog has the table; it must be the one that the job was judged by."""
        found = tables.find_for_sure(self._spark, judged.full)
        name = tables.quoted(judged.full)
        if found and self._spark.catalog.getTable(name).tableType == _VIEW:
            self._refuse_what_is_no_table(
                judged, "a view"
            )  # which may read more than the table that is seen behind it
        if not found:
            if self._spark.catalog.tableExists(name):
                self._refuse_what_is_no_table(judged, "no Delta table")
            return False
        if len(found) > 1 or not judged.is_at(found[0].location):
            self._refuse_another(judged, [table.location for table in found])
        return True

    def _refuse_what_is_no_table(self, judged: _Judged, what: str) -> NoReturn:
        raise NotAsJudgedError(
            f"{self._refused}, because {judged.name} is {what} in this driver's catalog, and {judged.told} that it is the table at "
            f"{judged.places}: " + (_TO_FORGET if judged.is_reported else "correct the policy or the catalog")
        )

    def _refuse_another(self, judged: _Judged, elsewhere: Sequence[str]) -> NoReturn:
        found = elsewhere[0] if len(elsewhere) == 1 else "several tables"
        told = f"{self._refused}, because {judged.name} is {found} in this driver's catalog, and "
        if judged.is_shared and len(elsewhere) == 1:
            self._leads.tell_first(judged.full, found)
        if not judged.is_reported:
            raise NotAsJudgedError(
                f"{told}{judged.places} in the policy by which the job was judged: correct the policy's path, or the table's "
                "location in the catalog"
            )
        cure = "name it by its path"
        if judged.is_shared:
            cure = (
                f"this run reports where it leads now, so that the name counts as both: {_ONCE_MORE}. If catalogs differ for good, "
                "name the table by its path"
            )
        raise NotAsJudgedError(
            f"{told}the job was judged by an earlier run's report that it leads to {judged.places}: {cure}"
        )

    def _refuse_unless_located(self, statement: ParsedStatement, judged: _Judged) -> None:
        """The table is not there yet. The catalog would choose a place of its own for it."""
        if not may_make_its_table(statement):
            return  # Spark says that there is no such table
        place = statement.location
        if place is None and statement.command not in LIKE:  # which may have a location that isn't seen here
            place = self._catalogs.place_of_new(judged.full)
        if place is not None and judged.is_at(place):
            return
        also = ""
        if judged.is_reported and judged.is_shared and place is not None and "/" in place:
            place = self._catalogs.qualified(place)
            self._leads.tell_first(judged.full, place)
            also = (
                f". If it shall be at {place}, {_ONCE_MORE}: this run reports that place, and then both count"
            )
        raise NotAsJudgedError(
            f"the statement was not run, because this driver's catalog would make {judged.name} elsewhere than at {judged.places}, "
            f"where {judged.told} that it is: create it with LOCATION '{judged.paths[-1]}'{also}"
        )

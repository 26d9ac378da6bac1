"""Whether a user's own application kept to the footprint that its job declares, by the logs of the declared tables.

What it did to other tables, no declared table's log tells. A commit is its own if it bears the attempt's stamp. One without any
stamp may be its own, too, where the application sets the commits' metadata itself, or somebody else's.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sluice.footprint import JobFootprint, Metadata, TableFootprint
from sluice.lifecycle.spec.footprint_violations import FootprintSaid
from sluice.predicates import Region, disjoint, partition_region
from sluice.tables import TableKey

Partition = Mapping[str, str | None]
_MOST_TOLD = 3


@dataclass(frozen=True)
class LoggedCommit:
    """A commit made while the application ran, or about then."""

    table: TableKey
    version: int
    operation: str
    is_own: bool
    """Whether it bears the attempt's stamp. Else it bears nobody's."""
    statement: int | None = None
    """The statement that its stamp names."""
    engine: str | None = None
    """The writer, in its own words."""
    adds: Sequence[Partition] = ()
    removes: Sequence[Partition] = ()
    changes_metadata: bool = False
    unlooked: str | None = None
    """Why nothing is known of its files."""

    @property
    def name(self) -> str:
        return f"version {self.version} of {self.table}"

    @property
    def named_with_engine(self) -> str:
        return f"{self.name} (by {self.engine})" if self.engine else self.name

    @property
    def place_in_log(self) -> tuple[str, int]:
        return self.table.text, self.version


class _Place(Enum):
    INSIDE = "inside"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"


def kept(
    footprint: JobFootprint,
    commits: Sequence[LoggedCommit],
    unread: Sequence[str] = (),
    *,
    looked_at: Collection[tuple[str, int]] = (),
) -> FootprintSaid:
    """What the logs say of it. `unread`: why the log of a table says nothing. `looked_at`: the tables and versions of its commits
    that are known to keep to it."""
    strayed, doubtful = list[str](), list(unread)
    for commit in commits:
        if commit.place_in_log in looked_at:
            continue
        if commit.unlooked is not None:
            doubtful.append(f"{commit.name}: {commit.unlooked}")
            continue
        for what, place in _places(footprint, commit):
            if place is _Place.INSIDE:
                continue
            if place is _Place.OUTSIDE and commit.is_own:
                strayed.append(f"{commit.name} {what}")
            elif place is _Place.OUTSIDE:
                doubtful.append(
                    f"{commit.named_with_engine} {what}, which is not declared, and whose commit it is, no stamp says"
                )
            else:
                doubtful.append(f"{commit.name} {what}, of which it can't be said whether that is declared")
    if strayed:
        return FootprintSaid(
            is_held=False,
            message="it touched more than its footprint declares, so that other jobs may have failed for it: "
            f"{_some(strayed)}. From now on jobs with this very spec are taken to touch all of their tables: correct it",
        )
    if doubtful:
        return FootprintSaid(
            is_held=None, message=f"it is not known whether it kept to its footprint: {_some(doubtful)}"
        )
    return FootprintSaid(
        is_held=True, message="by the logs of the declared tables, its commits touched only what is declared"
    )


def _some(sentences: Sequence[str]) -> str:
    more = len(sentences) - _MOST_TOLD
    return "; ".join(sentences[:_MOST_TOLD]) + (f"; and {more} more" if more > 0 else "")


def _places(footprint: JobFootprint, commit: LoggedCommit) -> Iterable[tuple[str, _Place]]:
    declared = [one for one in footprint.tables if one.table == commit.table]
    if commit.changes_metadata:
        may = any(
            one.changes_metadata or one.creates or one.metadata is Metadata.IDENTITY for one in declared
        )
        yield "changes the table's metadata", _Place.INSIDE if may else _Place.OUTSIDE
    for partition in commit.adds:
        yield f"adds to {_named(partition)}", _place(partition, declared, [one.adds for one in declared])
    for partition in commit.removes:
        yield (
            f"removes from {_named(partition)}",
            _place(partition, declared, [one.removes for one in declared]),
        )


def _place(partition: Partition, declared: Sequence[TableFootprint], regions: Sequence[Region]) -> _Place:
    if any(region.is_everything for region in regions):
        return _Place.INSIDE
    facts = next((one.facts for one in declared if one.facts is not None), None)
    if facts is None:
        return _Place.UNKNOWN
    there, unknown = partition_region(partition, facts.columns)
    met = [region for region in regions if not disjoint(region, there)]
    if not met:
        return _Place.OUTSIDE
    certain = any(unknown.isdisjoint(_told_on(region)) for region in met)
    return _Place.INSIDE if certain else _Place.UNKNOWN


def _told_on(region: Region) -> set[str]:
    return {axis for box in region.boxes for named in box for axis in region.columns[named].axes}


def _named(partition: Partition) -> str:
    return "/".join(f"{name}={value}" for name, value in partition.items()) or "the table"

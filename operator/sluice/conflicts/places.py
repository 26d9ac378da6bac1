"""Finds the places where a job can meet others: two jobs have no conflict, whatever they do, if neither looks where
the other stands. So the jobs that a job must be compared with are looked up instead of searched for among all.

A place says more than that two jobs meet there: jobs that look for changes of a table find the changes there, but not
each other. It is a number made from words, so that it stays short where it is written down; if two places share a
number, jobs that can't meet are compared needlessly, nothing more.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter

from sluice.footprint.model import JobFootprint, Metadata, TableFootprint
from sluice.tables import TableKey
from sluice.tables.identity import Seen

EDITION = 2
"""The edition of what the numbers mean: raise it with every change, because leaders of other versions have written
numbers down."""
_BYTES = 6
"""The length of a number."""

_ALL_JOBS = "all"
_ALL_VACUUMS = "all vacuums"


@dataclass(frozen=True)
class Places:
    asks: frozenset[int]
    stands: frozenset[int]

    def may_meet(self, other: "Places") -> bool:
        return not (self.asks.isdisjoint(other.stands) and other.asks.isdisjoint(self.stands))


def _numbered(places: Iterable[str]) -> frozenset[int]:
    return frozenset(
        int.from_bytes(blake2b(place.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest())
        for place in places
    )


EVERYWHERE = Places(_numbered([_ALL_JOBS]), _numbered([_ALL_JOBS]))
"""The places of a job that is compared with all others."""


def places_of(job: JobFootprint) -> Places:
    if not job.tables:
        return EVERYWHERE
    asks: set[str] = set()
    stands = {_ALL_JOBS}
    for found in (_written(job), _columns(job), _streamed(job), _vacuumed(job), _by_logs(job), _run(job)):
        for looks_there, stands_there in found:
            asks |= looks_there
            stands |= stands_there
    return Places(_numbered(asks), _numbered(stands))


def places_of_writer(statement: TableFootprint) -> Iterator[Seen]:
    """Where a statement looks for others that write its table, its log or on from its checkpoint, and where those find it."""
    yield _in("w", "w", statement.table.seen)
    if statement.table_id is not None:
        yield _in("i", "i", _one(statement.table_id))
    if statement.checkpoint is not None:
        yield _in("c", "c", TableKey(statement.checkpoint).seen)


def _written(job: JobFootprint) -> Iterator[Seen]:
    for statement in job.kinds:
        yield from places_of_writer(statement)


def _run(job: JobFootprint) -> Iterator[Seen]:
    if job.run is not None:
        yield _in("r", "r", _one(job.run))


def _columns(job: JobFootprint) -> Iterator[Seen]:
    """Where jobs whose rows land by a table's columns meet jobs that may change those columns."""
    yield from _readers("t", {key for footprint in job.tables for key in footprint.told_by})
    yield from _writers("t", job, lambda footprint: footprint.may_change_table)


def _streamed(job: JobFootprint) -> Iterator[Seen]:
    yield from _readers("s", job.streamed)
    yield from _writers("s", job, _disturbs_streams)


def _vacuumed(job: JobFootprint) -> Iterator[Seen]:
    yield from _readers("v", job.reads.tables, attrgetter("seen_below"))
    yield from _writers("v", job, _deletes_files)
    if job.reads.any_table:
        yield frozenset({_ALL_VACUUMS}), frozenset()
    if job.vacuums:
        yield frozenset(), frozenset({_ALL_VACUUMS})


def _by_logs(job: JobFootprint) -> Iterator[Seen]:
    """Where jobs that read a log, by whatever path, meet jobs that matter to them: jobs that hurt its readers, or
    that have one of its keys renamed to another, as if they read elsewhere."""
    for table_id in job.ids_of_sources.values():
        yield frozenset({f"l {table_id}"}), frozenset()
    keys: dict[str, set[TableKey]] = {}
    for footprint in job.kinds:
        if footprint.table_id is not None:
            keys.setdefault(footprint.table_id, set()).add(footprint.table)
    hurts = any(
        footprint.may_change_table or _disturbs_streams(footprint) or _deletes_files(footprint)
        for footprint in job.kinds
    )
    for table_id, spelled in keys.items():
        if hurts or len(spelled) > 1:
            yield frozenset(), frozenset({f"l {table_id}"})


def _disturbs_streams(footprint: TableFootprint) -> bool:
    return (
        footprint.metadata is not Metadata.NONE
        or footprint.replaces
        or footprint.ends_readers
        or not footprint.removes.is_empty
    )


def _deletes_files(footprint: TableFootprint) -> bool:
    return footprint.retention_hours is not None


def _readers(
    kind: str, keys: Iterable[TableKey], seen: Callable[[TableKey], Seen] = attrgetter("seen")
) -> Iterator[Seen]:
    for key in keys:
        yield _in(kind, f"{kind}'", seen(key))


def _writers(kind: str, job: JobFootprint, hurts: Callable[[TableFootprint], bool]) -> Iterator[Seen]:
    """Writers look where readers stand, and stand where readers look."""
    for footprint in job.kinds:
        if hurts(footprint):
            yield _in(f"{kind}'", kind, footprint.table.seen)


def _in(asked: str, stood: str, seen: Seen) -> Seen:
    looks, stands = seen
    return frozenset(f"{asked} {place}" for place in looks), frozenset(f"{stood} {place}" for place in stands)


def _one(place: str) -> Seen:
    return frozenset({place}), frozenset({place})

"""Judges the jobs of a plan against each other. Jobs that do the same are judged once: of many jobs on one
table, most do to a day what others do, and each with each would be too many."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sluice.conflicts import Pair, PairOrder, pair_of
from sluice.conflicts.oracle import worst_for
from sluice.conflicts.places import places_of
from sluice.footprint import JobFootprint
from sluice.offline.improvements import Edge
from sluice.offline.pairs import Understood, perhaps_one


@dataclass(frozen=True)
class _Met:
    pair: Pair
    table: str
    perhaps: str | None


def edges_between(jobs: Sequence[Understood]) -> Iterator[Edge]:
    """Yields the pairs that can't run together, in the order of the jobs."""
    kinds = [_kind(job) for job in jobs]
    known = dict[tuple[Hashable, Hashable], _Met | None]()
    for first, second in sorted(_that_may_meet([job.footprint for job in jobs], kinds)):
        asked = kinds[first], kinds[second]
        if asked not in known:
            known[asked] = _met(jobs[first], jobs[second])
        met = known[asked]
        if met is not None:
            yield Edge(first, second, met.pair, met.table, met.perhaps)


def _kind(job: Understood) -> Hashable:
    """The same for jobs of which the same is said beside any other."""
    return job.footprint.fingerprint, job.checkpoints


def _met(first: Understood, second: Understood) -> _Met | None:
    mine, theirs = first.footprint, second.footprint
    pair = pair_of(mine, theirs)
    if pair.order is PairOrder.ANY:
        return None
    loses = pair.first_loses.level >= pair.second_loses.level
    table = worst_for(mine, theirs)[0] if loses else worst_for(theirs, mine)[0]
    perhaps = next((str(key) for key in perhaps_one(first, second) or () if key != table), None)
    return _Met(pair, str(table), perhaps)


def _that_may_meet(
    footprints: Sequence[JobFootprint], kinds: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Looks the pairs up by the places where jobs meet, as the operator does."""
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for number, kind in enumerate(kinds):
        alike[kind].append(number)
    places = {kind: places_of(footprints[numbers[0]]) for kind, numbers in alike.items()}
    stand: dict[int, list[Hashable]] = defaultdict(list)
    for kind, place in places.items():
        for one in place.stands:
            stand[one].append(kind)
    order = {kind: numbers[0] for kind, numbers in alike.items()}
    meeting = {
        (kind, other) if order[kind] <= order[other] else (other, kind)
        for kind, place in places.items()
        for one in place.asks
        for other in stand.get(one, ())
    }
    for kind, other in meeting:
        for one, two in product(alike[kind], alike[other]):
            if kind != other or one < two:
                yield (one, two) if one < two else (two, one)

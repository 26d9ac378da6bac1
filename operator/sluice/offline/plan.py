"""Compares all jobs of some folders with each other: who is in whose way, who can run together, and what would help most."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.conflicts import Level, Order, Pair, Verdict, pair_of
from sluice.conflicts.oracle import worst_for
from sluice.conflicts.places import places_of
from sluice.offline.advice import Change, changes_of
from sluice.offline.assumptions import Assumption
from sluice.offline.endless import WaitsForEver, waits_for_ever
from sluice.offline.graph import Widest, widest_set
from sluice.offline.knowledge import Knowledge
from sluice.offline.manifests import Trouble
from sluice.offline.one_checkpoint import OneCheckpoint, who_share_one
from sluice.offline.pairs import Understood, assumptions_about_stores, hints_of, is_better, perhaps_one
from sluice.offline.workspace import Workspace
from sluice.tables import TableKey


@dataclass(frozen=True)
class Edge:
    """Two jobs that can't run together, by their positions."""

    first: int
    second: int
    pair: Pair
    table: str
    perhaps: str | None
    """The other's table, if it is only possible that it is the same one."""

    @property
    def level(self) -> Level:
        return max(self.pair.first_loses.level, self.pair.second_loses.level)

    @property
    def what(self) -> str:
        """What happens to one of them: the exception, or the rule's id where there is none."""
        return self.worst.exception or self.rule

    @property
    def rule(self) -> str:
        return self.worst.rule

    @property
    def worst(self) -> Verdict:
        return max(self.pair.first_loses, self.pair.second_loses, key=lambda verdict: verdict.level)


@dataclass(frozen=True)
class Saving:
    """What one change, or one piece of advice, is worth."""

    pairs: int
    """The pairs that no longer need to wait for each other; for a hint: at most this many."""
    change: Change | None
    hint: str
    jobs: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    jobs: tuple[Understood, ...]
    edges: tuple[Edge, ...]
    widest: Widest
    savings: tuple[Saving, ...]
    endless: tuple[WaitsForEver, ...]
    """Who would wait for ever."""
    refused: tuple[OneCheckpoint, ...]
    """Who would be refused."""
    assumptions: tuple[Assumption, ...]
    troubles: tuple[Trouble, ...]

    @property
    def worst(self) -> Level:
        return max((edge.level for edge in self.edges), default=Level.NEVER)

    @property
    def pairs(self) -> int:
        return len(self.jobs) * (len(self.jobs) - 1) // 2


def planned(workspace: Workspace) -> Plan:
    jobs = tuple(workspace.jobs)
    edges = tuple(_edges(jobs))
    widest = widest_set(len(jobs), [(edge.first, edge.second) for edge in edges])
    savings = tuple(_savings(jobs, edges, workspace.knowledge))
    stores = assumptions_about_stores((jobs[edge.first], jobs[edge.second], edge.pair) for edge in edges)
    assumptions = (*workspace.assumptions, *stores)
    endless = [one for edge in edges for one in waits_for_ever(jobs[edge.first], jobs[edge.second])]
    refused = tuple(who_share_one(jobs))
    return Plan(jobs, edges, widest, savings, tuple(endless), refused, assumptions, tuple(workspace.troubles))


def _edges(jobs: Sequence[Understood]) -> Iterator[Edge]:
    for first, second in sorted(_that_may_meet(jobs)):
        mine, theirs = jobs[first].footprint, jobs[second].footprint
        pair = pair_of(mine, theirs)
        if pair.order is not Order.ANY:
            loses = pair.first_loses.level >= pair.second_loses.level
            table = worst_for(mine, theirs)[0] if loses else worst_for(theirs, mine)[0]
            tables = perhaps_one(jobs[first], jobs[second]) or ()
            perhaps = next((str(key) for key in tables if key != table), None)
            yield Edge(first, second, pair, str(table), perhaps)


def _that_may_meet(jobs: Sequence[Understood]) -> set[tuple[int, int]]:
    """Looks the pairs up by the places where jobs meet, as the operator does: each with each would be too many."""
    places = [places_of(job.footprint) for job in jobs]
    stand: dict[int, list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        for one in place.stands:
            stand[one].append(number)
    return {
        (min(number, other), max(number, other))
        for number, place in enumerate(places)
        for one in place.asks
        for other in stand.get(one, ())
        if other != number
    }


def _savings(jobs: Sequence[Understood], edges: Sequence[Edge], knowledge: Knowledge) -> list[Saving]:
    around: dict[int, list[Edge]] = defaultdict(list)
    for edge in edges:
        around[edge.first].append(edge)
        around[edge.second].append(edge)
    found = []
    freed: set[tuple[int, int]] = set()
    for number, own in around.items():
        for change in changes_of(jobs[number].job, jobs[number].footprint, knowledge):
            helped = [edge for edge in own if _helps(change, number, edge, jobs)]
            if helped:
                freed.update((edge.first, edge.second) for edge in helped)
                found.append(Saving(len(helped), change, change.because, (jobs[number].name,)))
    found += _hints(jobs, [edge for edge in edges if (edge.first, edge.second) not in freed])
    return sorted(found, key=_most_worth_first)


def _most_worth_first(saving: Saving) -> tuple[object, ...]:
    keeps = saving.change is not None and saving.change.keeps_result
    return (saving.change is None, -saving.pairs, not keeps, saving.jobs)


def _helps(change: Change, number: int, edge: Edge, jobs: Sequence[Understood]) -> bool:
    if number == edge.first:
        changed = pair_of(change.footprint, jobs[edge.second].footprint)
    else:
        changed = pair_of(jobs[edge.first].footprint, change.footprint)
    return changed.together and is_better(changed, edge.pair)


def _hints(jobs: Sequence[Understood], edges: Sequence[Edge]) -> Iterator[Saving]:
    """Returns what the rules advise in words, by the number of pairs that the advice is given for."""
    pairs: dict[str, int] = defaultdict(int)
    about: dict[str, dict[str, None]] = defaultdict(dict)
    for edge in edges:
        first, second = jobs[edge.first], jobs[edge.second]
        for hint in dict.fromkeys(_general(hint) for hint in hints_of(first, second, edge.pair)):
            pairs[hint] += 1
            about[hint].update({first.name: None, second.name: None})
    for hint, count in pairs.items():
        yield Saving(count, None, hint, tuple(about[hint]))


def _general(hint: str) -> str:
    """Gives the advice on a name that may be any table once, and not for each of these tables."""
    tables, bind, _ = hint.partition(" may be one table: bind the name")
    names = [key.text for key in map(TableKey.parse, tables.split(" and ")) if key.is_name] if bind else []
    if len(names) != 1:
        return hint
    return f"bind {names[0]} to its path in a DeltaTablePolicy: until then it may be any table"

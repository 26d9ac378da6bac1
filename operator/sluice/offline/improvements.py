"""What would help most among many jobs: each change and each piece of advice, by the pairs that need not wait for each other
after it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sluice.conflicts import Level, Pair, Verdict, pair_of
from sluice.conflicts.advice import Advice
from sluice.conflicts.advice_search import Budget, is_better
from sluice.conflicts.oracle import SAME_RUN
from sluice.conflicts.stores_and_runs import lost_commits, same_checkpoint
from sluice.offline.advice import Change, changes_of
from sluice.offline.known_facts import KnownFacts
from sluice.offline.pairs import NOT_TRIED, Understood, advice_for

FOR_CHANGES, FOR_WORDS = 150_000, 250_000
"""How many pairs of plain statements a plan judges for changed lines, and for other advice: some two seconds for each, however
many jobs there are."""
_OF_NO_TEXT = frozenset({lost_commits.id, same_checkpoint.id, SAME_RUN.rule})


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
    def may_be_cured(self) -> bool:
        """Whether a changed text could let both run. None changes which LogStore commits, or whose checkpoint it is."""
        return _OF_NO_TEXT.isdisjoint((self.pair.first_loses.rule, self.pair.second_loses.rule))

    @property
    def worst(self) -> Verdict:
        return max(self.pair.first_loses, self.pair.second_loses, key=lambda verdict: verdict.level)


@dataclass(frozen=True)
class Improvement:
    """What one change, or one piece of advice, is worth."""

    pairs: int
    """The pairs that no longer need to wait for each other."""
    change: Change | None
    hint: str
    jobs: tuple[str, ...]
    alone: bool = True
    """False if some of these pairs need other advice as well."""


@dataclass
class _Advised:
    pairs: int = 0
    alone: bool = True
    jobs: dict[str, None] = field(default_factory=dict)


@dataclass
class Improvements:
    found: list[Improvement] = field(default_factory=list)
    """What saves most first; of those that save as much, what surely keeps the result."""
    untried: set[tuple[int, int]] = field(default_factory=set)
    """The pairs of which it isn't known whether more would help: there were too many."""


def savings_of(jobs: Sequence[Understood], edges: Sequence[Edge], knowledge: KnownFacts) -> Improvements:
    """Tries changed lines first, those of the jobs with most conflicts before others, and words for the pairs that are left."""
    around: dict[int, list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge.may_be_cured:
            around[edge.first].append(edge)
            around[edge.second].append(edge)
    savings, budget = Improvements(), Budget(FOR_CHANGES)
    freed: set[tuple[int, int]] = set()
    for number, own in sorted(around.items(), key=lambda one: (-len(one[1]), one[0])):
        for change in changes_of(jobs[number].job, jobs[number].footprint, knowledge):
            if not budget.has(sum(_cost(change, number, edge, jobs) for edge in own)):
                savings.untried.update((edge.first, edge.second) for edge in own)
                break
            helped = [edge for edge in own if _helps(change, number, edge, jobs)]
            if helped:
                freed.update((edge.first, edge.second) for edge in helped)
                savings.found.append(Improvement(len(helped), change, change.because, (jobs[number].name,)))
    left = [edge for edge in edges if (edge.first, edge.second) not in freed]
    savings.found += _in_words(jobs, left, Budget(FOR_WORDS), savings.untried)
    savings.untried -= freed
    savings.found.sort(key=_most_worth_first)
    return savings


def _most_worth_first(saving: Improvement) -> tuple[object, ...]:
    keeps = saving.change is not None and saving.change.keeps_result
    return (-saving.pairs, not saving.alone, saving.change is None, not keeps, saving.jobs)


def _helps(change: Change, number: int, edge: Edge, jobs: Sequence[Understood]) -> bool:
    if number == edge.first:
        changed = pair_of(change.footprint, jobs[edge.second].footprint)
    else:
        changed = pair_of(jobs[edge.first].footprint, change.footprint)
    return changed.together and is_better(changed, edge.pair)


def _cost(change: Change, number: int, edge: Edge, jobs: Sequence[Understood]) -> int:
    other = jobs[edge.second if number == edge.first else edge.first]
    return len(change.footprint.tables) * len(other.footprint.tables)


def _in_words(
    jobs: Sequence[Understood], edges: Sequence[Edge], budget: Budget, untried: set[tuple[int, int]]
) -> Iterator[Improvement]:
    """Returns what is advised in words, each once, however many pairs it helps."""
    found: dict[str, _Advised] = defaultdict(_Advised)
    for edge in edges:
        first, second = jobs[edge.first], jobs[edge.second]
        told = advice_for(first, second, budget)
        if told == (NOT_TRIED,):
            untried.add((edge.first, edge.second))
        advice = [one for one in told if one.together]
        for words in dict.fromkeys(_general(one, first, second) for one in advice):
            saves = found[words]
            saves.pairs += 1
            saves.alone = saves.alone and len(advice) == 1
            saves.jobs.update({first.name: None, second.name: None})
    for words, saves in found.items():
        yield Improvement(saves.pairs, None, words, tuple(saves.jobs), saves.alone)


def _general(advice: Advice, first: Understood, second: Understood) -> str:
    """Words for any number of pairs: a name that may be any table is to be bound once, and not for each of these tables."""
    if not advice.binds:
        return advice.said(first.name, second.name)
    return f"bind {advice.binds} to its path in a DeltaTablePolicy: until then it may be any table"

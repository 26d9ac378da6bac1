"""Advice for two jobs that can't run together, tried before it is given: the footprints are changed as it says and judged again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sluice.conflicts.advice import Advice, Jobs, Step
from sluice.conflicts.advice_from_rules import cures
from sluice.conflicts.narrowings import NAMES, WRITES, levers, only, pulled
from sluice.conflicts.oracle import OTHER_TABLES, Pair, pair_of
from sluice.footprint.model import JobFootprint, TableFootprint

AT_LEISURE = 100_000
"""What may be spent on two jobs where somebody waits for the answer: a few seconds."""
_MOST_ROUNDS = 12
_ROUND = 4
"""What judging two jobs costs besides their statements."""
_CHANGE = 2
"""What it costs to change a statement first."""
_READS = 8
"""So many tables that are only read cost as much as one statement."""
_COMPUTED, _BOXES, _CUTS = 32, 2, 32
"""What makes a statement dearer than a plain one: a condition that computes as much as 32, two boxes, or 32 values, as one."""


@dataclass
class Budget:
    """How much may be tried, counted in pairs of plain statements that are judged, of some 15 microseconds each: never by the
    clock."""

    left: int = AT_LEISURE

    def has(self, amount: int) -> bool:
        """Spends it, if that much is left."""
        enough = amount <= self.left
        self.left -= amount if enough else 0
        return enough

    def spend(self, amount: int) -> None:
        if not self.has(amount):
            raise _UsedUpError


class _UsedUpError(Exception):
    pass


_known = dict[tuple[bytes, bytes], "tuple[Advice, ...] | int"]()
"""By the fingerprints of two jobs, the latest asked last: statuses and plans ask for the same ones again and again. The jobs
themselves are not kept, of which a long script may have hundreds of kilobytes. A number: as much was not enough to try it."""
_MOST_KNOWN = 2048


def tried(first: JobFootprint, second: JobFootprint, budget: Budget) -> tuple[Advice, ...] | None:
    """Returns the fewest things to do after which the two may run together by the rules; if there are none, those that make the
    verdict less bad. None: the budget is not enough to try them."""
    if not (first.tables and second.tables):
        return ()
    asked = first.fingerprint, second.fingerprint
    found = _known.pop(asked, None)
    if found is None or (isinstance(found, int) and found < budget.left):
        allowed = budget.left
        try:
            found = _Trials((first, second), budget).advice()
        except _UsedUpError:
            found = allowed
    _known[asked] = found
    if len(_known) > _MOST_KNOWN:
        del _known[next(iter(_known))]
    return None if isinstance(found, int) else found


class _Trials:
    """What is tried for two jobs."""

    def __init__(self, jobs: Jobs, budget: Budget) -> None:
        self._jobs = jobs
        self._budget = budget
        least = len(jobs[0].tables) * len(jobs[1].tables)
        if least > budget.left:
            raise _UsedUpError
        self._cost = cost_of(jobs)

    def advice(self) -> tuple[Advice, ...]:
        before = self._judged([])
        if before.together:
            return ()
        steps = self._enough()
        if not steps:
            return tuple(dict.fromkeys(self._lesser(before)))
        return tuple(step.advice for step in self._narrowed(self._without_needless(steps)))

    def _judged(self, steps: Sequence[Step]) -> Pair:
        self._budget.spend(self._cost)
        first, second = self._done(steps)
        if not (first.tables and second.tables):  # one of them doesn't run meanwhile
            return Pair(OTHER_TABLES, OTHER_TABLES)
        return pair_of(first, second)

    def _done(self, steps: Sequence[Step]) -> Jobs:
        jobs = self._jobs
        for step in steps:
            if step.change is not None:
                jobs = step.change(jobs)
        return pulled(jobs, steps)

    def _enough(self) -> list[Step]:
        """All that is known to do, if it is enough. What a verdict advises is asked again after each step, since one rule hides
        the next."""
        steps = levers(self._jobs)
        for _ in range(_MOST_ROUNDS):
            pair = self._judged(steps)
            if pair.together:
                return steps
            known = {step.advice for step in steps}
            more = [step for step in cures(pair, self._done(steps)) if step.advice not in known]
            if not more:
                return []
            steps += more
        return []

    def _without_needless(self, steps: Sequence[Step]) -> list[Step]:
        """Leaves out each that isn't needed, promises first: they bind their author for good."""
        kept = list(steps)
        ranked = sorted(steps, key=lambda one: (one.lever == WRITES, one.lever == NAMES))
        for step in reversed(ranked):
            fewer = [one for one in kept if one is not step]
            if fewer and self._judged(fewer).together:
                kept = fewer
        return kept

    def _narrowed(self, steps: Sequence[Step]) -> list[Step]:
        """Leaves out of what several statements of a job are told those that are in nobody's way."""
        kept = list(steps)
        for place, step in enumerate(steps):
            whose = step.advice.whose
            if whose is not None and len(step.of[whose]) > 1:
                others = [one for one in kept if one is not kept[place]]
                fewer = only(step, self._in_the_way(step.of[whose], whose, others), self._jobs)
                changed = [*kept[:place], fewer, *kept[place + 1 :]]
                if fewer != step and self._judged(changed).together:
                    kept = changed
        return kept

    def _in_the_way(self, statements: frozenset[int], side: int, steps: Sequence[Step]) -> frozenset[int]:
        """Which of the statements would wait for the other job by themselves, once these steps are done."""
        self._budget.spend(self._cost + _ROUND * len(statements))
        jobs = self._done(steps)
        job, other = jobs[side], jobs[1 - side]
        found = set[int]()
        for number in statements:
            alone = replace(job, tables=tuple(one for one in job.tables if one.statement == number))
            if alone.tables and other.tables and not pair_of(alone, other).together:
                found.add(number)
        return frozenset(found)

    def _lesser(self, before: Pair) -> Iterator[Advice]:
        for step in cures(before, self._jobs):
            if is_better(self._judged([step]), before):
                yield replace(step.advice, together=False)


def is_better(changed: Pair, before: Pair) -> bool:
    """Whether it is not worse in any direction, and better in one."""
    new = (changed.first_loses.level, changed.second_loses.level)
    old = (before.first_loses.level, before.second_loses.level)
    return all(a <= b for a, b in zip(new, old, strict=True)) and new != old


def cost_of(jobs: Jobs) -> int:
    """What it costs to judge them: each statement meets each of the other job's, and so does each table that a stream reads."""
    first, second = jobs
    sizes = _size(first, second), _size(second, first)
    dearer = [sum(map(_dearer, job.tables)) for job in jobs]
    changed = _CHANGE * (len(first.tables) + len(second.tables))
    return _ROUND + changed + sizes[0] * sizes[1] + dearer[0] * sizes[1] + dearer[1] * sizes[0]


def _size(job: JobFootprint, other: JobFootprint) -> int:
    reads = len(job.reads.tables)
    return len(job.tables) + len(job.streamed) + (reads if other.vacuums else reads // _READS)


def _dearer(one: TableFootprint) -> int:
    found = 0
    for region in (one.reads, one.reads_files, one.adds, one.removes):
        cuts = sum(len(side.cuts) for box in region.boxes for side in box.values())
        found = max(found, _COMPUTED * region.computes + (len(region.boxes) - 1) // _BOXES + cuts // _CUTS)
    return found

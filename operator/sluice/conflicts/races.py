"""Finds the races of two jobs: the pairs of their statements that may meet. Of many it finds the worst without judging each.

Statements that are alike but for their partitions are judged as one first, which touches what any of them touches. Its verdict
is as bad as the worst of theirs: rules ask of partitions only whether there are some, and whether they meet those of the other.
Only if that isn't `never`, the first statements are looked for of which it is true.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from sluice.conflicts.places import places_of_writer
from sluice.conflicts.race import Race
from sluice.conflicts.readers import Found
from sluice.conflicts.stores_and_runs import may_share_a_checkpoint
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import JobFootprint, StatementGroup, TableFootprint
from sluice.predicates import Region
from sluice.predicates.values import between
from sluice.tables import TableKey

EXACT = 64
"""Two jobs that have no more statements each are compared exactly, without a limit."""
MOST_JUDGED = 6_000
"""What may be spent on other jobs in one direction, counted in pairs of plain statements that are judged, of some ten microseconds
each: never by the clock."""
_FEW = 16
"""So few pairs of statements are judged one by one."""
_BOXES = 8
"""So many pairs of boxes cost as much as one pair of plain statements."""
_COMPUTED, _MOST_COMPUTED = 100, 2_000
"""What a pair of boxes costs if one of them computes, and what two regions cost at most."""

NOT_COMPARED = Verdict(
    Level.UNSAFE,
    "not-compared",
    "they have too many kinds of statements on the same tables to be compared, so the worst is assumed",
)

NOT_ONE_BY_ONE = "they are too many to compare one by one"

Judge = Callable[[Race], Verdict | None]
"""Returns the verdict on a race; None if both jobs accept what may happen."""


def race_between(
    mine: TableFootprint, theirs: TableFootprint, loser: JobFootprint, winner: JobFootprint
) -> Race | None:
    """Returns the race of two statements; None if they have neither a table nor a checkpoint in common."""
    if mine.hook:
        return None
    one_table = mine.table == theirs.table or _share_a_log(mine, theirs)
    if not one_table:
        perhaps = mine.table.may_equal(theirs.table) and not (
            _have_logs_of_their_own(mine, theirs)
            and mine.table not in loser.changed
            and theirs.table not in winner.changed
        )
        if not (perhaps or may_share_a_checkpoint(mine, theirs)):
            return None
    return Race(mine, theirs, loser, winner, mine.table, one_table)


def _share_a_log(mine: TableFootprint, theirs: TableFootprint) -> bool:
    """Whether both are known to write one log: once its log was read, a table is recognised under any path or name."""
    return mine.table_id is not None and mine.table_id == theirs.table_id


def _have_logs_of_their_own(mine: TableFootprint, theirs: TableFootprint) -> bool:
    """Whether the two tables had different logs when those were read. A replaced table gets another id, so an id read before
    says nothing about one read after."""
    if mine.facts is None or theirs.facts is None or None in (mine.table_id, theirs.table_id):
        return False
    return mine.table_id != theirs.table_id


def worst_race(loser: JobFootprint, winner: JobFootprint, judge: Judge) -> Found | None:
    """Returns the first of their races that is the worst for the loser; None if they have none."""
    if len(loser.tables) * len(winner.tables) > _FEW:
        return _Search(loser, winner, judge).worst()
    found: Found | None = None
    for mine in loser.tables:
        for theirs in winner.tables:
            race = race_between(mine, theirs, loser, winner)
            verdict = None if race is None else judge(race)
            if verdict is not None and (found is None or verdict.level > found[1].level):
                found = mine.table, verdict
                if verdict.level is Level.UNSAFE:
                    return found
    return found


class _UsedUpError(Exception):
    pass


class _Search:
    """The search for the worst race of two jobs."""

    def __init__(self, loser: JobFootprint, winner: JobFootprint, judge: Judge) -> None:
        self._loser, self._winner, self._judge = loser, winner, judge
        self._left: int | None = MOST_JUDGED
        if max(len(loser.tables), len(winner.tables)) <= EXACT:
            self._left = None
        self._first: Race | None = None
        self._worst: Found | None = None
        """The worst that is said of groups, and so at least as bad as what is true."""
        self._meeting: dict[StatementGroup, list[StatementGroup]] = {}
        """The winner's groups that may meet each of the loser's."""
        self._levels: dict[tuple[StatementGroup, StatementGroup], Level] = {}
        """The worst for any two statements of two groups, or of parts of them."""

    def worst(self) -> Found | None:
        try:
            self._compare_groups()
        except _UsedUpError:
            return self._loser.tables[0].table, NOT_COMPARED
        if self._first is None:
            return None
        if self._worst is not None:
            try:
                found = self._worst_of_statements(self._worst[1].level)
            except _UsedUpError:
                return self._as_a_whole(*self._worst)
            if found is not None:
                return found
        verdict = self._judge(self._first)
        return None if verdict is None else (self._first.table, verdict)

    def _compare_groups(self) -> None:
        for mine, theirs in _near(self._loser.groups, self._winner.groups):
            race = self._between(mine.as_one, theirs.as_one)
            if race is None:
                continue
            if self._first is None:
                self._first = self._between(mine.statements[0], theirs.statements[0])
            verdict = self._judged_as_one(race)
            if verdict is None or verdict.level is Level.NEVER:
                continue
            self._meeting.setdefault(mine, []).append(theirs)
            self._levels[mine, theirs] = verdict.level
            if self._worst is None or verdict.level > self._worst[1].level:
                self._worst = race.table, verdict
                if verdict.level is Level.UNSAFE:
                    return

    def _worst_of_statements(self, worst: Level) -> Found | None:
        """Returns the first two statements of which it is true; None if it is of none."""
        found: Found | None = None
        level = Level.NEVER
        groups = {part: group for group in self._meeting for part in group.parts}
        for one, part in _in_order(groups):
            near: list[StatementGroup] = []
            for theirs in self._meeting[groups[part]]:
                if self._level_of(part, theirs) > level and self._level(one, theirs.as_one) > level:
                    parts = theirs.parts
                    near += (its for its in parts if its is theirs or self._level(one, its.as_one) > level)
            for other, _ in _in_order(near):
                race = self._between(one, other)
                verdict = None if race is None else self._judged(race)
                if verdict is not None and verdict.level > level:
                    found, level = (one.table, verdict), verdict.level
                    if level is worst:
                        return found
        return found

    def _level_of(self, mine: StatementGroup, theirs: StatementGroup) -> Level:
        known = self._levels.get((mine, theirs))
        if known is None:
            known = self._levels[mine, theirs] = self._level(mine.as_one, theirs.as_one)
        return known

    def _level(self, one: TableFootprint, other: TableFootprint) -> Level:
        race = self._between(one, other)
        verdict = None if race is None else self._judged_as_one(race)
        return Level.NEVER if verdict is None else verdict.level

    def _between(self, mine: TableFootprint, theirs: TableFootprint) -> Race | None:
        return race_between(mine, theirs, self._loser, self._winner)

    def _judged_as_one(self, race: Race) -> Verdict | None:
        """Returns the worst for any of the statements that are judged as one. Where they meet, they may accept what happens, or a
        rule says `may` before another one says `will`, and neither is so where they don't."""
        verdict = self._judged(race)
        if verdict is not None and verdict.level is not Level.MAY:
            return verdict
        apart = self._judged(_apart(race))
        return apart if verdict is None or (apart is not None and apart.level > verdict.level) else verdict

    def _judged(self, race: Race) -> Verdict | None:
        if self._left is not None:
            self._left -= _cost(race)
            if self._left < 0:
                raise _UsedUpError
        return self._judge(race)

    def _as_a_whole(self, table: TableKey, verdict: Verdict) -> Found:
        sizes = f"{len(self._loser.tables)} statements and of {len(self._winner.tables)}"
        reason = f"{verdict.reason}, if the conditions of {sizes} are taken together: {NOT_ONE_BY_ONE}"
        return table, verdict._replace(reason=reason, meeting=None)


def _near(
    groups: Iterable[StatementGroup], others: Sequence[StatementGroup]
) -> Iterator[tuple[StatementGroup, StatementGroup]]:
    """Yields the groups that may have a table or a checkpoint in common, in the order of their first statements."""
    looking: dict[str, list[int]] = {}
    standing: dict[str, list[int]] = {}
    for number, theirs in enumerate(others):
        for looks, stands in places_of_writer(theirs.statements[0]):
            for place in looks:
                looking.setdefault(place, []).append(number)
            for place in stands:
                standing.setdefault(place, []).append(number)
    for mine in groups:
        found: set[int] = set()
        for looks, stands in places_of_writer(mine.statements[0]):
            found.update(number for place in looks for number in standing.get(place, ()))
            found.update(number for place in stands for number in looking.get(place, ()))
        for number in sorted(found):
            yield mine, others[number]


def _in_order(groups: Iterable[StatementGroup]) -> Iterator[tuple[TableFootprint, StatementGroup]]:
    """Yields the statements of groups, each with its group, in the order in which their job has them."""
    found = (
        (position, one, group)
        for group in groups
        for position, one in zip(group.positions, group.statements, strict=True)
    )
    for _, one, group in sorted(found, key=itemgetter(0)):
        yield one, group


_HERE, _ELSEWHERE = (Region(({"anywhere": between(code, code + 1)},), {}) for code in (0, 1))


def _apart(race: Race) -> Race:
    """The race as it is for statements that touch other partitions than each other."""
    return race._replace(loser=_only_in(race.loser, _HERE), winner=_only_in(race.winner, _ELSEWHERE))


def _only_in(one: TableFootprint, region: Region) -> TableFootprint:
    return replace(
        one,
        reads=one.reads if one.reads.is_empty else region,
        reads_files=one.reads_files if one.reads_files.is_empty else region,
        adds=one.adds if one.adds.is_empty else region,
        removes=one.removes if one.removes.is_empty else region,
    )


def _cost(race: Race) -> int:
    mine = (race.loser.reads, race.loser.reads_files, race.loser.removes)
    theirs = (race.winner.adds, race.winner.removes)
    pairs = max(len(one.boxes) for one in mine) * max(len(one.boxes) for one in theirs)
    cost = 1 + pairs // _BOXES
    if any(one.computes for one in (*mine, *theirs)):
        cost += min(_COMPUTED * pairs, _MOST_COMPUTED)
    return cost

"""What meets in one verdict: a loser's and a winner's statement on one table, or on two that may be one."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sluice.conflicts.verdict import Verdict
from sluice.footprint.model import JobFootprint, TableFootprint
from sluice.predicates import Region, disjoint


class Meeting(NamedTuple):
    """The loser began, then the winner committed."""

    loser: TableFootprint
    winner: TableFootprint
    losing_job: JobFootprint
    winning_job: JobFootprint
    on_one_table: bool
    """False for two that may be one."""

    def meet(self, one: Region, other: Region) -> bool:
        """Whether the two have a partition in common; only of one and the same table can conditions be compared."""
        if one.is_empty or other.is_empty:
            return False
        return not self.on_one_table or not disjoint(one, other)

    @property
    def sure(self) -> bool:
        return self.on_one_table and self.loser.certain and self.winner.certain

    @property
    def to_part(self) -> str | None:
        """What would keep them apart, with the same result."""
        loser, winner = self.loser, self.winner
        if not self.on_one_table:
            return f"{loser.table} and {winner.table} may be one table: bind the name to its path in a DeltaTablePolicy"
        return loser.reads_advice or winner.writes_advice or winner.reads_advice


Rule = Callable[[Meeting], Verdict | None]


def decided(rules: Iterable[Rule], meeting: Meeting) -> Verdict | None:
    """By the first rule that has something to say."""
    for rule in rules:
        verdict = rule(meeting)
        if verdict is not None:
            return verdict
    return None

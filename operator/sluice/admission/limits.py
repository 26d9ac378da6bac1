"""How many jobs may write a table at a time."""

from bisect import bisect_left
from dataclasses import dataclass, field

from sluice.admission.queue_entries import QueueEntry
from sluice.admission.reference_decision import Holder, Rank, are_taken_for_ever
from sluice.admission.shapes import Shape
from sluice.tables import TableKey


@dataclass(eq=False, slots=True)
class Limit(QueueEntry):
    table: TableKey
    most: int
    holders: dict[str, int] = field(default_factory=dict)
    """How many times each job holds the table, by its uid."""
    endless: list[Holder] = field(default_factory=list)
    """Streams among them that don't end by themselves."""
    claims: list[Rank] = field(default_factory=list)
    """The waiters that are to write it and that those behind them heed."""

    @property
    def free(self) -> int:
        return self.most - len(self.holders)

    def hold(self, one: Holder) -> None:
        self.holders[one.uid] = self.holders.get(one.uid, 0) + 1
        if one.for_ever is not None:
            self.endless.append(one)

    def let_go(self, one: Holder) -> None:
        left = self.holders.pop(one.uid) - 1
        if left:
            self.holders[one.uid] = left
        if one.for_ever is not None:
            self.endless.remove(one)

    def is_used_up_for_ever(self, shape: Shape) -> bool:
        """Whether no place comes free for waiters of this shape."""
        return len(self.endless) >= self.most and are_taken_for_ever(shape, self.endless, self.most)

    def is_used_up_before(self, rank: Rank) -> bool:
        """Whether those who hold the table, and those who are to write it before this waiter, leave it no place."""
        held, ahead = len(self.holders), bisect_left(self.claims, rank)
        if held >= self.most or ahead >= self.most + len(self.holders):
            return True
        return held + sum(one[-1] not in self.holders for one in self.claims[:ahead]) >= self.most

"""How many jobs may write a table at a time."""

from bisect import bisect_left
from dataclasses import dataclass, field

from sluice.admission.deciding import Rank
from sluice.admission.parties import Party
from sluice.tables import TableKey


@dataclass(eq=False, slots=True)
class Limit(Party):
    table: TableKey
    most: int
    holders: dict[str, int] = field(default_factory=dict)
    """How many times each job holds the table, by its uid."""
    claims: list[Rank] = field(default_factory=list)
    """The waiters that are to write it and that those behind them heed."""

    @property
    def free(self) -> int:
        return self.most - len(self.holders)

    def hold(self, uid: str) -> None:
        self.holders[uid] = self.holders.get(uid, 0) + 1

    def let_go(self, uid: str) -> None:
        left = self.holders.pop(uid) - 1
        if left:
            self.holders[uid] = left

    def is_used_up_before(self, rank: Rank) -> bool:
        """Whether those who hold the table, and those who are to write it before this waiter, leave it no place."""
        held, ahead = len(self.holders), bisect_left(self.claims, rank)
        if held >= self.most or ahead >= self.most + len(self.holders):
            return True
        return held + sum(one[-1] not in self.holders for one in self.claims[:ahead]) >= self.most

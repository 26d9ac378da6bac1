"""The situation that one verdict is about: the loser began, then the winner committed to a table that the loser writes or reads."""

from typing import NamedTuple

from sluice.conflicts.advice_texts import BIND_THE_NAME
from sluice.conflicts.delta_versions import DeltaVersion, era_of
from sluice.footprint.model import JobFootprint, TableFootprint
from sluice.predicates import Region, disjoint
from sluice.tables import Dialect, TableKey


class Race(NamedTuple):
    loser: TableFootprint
    """What the losing job writes; its first statement if the race is about a table that the job only reads."""
    winner: TableFootprint
    losing_job: JobFootprint
    winning_job: JobFootprint
    table: TableKey
    """The loser's key for the table."""
    on_one_table: bool
    """False if the two tables may be one but are not known to be."""

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the engine that checks: the loser's."""
        return self.losing_job.dialect

    @property
    def era(self) -> DeltaVersion:
        return era_of(self.losing_job.dialect)

    def meet(self, one: Region, other: Region) -> bool:
        """Whether the two have a partition in common; conditions can be compared only on one and the same table."""
        if one.is_empty or other.is_empty:
            return False
        return not self.on_one_table or not disjoint(one, other)

    @property
    def shared_txn_app_id(self) -> str | None:
        """The txnAppId that both write under; None if they don't share one."""
        return self.loser.txn_app_id if self.loser.txn_app_id == self.winner.txn_app_id else None

    @property
    def sure(self) -> bool:
        return self.on_one_table and self.loser.certain and self.winner.certain

    @property
    def to_part(self) -> str | None:
        """What would keep them apart for sure, if they may be one table only because of a name. What would keep apart two writers
        of one table is told by trying it."""
        return None if self.on_one_table else f"{self.loser.table} and {self.winner.table} {BIND_THE_NAME}"

"""The tables that a job declares, as a program of its own finds and leaves them: only there are its commits looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sluice_runner import commits, write
from sluice_runner.commits import Commit
from sluice_runner.failures import Failure, classify
from sluice_runner.footprint_check import STRAYED, Judged
from sluice_runner.java_classes import has_class
from sluice_runner.partitions import Conditions
from sluice_runner.plan import Plan
from sluice_runner.result import StatementResult
from sluice_runner.session import has_delta_sql
from sluice_runner.winners import Winner, completed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

NO_JAR = "sluice-logstore.jar, which reads what a commit touches, is not on the driver's class path"
_NO_SQL = (
    "what is committed can't be looked up in the tables' logs, because the session knows no SQL of Delta's: put "
    "io.delta.sql.DeltaSparkSessionExtension into spark.sql.extensions"
)
_NO_TABLES = "the plan names no tables in whose logs to look"


@dataclass(frozen=True)
class Found:
    commits: Sequence[Commit] = field(default=())
    is_read: bool = True

    def winner_of(self, failure: Failure, own: Sequence[Commit]) -> Winner | None:
        others = [commit for commit in self.commits if commit not in own]
        return completed(failure.winner, others)


class Declared:
    """Whatever can't be looked up is told, and ends nothing: what the program does is its own."""

    def __init__(
        self, spark: SparkSession, plan: Plan, mask: Callable[[str], str], missing: Callable[[str], None]
    ) -> None:
        """`missing`: told what can't be known."""
        self.spark = spark
        self._plan = plan
        self._mask = mask
        self._missing = missing
        declared = [one.table for one in plan.touched]
        if plan.run is not None:
            declared += plan.run.tables
        self.names = tuple(dict.fromkeys(write.table_name(target) for target in declared))
        self._judged = Judged(spark, plan.touched, Conditions(spark))
        self._can_look = has_class(spark, STRAYED)
        self._can_read = has_delta_sql(spark)
        if not self._can_read:
            missing(_NO_SQL)
        elif not self.names:
            missing(_NO_TABLES)
        elif plan.touched and not self._can_look:
            missing(f"whether commits keep to the footprint can't be looked at: {NO_JAR}")

    def versions(self) -> Mapping[str, int] | None:
        """The newest version of each, by location; None where that can't be known."""
        if not self._can_read or not self.names:
            return None
        try:
            return commits.versions(self.spark, self.names, for_sure=True)
        except Exception as error:  # noqa: BLE001 - told: the program itself may go on
            self._missing(f"the tables' logs could not be read: {classify(error).message}")
            return None

    def since(self, before: Mapping[str, int] | None) -> Found:
        """Everybody's commits since then."""
        now = self.versions() if before is not None else None
        if before is None or now is None:
            return Found(is_read=False)
        try:
            return Found(list(commits.newer(self.spark, before, now)))
        except Exception as error:  # noqa: BLE001 - told: the program itself has done its work
            self._missing(f"what was committed could not be read: {classify(error).message}")
            return Found(is_read=False)

    def looked_at(self, result: StatementResult) -> StatementResult:
        """Adds what of its commits lies elsewhere than the job was judged to touch."""
        if not self._plan.touched:
            return result
        if not result.is_read:
            return replace(result, unlooked="what it committed could not be read")
        if not self._can_look:
            return replace(result, unlooked=NO_JAR)
        try:
            return replace(result, strayed=self._judged.strayed(result.number, result.commits))
        except Exception as error:  # noqa: BLE001 - reported: it changes nothing of what was done
            return replace(result, unlooked=self._mask(classify(error).message))

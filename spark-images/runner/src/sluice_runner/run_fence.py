"""Keeps earlier attempts of a run from writing once this one has begun, and tells when this one is kept from it.

Every statement commits under a txn version. A fence is an empty commit by a retry, whose txn version is above all that
earlier attempts can write: from then on Delta aborts their commits, or skips them, which looks like success. So each
statement is followed by a look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sluice_runner import commits, tables, txn, write
from sluice_runner.assumptions import refuse_another_connector
from sluice_runner.earlier_attempts import Done, HistoryLost, Superseded, TableHistory, done
from sluice_runner.failures import classify
from sluice_runner.plan import Plan, Run
from sluice_runner.repeatable import WRITES_DELTA, refuse_unrepeatable
from sluice_runner.retriable import CONFLICTS
from sluice_runner.settings import set_to
from sluice_runner.stamp import CONF, Look, closing_stamp, fence_stamp
from sluice_runner.tables import Table
from sluice_runner.targets import ParsedStatement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
_ONE_WRITE = "spark.databricks.delta.write.txnVersion.autoReset.enabled"
_AUTO_COMPACTION = "spark.databricks.delta.autoCompact.enabled"
_IDENTITY = "delta.identity.start"

_TRIES = 50
"""Others may commit between a look and the append that follows it: each time Delta aborts the append, nothing has happened."""
_PAUSE_SECONDS = 0.2
_PAGE = 1000
_FORGETS = "delta.settransactionretentionduration"


class UnknownTargetError(Exception):
    """The statement would write a table that the job was not judged by."""


class RunsForgottenError(Exception):
    """The table doesn't remember its runs for good."""


def fencing_of(spark: SparkSession, plan: Plan) -> Unfenced:
    return Unfenced() if plan.run is None else Fencing(spark, plan, plan.run)


class Unfenced:
    """A run whose plan names no appId: nothing stops another attempt of it, and nothing is left out."""

    def begin(self, _last_statement: int) -> Done:
        return Done()

    @contextmanager
    def numbered(self, _statement: int) -> Iterator[None]:
        yield

    @contextmanager
    def of_one_write(self, _statement: int) -> Iterator[None]:
        yield

    def refuse(self, statement: ParsedStatement) -> None:
        pass

    def refuse_others(self, locations: Iterable[str]) -> None:
        pass

    def look(self, names: Sequence[Sequence[str]]) -> None:
        pass

    def close(self) -> None:
        pass


class Fencing(Unfenced):
    """A run's txn versions on its tables."""

    def __init__(self, spark: SparkSession, plan: Plan, run: Run) -> None:
        self._spark = spark
        self._plan = plan
        self._run = run
        self._names = tuple(dict.fromkeys(write.table_name(target) for target in run.tables))
        self._bound: dict[tuple[str, ...], frozenset[str]] = {}
        """Where each name leads, once it has led anywhere."""
        self._known: dict[tuple[str, str], tuple[int, int | None]] = {}
        """By a table's location and id: a version of it, and the run's highest txn version then."""
        self._has_begun = False

    def begin(self, last_statement: int) -> Done:
        """Fences earlier attempts off, and only then reads what they did: the other way round one of them could commit in
        between."""
        refuse_another_connector(self._spark)
        found = self._tables()
        self._has_begun = True
        if self._plan.attempt > 1:
            for table in found:
                self._fence(table)
            found = self._tables()
        histories = [self._history(table) for table in found] if self._must_read(found) else []
        return done(self._plan, last_statement, histories)

    @contextmanager
    def numbered(self, statement: int) -> Iterator[None]:
        """What runs inside commits under the statement's txn version. Set for this long only: a second statement under the
        same one would be skipped."""
        number = txn.version(self._plan.token, statement)
        with set_to(self._spark, {APP_ID: self._run.app_id, TXN_VERSION: str(number)}):
            yield

    @contextmanager
    def of_one_write(self, statement: int) -> Iterator[None]:
        """As `numbered`, for a program that may do anything inside: Delta takes the number away with the first write, and refuses
        a second one, which it would skip otherwise."""
        with set_to(self._spark, {_ONE_WRITE: "true"}), self.numbered(statement):
            yield

    def refuse(self, statement: ParsedStatement) -> None:
        """Refuses a statement that can't be done exactly once."""
        refuse_unrepeatable(statement)
        if statement.command in WRITES_DELTA:
            for name in statement.names:
                tables.refuse_another_format(self._spark, name)

    def refuse_others(self, locations: Iterable[str]) -> None:
        """Refuses a statement that would write a table which the run doesn't fence."""
        if not self._locations().issuperset(locations):
            # An earlier statement may have created it.
            self._bind()
        others = sorted(set(locations) - self._locations())
        if others:
            raise UnknownTargetError(
                f"the statement was not run, because it would write {', '.join(others)}, which is none of the tables that the job "
                "was judged by"
            )

    def look(self, names: Sequence[Sequence[str]]) -> None:
        """Raises Superseded if a later attempt has fenced one of these tables, or ended the run."""
        for name in names:
            for table in tables.find_for_sure(self._spark, name):
                self._refuse_to_go_on(table, self._highest_since_then(table))

    def close(self) -> None:
        """Ends the run for good. It is above every fence, and lands also if one comes between look and append: whoever
        closes has seen each statement done."""
        if self._run.closes:
            number = txn.closing(self._plan.spec_hash)
            for table in self._tables():
                self._append(table, number, lambda _table, _highest: closing_stamp(self._plan))

    def _fence(self, table: Table) -> None:
        number = txn.version(self._plan.token, txn.FENCE)
        self._append(
            table, number, lambda seen, highest: fence_stamp(self._plan, Look(highest, seen.version))
        )

    def _append(self, table: Table, number: int, stamp_after: Callable[[Table, int | None], str]) -> None:
        """An empty commit, unless there is one with this number or a higher one of the same attempt, or the run is closed."""
        tried = 0
        while True:
            seen = self._at(table.location)
            highest = self._highest(seen)
            if highest is not None and txn.is_closing(highest):
                return
            self._refuse_to_go_on(seen, highest)
            if highest is not None and highest >= number:
                return
            try:
                self._append_nothing(seen, number, stamp_after(seen, highest))
            except Exception as error:
                tried += 1
                if classify(error).java_class not in CONFLICTS or tried == _TRIES:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                if txn.is_closing(number):  # nothing is above it but another closing
                    return

    def _append_nothing(self, table: Table, number: int, text: str) -> None:
        rows = self._spark.createDataFrame([], _columns(table))
        # A table may ask for compaction after each commit: not for this one.
        with set_to(self._spark, {CONF: text, _AUTO_COMPACTION: "false"}):
            writer = rows.write.format("delta").mode("append")
            writer.option("txnAppId", self._run.app_id).option("txnVersion", str(number)).save(table.location)

    def _refuse_to_go_on(self, table: Table, highest: int | None) -> None:
        if highest is None or txn.token(highest) <= self._plan.token:
            return
        run = f"run {self._plan.run_key}"
        if txn.is_closing(highest):
            what = f"{run} has been ended by another attempt ({table.location} is closed for it)"
        else:
            what = f"a later attempt of {run} has begun and fenced this one off (token {txn.token(highest)} on {table.location})"
        raise Superseded(
            f"{what}: what this attempt wrote before that counts, and the other one did the rest. If there is none, another "
            f"writer has committed txn version {highest} under the run's id {self._run.app_id}, which is Sluice's alone: it has to "
            "use another one"
        )

    def _must_read(self, found: Sequence[Table]) -> bool:
        """Whether there may be something of this run in the logs. A job's first attempt on a slot finds nothing: its uid was
        never used before, unless another driver has been started for the same attempt."""
        if self._run.closes or self._plan.attempt > 1:
            return True
        highest = [self._highest(table) for table in found]
        return any(number is not None and self._is_of_run(number) for number in highest)

    def _history(self, table: Table) -> TableHistory:
        read = list(commits.history(self._spark, table.location, _PAGE))
        oldest = min(commit.version for commit in read)
        return TableHistory(table.location, self._highest(table), oldest, read)

    def _tables(self) -> list[Table]:
        """The run's tables that exist: an append to one that doesn't would create it."""
        self._bind()
        return [self._at(location) for location in sorted(self._locations())]

    def _bind(self) -> None:
        """Finds where names lead that led nowhere yet.

        What is fenced and read is the table that a name meant first: a USE or a view of the job's, or somebody else, may have
        it mean another one later.
        """
        for name in self._names:
            if name not in self._bound:
                found = tables.find_for_sure(self._spark, name)
                for table in found:
                    self._refuse_unread(table)
                    self._refuse_forgetting(table)
                if found:
                    self._bound[name] = frozenset(table.location for table in found)

    def _locations(self) -> frozenset[str]:
        return frozenset().union(*self._bound.values())

    def _refuse_unread(self, table: Table) -> None:
        """A table that wasn't there when the run began is this attempt's own, or one's that nobody has fenced."""
        if not self._has_begun:
            return
        highest = self._highest(table)
        if highest is None or not self._is_of_run(highest) or txn.token(highest) == self._plan.token:
            return
        raise HistoryLost(
            f"another attempt of run {self._plan.run_key} has created {table.location} after this one began, and nobody can tell "
            "what else it did: look into the table, and run what is missing under another run key"
        )

    def _refuse_forgetting(self, table: Table) -> None:
        """A run with a key must be known for as long as somebody may create its job again, and any for as long as it is retried."""
        if (self._run.closes or self._plan.attempt > 1) and table.property_of(_FORGETS) is not None:
            raise RunsForgottenError(
                f"{table.location} forgets after a while which runs it has had (delta.setTransactionRetentionDuration), so that "
                f"run {self._plan.run_key} could take effect twice: unset that property of the table, or run this without a run "
                "key and without retry"
            )

    def _highest(self, table: Table) -> int | None:
        """As Delta knows it, which computes the table's whole state for that. It does so before each write of a run, too."""
        found = table.txn_version(self._run.app_id)
        self._known[table.location, table.id()] = (table.version, found)
        return found

    def _highest_since_then(self, table: Table) -> int | None:
        """By what has been committed since Delta was asked last, if that can be read."""
        key = (table.location, table.id())
        if key not in self._known:
            return self._highest(table)
        version, highest = self._known[key]
        newer = commits.txn_versions(self._spark, table.location, self._run.app_id, version, table.version)
        if newer is None:
            return self._highest(table)
        highest = newer[-1] if newer else highest
        self._known[key] = (table.version, highest)
        return highest

    def _is_of_run(self, txn_version: int) -> bool:
        return self._run.closes or txn.token(txn_version) >= self._run.first_token

    def _at(self, location: str) -> Table:
        found = tables.find_for_sure(self._spark, tables.path_name(location))
        if not found:
            raise tables.NotADeltaTableError(
                f"{location} is no Delta table any more: somebody has removed it"
            )
        return found[0]


def _columns(table: Table) -> StructType:
    """All columns that may be given values."""
    from pyspark.sql.types import StructField, StructType  # noqa: PLC0415

    schema = StructType.fromJson(dict(table.schema()))
    return StructType(
        [
            StructField(field.name, field.dataType)
            for field in schema.fields
            if _IDENTITY not in field.metadata
        ]
    )

"""Real tables that are changed as a policy wants it: by the very statements that are planned for its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contract.harness.tables import Answer, Asked, Question
from sluice.api.job import DeltaWriteJobSpec
from sluice.api.policy import DeltaTablePolicySpec
from sluice.footprint import Metadata, ProtocolChange, TableFootprint, footprint_of
from sluice.policies.difference import AlterationPlan, plan_of
from sluice.predicates import Table, quoted
from sluice.tables import TableFacts, key_of_path
from sluice.tables.table_observation import TableState

COLUMNS = {"id": "bigint", "k": "int", "st": "struct<a: int, b: int>", "p": "int"}
EMPTY = "CREATE TABLE {table} (id BIGINT, k INT, st STRUCT<a: INT, b: INT>, p INT) USING delta"
PARTITIONED = f"{EMPTY} PARTITIONED BY (p)"


@dataclass
class Followed:
    asked: Asked
    delta: str
    answer: Answer
    name: str

    @classmethod
    def made(cls, asked: Asked, delta: str, *statements: str) -> Followed:
        """The table that the statements make: it is made once, and then finds its first state again."""
        name = f"of-{abs(hash(statements))}"
        if not (asked.folder / name).exists():
            built = asked(Question(name, statements=statements))
            assert built.refused is None, built.refused
        return cls(asked, delta, asked(Question(name, restored=True)), name)

    @property
    def path(self) -> str:
        return str(self.asked.folder / self.name)

    @property
    def version(self) -> tuple[int, int]:
        major, minor, *_ = self.delta.split(".")
        return int(major), int(minor)

    @property
    def state(self) -> TableState:
        now = self.answer
        return TableState(
            version=len(now.commits) - 1,
            reader_version=now.reader_version,
            writer_version=now.writer_version,
            reader_features=now.reader_features,
            writer_features=now.writer_features,
            properties=now.properties,
            partition_by=now.partition_by,
            cluster_by=tuple(".".join(path) for path in now.cluster_by),
            columns=now.columns,
        )

    @property
    def features(self) -> frozenset[str]:
        """Those that its protocol lists."""
        return self.answer.writer_features | self.answer.reader_features

    def plan(self, **wanted: Any) -> AlterationPlan:
        spec = DeltaTablePolicySpec.model_validate({"table": {"path": self.path}, **wanted})
        return plan_of(spec, self.state, self.version)

    def follows(self, **wanted: Any) -> Answer:
        """Everything that is wanted is changed, and nothing of it is left to change."""
        plan = self.plan(**wanted)
        assert not plan.problems
        assert plan.changes, plan.differences
        assert all(difference.is_tried for difference in plan.differences), plan.differences
        for change in plan.changes:
            refused = self.runs(change.sql)
            assert refused is None, f"{change.sql}: {refused}"
        again = self.plan(**wanted)
        assert again.differences == ()
        assert again.changes == ()
        return self.answer

    def sets(self, **properties: str) -> str | None:
        return self.sets_all(properties)

    def sets_all(self, properties: Mapping[str, str]) -> str | None:
        """Whatever any plan says. Returns why Delta refuses it."""
        given = ", ".join(f"{quoted(name)} = {quoted(value)}" for name, value in properties.items())
        return self.runs(f"ALTER TABLE delta.`{self.path}` SET TBLPROPERTIES ({given})")

    def runs(self, sql: str) -> str | None:
        """And holds what its commits did against what was foretold of the statement. Returns why it is refused."""
        before, told = self.answer, self._footprint(sql)
        self.answer = self.asked(Question(self.name, statements=(sql,)))
        commits = self.answer.commits[len(before.commits) :]
        if self.answer.refused is None:
            _is_covered(sql, told, commits, same=before.properties == self.answer.properties)
        else:
            assert not commits, f"{sql} is refused, and half applied: {self.answer.refused}"
        return self.answer.refused

    def is_refused(self, sql: str) -> bool:
        """By Delta, of a statement that Sluice would not even run."""
        before, self.answer = self.answer, self.asked(Question(self.name, statements=(sql,)))
        return self.answer.refused is not None and self.answer.commits == before.commits

    def _footprint(self, sql: str) -> TableFootprint:
        now = self.answer
        facts = TableFacts(
            columns=Table.of(COLUMNS, now.partition_by),
            clustering_columns=tuple(".".join(path) for path in now.cluster_by),
            properties=now.properties,
        )
        found = footprint_of(
            DeltaWriteJobSpec.model_validate({"sql": sql}),
            {},
            facts={key_of_path(self.path): facts},
            delta_version=self.delta,
        )
        (one,) = found.tables
        return one


def _is_covered(sql: str, told: TableFootprint, commits: tuple[tuple[str, ...], ...], *, same: bool) -> None:
    did = {kind for commit in commits for kind in commit}
    if told.certain:
        assert commits, f"{sql}: foretold to commit surely"
    if "metaData" in did:
        assert told.metadata is not Metadata.NONE, sql
        assert same or told.metadata is not Metadata.SAME, sql
    if "protocol" in did:
        assert told.protocol is not ProtocolChange.NONE, sql
    if "domainMetadata:delta.clustering" in did:
        assert "delta.clustering" in told.domains, sql
    if "remove" in did:
        assert not told.removes.is_empty, sql

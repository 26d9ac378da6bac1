"""The rules of each engine as the chapters of their page, and what comes of their examples."""

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Verdict, databricks, delta_rs, oss, readers, stores_and_runs
from sluice.conflicts.oracle import worst_for
from sluice.conflicts.rule import Example, ExampleJob, Rule
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import Dialect, LogStore, TableFacts, key_of_name
from sluice.tables import databricks as databricks_of
from sluice.tables import delta_rs as delta_rs_of
from sluice.tables import oss as oss_of

_COLUMNS = {"id": "bigint", "amount": "int", "date": "date"}


@dataclass(frozen=True)
class Rulebook:
    engine: str
    dialect: Dialect
    """The engine that its examples are judged by."""
    rules: tuple[Rule, ...]

    def jobs(self, example: Example) -> tuple[JobFootprint, JobFootprint]:
        facts = TableFacts(
            columns=Table.of(_COLUMNS, ["date"] if example.partitioned else []),
            dialect=self.dialect,
            **{"log_store": LogStore.SAFE, **example.table},
        )
        return _job(example.loser, facts), _job(example.winner, facts)

    def verdict(self, example: Example) -> Verdict:
        return worst_for(*self.jobs(example))[1]


def _job(given: ExampleJob, facts: TableFacts) -> JobFootprint:
    spec = given if isinstance(given, Mapping) else {"sql": given}
    known = {key_of_name(name): facts for name in ("orders", "archive")}
    return footprint_of(DeltaWriteJobSpec.model_validate(spec), {}, facts=known, sources=known)


EVERY_ENGINE = Rulebook("every engine", oss_of("4.4.0"), stores_and_runs.RULES)
READERS = Rulebook("tables that a job only reads", oss_of("4.4.0"), readers.RULES)
OPEN_SOURCE = Rulebook("open source", oss_of("4.4.0"), (*oss.RULES, *oss.RULES_OF_READERS))
DATABRICKS = Rulebook(
    "Databricks", databricks_of("15.4", photon=True), (*databricks.RULES, *databricks.RULES_OF_READERS)
)
DELTA_RS = Rulebook("delta-rs", delta_rs_of("1.3.0"), delta_rs.RULES)
RULEBOOKS = (EVERY_ENGINE, READERS, OPEN_SOURCE, DATABRICKS, DELTA_RS)
"""The chapters in the order of the page."""

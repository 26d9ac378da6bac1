"""Run keys: what makes one run of several jobs, and where such a run could not be kept from taking effect twice."""

from collections.abc import Iterable, Mapping

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.statement import Statement
from sluice.tables import TableFacts, TableKey

MOST_STATEMENTS = 4095
"""A statement's number is a part of the number under which Delta knows its commit."""
_FORGETS = "delta.settransactionretentionduration"


def run_of(
    spec: DeltaWriteJobSpec,
    namespace: str,
    texts: Iterable[tuple[Statement, ...]],
    facts: Mapping[TableKey, TableFacts],
) -> str | None:
    """The run to which the job belongs, if it may have other jobs; refuses what could not be kept from taking effect twice."""
    if spec.run_key is None:
        return None
    if any(len(statements) > MOST_STATEMENTS for statements in texts):
        raise NotUnderstoodError(
            f"spec.runKey: a run has at most {MOST_STATEMENTS} statements: write them as several jobs, each with a run key"
        )
    for key, known in facts.items():
        if any(name.lower() == _FORGETS for name in known.properties):
            raise NotUnderstoodError(
                f"spec.runKey: {key} forgets after a while which runs it has had (delta.setTransactionRetentionDuration), so "
                "that this one could take effect twice: unset that property of the table, or remove runKey"
            )
    return run_named(spec, namespace)


def run_named(spec: DeltaWriteJobSpec, namespace: str) -> str | None:
    """The run as the job names it, whatever its tables are."""
    return None if spec.run_key is None else f"{namespace}/{spec.run_key}"

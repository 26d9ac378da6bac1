"""Where a table's log could not be read, nothing is taken for granted that the log might contradict."""

from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, Pair, pair_of
from sluice.footprint import JobFootprint, footprint_of
from unit.conflicts import pairs as p

LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
FRAME = {
    "write": {"table": {"path": "/lake/t"}, "source": {"sql": p.row(p.A)}, "mode": "Append"},
}
DECLARED = {
    "application": {"engine": "kubeflow", "template": {"mainClass": "X"}},
    "footprint": [{"table": {"path": "/lake/t"}, "operation": "Append"}],
}
MC, PC = "MetadataChangedException", "ProtocolChangedException"


def job(spec: str | dict[str, Any], version: str | None = "4.4.0") -> JobFootprint:
    given = {"sql": spec.replace("{t}", p.T)} if isinstance(spec, str) else spec
    return footprint_of(DeltaWriteJobSpec.model_validate(given), LINKING, delta_version=version)


def pair(first: str | dict[str, Any], second: str | dict[str, Any]) -> Pair:
    return pair_of(job(first), job(second))


def test_two_inserts_may_both_raise_the_mark_of_an_identity_column() -> None:
    for second in (p.APPEND, p.MERGE, p.OVERWRITE):
        verdict = pair(p.APPEND, second).first_loses
        assert (verdict.level, verdict.exception) == (Level.MAY, MC)


def test_that_a_table_may_have_identity_columns_is_said_with_what_would_tell() -> None:
    verdict = pair(p.APPEND, p.MERGE).second_loses
    assert "which may have identity columns" in verdict.reason
    assert str(verdict.advice).startswith("let the operator read the log of ")
    known = p.pair(p.APPEND, p.SET).first_loses
    assert "identity" not in known.reason


def test_what_only_databricks_may_abort_is_advised_to_be_told_from_it() -> None:
    verdict = pair_of(job(p.SET, None), job(p.DELETE, None)).first_loses
    assert verdict.rule == "undocumented"
    assert "it is not known whether Databricks writes the table" in verdict.reason
    assert "runtime.deltaVersion" in str(verdict.advice)
    assert pair(p.SET, p.DELETE).first_loses.level is Level.NEVER


@pytest.mark.parametrize("other", [FRAME, DECLARED])
def test_two_dataframes_may_both_make_the_first_commit(other: dict[str, Any]) -> None:
    verdict = pair(FRAME, other).first_loses
    assert (verdict.level, verdict.exception) == (Level.MAY, PC)


def test_a_dataframe_is_in_nobodys_way_who_can_neither_make_a_table_nor_rows() -> None:
    for other in (p.UPDATE, p.DELETE, p.TRUNCATE, p.OPTIMIZE):
        assert pair(FRAME, other).first_loses.level is Level.NEVER


@pytest.mark.parametrize("append", [p.APPEND, FRAME, DECLARED])
def test_a_compaction_may_lose_its_files_to_that_of_an_append(append: str | dict[str, Any]) -> None:
    verdict = pair(p.OPTIMIZE, append).first_loses
    assert (verdict.level, verdict.rule) == (Level.MAY, "removed-files")


def test_a_feature_that_is_enabled_may_be_enabled_already() -> None:
    """Before 4.1 that aborts everybody, which enabling row tracking does not."""
    changed = pair_of(job(p.APPEND, "3.3.3"), job(p.TRACKING, "3.3.3")).first_loses
    assert (changed.level, changed.exception) == (Level.MAY, MC)
    known = p.pair(p.APPEND, p.TRACKING, "3.3.3").first_loses
    assert known.level is Level.NEVER


def test_what_was_known_is_not_known_after_the_job_changed_it() -> None:
    known = p.facts()
    changes = p.job(f"{p.REPLACE_TABLE}; {p.APPEND}", known)
    assert pair_of(p.job(p.OPTIMIZE, known), changes).first_loses.level is Level.MAY

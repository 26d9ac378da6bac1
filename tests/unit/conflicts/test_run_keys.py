"""Jobs with one run key go one after another, whatever they touch: the second has to know what the first has done."""

import pytest

from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import conflict_between, conflict_where_met
from sluice.conflicts.oracle import SAME_RUN
from sluice.conflicts.places import places_of
from sluice.footprint import JobFootprint, NotUnderstoodError, footprint_of
from sluice.predicates import Table
from sluice.predicates.limits import MAX_STATEMENTS_OF_A_RUN
from sluice.tables import TableFacts, key_of_path


def job(table: str, run_key: str | None, namespace: str = "etl") -> JobFootprint:
    spec = {"sql": f"INSERT INTO delta.`/lake/{table}` VALUES (1)", "runKey": run_key}
    facts = {key_of_path(f"/lake/{table}"): TableFacts(columns=Table.of([]))}
    return footprint_of(DeltaWriteJobSpec.model_validate(spec), {}, facts=facts, namespace=namespace)


def test_one_run_is_done_by_one_job_at_a_time_whatever_tables_they_write() -> None:
    conflict = conflict_between(job("a", "daily"), job("b", "daily"))
    assert conflict is not None
    assert conflict.verdict == SAME_RUN
    assert places_of(job("a", "daily")).may_meet(places_of(job("b", "daily")))


def test_a_holder_whose_job_is_gone_still_holds_its_run() -> None:
    conflict = conflict_where_met(job("a", "daily"), places_of(job("b", "daily")))
    assert conflict is not None
    assert conflict.table == key_of_path("/lake/a")


@pytest.mark.parametrize(
    "other",
    [job("b", "weekly"), job("b", None), job("b", "daily", "elsewhere")],
    ids=["key", "none", "namespace"],
)
def test_other_runs_are_not_in_the_way(other: JobFootprint) -> None:
    assert conflict_between(job("a", "daily"), other) is None
    assert not places_of(job("a", "daily")).may_meet(places_of(other))


def test_who_loses_commits_is_told_that_first() -> None:
    """Two jobs of one run on a table whose store keeps no commits apart."""
    spec = {"sql": "INSERT INTO delta.`s3://lake/a` VALUES (1)", "runKey": "daily"}
    one = footprint_of(DeltaWriteJobSpec.model_validate(spec), {}, namespace="etl")
    conflict = conflict_between(one, one)
    assert conflict is not None
    assert conflict.verdict.rule == "lost-commits"


def test_a_run_has_as_many_statements_as_delta_can_tell_apart() -> None:
    spec = {"sql": "DELETE FROM delta.`/lake/a`;" * (MAX_STATEMENTS_OF_A_RUN + 1)}
    assert footprint_of(DeltaWriteJobSpec.model_validate(spec), {}).run is None
    with pytest.raises(NotUnderstoodError, match="at most 4095 statements: write them as several jobs"):
        footprint_of(DeltaWriteJobSpec.model_validate(spec | {"runKey": "daily"}), {})


@pytest.mark.parametrize("asked", [{"runKey": "daily"}, {"retry": {"limit": 1}}])
def test_a_table_that_forgets_runs_takes_none_that_has_a_key_or_may_be_retried(asked: Json) -> None:
    spec = {"sql": "DELETE FROM delta.`/lake/a`", **asked}
    properties = {"delta.SetTransactionRetentionDuration": "interval 1 day"}
    facts = {key_of_path("/lake/a"): TableFacts(columns=Table.of([]), properties=properties)}
    with pytest.raises(
        NotUnderstoodError, match=r"file:/lake/a forgets after a while .* unset that property"
    ):
        footprint_of(DeltaWriteJobSpec.model_validate(spec), {}, facts=facts)

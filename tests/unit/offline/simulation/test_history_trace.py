"""A table's own log as a trace: what it tells, what it bounds, and what is assumed."""

from pathlib import Path

import pytest

from sluice.api.base import Json
from sluice.conflicts import conflict_between
from sluice.offline.history import read_log
from sluice.offline.simulation.history_trace import DurationSource, HistoryTrace, lived
from sluice.offline.simulation.trace import TracedJob
from unit.offline.test_history import METADATA, MINUTE, add, commit, predicate, remove

OSS = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
FIVE_MINUTES = 5 * MINUTE


@pytest.fixture
def table(tmp_path: Path) -> Path:
    commit(tmp_path, 0, "CREATE TABLE", METADATA, engineInfo=OSS)
    return tmp_path


def merged(table: Path, version: int, day: str, *, pinned: bool = True, **more: object) -> None:
    text = f"((id#1 = id#2) AND (date#3 = {day}))" if pinned else "(id#1 = id#2)"
    files = (*add(day), *remove(day))
    more = {"read": version - 1, "engineInfo": OSS, "operationParameters": predicate(text)} | more
    commit(table, version, "MERGE", *files, **more)  # type: ignore[arg-type]


def played(table: Path, assumed: int = FIVE_MINUTES) -> HistoryTrace:
    return lived(read_log(table), assumed)


def one(table: Path, version: int, assumed: int = FIVE_MINUTES) -> TracedJob:
    return next(job for job in played(table, assumed).trace.jobs if job.name.startswith(f"v{version} "))


def took(milliseconds: int) -> Json:
    return {"operationMetrics": {"executionTimeMs": str(milliseconds)}}


def test_a_commit_ends_when_it_says_and_ran_as_long_as_its_metrics_say(table: Path) -> None:
    merged(table, 1, "2026-11-19", **took(40_000))
    job = one(table, 1)
    assert job.duration == 40_000
    assert job.at + job.duration == read_log(table).commits[1].timestamp
    assert played(table).durations == {DurationSource.MEASURED: 1}


@pytest.mark.parametrize(
    ("read", "assumed", "lasts", "told"),
    [
        (1, 90_000, 90_000, DurationSource.BOUNDED),
        (1, 1_000, MINUTE, DurationSource.BOUNDED),
        (1, 600_000, 2 * MINUTE, DurationSource.BOUNDED),
        (2, 30_000, 30_000, DurationSource.ASSUMED),
        (2, 600_000, MINUTE, DurationSource.ASSUMED),
        (None, 600_000, 600_000, DurationSource.ASSUMED),
    ],
    ids=["within", "it began before v2", "it began after v1", "nobody meanwhile", "after v2", "not said"],
)
def test_what_others_committed_meanwhile_bounds_how_long_it_ran(
    table: Path, read: int | None, assumed: int, lasts: int, told: DurationSource
) -> None:
    """Commits are a minute apart."""
    merged(table, 1, "2026-11-17", **took(1))
    merged(table, 2, "2026-11-18", **took(1))
    merged(table, 3, "2026-11-19", read=read)
    assert one(table, 3, assumed).duration == lasts
    assert played(table, assumed).durations[told] == 1


def test_jobs_that_named_their_partitions_run_side_by_side_and_others_would_if_they_did(table: Path) -> None:
    merged(table, 1, "2026-11-17", **took(1))
    merged(table, 2, "2026-11-18", read=0, **took(1))
    merged(table, 3, "2026-11-19", pinned=False, read=0, **took(1))
    found = played(table)
    one, other, unpinned = (job.footprint for job in found.trace.jobs)
    assert conflict_between(one, other) is None
    assert conflict_between(one, unpinned) is not None
    first, second, third = (job.footprint for job in found.pinned.jobs)
    assert conflict_between(first, third) is conflict_between(second, third) is None


def test_blind_appends_pass_and_compactions_meet_only_those_of_their_partition(table: Path) -> None:
    for version in (1, 2):
        commit(table, version, "WRITE", *add("2026-11-18"), read=0, isBlindAppend=True, engineInfo=OSS)
    files = [
        {kind: {**action[kind], "dataChange": False}}
        for action in (*add("2026-11-18"), *remove("2026-11-18"))
        for kind in action
    ]
    commit(table, 3, "OPTIMIZE", *files, read=0, engineInfo=OSS)
    merged(table, 4, "2026-11-18")
    merged(table, 5, "2026-11-19")
    first, second, compaction, here, there = (
        job.footprint for job in sorted(played(table).trace.jobs, key=lambda job: job.name)
    )
    assert conflict_between(first, second) is None
    assert conflict_between(first, compaction) is None
    assert conflict_between(compaction, here) is not None
    assert conflict_between(compaction, there) is None


def test_a_change_of_metadata_meets_everybody(table: Path) -> None:
    commit(table, 1, "SET TBLPROPERTIES", METADATA, read=0, engineInfo=OSS)
    commit(table, 2, "WRITE", *add("2026-11-18"), read=0, isBlindAppend=True, engineInfo=OSS)
    metadata, append = (job.footprint for job in sorted(played(table).trace.jobs, key=lambda job: job.name))
    assert conflict_between(metadata, append) is not None


def test_what_is_no_job_is_counted_with_the_reason(table: Path) -> None:
    commit(table, 1, "VACUUM END", read=0)
    merged(table, 2, "2026-11-18", timestamp=0)
    merged(table, 3, "2026-11-18")
    found = played(table)
    assert found.left_out == {"made the table": 1, "changed nothing": 1, "has no timestamp": 1}
    assert len(found.trace.jobs) == 1


@pytest.mark.parametrize(
    ("engines", "dialect"),
    [
        ((OSS, OSS), "oss"),
        (("Databricks-Runtime/15.4.x-scala2.12", "Databricks-Runtime/16.4.x"), "databricks"),
        ((OSS, "Databricks-Runtime/15.4"), None),
        ((OSS, ""), None),
    ],
)
def test_the_rules_are_those_of_the_engine_that_all_commits_name(
    tmp_path: Path, engines: tuple[str, ...], dialect: str | None
) -> None:
    for version, engine in enumerate(engines):
        commit(
            tmp_path,
            version,
            "WRITE",
            *([METADATA] if not version else []),
            *add("1"),
            read=0,
            engineInfo=engine,
        )
    found = played(tmp_path).dialect
    assert (found and found.name) == dialect


def test_as_it_was_all_ran_when_they_did(table: Path) -> None:
    merged(table, 1, "2026-11-18", **took(30_000))
    merged(table, 2, "2026-11-18", read=0, **took(90_000))
    was = played(table).as_it_was
    assert was.most_running == 2
    assert was.longest_wait == 0

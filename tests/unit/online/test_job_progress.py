"""What somebody who follows a job is told of it, and how it ended."""

from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import AttemptProgress
from sluice.online.access.job_names import JobName
from sluice.online.jobs.job_progress import Ending, JobProgress, outcome_json


def body(phase: str | None = None, message: str | None = None, uid: str = "u", **status: Any) -> Json:
    told = {"phase": phase, "message": message} | status
    return {
        "metadata": {"namespace": "etl", "name": "nightly", "uid": uid},
        "status": {key: value for key, value in told.items() if value is not None},
    }


def progress(statement: int, version: int | None = None) -> Json:
    last = {} if version is None else {"lastCommit": {"table": "file:/a", "version": version}}
    return {"statement": statement, "of": 3, "operation": "MERGE", "since": "2026-11-25T10:00:00Z"} | last


@pytest.fixture
def course() -> JobProgress:
    return JobProgress(JobName("etl", "nightly"))


def test_each_phase_and_each_reason_to_wait_is_told_once(course: JobProgress) -> None:
    assert course.sees(body()) == []
    assert course.sees(body("Waiting", "waits for etl/a")) == ["Waiting: waits for etl/a"]
    assert course.sees(body("Waiting", "waits for etl/a")) == []
    assert course.sees(body("Waiting", "waits for etl/b")) == ["Waiting: waits for etl/b"]
    assert course.sees(body("Starting", "admitted")) == ["Starting: admitted"]
    assert course.ending is None


def test_an_attempt_that_failed_is_not_the_end_and_the_next_one_s_statements_are_told(
    course: JobProgress,
) -> None:
    first = {"application": "nightly-1", "progress": progress(2)}
    assert course.sees(body("Running", attempts=[first])) == ["runs statement 2 of 3: MERGE", "Running"]
    failed = first | {"outcome": "Failed"}
    assert course.sees(body("BackingOff", "attempt 1 ended as Conflict", attempts=[failed])) == [
        "BackingOff: attempt 1 ended as Conflict"
    ]
    assert course.ending is None
    second = {"application": "nightly-2", "progress": progress(2)}
    assert "runs statement 2 of 3: MERGE" in course.sees(body("Running", attempts=[failed, second]))
    course.sees(body("Failed", "after 2 attempts: it lost", attempts=[failed, second]))
    assert course.ending is Ending.FAILED


def test_statements_and_commits_are_told_once_whoever_tells_them_first(course: JobProgress) -> None:
    course.sees(body("Running", attempts=[{"application": "nightly-1"}]))
    assert {course.driver_pod} == {"nightly-1-driver"}
    read = AttemptProgress.as_stored
    assert course.sees_progress(read(progress(1))) == ["runs statement 1 of 3: MERGE"]
    assert course.sees_progress(read(progress(2, version=7))) == [
        "committed version 7 of file:/a",
        "runs statement 2 of 3: MERGE",
    ]
    late = body("Running", attempts=[{"application": "nightly-1", "progress": progress(1)}])
    assert course.sees(late) == [], "the status is behind the pod"
    commits = [
        {"table": "file:/a", "version": version, "statement": 2, "operation": "MERGE"} for version in (7, 8)
    ]
    assert course.sees(
        body("Succeeded", "done", attempts=[{"application": "nightly-1", "commits": commits}])
    ) == [
        "committed version 8 of file:/a (MERGE, statement 2)",
        "Succeeded: done",
    ]
    assert course.driver_pod is None
    assert outcome_json(course)["ending"] == Ending.SUCCEEDED
    assert outcome_json(course)["commits"] == commits


@pytest.mark.parametrize("phase", ["Succeeded", "Skipped", "Failed"])
def test_a_job_that_is_deleted_with_its_end_has_ended_so(phase: str, course: JobProgress) -> None:
    course.sees(body("Running"))
    course.is_gone(body(phase))
    assert course.ending == phase
    course.is_gone()
    assert course.ending == phase


@pytest.mark.parametrize("last", [None, body("Running")])
def test_a_job_that_went_without_an_end_is_deleted(last: Json | None, course: JobProgress) -> None:
    course.sees(body("Running"))
    assert course.is_gone(last) == ["Deleted, before anybody saw it end"]
    assert course.ending is Ending.DELETED


def test_another_job_of_the_same_name_is_not_the_one_that_is_followed(course: JobProgress) -> None:
    course.sees(body("Running"))
    assert course.is_gone(body("Succeeded", uid="other")) == [], "that one was made and deleted meanwhile"
    assert course.ending is None
    course.sees(body("Succeeded", uid="other"))
    assert course.ending is Ending.DELETED


def test_who_follows_a_stream_is_told_of_its_phases_and_not_of_each_batch(course: JobProgress) -> None:
    def seen(phase: str, message: str, batch: int, **status: Any) -> list[str]:
        told = body(phase, message, stream={"batch": batch, "batches": 1}, **status)
        return course.sees(told | {"spec": {"stream": {"trigger": {"processingTime": "1 minute"}}}})

    runs = {
        "reason": "Streaming",
        "attempts": [{"application": "nightly-1", "progress": progress(1, version=3)}],
    }
    assert seen("Running", "batch 1 ended", 1, **runs) == ["Running: batch 1 ended"]
    assert seen("Running", "batch 2 ended", 2, **runs) == []
    assert course.sees_progress(AttemptProgress.as_stored(progress(1, version=4))) == []
    assert seen("Paused", "for etl/alter", 2) == ["Paused: for etl/alter"]
    assert seen("Running", "batch 3 ended", 3, **runs) == ["Running: batch 3 ended"]
    assert outcome_json(course)["stream"] == {"batch": 3, "batches": 1}


def test_nor_of_each_batch_of_a_stream_that_ends(course: JobProgress) -> None:
    def seen(message: str, reason: str = "DriverRunning") -> list[str]:
        told = body("Running", message, reason=reason)
        return course.sees(told | {"spec": {"stream": {"trigger": {"availableNow": True}}}})

    assert seen("it runs; no batch of it has ended yet") == ["Running: it runs; no batch of it has ended yet"]
    assert seen("it runs; batch 0 ended") == []
    assert seen("it was asked to stop", reason="Pausing") == ["Running: it was asked to stop"]

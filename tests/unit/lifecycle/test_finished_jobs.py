"""What nobody looks at again: told plainly, and only where the full look would find nothing either."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.engines import Stage
from sluice.lifecycle.evidence.attempt_evidence import evidence_of
from sluice.lifecycle.evidence.finished_jobs import is_done_with, is_over, kept, seconds_to_live
from sluice.lifecycle.job.job_view import JobView
from unit.lifecycle.objects import RUNNING, TERMINATED, application, declared_dead, loss, placeholder, pod
from unit.lifecycle.test_lease_evidence import TOUCHED

ATTEMPT = {
    "number": 1,
    "token": 12884901895,
    "hash": "hash",
    "application": "a-1",
    "grantedAt": "2026-11-19T10:00:00Z",
    "outcome": "Succeeded",
}
STATUS = {
    "phase": "Succeeded",
    "observedGeneration": 1,
    "attempts": [ATTEMPT],
    "finishedAt": "2026-11-19T10:05:00Z",
}


def job(**status: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "etl", "uid": "uid-a", "generation": 1, "resourceVersion": "3"}
    return {"metadata": metadata, "spec": {}, "status": STATUS | status}


def test_a_finished_job_that_was_told_is_over() -> None:
    assert is_over(job())
    assert is_over(job(attempts=[]))


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running"},
        {"phase": None},
        {"phase": ["Failed"]},
        {"phase": "Over"},
        {"observedGeneration": 0},
        {"attempts": {}},
        {"attempts": [7]},
        {"attempts": [ATTEMPT | {"outcome": None}]},
        {"attempts": [ATTEMPT | {"outcome": "Well"}]},
        {"attempts": [ATTEMPT | {"number": "1"}]},
        {"attempts": [{name: value for name, value in ATTEMPT.items() if name != "token"}]},
        {"footprint": [{"table": 7}]},
        {"footprint": "none"},
    ],
)
def test_what_is_not_plainly_so_is_looked_at_in_full(status: dict[str, Any]) -> None:
    assert not is_over(job(**status))


@pytest.mark.parametrize("status", [None, [], "Succeeded"])
def test_a_status_that_is_no_object_tells_nothing(status: Any) -> None:
    assert not is_over(job() | {"status": status})


def test_a_job_that_is_being_deleted_is_not_over() -> None:
    body = job()
    body["metadata"]["deletionTimestamp"] = "2026-11-19T11:00:00Z"
    assert not is_over(body)


APPLICATIONS = [
    application(state, finalizers=finalizers)
    for state in ("COMPLETED", "FAILED", "RUNNING", "SUBMITTED", "")
    for finalizers in (None, ["sluice.dev/lease"])
]
PODS = [
    pod(state, finalizers=finalizers)
    for state in (RUNNING, TERMINATED)
    for finalizers in (None, ["sluice.dev/lease"])
]


@pytest.mark.parametrize("applications", [[], *[[one] for one in APPLICATIONS]])
@pytest.mark.parametrize("pods", [[], *[[one] for one in PODS]])
def test_nothing_that_evidence_finds_to_hold_is_passed_over(applications: list[Any], pods: list[Any]) -> None:
    found = evidence_of("uid-a", None, applications, pods)
    holds = found.holds_any or any(doubt.holds for doubt in found.doubts)
    assert not (holds and is_done_with(job(), applications, pods))


def test_what_is_over_and_let_go_needs_nobody() -> None:
    assert is_done_with(
        job(), [application("COMPLETED", finalizers=None)], [pod(TERMINATED, finalizers=None)]
    )


def test_what_took_a_drivers_name_is_to_be_put_away() -> None:
    assert not is_done_with(job(), [], [placeholder()])


COMMIT = {"table": "file:/lake/orders", "version": 3, "statement": 1, "operation": "DELETE"}
NOW = datetime(2026, 11, 19, 10, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("own", "by_default", "left"),
    [(None, None, None), (90, None, 30), (None, 50, -10), (90, 50, 30), (0, None, -60)],
)
def test_a_finished_job_lives_as_long_as_it_says_or_as_the_operator_does(
    own: int | None, by_default: int | None, left: float | None
) -> None:
    body = job() | {"spec": {} if own is None else {"ttlSecondsAfterFinished": own}}
    assert seconds_to_live(body, by_default, NOW) == left


@pytest.mark.parametrize("finished", [None, "yesterday", 7, "2026-11-19T10:05:00"])
def test_of_which_nobody_knows_when_it_ended_it_stays(finished: Any) -> None:
    assert (
        seconds_to_live(job(finishedAt=finished) | {"spec": {"ttlSecondsAfterFinished": 1}}, 1, NOW) is None
    )


def test_of_a_job_that_is_over_so_much_is_kept_that_it_still_is_and_its_leftovers_are_told_the_same() -> None:
    body = job(
        message="succeeded",
        attempts=[ATTEMPT | {"commits": [COMMIT], "message": "well"}],
        footprint=[TOUCHED | {"widened": ["a function" * 20]}],
    )
    body["spec"] = {"sql": "SELECT 1" * 1000, "ttlSecondsAfterFinished": 90}
    body["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    left = kept(body)
    assert is_over(left)
    assert kept(left) == left
    assert len(str(left)) < 900
    assert seconds_to_live(left, None, NOW) == seconds_to_live(body, None, NOW)
    (whole, slim) = (JobView(one, {}, NOW) for one in (body, left))
    assert whole.unreadable is slim.unreadable is None
    for state in ("RUNNING", "COMPLETED", "SUBMITTED"):
        both = [evidence_of("uid-a", one, [application(state)], []) for one in (whole, slim)]
        assert [one.holds_any for one in both] == [both[0].holds_any] * 2
        assert both[0].by_application.keys() == both[1].by_application.keys()
        assert [one.by_application["a-1"].seen for one in both] == [both[0].by_application["a-1"].seen] * 2


def test_a_finished_job_keeps_the_loss_by_which_its_driver_was_declared_dead() -> None:
    """What is left of it is let go by the same word."""
    told = loss(pod()).model_dump(mode="json", by_alias=True)
    body = job(phase="Failed", attempts=[ATTEMPT | {"outcome": "DriverLost", "loss": told}])
    body["metadata"]["annotations"] = declared_dead(loss(pod()))
    lost = pod(deletionTimestamp="2026-11-19T10:06:00Z") | {"status": {"phase": "Failed"}}
    found = evidence_of("uid-a", JobView(kept(body), {}, NOW), [], [lost]).by_application["a-1"]
    assert found.declared_dead
    assert found.seen.stage is Stage.ENDED


def test_what_is_not_over_keeps_its_spec_and_its_status() -> None:
    body = job(phase="Waiting", blockedBy=[{"job": "etl/b"}]) | {"spec": {"sql": "SELECT 1"}}
    left = kept(body)
    assert left["spec"] == body["spec"]
    assert left["status"] == body["status"] | {"blockedBy": []}, "named so that it can be taken out"

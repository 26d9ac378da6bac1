"""When an attempt is ended for its age or for its wait, and what comes of it."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Attempt, AttemptEnding, Commit, EndingReason, Outcome, Phase
from sluice.engines import Observation, RuntimeProfile, Stage
from sluice.leases import Lease
from sluice.lifecycle.attempt import next_step as way
from sluice.lifecycle.attempt import withdrawal
from sluice.lifecycle.attempt.job_events import ending as told_at_the_end
from sluice.lifecycle.attempt.withdrawal import Creates
from sluice.lifecycle.evidence.attempt_evidence import evidence_of
from sluice.lifecycle.evidence.deletion import DeleteApplication
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.evidence.outcome import closed, phase_after
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.retries.retry_decision import cause_of
from unit.controller.bodies import job_body
from unit.lifecycle.objects import LEASE, NAME, RUNNING, TERMINATED, TOKEN, application, placeholder, pod

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
GRANTED = NOW - timedelta(seconds=30)
GONE: Json = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
LIMITS: Json = {"activeDeadlineSeconds": 60, "admission": {"startTimeout": "2m", "quotaTimeout": "5m"}}
PULLING = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
SUSPENDED = application() | {"spec": {"suspend": True}}
KILLED = {
    "terminated": {"exitCode": 143, "startedAt": "2026-11-19T10:00:00Z", "finishedAt": "2026-11-19T10:05:00Z"}
}
NEVER_LOCATED = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}


def unscheduled(reason: str = "Unschedulable", **changed: Any) -> Json:
    body = pod(**changed)
    said = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/3 nodes are available"}
    return body | {"spec": {}, "status": {"phase": "Pending", "conditions": [said]}}


def intent(**known: Any) -> Attempt:
    return Attempt(number=1, token=TOKEN, hash="h", application=NAME, granted_at=GRANTED, **known)


def being_ended(reason: EndingReason, **known: Any) -> Attempt:
    return intent(ending=AttemptEnding(reason=reason, since=NOW, message="it took too long"), **known)


def job(attempt: Attempt, limits: Json, **metadata: Any) -> JobView:
    body = job_body("a")
    body["spec"] |= limits
    body["metadata"] |= metadata
    given = attempt.model_dump(mode="json", by_alias=True, exclude_none=True)
    return JobView(
        body | {"status": {"attempts": [given]}}, {"default": RuntimeProfile(spark_version="4.2.0")}, NOW
    )


def step(
    *objects: Json,
    seconds: float,
    attempt: Attempt | None = None,
    limits: Json = LIMITS,
    lease: Lease | None = LEASE,
    followed_for: float | None = None,
    **metadata: Any,
) -> way.Step:
    """The step so many seconds after the grant. `followed_for`: seconds since a leader has begun to follow it."""
    attempt = attempt or intent()
    view, now = job(attempt, limits, **metadata), GRANTED + timedelta(seconds=seconds)
    pods = [body for body in objects if "kind" not in body]
    of_job = evidence_of(LEASE.uid, view, [body for body in objects if "kind" in body], pods)
    since = None if followed_for is None else now - timedelta(seconds=followed_for)
    return way.next_step(view, of_job.of(attempt), way.Cover(lease), Creates(), now, observed_since=since)


def begun(found: way.Step) -> tuple[EndingReason, str]:
    assert isinstance(found, way.BeginEnding), found
    assert (found.change.phase, found.change.attempt is not None) == (Phase.ENDING, True)
    ending = found.change.attempt.ending if found.change.attempt is not None else None
    assert ending is not None
    assert found.change.reason.value == ending.reason.value
    return ending.reason, ending.message


STARTS: dict[str, tuple[tuple[Json, ...], float, EndingReason]] = {
    "not submitted yet": ((application(),), 120, EndingReason.START_TIMED_OUT),
    "submitted, without a pod": ((application("SUBMITTED"),), 120, EndingReason.START_TIMED_OUT),
    "its image is pulled": ((application("SUBMITTED"), pod(PULLING)), 120, EndingReason.START_TIMED_OUT),
    "suspended": ((SUSPENDED,), 120, EndingReason.START_TIMED_OUT),
    "no node": ((application("SUBMITTED"), unscheduled()), 120, EndingReason.START_TIMED_OUT),
}
WAITS = {
    "asked to suspend": (SUSPENDED,),
    "suspended": (application("SUSPENDED"),),
    "resuming": (application("RESUMING"),),
    "no node": (application("SUBMITTED"), unscheduled()),
    "gated": (application("SUBMITTED"), unscheduled("SchedulingGated")),
}


@pytest.mark.parametrize("which", STARTS)
def test_a_start_is_ended_once_it_takes_longer_than_start_timeout(which: str) -> None:
    objects, limit, reason = STARTS[which]
    waiting = step(*objects, seconds=limit - 1)
    assert isinstance(waiting, way.ReportProgress)
    assert waiting.deadline is not None
    assert waiting.deadline.at == GRANTED + timedelta(seconds=limit), "it is looked at again then"
    assert "if its driver doesn't run by 10:01:30 UTC, the attempt is ended" in waiting.change.message
    assert begun(step(*objects, seconds=limit))[0] is reason


def test_what_kept_a_driver_from_starting_is_quoted() -> None:
    _, message = begun(step(application("SUBMITTED"), pod(PULLING), seconds=120))
    assert "spec.admission.startTimeout (2m)" in message
    assert "ImagePullBackOff: no such image" in message


@pytest.mark.parametrize("which", WAITS)
def test_a_wait_for_compute_is_told_and_ended_once_it_takes_longer_than_quota_timeout(which: str) -> None:
    limits = {"admission": {"quotaTimeout": "5m"}}
    waiting = step(*WAITS[which], seconds=299, limits=limits)
    assert isinstance(waiting, way.ReportProgress)
    assert (waiting.change.phase, waiting.change.reason) == (Phase.STARTING, "WaitingForCompute")
    assert "if that lasts until 10:04:30 UTC, its leases are released" in waiting.change.message
    reason, message = begun(step(*WAITS[which], seconds=300, limits=limits))
    assert reason is EndingReason.WAITING_FOR_COMPUTE
    assert "spec.admission.quotaTimeout (5m)" in message
    assert ("suspended" in message) is (len(WAITS[which]) == 1)
    assert ("0/3 nodes are available" in message) is (len(WAITS[which]) == 2)


def test_a_wait_for_compute_ends_after_ten_minutes_if_its_job_says_nothing() -> None:
    assert isinstance(step(SUSPENDED, seconds=599, limits={}), way.ReportProgress)
    assert "10m" in begun(step(SUSPENDED, seconds=600, limits={}))[1]


def test_what_has_a_node_waits_for_no_compute() -> None:
    limits = {"admission": {"quotaTimeout": "5m"}}
    for objects in ((application("SUBMITTED"), pod(PULLING)), (application("SUBMITTED"),)):
        found = step(*objects, seconds=9999, limits=limits)
        assert isinstance(found, way.ReportProgress)
        assert (found.change.reason, found.deadline) == ("DriverStarting", None)


@pytest.mark.parametrize(
    ("start", "quota", "first"), [("1m", "2m", "StartTimedOut"), ("2m", "1m", "WaitingForCompute")]
)
def test_of_two_limits_the_one_that_comes_first_counts(start: str, quota: str, first: str) -> None:
    limits = {"admission": {"startTimeout": start, "quotaTimeout": quota}}
    assert begun(step(SUSPENDED, seconds=200, limits=limits))[0] == first


def test_a_run_is_ended_once_it_takes_longer_than_its_deadline() -> None:
    """It counts from the start of its driver, which is 30 s after the grant."""
    running = step(application("RUNNING"), pod(RUNNING), seconds=89)
    assert isinstance(running, way.ReportProgress)
    assert running.deadline is not None
    assert running.deadline.at == NOW + timedelta(seconds=60)
    reason, message = begun(step(application("RUNNING"), pod(RUNNING), seconds=90))
    assert reason is EndingReason.DEADLINE_EXCEEDED
    assert "spec.activeDeadlineSeconds allows, which is 60 s" in message


def test_a_node_whose_clock_is_behind_shortens_no_run() -> None:
    behind = {"running": {"startedAt": "2026-11-19T08:00:00Z"}}
    assert isinstance(step(application("RUNNING"), pod(behind), seconds=59), way.ReportProgress)
    assert isinstance(step(application("RUNNING"), pod(behind), seconds=60), way.BeginEnding)


def test_without_limits_a_run_is_never_ended() -> None:
    found = step(application("RUNNING"), pod(RUNNING), seconds=1e7, limits={})
    assert isinstance(found, way.ReportProgress)
    assert found.deadline is None


OTHERS: dict[str, tuple[Json, ...]] = {
    "nothing was created": (),
    "its end is proved": (application("COMPLETED"), pod(TERMINATED)),
    "its application is about to be over": (application("RUNNING"), pod(TERMINATED)),
    "it has no driver": (application("FAILED"),),
    "its driver vanished": (application("COMPLETED"),),
}


@pytest.mark.parametrize("which", OTHERS)
def test_what_neither_starts_nor_runs_is_ended_by_no_deadline(which: str) -> None:
    assert not isinstance(step(*OTHERS[which], seconds=1e7), way.BeginEnding)


@pytest.mark.parametrize("which", ["nothing", "unlimited", "deleted"])
def test_no_limit_is_one_that_cannot_be_read_or_that_matters_no_more(which: str) -> None:
    view = job(intent(), LIMITS)
    if which == "nothing":
        view = replace(view, body=view.body | {"spec": {"sql": "DELETE FROM", "surprise": 1}})
        one = evidence_of(LEASE.uid, view, [application("RUNNING")], [pod(RUNNING)]).of(intent())
        found = way.next_step(view, one, way.Cover(LEASE), Creates(), NOW + timedelta(days=9))
    elif which == "unlimited":
        found = step(application("RUNNING"), pod(RUNNING), seconds=1e7, limits={})
    else:
        found = step(application("RUNNING"), pod(RUNNING), seconds=1e7, **GONE)
    assert not isinstance(found, way.BeginEnding)


def test_after_a_takeover_a_start_has_a_moment_to_go_on_and_a_run_has_none() -> None:
    """While nobody saw the cluster, perhaps nothing could start there; a driver runs whether it is seen or not."""
    for objects in ((application("SUBMITTED"),), (SUSPENDED,)):
        assert isinstance(step(*objects, seconds=9999, followed_for=59), way.ReportProgress)
        assert isinstance(step(*objects, seconds=9999, followed_for=60), way.BeginEnding)
    short = {"admission": {"startTimeout": "1s"}}
    assert isinstance(step(application(), seconds=9999, limits=short, followed_for=0.5), way.ReportProgress)
    assert isinstance(step(application(), seconds=9999, limits=short, followed_for=1), way.BeginEnding)
    assert isinstance(step(application("RUNNING"), pod(RUNNING), seconds=90, followed_for=0), way.BeginEnding)


ENDINGS = list(EndingReason)
OF_STARTS = [EndingReason.START_TIMED_OUT, EndingReason.WAITING_FOR_COMPUTE]


@pytest.mark.parametrize("reason", ENDINGS)
def test_whoever_leads_goes_on_with_what_was_begun_whatever_the_limits_are_now(reason: EndingReason) -> None:
    ending = being_ended(reason)
    assert step(application("SUBMITTED"), seconds=1, attempt=ending, limits={}) == DeleteApplication()
    assert step(application("SUBMITTED", **GONE), seconds=1, attempt=ending, limits={}) == way.Leave()
    assert step(seconds=1, attempt=ending) == way.OccupyDriverName(), "nothing is created again"
    end = step(application("SUBMITTED", **GONE), placeholder(), seconds=1, attempt=ending)
    assert isinstance(end, way.End)
    assert isinstance(step(placeholder(), seconds=1, attempt=ending), way.End)


@pytest.mark.parametrize("reason", ENDINGS)
def test_a_driver_that_runs_by_then_is_left_alone_unless_it_is_its_run_that_is_too_long(
    reason: EndingReason,
) -> None:
    found = step(application("RUNNING"), pod(RUNNING), seconds=40, attempt=being_ended(reason))
    if reason not in OF_STARTS:
        assert found == DeleteApplication()
        return
    assert isinstance(found, way.ReportProgress)
    assert found.change.phase is Phase.RUNNING
    assert found.change.attempt is not None
    assert found.change.attempt.ending is None


@pytest.mark.parametrize("reason", ENDINGS)
def test_a_driver_that_starts_once_its_application_is_deleted_is_ended_with_it(reason: EndingReason) -> None:
    objects = application("RUNNING", **GONE), pod(RUNNING)
    assert step(*objects, seconds=40, attempt=being_ended(reason)) == way.Leave()


def test_what_is_ended_without_a_lease_makes_the_leases_doubtful() -> None:
    ending = being_ended(EndingReason.DEADLINE_EXCEEDED)
    assert isinstance(
        step(application("RUNNING"), pod(RUNNING), seconds=1, attempt=ending, lease=None), way.DistrustIntent
    )


def test_a_lost_driver_that_was_to_be_ended_is_still_a_persons_matter() -> None:
    ending = being_ended(EndingReason.DEADLINE_EXCEEDED, started_at=NOW)
    silent = pod(RUNNING, **GONE)
    silent["status"] |= {"phase": "Failed"}
    found = step(application("RUNNING", **GONE), silent, seconds=100, attempt=ending)
    assert isinstance(found, way.LookForDriver)
    assert "kubectl annotate --overwrite deltawritejob -n etl a" in found.otherwise.message
    assert "it took too long" in found.otherwise.message


def test_an_application_that_was_suspended_while_it_ran_is_ended_once_its_driver_has() -> None:
    suspended = application("SUSPENDED") | {"spec": {"suspend": True}}
    assert isinstance(step(suspended, pod(RUNNING), seconds=40, limits={}), way.ReportProgress), "not before"
    found = step(suspended, pod(KILLED), seconds=41, limits={}, attempt=intent(started_at=NOW))
    assert begun(found) == (
        EndingReason.PREEMPTED,
        "preempted: its SparkApplication was suspended while it ran",
    )
    resumed = step(application("RESUMING"), pod(KILLED), seconds=41, limits={})
    assert begun(resumed)[0] is EndingReason.PREEMPTED
    over = step(application("COMPLETED") | {"spec": {"suspend": True}}, pod(TERMINATED), seconds=41)
    assert isinstance(over, way.End), "an application that is over starts no other driver"


def test_one_that_was_suspended_before_its_driver_ran_queues_again() -> None:
    suspended = application("SUSPENDED") | {"spec": {"suspend": True}}
    for body in (unscheduled(**GONE), pod(NEVER_LOCATED)):
        assert begun(step(suspended, body, seconds=41))[0] is EndingReason.WAITING_FOR_COMPUTE


def ended(attempt: Attempt, seen: Observation, logs: LogFindings | None = None) -> Attempt:
    return closed(attempt, seen, logs, NOW)


NOTHING = LogFindings()
NEVER = Observation(Stage.NEVER_STARTS, detail="the application was deleted")
BY_SIGNAL = Observation(Stage.ENDED, exit_code=143, started_at=NOW)
COMMITTED = Commit(table="s3://lake/a", version=7, statement=1, operation="WRITE")


def result(outcome: str, exception: str | None = None) -> Observation:
    told: Json = {"version": 1, "attempt": 1, "outcome": outcome, "statements": []}
    if exception is not None:
        told["exception"] = {"class": exception, "message": "m", "statement": 1}
    return Observation(
        Stage.ENDED, exit_code=0 if exception is None else 1, started_at=NOW, message=json.dumps(told)
    )


def test_a_run_that_was_ended_for_its_deadline_fails_with_what_it_had_committed() -> None:
    attempt = being_ended(EndingReason.DEADLINE_EXCEEDED, started_at=NOW)
    for seen in (BY_SIGNAL, replace(BY_SIGNAL, exit_code=137), result("Failed", "Terminated")):
        after = ended(attempt, seen, LogFindings((COMMITTED,)))
        assert (after.outcome, after.commits) == (Outcome.DEADLINE_EXCEEDED, (COMMITTED,))
        phase, reason, message = phase_after(after)
        assert (phase, reason) == (Phase.FAILED, "DeadlineExceeded")
        assert (
            message
            == "it took too long; it had committed version 7 of s3://lake/a, according to the tables' logs"
        )
        assert told_at_the_end(phase, reason, message, after).reason == "DeadlineExceeded"


def test_what_nobody_can_look_up_is_not_told_of_a_run_that_was_ended() -> None:
    attempt = being_ended(EndingReason.DEADLINE_EXCEEDED, started_at=NOW)
    after = ended(attempt, BY_SIGNAL)
    assert after.outcome is Outcome.DEADLINE_EXCEEDED
    assert "the driver was terminated (exit code 143)" in (after.message or "")


@pytest.mark.parametrize("reason", ENDINGS)
def test_work_that_was_done_first_counts_and_so_does_a_failure_of_its_own(reason: EndingReason) -> None:
    attempt = being_ended(reason, started_at=NOW)
    assert ended(attempt, result("Succeeded")).outcome is Outcome.SUCCEEDED
    own = ended(attempt, result("Failed", "ConcurrentAppendException"))
    assert (own.outcome, phase_after(own)[1]) == (Outcome.FAILED, "ConcurrentAppendException")


def test_an_attempt_that_was_not_started_in_time_says_what_kept_it() -> None:
    after = ended(being_ended(EndingReason.START_TIMED_OUT), NEVER)
    assert after.outcome is Outcome.NOT_STARTED
    assert after.message == "no driver was started: it took too long"
    assert phase_after(after)[:2] == (Phase.FAILED, "DriverNotStarted")


def test_an_attempt_that_waited_for_compute_is_no_run_and_its_job_queues_again() -> None:
    attempt = being_ended(EndingReason.WAITING_FOR_COMPUTE)
    after = ended(attempt, NEVER)
    assert after.outcome is Outcome.WITHDRAWN
    change = withdrawal.waited_in_vain(job(attempt, LIMITS), after, NOW)
    assert (change.phase, change.reason) == (Phase.BACKING_OFF, "WaitingForCompute")
    assert change.message == (
        "attempt 1 was taken back before its driver ran: it took too long; it queues again, keeping its age, at 10:05:00 UTC"
    )


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        (EndingReason.START_TIMED_OUT, Outcome.NOT_STARTED),
        (EndingReason.WAITING_FOR_COMPUTE, Outcome.WITHDRAWN),
        (EndingReason.PREEMPTED, Outcome.DRIVER_LOST),
    ],
)
def test_a_container_that_was_ended_while_it_started_is_no_run_if_the_logs_say_so_too(
    reason: EndingReason, outcome: Outcome
) -> None:
    seen = Observation(Stage.ENDED, exit_code=137, detail="ContainerStatusUnknown")
    attempt = being_ended(reason)
    assert ended(attempt, seen, NOTHING).outcome is outcome
    for logs in (LogFindings((COMMITTED,)), LogFindings(unread=("no answer",))):
        assert ended(attempt, seen, logs).outcome is Outcome.DRIVER_LOST
    assert ended(attempt, replace(seen, started_at=NOW), NOTHING).outcome is Outcome.DRIVER_LOST
    assert ended(attempt.model_copy(update={"started_at": NOW}), seen, NOTHING).outcome is Outcome.DRIVER_LOST


def test_a_preempted_driver_is_a_lost_one_with_what_it_had_committed() -> None:
    after = ended(being_ended(EndingReason.PREEMPTED, started_at=NOW), BY_SIGNAL, LogFindings((COMMITTED,)))
    assert (after.outcome, after.commits) == (Outcome.DRIVER_LOST, (COMMITTED,))
    assert (after.message or "").startswith("it took too long; it had committed version 7")


def test_a_run_for_which_streams_paused_for_too_long_fails_with_what_it_had_committed() -> None:
    attempt = being_ended(EndingReason.PAUSE_EXCEEDED, started_at=NOW)
    after = ended(attempt, BY_SIGNAL, LogFindings((COMMITTED,)))
    phase, reason, message = phase_after(after)
    assert (after.outcome, phase, reason) == (Outcome.DEADLINE_EXCEEDED, Phase.FAILED, "PauseExceeded")
    assert message.startswith("it took too long; it had committed version 7")
    assert told_at_the_end(phase, reason, message, after).reason == "PauseExceeded"
    assert cause_of(after) is None, "streams would have to pause again"


def test_a_start_for_which_streams_paused_for_too_long_queues_again() -> None:
    attempt = being_ended(EndingReason.PAUSE_EXCEEDED)
    container = Observation(Stage.ENDED, exit_code=137, detail="ContainerStatusUnknown")
    for after in (ended(attempt, NEVER), ended(attempt, container, NOTHING)):
        assert after.outcome is Outcome.WITHDRAWN
        change = withdrawal.waited_in_vain(job(attempt, LIMITS), after, NOW)
        assert (change.phase, change.reason) == (Phase.BACKING_OFF, "PauseExceeded")
        assert "it queues again, keeping its age" in change.message
        assert told_at_the_end(change.phase, change.reason, change.message, after).reason == "PauseExceeded"

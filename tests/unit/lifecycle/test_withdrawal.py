"""How long refusals are borne, and what is told then."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.job_status import Attempt, AttemptEnding, EndingReason, Outcome, Phase
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.attempt import withdrawal
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange, as_body, status_after
from unit.controller.bodies import job_body
from unit.lifecycle.streaming import PROFILES, attempt, spec, stream
from unit.lifecycle.test_attempt_evidence import INTENT, NOW
from unit.lifecycle.test_pauses import paused

QUEUED = datetime(2026, 11, 19, 8, tzinfo=UTC)


def job(limit: str | None = None, status: dict[str, Any] | None = None) -> JobView:
    body = job_body("a")
    if limit is not None:
        body["spec"]["admission"] = {"quotaTimeout": limit}
    given = {"queuedAt": QUEUED.isoformat(), **(status or {})}
    return JobView(body | {"status": given}, {"default": RuntimeProfile(spark_version="4.2.0")}, NOW)


def attempt_of(change: StatusChange) -> Attempt:
    assert change.attempt is not None
    return change.attempt


@pytest.mark.parametrize(("limit", "borne"), [(None, 600), ("15m", 900), ("2s", 2), ("3h", 10800)])
def test_refusals_are_borne_as_long_as_the_job_says_from_its_grant_on(limit: str | None, borne: int) -> None:
    assert not withdrawal.is_over(job(limit), INTENT, NOW + timedelta(seconds=borne - 1))
    assert withdrawal.is_over(job(limit), INTENT, NOW + timedelta(seconds=borne))


def test_meanwhile_the_status_says_the_words_and_until_when() -> None:
    change = withdrawal.refused(job("90s"), INTENT, "exceeded quota")
    assert (change.phase, change.reason) == (Phase.STARTING, "ApplicationRefused")
    assert "exceeded quota; retried until 10:01:30 UTC" in change.message
    assert (attempt_of(change).message, attempt_of(change).outcome) == ("exceeded quota", None)


def test_after_it_the_job_backs_off_with_its_age_and_the_attempt_is_remembered_as_no_run() -> None:
    before = job("90s")
    change = withdrawal.given_up(before, INTENT, "exceeded quota", NOW)
    after = status_after(before, change, NOW)
    assert (after.phase, after.queued_at) == (Phase.BACKING_OFF, QUEUED)
    assert "exceeded quota; it queues again, keeping its age, at 10:01:30 UTC" in change.message
    assert [(one.outcome, one.ended_at) for one in after.attempts] == [(Outcome.WITHDRAWN, NOW)]
    assert "exceeded quota" in (after.attempts[0].message or "")


@pytest.mark.parametrize(("limit", "pause"), [("90s", 90), (None, 600), ("2h", 600)])
def test_it_stays_out_of_the_queue_as_long_but_no_longer_than_ten_minutes(
    limit: str | None, pause: int
) -> None:
    change = withdrawal.given_up(job(limit), INTENT, "quota", NOW)
    backing_off = job(limit, as_body(status_after(job(limit), change, NOW)))
    assert withdrawal.backs_off(backing_off, NOW)
    assert withdrawal.backs_off(backing_off, NOW + timedelta(seconds=pause - 1))
    assert not withdrawal.backs_off(backing_off, NOW + timedelta(seconds=pause))


def test_a_job_that_waits_in_vain_again_and_again_comes_back_ever_more_rarely() -> None:
    """One whose patience is a second would otherwise have applications made and deleted for ever, as fast as that goes."""
    told: dict[str, Any] = {}
    pauses, after = [], job("1s")
    for number in range(1, 16):
        opened = INTENT.model_copy(update={"number": number})
        before = job("1s", told)
        before = job(
            "1s",
            as_body(before.status.model_copy(update={"attempts": (*before.status.attempts[-9:], opened)})),
        )
        change = withdrawal.given_up(before, opened, "quota", NOW)
        told = as_body(status_after(before, change, NOW))
        after = job("1s", told)
        left = withdrawal.back_off_left(after, NOW)
        assert f"at {NOW + timedelta(seconds=left):%H:%M:%S} UTC" in change.message, (
            "what is said is what is done"
        )
        pauses.append(left)
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 512, 512, 512, 512, 512]
    ran = after.status.attempts[-1].model_copy(update={"outcome": Outcome.FAILED})
    failed = job(
        "1s", as_body(after.status.model_copy(update={"attempts": (*after.status.attempts[-9:-1], ran)}))
    )
    assert withdrawal.back_off_left(failed, NOW) == 1


@pytest.mark.parametrize(("ahead", "backs_off"), [(-1, True), (0, True), (1, False)])
def test_who_began_to_back_off_at_a_time_that_is_yet_to_come_is_not_kept_out(
    ahead: int, *, backs_off: bool
) -> None:
    """Edited by hand, or by another clock: by much, and it would wait for ever."""
    since = NOW + timedelta(seconds=ahead)
    backing_off = job(status={"phase": "BackingOff", "since": since.isoformat()})
    assert withdrawal.backs_off(backing_off, NOW) is backs_off


@pytest.mark.parametrize(
    ("changed", "backs_off"),
    [
        ({}, True),
        ({"maxPause": "1h", "yield": "Aged"}, True),
        ({"query": "SELECT * FROM source WHERE id > 1"}, False),
        ({"query": "SELEC"}, True),
    ],
)
def test_a_stream_is_tried_anew_once_what_it_does_was_changed(changed: Any, *, backs_off: bool) -> None:
    failed = stream(attempt(outcome=Outcome.FAILED, ended_at=NOW))
    told = {
        "phase": "BackingOff",
        "since": NOW.isoformat(),
        "retryAt": (NOW + timedelta(minutes=1)).isoformat(),
    }
    body = failed.body | {"status": failed.body["status"] | told, "spec": spec(**changed)}
    edited = JobView(body, PROFILES, NOW)
    assert withdrawal.backs_off(edited, NOW), "its spec has not been read yet"
    with suppress(NotUnderstoodError):
        edited.footprint_from_spec  # noqa: B018 - reads it
    assert withdrawal.backs_off(edited, NOW) is backs_off


def test_a_changed_stream_that_gives_way_to_others_is_out_of_their_way_all_the_same() -> None:
    failed = stream(attempt(outcome=Outcome.FAILED, ended_at=NOW))
    edited = JobView(failed.body | {"spec": spec(query="SELECT * FROM source WHERE id > 1")}, PROFILES, NOW)
    change = withdrawal.gave_way(edited, "streams go on", NOW)
    body = edited.body | {"status": as_body(status_after(edited, change, NOW))}
    gives_way = JobView(body, PROFILES, NOW)
    assert gives_way.footprint_from_spec.tables
    assert withdrawal.backs_off(gives_way, NOW, [paused(NOW)])


def test_who_does_not_back_off_is_not_kept_out() -> None:
    assert not withdrawal.backs_off(job(), NOW)
    assert not withdrawal.backs_off(job(status={"phase": "Waiting", "since": NOW.isoformat()}), NOW)
    assert not withdrawal.backs_off(job(status={"phase": "BackingOff"}), NOW)
    ahead = {"phase": "BackingOff", "since": "2999-01-01T00:00:00Z"}
    assert not withdrawal.backs_off(job(status=ahead), NOW), "edited by hand: it would wait for ever"


def test_words_of_any_length_have_room_in_the_status() -> None:
    long = "x" * 100_000
    for change in (withdrawal.refused(job(), INTENT, long), withdrawal.given_up(job(), INTENT, long, NOW)):
        after = status_after(job(), change, NOW)
        assert len(after.attempts[0].message or "") <= 2048
        assert "queues again" in (after.message or "")


def test_an_intent_taken_back_for_another_reason_queues_again_at_once() -> None:
    change = withdrawal.withdrawn(INTENT, "its job was deleted", NOW)
    assert (change.phase, change.reason) == (Phase.PENDING, "AttemptTakenBack")
    assert "its job was deleted" in change.message
    assert (attempt_of(change).outcome, attempt_of(change).ended_at) == (Outcome.WITHDRAWN, NOW)


def stream_that_goes_on(paused_before: JobView) -> JobView:
    """Its pause is over, and it has yet to be admitted again."""
    told = {"phase": "Waiting", "since": (NOW + timedelta(seconds=46)).isoformat()}
    return JobView(paused_before.body | {"status": paused_before.body["status"] | told}, PROFILES, NOW)


@pytest.mark.parametrize("retried", [False, True])
def test_who_gives_way_before_it_began_queues_again_once_those_streams_run(*, retried: bool) -> None:
    """However long its own patience is: a stream that stopped a moment late kept it out of the queue for ten minutes."""
    first = job("10m", {"retryAt": NOW.isoformat()} if retried else None)
    change = withdrawal.gave_way(first, "streams go on", NOW)
    assert change.message.endswith("it queues again, keeping its age, once the stream runs")
    waits = job("10m", as_body(status_after(first, change, NOW)))
    assert waits.waits_since == (NOW if retried else QUEUED)
    minute = paused(NOW + timedelta(minutes=1), maxPause="1m")
    for after in (45, 60, 3600):
        later = NOW + timedelta(seconds=after)
        assert withdrawal.backs_off(waits, later, [minute]), "the stream has not begun again"
    queues = stream_that_goes_on(minute)
    assert withdrawal.backs_off(waits, NOW + timedelta(seconds=46), [queues]), "it would begin before it"
    runs, has_just_stopped = stream(attempt(2)), paused(NOW + timedelta(minutes=5), NOW)
    assert not withdrawal.backs_off(waits, NOW + timedelta(seconds=46), [runs])
    assert not withdrawal.backs_off(waits, NOW + timedelta(seconds=46), [has_just_stopped, runs])
    assert not withdrawal.backs_off(waits, NOW + timedelta(seconds=46), [])


def test_who_was_granted_its_tables_and_gave_way_without_having_run_comes_back_ever_more_rarely() -> None:
    ending = AttemptEnding(reason=EndingReason.PAUSE_EXCEEDED, since=NOW, message="streams go on")
    ended = INTENT.model_copy(update={"outcome": Outcome.WITHDRAWN, "ended_at": NOW, "ending": ending})
    first = job("90s", as_body(job().status.model_copy(update={"attempts": (ended,)})))
    change = withdrawal.gave_way(first, "streams go on", NOW)
    assert "at 10:01:30 UTC" in change.message
    waits = job("90s", as_body(status_after(first, change, NOW)))
    assert withdrawal.backs_off(waits, NOW + timedelta(seconds=89))
    assert not withdrawal.backs_off(waits, NOW + timedelta(seconds=90))

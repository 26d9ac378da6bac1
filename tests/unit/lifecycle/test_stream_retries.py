"""A stream that runs for ever goes on after a failure: what counts are failures in a row, and what never passes ends it."""

from datetime import timedelta
from typing import Any

import pytest

from sluice.api.job_status import Attempt, AttemptException, Outcome, Phase, StreamProgress
from sluice.api.reasons import Reason
from sluice.lifecycle.evidence.driver_ends import DELETED
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.retries.retry_decision import (
    BACKOFF,
    LONGEST_BACKOFF,
    NEVER_RETRIED,
    Again,
    Final,
    followed,
    is_to_have_a_slot,
    why_it_cannot_run_again,
)
from sluice.lifecycle.retries.stream_retries import NEVER_AGAIN, goes_on, row_after
from sluice.lifecycle.streams.source_changes import CURED_BY_A_RESTART
from sluice.lifecycle.streams.stream_progress import put_together
from sluice.tables import Declarations
from unit.lifecycle.streaming import NOW, ONCE, attempt, progress, stream


def ended(outcome: Outcome = Outcome.FAILED, number: int = 1, **changed: Any) -> Attempt:
    return attempt(number, ended_at=NOW, outcome=outcome, message="it broke", **changed)


def exception(
    class_: str = "SparkException", error_class: str | None = None, **changed: Any
) -> AttemptException:
    return AttemptException(
        class_=class_, error_class=error_class, message="it broke", retriable=False, **changed
    )


def worked(number: int = 1) -> StreamProgress:
    return put_together(None, progress(batch=3, batches=2), number, NOW)


def follows(
    one: Attempt, known: StreamProgress | None = None, *, retries: int = 0, job: JobView | None = None
) -> Again | Final:
    job = job or stream(one, status={"phase": "Running", "retries": retries})
    return goes_on(job, one, known, one.message or "", NOW)


def again(found: Again | Final) -> Again:
    assert isinstance(found, Again), found
    return found


def pause_of(found: Again | Final) -> float:
    at = again(found).change.retry_at
    assert at is not None
    return (at - NOW).total_seconds()


@pytest.mark.parametrize(
    "outcome",
    [Outcome.FAILED, Outcome.KILLED, Outcome.UNKNOWN, Outcome.DRIVER_LOST, Outcome.NOT_STARTED],
)
def test_whatever_it_failed_of_it_goes_on_without_any_word_of_its_own(outcome: Outcome) -> None:
    found = again(follows(ended(outcome), worked()))
    assert (found.change.phase, found.change.reason) == (Phase.BACKING_OFF, Reason.RETRYING)
    assert (found.change.retries, found.change.attempt) == (1, ended(outcome))
    assert "it goes on from its checkpoint; it queues again, keeping its age, at" in found.change.message


def test_an_exception_that_no_table_knows_is_worth_another_attempt() -> None:
    assert isinstance(follows(ended(exception=exception())), Again)


def test_failures_in_a_row_make_the_pause_longer_up_to_ten_minutes() -> None:
    for before, base in (
        (0, BACKOFF),
        (1, 60),
        (2, 120),
        (4, 480),
        (5, LONGEST_BACKOFF),
        (500, LONGEST_BACKOFF),
    ):
        found = follows(ended(number=before + 1), retries=before)
        assert 0.5 * base <= pause_of(found) <= 1.5 * base
        assert again(found).change.retries == before + 1


def test_a_crash_loop_says_how_often_it_has_failed() -> None:
    message = again(follows(ended(number=5), retries=4)).change.message
    assert "it has failed 5 times in a row without ending a batch" in message


def test_an_attempt_that_ended_a_batch_begins_the_row_anew() -> None:
    found = follows(ended(number=9), worked(9), retries=8)
    assert again(found).change.retries == 1
    assert pause_of(found) <= 1.5 * BACKOFF
    idle = put_together(None, progress(idleSince="2026-11-19T10:00:01Z"), 9, NOW)
    assert again(follows(ended(number=9), idle, retries=8)).change.retries == 1


def test_a_spec_that_was_corrected_begins_the_row_anew() -> None:
    before, first, second = (
        ended(number=number, hash=f"{written}-0") for number, written in enumerate(("old", "new", "new"), 1)
    )
    job = stream(status={"phase": "Running", "retries": 5})
    rows = []
    for one, known in ((first, (before,)), (second, (before, first))):
        given = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in known]
        told = job.body["status"] | {"attempts": given}
        rows.append(again(follows(one, job=job.now(job.body | {"status": told}, job.names))).change.retries)
    assert rows == [1, 6]


@pytest.mark.parametrize("between", [Outcome.WITHDRAWN, Outcome.PAUSED])
def test_an_attempt_that_has_not_failed_tells_nothing_of_a_corrected_spec(between: Outcome) -> None:
    """Such as one for whose driver there was no place, or that stopped for others before it had ended a batch."""
    known = (ended(number=1, hash="old-0"), ended(between, number=2, hash="new-0"))
    given = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in known]
    corrected = stream(status={"phase": "Running", "retries": 5})
    told = corrected.body["status"] | {"attempts": given}
    corrected = corrected.now(corrected.body | {"status": told}, corrected.names)
    third = ended(number=3, hash="new-0")
    assert again(follows(third, job=corrected)).change.retries == 1
    given[0] |= {"hash": "new-0"}
    same = corrected.now(corrected.body | {"status": told | {"attempts": given}}, corrected.names)
    assert again(follows(third, job=same)).change.retries == 6


def test_what_an_earlier_attempt_has_done_counts_for_none_that_follows() -> None:
    assert again(follows(ended(number=9), worked(8), retries=8)).change.retries == 9


def test_one_that_paused_after_a_batch_has_ended_the_row() -> None:
    view = stream(status={"retries": 4})
    assert row_after(view, ended(Outcome.PAUSED), worked()) == 0
    assert row_after(view, ended(Outcome.PAUSED), None) is None
    assert row_after(stream(), ended(Outcome.PAUSED), worked()) is None, "there was none"


@pytest.mark.parametrize("class_", sorted(NEVER_AGAIN))
def test_what_a_person_has_to_look_at_ends_it(class_: str) -> None:
    assert isinstance(follows(ended(exception=exception(class_)), worked()), Final)


@pytest.mark.parametrize("class_", sorted(NEVER_RETRIED - NEVER_AGAIN))
def test_what_would_do_a_jobs_work_twice_does_a_stream_no_harm(class_: str) -> None:
    assert isinstance(follows(ended(exception=exception(class_)), worked()), Again)


@pytest.mark.parametrize(
    "error_class",
    [
        "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
        "DELTA_MISSING_CHANGE_DATA",
        "DELTA_SOURCE_IGNORE_DELETE",
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
    ],
)
def test_a_source_that_was_changed_under_it_for_good_ends_it(error_class: str) -> None:
    one = ended(exception=exception("DeltaUnsupportedOperationException", error_class, advice="skip them"))
    found = follows(one, worked())
    assert isinstance(found, Final)
    assert "What to do: skip them" in found.message


@pytest.mark.parametrize("error_class", sorted(CURED_BY_A_RESTART))
def test_a_source_with_a_new_schema_is_gone_on_with_at_once_whatever_its_limit(error_class: str) -> None:
    one = ended(exception=exception("DeltaIllegalStateException", error_class))
    never = stream(one, status={"phase": "Running"}, retry={"limit": 0})
    assert pause_of(follows(one, worked(), job=never)) == 1
    many = stream(one, status={"phase": "Running", "retries": 1}, retry={"limit": 0})
    assert isinstance(follows(one, None, job=many), Final), "the restart did not help"


def schema_changed(number: int, **changed: Any) -> Attempt:
    failure = exception("DeltaIllegalStateException", "DELTA_SCHEMA_CHANGED_WITH_VERSION")
    return ended(number=number, exception=failure, **changed)


def test_a_changed_schema_that_no_restart_goes_on_with_ends_it_with_what_to_do() -> None:
    def found(*attempts: Attempt, known: StreamProgress | None = None) -> Again | Final:
        job = stream(*attempts, status={"phase": "Running", "retries": len(attempts) - 1})
        return follows(attempts[-1], known, job=job)

    one, two, three = (schema_changed(number) for number in (1, 2, 3))
    assert isinstance(found(one, two), Again)
    last = found(one, two, three)
    assert isinstance(last, Final)
    assert "no restart has cured it. What to do: its source's table has gone back to a schema" in last.message
    assert isinstance(found(one, ended(number=2), three), Again), "another failure lies between"
    assert isinstance(found(one, two, three, known=worked(3)), Again), "a batch has ended"
    withdrawn = ended(Outcome.WITHDRAWN, number=3)
    assert isinstance(found(one, two, withdrawn, schema_changed(4)), Final), "that one has met nothing"


def test_a_joined_table_with_a_new_schema_is_no_mistake_of_its_query() -> None:
    one = ended(exception=exception("AnalysisException", "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"))
    assert pause_of(follows(one)) == 1


def test_a_store_that_lets_it_in_no_more_is_tried_again_and_one_that_never_did_ends_it() -> None:
    refused = exception("AccessDeniedException")
    assert isinstance(follows(ended(exception=refused)), Final)
    assert isinstance(follows(ended(exception=refused), worked()), Again)
    assert isinstance(follows(ended(number=5, exception=refused), worked(number=3)), Again), "still refused"


def test_what_spark_does_not_understand_ends_it_if_it_got_nowhere() -> None:
    one = ended(exception=exception("AnalysisException"))
    assert isinstance(follows(one), Final)
    assert isinstance(follows(one, worked()), Again)


def test_one_that_somebody_ended_stays_ended() -> None:
    found = follows(ended(Outcome.KILLED).model_copy(update={"message": f"{DELETED}: killed"}), worked())
    assert isinstance(found, Final)
    assert "somebody ended it" in found.message


def test_its_own_limit_counts_failures_in_a_row() -> None:
    def found(before: int, number: int, known: StreamProgress | None = None) -> Again | Final:
        one = ended(number=number)
        job = stream(one, status={"phase": "Running", "retries": before}, retry={"limit": 2})
        return follows(one, known, job=job)

    assert isinstance(found(1, 2), Again)
    last = found(2, 3)
    assert isinstance(last, Final)
    assert "after 3 failures in a row" in last.message
    assert "retry.limit allows 2 in a row" in last.message
    assert isinstance(found(2, 3, worked(3)), Again)


def test_its_own_causes_and_its_own_backoff_count() -> None:
    one = ended(Outcome.KILLED)
    only = stream(one, status={"phase": "Running"}, retry={"on": ["DriverLost"]})
    assert isinstance(follows(one, job=only), Final)
    slow = stream(one, status={"phase": "Running"}, retry={"backoff": "1h"})
    assert 1800 <= pause_of(follows(one, job=slow)) <= 5400


def test_a_spec_that_is_not_understood_any_more_ends_it() -> None:
    one = ended()
    view = stream(one, status={"phase": "Running"})
    view.body["spec"]["stream"]["sql"] = "both"
    assert isinstance(follows(one, job=view), Final)


def test_what_has_taken_long_to_be_told_makes_no_pause_in_the_past() -> None:
    late = goes_on(stream(), ended(), None, "it broke", NOW + timedelta(hours=1))
    assert again(late).change.retry_at == NOW + timedelta(hours=1)


def test_no_stream_takes_a_slot_and_each_may_run_again() -> None:
    done = ended(Outcome.KILLED)
    for trigger in (ONCE, {"processingTime": "1 minute"}):
        view = stream(done, trigger=trigger, retry={"limit": 3})
        assert not is_to_have_a_slot(view, Declarations())
        assert why_it_cannot_run_again(view, [done]) is None


def test_a_stream_with_an_end_is_retried_as_jobs_are() -> None:
    one = ended(Outcome.KILLED)
    view = stream(one, trigger=ONCE, status={"phase": "Running"})
    assert isinstance(followed(view, one, Declarations(), "killed", NOW), Final)
    asks = stream(one, trigger=ONCE, status={"phase": "Running"}, retry={"limit": 1, "on": ["Error"]})
    assert isinstance(followed(asks, one, Declarations(), "killed", NOW), Again)

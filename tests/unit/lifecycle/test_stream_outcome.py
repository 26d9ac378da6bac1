"""What came of an attempt of a stream, and what is known of the stream after it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import (
    Attempt,
    AttemptEnding,
    EndingReason,
    Outcome,
    PauseReason,
    Phase,
    StreamPause,
    StreamProgress,
)
from sluice.api.reasons import Reason
from sluice.engines import Observation, Stage
from sluice.engines.disruption import Disruption
from sluice.lifecycle.evidence.outcome import closed, must_ask_logs, phase_after
from sluice.lifecycle.retries.retry_decision import Again, Final
from sluice.lifecycle.retries.stream_retries import goes_on
from sluice.lifecycle.streams.pauses import after_a_stop
from sluice.lifecycle.streams.stream_outcome import closed_stream, last_progress
from sluice.lifecycle.streams.stream_progress import put_together
from unit.lifecycle.endings import ended_with
from unit.lifecycle.streaming import NOW, attempt, progress, said, stream

BATCH: dict[str, Any] = {"batch": 17, "batches": 4, "batchAt": "2026-11-19T10:00:03Z"}
KNOWN = put_together(None, progress(**BATCH), 1, NOW)
RUN = attempt(started_at=NOW)


def failed(class_: str = "RuntimeError", error_class: str | None = None, **stream: Any) -> Observation:
    exception = {"class": class_, "message": "it broke", "retriable": False, "errorClass": error_class}
    more = {"stream": said(**stream)} if stream else {}
    return ended_with(1, outcome="Failed", exception=exception, **more)


def paused(**stream: Any) -> Observation:
    return ended_with(0, outcome="Paused", stream=said(**(BATCH | stream)))


def ending(reason: EndingReason) -> AttemptEnding:
    return AttemptEnding(reason=reason, since=NOW, message="it is ended")


def end(seen: Observation, run: Attempt = RUN, known: StreamProgress | None = None, **more: Any) -> Attempt:
    return closed_stream(run, seen, last_progress(known, run, seen, None, NOW), NOW, **more)


def test_a_stream_that_stopped_as_it_was_asked_to_has_paused() -> None:
    pause = StreamPause(reason=PauseReason.YIELDS, since=NOW)
    found = end(paused(), RUN.model_copy(update={"pause": pause}))
    assert (found.outcome, found.exit_code) == (Outcome.PAUSED, 0)
    assert found.message == "it stopped at a batch boundary: batch 17 ended at 10:00:03 UTC"
    assert phase_after(found)[0] is Phase.PAUSED


def test_one_that_stops_unasked_before_any_batch_has_failed_so_that_it_backs_off() -> None:
    found = end(ended_with(0, outcome="Paused", stream=said()))
    assert found.outcome is Outcome.FAILED
    assert "though no operator had asked it to; no batch of it has ended yet" in (found.message or "")
    follows = goes_on(stream(found, status={"retries": 3}), found, None, found.message or "", NOW)
    assert isinstance(follows, Again)
    assert follows.change.retries == 4
    assert "it has failed 4 times in a row" in follows.change.message
    for pause in PauseReason:
        asked = RUN.model_copy(update={"pause": StreamPause(reason=pause, since=NOW)})
        assert end(ended_with(0, outcome="Paused", stream=said()), asked).outcome is Outcome.PAUSED


@pytest.mark.parametrize(
    ("pause", "expected"),
    [
        (None, (Phase.PENDING, Reason.RESTARTING)),
        (PauseReason.SPEC_CHANGED, (Phase.PENDING, Reason.RESTARTING)),
        (PauseReason.SUSPENDED, (Phase.PENDING, Reason.RESTARTING)),
        (PauseReason.YIELDS, (Phase.PAUSED, Reason.YIELDED)),
    ],
)
def test_why_it_was_asked_tells_where_its_job_goes(
    pause: PauseReason | None, expected: tuple[Phase, Reason]
) -> None:
    """One that nobody of us has asked was asked by hand; and one that is held back no longer goes on at once."""
    asked = StreamPause(reason=pause, since=NOW) if pause is not None else None
    change = after_a_stop(stream(), end(paused(), RUN.model_copy(update={"pause": asked})), NOW)
    assert (change.phase, change.reason) == expected


def test_a_job_that_is_no_stream_does_not_pause() -> None:
    assert must_ask_logs(paused(), is_application=False)
    with pytest.raises(ValueError, match="left no result"):
        closed(RUN, paused(), None, NOW)


def test_a_stream_with_an_end_that_has_come_to_it_has_succeeded() -> None:
    found = end(ended_with(0, outcome="Succeeded", stream=said(**BATCH)))
    assert phase_after(found)[:2] == (Phase.SUCCEEDED, Reason.COMMITTED)
    assert "it has processed what was there: batch 17" in (found.message or "")
    assert not found.commits_known, "nobody has counted them"


def test_a_failure_is_told_with_how_far_it_had_come() -> None:
    found = end(failed(**BATCH))
    assert found.outcome is Outcome.FAILED
    assert found.exception is not None
    assert found.message == "RuntimeError: it broke; batch 17 ended at 10:00:03 UTC"


def test_a_driver_that_was_killed_goes_on_from_its_checkpoint_and_no_log_is_asked() -> None:
    seen = Observation(Stage.ENDED, exit_code=137, detail="OOMKilled")
    found = closed_stream(RUN, seen, KNOWN, NOW)
    assert found.outcome is Outcome.KILLED
    assert "more memory" in (found.message or "")
    assert (found.message or "").endswith("batch 17 ended at 10:00:03 UTC; it goes on from its checkpoint")


def test_a_driver_without_a_result_and_an_exit_code_of_0_is_not_known_to_have_paused() -> None:
    found = end(Observation(Stage.ENDED, exit_code=0, message="nonsense"))
    assert (found.outcome, phase_after(found)[0]) == (Outcome.UNKNOWN, Phase.FAILED)


def test_a_driver_that_was_ended_from_outside_is_lost() -> None:
    disruption = Disruption("EvictionByEvictionAPI", "drained", "it was evicted", NOW)
    seen = Observation(Stage.ENDED, exit_code=143, ended_at=NOW, disruption=disruption)
    found = end(seen)
    assert found.outcome is Outcome.DRIVER_LOST
    assert "it goes on from its checkpoint" in (found.message or "")


def test_a_deleted_application_was_ended_by_somebody() -> None:
    terminated = {"class": "Terminated", "message": "the driver was told to end"}
    for seen in (
        Observation(Stage.ENDED, exit_code=143),
        ended_with(143, outcome="Failed", exception=terminated, stream=said(**BATCH)),
    ):
        found = end(seen, deleted=True)
        assert phase_after(found)[:2] == (Phase.FAILED, Reason.APPLICATION_DELETED)
        assert isinstance(goes_on(stream(found), found, None, found.message or "", NOW), Final)


def test_a_failure_of_its_own_stays_one_though_somebody_deleted_its_application() -> None:
    found = end(failed(**BATCH), deleted=True)
    assert (found.outcome, found.exception is not None) == (Outcome.FAILED, True)
    assert end(paused(), deleted=True).outcome is Outcome.PAUSED


def test_an_attempt_that_came_back_may_have_run_and_goes_on_from_its_checkpoint() -> None:
    found = end(Observation(Stage.NEVER_STARTS), came_back=True)
    assert (found.outcome, "it goes on from its checkpoint" in (found.message or "")) == (
        Outcome.UNKNOWN,
        True,
    )


def test_an_attempt_whose_driver_never_started_is_as_any_jobs() -> None:
    assert end(Observation(Stage.NEVER_STARTS, "no image"), attempt()).outcome is Outcome.NOT_STARTED


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (EndingReason.DEADLINE_EXCEEDED, (Outcome.DEADLINE_EXCEEDED, Reason.DEADLINE_EXCEEDED)),
        (EndingReason.PAUSE_EXCEEDED, (Outcome.DEADLINE_EXCEEDED, Reason.PAUSE_EXCEEDED)),
        (EndingReason.PREEMPTED, (Outcome.DRIVER_LOST, Reason.DRIVER_LOST)),
    ],
)
def test_one_that_we_ended_while_it_ran_says_why(
    reason: EndingReason, expected: tuple[Outcome, Reason]
) -> None:
    found = end(Observation(Stage.ENDED, exit_code=143), RUN.model_copy(update={"ending": ending(reason)}))
    assert (found.outcome, phase_after(found)[1]) == expected
    assert (found.message or "").startswith("it is ended; no batch of it has ended yet")


@pytest.mark.parametrize("reason", [EndingReason.PAUSE_EXCEEDED, EndingReason.WAITING_FOR_COMPUTE])
def test_one_that_we_ended_before_it_ran_queues_again(reason: EndingReason) -> None:
    unseen = attempt(ending=ending(reason))
    found = end(Observation(Stage.ENDED, exit_code=143), unseen)
    assert (found.outcome, phase_after(found)[0]) == (Outcome.WITHDRAWN, Phase.BACKING_OFF)


def test_a_result_that_came_in_spite_of_an_ending_counts() -> None:
    late = RUN.model_copy(update={"ending": ending(EndingReason.DEADLINE_EXCEEDED)})
    assert end(paused(), late).outcome is Outcome.PAUSED


def test_its_result_says_more_than_its_pod_did_and_its_pod_more_than_its_status() -> None:
    on_pod = progress(batch=18, batches=5)
    killed = Observation(Stage.ENDED, exit_code=137)
    found = last_progress(KNOWN, RUN, killed, on_pod, NOW + timedelta(seconds=9))
    assert found is not None
    assert (found.batch, found.told_at) == (18, NOW + timedelta(seconds=9))
    found = last_progress(KNOWN, RUN, paused(batch=19, batches=6), on_pod, NOW)
    assert found is not None
    assert found.batch == 19
    found = last_progress(KNOWN, RUN, paused(batch=16, batches=3), on_pod, NOW)
    assert found is not None
    assert found.batch == 18, "what arrives late takes nothing back"


def test_a_driver_that_says_nothing_keeps_what_was_known() -> None:
    assert last_progress(KNOWN, attempt(2), Observation(Stage.ENDED, exit_code=137), None, NOW) == KNOWN


def test_a_source_whose_rows_were_changed_is_told_with_what_to_do() -> None:
    found = end(failed("DeltaUnsupportedOperationException", "DELTA_SOURCE_TABLE_IGNORE_CHANGES", **BATCH))
    assert found.exception is not None
    assert "skipChangeCommits" in (found.exception.advice or "")


SPARK_IS_GONE = {
    "class": "Terminated",
    "message": "Spark was shut down from outside: [Errno 111] Connection refused",
    "statement": 1,
}


@pytest.mark.parametrize(
    ("exit_code", "detail", "said_of_it"),
    [
        (137, "OOMKilled", "it needed more memory than its pod may have"),
        (1, "OOMKilled", "it needed more memory than its pod may have"),
        (137, "Error", "the driver was killed (exit code 137)"),
        (3, "Error", "the driver ended (exit code 3)"),
    ],
)
def test_a_driver_whose_python_outlived_its_jvm_has_died_as_its_container_says(
    exit_code: int, detail: str, said_of_it: str
) -> None:
    left = ended_with(exit_code, outcome="Failed", exception=SPARK_IS_GONE, stream=said(**BATCH))
    found = end(replace(left, detail=detail))
    without = end(Observation(Stage.ENDED, exit_code=exit_code, detail=detail))
    assert (found.outcome, found.exception) == (without.outcome, None), "as if it had not been so quick"
    assert said_of_it in (found.message or "")
    assert "Connection refused" in (found.message or "")
    assert (found.message or "").endswith("batch 17 ended at 10:00:03 UTC; it goes on from its checkpoint")


@pytest.mark.parametrize("exit_code", [1, 143])
def test_a_driver_that_came_to_its_end_though_it_was_told_to_end_says_so_itself(exit_code: int) -> None:
    found = end(ended_with(exit_code, outcome="Failed", exception=SPARK_IS_GONE, stream=said(**BATCH)))
    assert (found.outcome, found.exception is not None) == (Outcome.FAILED, True)


@pytest.mark.parametrize(
    "exception",
    [
        {
            "class": "OutOfMemoryError",
            "message": "Java heap space\nThe statement names /lake/t.",
            "statement": 1,
        },
        {"class": "SparkException", "message": "Job aborted\ncaused by OutOfMemoryError: Java heap space"},
    ],
)
def test_where_java_lacked_memory_the_advice_says_how_to_give_it_more(exception: Json) -> None:
    found = end(ended_with(1, outcome="Failed", exception=exception, stream=said(**BATCH)))
    assert found.exception is not None
    assert "runtime.driver.memory" in (found.exception.advice or "")
    again = goes_on(stream(found), found, None, found.message or "", NOW)
    assert isinstance(again, Again)
    assert "runtime.driver.memory" in (again.change.message or "")


def test_a_driver_that_its_jvm_ended_for_want_of_memory_is_told_how_to_give_it_more() -> None:
    log = "26/11/28 03:30:42 INFO Stage\nTerminating due to java.lang.OutOfMemoryError: Java heap space\n"
    found = end(Observation(Stage.ENDED, exit_code=3, detail="Error", message=log))
    assert "Java had too little memory" in (found.message or "")
    assert "runtime.driver.memory" in (found.message or "")

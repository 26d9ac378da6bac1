"""Which Event tells of a change, and what it says."""

from datetime import UTC, datetime

import pytest

from sluice.api.job_status import Attempt, AttemptDriver, AttemptException, Outcome, Phase
from sluice.api.reasons import CONFLICTS, EventReason, Reason, reason_of
from sluice.lifecycle.attempt.job_events import JobEvent, ending, started
from sluice.lifecycle.evidence.outcome import phase_after

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
ATTEMPT = Attempt(number=1, token=1, hash="h", application="a-1", granted_at=NOW)


@pytest.mark.parametrize(
    ("phase", "reason", "event", "message", "is_warning"),
    [
        (Phase.SUCCEEDED, Reason.COMMITTED, EventReason.SUCCEEDED, "why", False),
        (Phase.SUCCEEDED, Reason.ALREADY_COMMITTED, EventReason.SUCCEEDED, "why", False),
        (Phase.SKIPPED, Reason.BLOCKED, EventReason.SKIPPED, "why", False),
        (Phase.FAILED, Reason.TIMED_OUT, EventReason.TIMED_OUT, "why", True),
        (Phase.FAILED, Reason.BLOCKED, EventReason.FAILED, "Blocked: why", True),
        (Phase.FAILED, Reason.NOT_UNDERSTOOD, EventReason.FAILED, "NotUnderstood: why", True),
        (Phase.FAILED, Reason.DRIVER_LOST, EventReason.FAILED, "DriverLost: why", True),
        (Phase.FAILED, Reason.CONCURRENT_APPEND, EventReason.CONFLICT, "why", True),
        (Phase.FAILED, Reason.ANALYSIS, EventReason.FAILED, "AnalysisException: why", True),
    ],
)
def test_each_end_has_its_event(
    phase: Phase, reason: Reason, event: EventReason, message: str, is_warning: bool
) -> None:
    assert ending(phase, reason, "why") == JobEvent(event, message, is_warning)


def test_a_failure_that_names_its_reason_is_not_told_it_twice() -> None:
    message = "statement 1: AnalysisException: no such column"
    assert ending(Phase.FAILED, Reason.ANALYSIS, message).message == message


@pytest.mark.parametrize(
    ("rule", "advice", "says"),
    [
        (
            "added-files",
            "name the partition",
            "lost; by the rule added-files of docs/conflict-rules.md; what to change: name the partition",
        ),
        ("added-files", None, "lost; by the rule added-files of docs/conflict-rules.md"),
        (None, "let it wait", "lost; what to change: let it wait"),
        (None, None, "lost"),
    ],
)
def test_a_conflict_tells_the_rule_and_what_to_change_as_far_as_they_are_known(
    rule: str | None, advice: str | None, says: str
) -> None:
    exception = AttemptException(
        class_="ConcurrentAppendException", message="Delta's words", rule=rule, advice=advice
    )
    attempt = ATTEMPT.model_copy(update={"exception": exception})
    assert ending(Phase.FAILED, Reason.CONCURRENT_APPEND, "lost", attempt).message == says


def test_a_driver_is_told_of_when_it_is_first_seen_running_and_never_again() -> None:
    running = ATTEMPT.model_copy(
        update={"started_at": NOW, "driver": AttemptDriver(pod="a-1-driver", node="node-7")}
    )
    assert started(ATTEMPT, running) == JobEvent(
        EventReason.STARTED, "the driver runs: pod a-1-driver on node node-7"
    )
    assert started(running, running) is None
    assert started(ATTEMPT, ATTEMPT) is None
    assert started(ATTEMPT, None) is None


@pytest.mark.parametrize("word", ["ConcurrentAppendException", "AnalysisException", "RunKeyReused"])
def test_an_exception_that_has_a_reason_of_its_own_is_the_reason(word: str) -> None:
    assert reason_of(word).value == word


@pytest.mark.parametrize("word", ["Suspended", "Committed", "NullPointerException", "", "x" * 300])
def test_any_other_exception_is_a_run_that_failed_even_if_it_is_called_like_another_reason(word: str) -> None:
    failed = ATTEMPT.model_copy(
        update={
            "outcome": Outcome.FAILED,
            "message": f"statement 1: {word}: no",
            "exception": AttemptException(class_=word, message="no"),
        }
    )
    assert phase_after(failed) == (Phase.FAILED, Reason.RUN_FAILED, f"statement 1: {word}: no")


def test_all_words_fit_into_a_status_and_an_event_and_have_a_sentence() -> None:
    for word in (*Reason, *EventReason):
        assert 0 < len(word.value) <= 63
        assert word.value.isidentifier()
        assert word.meaning.endswith(".")
    assert {reason.value for reason in CONFLICTS} < {reason.value for reason in Reason}

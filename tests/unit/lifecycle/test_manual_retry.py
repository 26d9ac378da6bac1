"""What becomes of a person's word that a failed job is to have one more attempt."""

from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, Outcome, Phase
from sluice.lifecycle.evidence.finished_jobs import is_over, kept, retry_asked
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import as_body, retry_heeded, status_after
from sluice.lifecycle.retries.manual_retry import RetryGranted, RetryRefused, heeded
from unit.lifecycle.test_retry_decision import NOW, QUEUED, RUN, SQL, conflict, ended, job


def failed(*attempts: Attempt, **status: Any) -> JobView:
    told = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in attempts]
    over = {"phase": "Failed", "attempts": told, "attempt": len(told), "finishedAt": NOW.isoformat()}
    return job(None, over | {"observedGeneration": 1} | status)


def asks(view: JobView, word: str) -> Json:
    metadata = view.body["metadata"] | {"annotations": {names.ANNOTATION_RETRY: word}}
    return view.body | {"metadata": metadata}


def test_a_failed_job_has_one_more_attempt_with_its_old_age() -> None:
    before = failed(conflict(), **RUN)
    found = heeded(before, "1", NOW)
    assert isinstance(found, RetryGranted)
    after = status_after(before, found.change, NOW)
    assert (after.phase, after.reason, after.queued_at) == (Phase.PENDING, "Retrying", QUEUED)
    assert (after.finished_at, after.retry_asked, after.retry_at) == (None, "1", NOW)
    assert after.retries is None
    assert after.run == before.status.run


def test_it_is_no_longer_over_until_the_word_is_heeded_and_each_word_counts_once() -> None:
    before = failed(conflict(), **RUN)
    assert is_over(before.body)
    body = asks(before, "1")
    assert not is_over(body)
    assert retry_asked(body) == "1"
    assert kept(body)["spec"] == {"sql": SQL}
    told = body | {"status": as_body(retry_heeded(before, "1"))}
    assert is_over(told)
    assert is_over(kept(told)), "what a mirror keeps of it says the same"
    assert retry_asked(asks(failed(conflict(), retryAsked="1"), "2")) == "2"


def test_what_failed_before_it_had_another_attempt_is_asked_for_by_a_new_word() -> None:
    before = failed(conflict(), **RUN, retryAsked="1")
    word = retry_asked(asks(before, "1.2"))
    assert word == "1.2"
    found = heeded(before, word, NOW)
    assert isinstance(found, RetryGranted)
    assert found.change.message.startswith("attempt 1 failed")


@pytest.mark.parametrize("word", ["", "x" * 100_000, "1\n", "\u0661"])
def test_a_word_that_means_nothing_is_heeded_once(word: str) -> None:
    before = failed(conflict(), **RUN)
    body = asks(before, word)
    asked = retry_asked(body)
    assert asked is not None
    assert isinstance(heeded(before, asked, NOW), RetryRefused)
    assert is_over(body | {"status": as_body(retry_heeded(before, asked))})


def test_a_word_that_is_no_text_is_none() -> None:
    before = failed(conflict(), **RUN)
    body = before.body | {"metadata": before.body["metadata"] | {"annotations": {names.ANNOTATION_RETRY: 1}}}
    assert retry_asked(body) is None


@pytest.mark.parametrize(
    ("view", "word", "says"),
    [
        (
            failed(conflict(), phase="Succeeded", **RUN),
            "1",
            "it ended as Succeeded|the job ended as Succeeded",
        ),
        (failed(conflict(), phase="Skipped", **RUN), "1", "the job ended as Skipped"),
        (failed(), "0", "it has had none"),
        (failed(conflict(), conflict(2), **RUN), "1", "its last attempt is 2"),
        (failed(ended(Outcome.KILLED)), "1", "attempt 1 committed something, or may have"),
        (failed(conflict()), "1", "attempt 1 committed something, or may have"),
    ],
)
def test_where_there_is_none_it_is_said_why(view: JobView, word: str, says: str) -> None:
    found = heeded(view, word, NOW)
    assert isinstance(found, RetryRefused)
    assert any(part in found.why for part in says.split("|")), found.why


def test_a_job_that_surely_committed_nothing_runs_again_though_it_was_no_run() -> None:
    known = conflict().model_copy(update={"commits_known": True})
    assert isinstance(heeded(failed(known), "1", NOW), RetryGranted)
    assert isinstance(heeded(failed(ended(Outcome.NOT_STARTED)), "1", NOW), RetryGranted)

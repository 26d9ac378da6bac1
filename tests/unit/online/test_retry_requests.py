"""Which jobs another attempt is asked for, and from when on such a job counts as ended."""

from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.kube.resources import Resource
from sluice.online.access.job_names import JobName
from sluice.online.jobs.job_changes import ChangeReport, Result
from sluice.online.jobs.job_progress import Ending, JobProgress
from sluice.online.jobs.retry_requests import ask_for_another, course_of

JOB = JobName("etl", "nightly")
COMMIT = {"table": "file:/a", "version": 3, "operation": "WRITE", "statement": 1}


def job(
    phase: str = "Failed", number: int | None = 2, *, annotations: Json | None = None, **status: Any
) -> Json:
    attempts = [] if number is None else [{"number": number - 1}, {"number": number, "commits": [COMMIT]}]
    metadata = {"namespace": "etl", "name": "nightly", "uid": "u", "resourceVersion": "7"}
    told = {"phase": phase, "message": "it failed", "attempts": attempts, "finishedAt": "10:00"}
    return {
        "metadata": metadata | ({"annotations": annotations} if annotations else {}),
        "status": told | status,
    }


class Server:
    def __init__(self, body: Json) -> None:
        self.body = body
        self.patches: list[Json] = []

    async def get(self, _: Resource, __: str, ___: str) -> Json:
        return self.body

    async def patch(self, _: Resource, __: str, ___: str, patch: Json, *, as_manager: str) -> None:
        assert as_manager == "sluice-retry"
        self.patches.append(patch)


async def asked(server: Server) -> ChangeReport:
    return await ask_for_another(server, JOB)  # type: ignore[arg-type]  # a server of the test's own


async def followed(body: Json) -> JobProgress:
    course = course_of(await asked(Server(body)))
    assert course is not None
    return course


async def test_another_attempt_is_asked_for_by_the_number_of_the_last_one() -> None:
    server = Server(job())
    assert (await asked(server)).result is Result.CHANGED
    [patch] = server.patches
    assert patch == {
        "metadata": {"annotations": {names.ANNOTATION_RETRY: "2"}, "uid": "u", "resourceVersion": "7"}
    }


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (job("Running"), "has not ended (Running): only a job that has failed is tried again"),
        (job("Succeeded"), "has ended well (Succeeded)"),
        (job("Skipped", None), "has ended well (Skipped)"),
        (job(number=None), "has failed without an attempt"),
    ],
)
async def test_what_has_not_failed_or_cannot_be_repeated_is_refused_and_it_is_told_what_to_do(
    body: Json, why: str
) -> None:
    server = Server(body)
    told = await asked(server)
    assert (told.result, server.patches) == (Result.REFUSED, [])
    assert why in told.message
    assert "sluice wait" in told.message or "create it again" in told.message
    assert course_of(told) is None


async def test_what_is_asked_for_already_is_not_asked_for_twice() -> None:
    server = Server(job(annotations={names.ANNOTATION_RETRY: "2"}))
    assert ((await asked(server)).result, server.patches) == (Result.UNCHANGED, [])
    later = Server(job(annotations={names.ANNOTATION_RETRY: "1"}, retryAsked="1"))
    assert (await asked(later)).result is Result.CHANGED, "an earlier attempt's request is another one"


@pytest.mark.parametrize(
    ("heeded", "word"),
    [("1", "2"), ("1.7", "2"), ("2", "2.2"), ("2.2", "2.3"), ("2.x", "2.2"), ("2.", "2.2")],
)
async def test_what_the_operator_has_answered_is_asked_for_by_another_word(heeded: str, word: str) -> None:
    server = Server(job(annotations={names.ANNOTATION_RETRY: heeded}, retryAsked=heeded))
    told = await asked(server)
    assert told.result is Result.CHANGED
    assert server.patches[0]["metadata"]["annotations"] == {names.ANNOTATION_RETRY: word}
    course = course_of(told)
    assert course is not None
    course.sees(job(retryAsked=heeded))
    assert course.ending is None
    course.sees(job(retryAsked=word))
    assert course.ending is Ending.FAILED


async def test_a_job_has_not_ended_before_the_operator_has_answered() -> None:
    course = await followed(job())
    assert (course.sees(job()), course.ending) == ([], None)
    assert course.sees(job("Pending", retryAsked="2", message="queues again")) == ["Pending: queues again"]
    assert course.ending is None
    assert "Running: it runs" in course.sees(job("Running", 3, retryAsked="2", message="it runs"))
    course.sees(job("Failed", 3, retryAsked="2", finishedAt="11:00"))
    assert course.ending is Ending.FAILED


async def test_a_second_failure_is_an_end_also_where_nobody_saw_the_job_between_the_two() -> None:
    course = await followed(job())
    course.sees(job("Failed", 3, retryAsked="2", finishedAt="11:00"))
    assert course.ending is Ending.FAILED


async def test_commits_of_earlier_attempts_are_no_news() -> None:
    course = await followed(job())
    assert course.sees(job("Running", 2, retryAsked="2", message="it runs")) == ["Running: it runs"]


async def test_an_operator_that_starts_no_other_attempt_ends_it_and_where_to_look_is_told() -> None:
    course = await followed(job())
    [said] = course.sees(job(retryAsked="2"))
    assert said.startswith("the operator starts no other attempt")
    assert "kubectl describe deltawritejob nightly -n etl" in said
    assert course.ending is Ending.FAILED


async def test_a_job_that_is_deleted_meanwhile_has_ended() -> None:
    course = await followed(job())
    course.is_gone()
    assert course.ending is Ending.DELETED

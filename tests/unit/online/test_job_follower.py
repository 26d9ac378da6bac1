"""How jobs are followed when things are not as usual: an API server that forgets, refuses, or has nothing to tell for long."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.kube.client import ApiError, ExpiredError
from sluice.online.access.errors import OnlineError
from sluice.online.access.job_names import JobName
from sluice.online.jobs import job_follower, job_watch
from sluice.online.jobs.job_progress import Ending, JobProgress

JOB = JobName("etl", "nightly")
EXPIRED = ExpiredError(410, "Expired", "too old resource version")
AWAY = ApiError(0, "NoAnswer", "no answer")
REFUSED = ApiError(403, "Forbidden", "you may not")


def job(phase: str, uid: str = "u", name: str = "nightly") -> Json:
    metadata = {"namespace": "etl", "name": name, "uid": uid, "resourceVersion": "7"}
    return {"metadata": metadata, "status": {"phase": phase}}


def changed(body: Json, kind: str = "MODIFIED") -> Json:
    return {"type": kind, "object": body}


class Server:
    """Gives each list and each watch in turn; a list is an error or the jobs, a watch its events, of which an error is the last.
    After the last of them nothing happens any more."""

    def __init__(self, *turns: Exception | list[Any]) -> None:
        self.turns = list(turns)
        self.asked: list[str] = []

    async def pages(self, *_: Any, fields: str) -> AsyncIterator[Json]:
        self.asked.append(f"list {fields}")
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        yield {"metadata": {"resourceVersion": "50"}, "items": turn}

    async def watch(
        self, _resource: Any, _namespace: Any, version: str, *, fields: str
    ) -> AsyncIterator[Json]:
        self.asked.append(f"watch {version} {fields}")
        if not self.turns:
            await asyncio.Event().wait()
        turn = self.turns.pop(0)
        assert isinstance(turn, list)
        for event in turn:
            if isinstance(event, Exception):
                raise event
            yield event


@pytest.fixture(autouse=True)
def nobody_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_watch, "PAUSE", 0.0)


@pytest.fixture
def said() -> list[str]:
    return []


async def followed(server: Any, said: list[str], *jobs: JobName, **more: Any) -> list[JobProgress]:
    courses = [JobProgress(one) for one in jobs or (JOB,)]
    async with asyncio.timeout(30):
        await job_follower.follow(server, courses, lambda _, text: said.append(text), **more)
    return courses


async def test_what_happened_while_the_server_forgot_is_listed(said: list[str]) -> None:
    server = Server([job("Running")], [changed(job("Running")), EXPIRED], [job("Succeeded")])
    [course] = await followed(server, said)
    assert course.ending is Ending.SUCCEEDED
    assert said == ["Running", "Succeeded"]
    one = "metadata.name=nightly"
    assert server.asked[:3] == [f"list {one}", f"watch 50 {one}", f"list {one}"]


async def test_a_watch_that_ends_regularly_goes_on_where_it_ended(said: list[str]) -> None:
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "60"}}}
    server = Server([job("Running")], [bookmark], [changed(job("Failed"))])
    [course] = await followed(server, said)
    assert course.ending is Ending.FAILED
    assert server.asked[1:3] == ["watch 50 metadata.name=nightly", "watch 60 metadata.name=nightly"]


async def test_refusals_are_borne_for_a_while_once_the_jobs_were_seen(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server([job("Running")], [AWAY], REFUSED, REFUSED, [job("Succeeded")])
    await followed(server, said)
    assert said == ["Running", "nothing is seen for now: no answer", "the cluster answers again", "Succeeded"]
    monkeypatch.setattr(job_watch, "REFUSAL_SECONDS", -1.0)
    with pytest.raises(ApiError, match="you may not"):
        await followed(Server([job("Running")], [AWAY], REFUSED), said)


@pytest.mark.parametrize("error", [REFUSED, AWAY])
async def test_a_server_that_does_not_show_the_jobs_in_the_beginning_ends_it(
    error: ApiError, said: list[str]
) -> None:
    with pytest.raises(ApiError):
        await followed(Server(error), said)


async def test_a_job_that_is_not_there_in_the_beginning_is_named(said: list[str]) -> None:
    with pytest.raises(OnlineError, match="there is no job etl/nightly"):
        await followed(Server([]), said)


async def test_a_job_that_another_one_of_its_name_has_replaced_was_deleted(said: list[str]) -> None:
    server = Server([job("Running")], [EXPIRED], [job("Running", uid="other")])
    [course] = await followed(server, said)
    assert course.ending is Ending.DELETED


async def test_the_end_of_a_deleted_job_is_taken_from_its_last_state(said: list[str]) -> None:
    server = Server([job("Running")], [changed(job("Succeeded"), "DELETED")])
    [course] = await followed(server, said)
    assert course.ending is Ending.SUCCEEDED


async def test_several_jobs_of_a_namespace_have_one_watch(said: list[str]) -> None:
    other = JobName("etl", "other")
    listed = [job("Succeeded"), job("Running", name="other"), job("Running", name="a third")]
    server = Server(listed, [changed(job("Skipped", name="other"))])
    courses = await followed(server, said, JOB, other)
    assert [course.ending for course in courses] == [Ending.SUCCEEDED, Ending.SKIPPED]
    assert server.asked[:2] == ["list ", "watch 50 "]


async def test_it_ends_with_the_time_or_the_phase_that_is_waited_for(said: list[str]) -> None:
    [late] = await followed(Server([job("Waiting")]), said, seconds=0.05)
    assert (late.ending, late.phase) == (None, "Waiting")
    [soon] = await followed(Server([job("Running")]), said, until=Phase.RUNNING)
    assert (soon.ending, soon.phase) == (None, "Running")


async def test_a_long_silence_is_broken_now_and_then(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_follower, "SILENCE", 0.05)
    await followed(Server([job("Waiting")]), said, seconds=0.6)
    first, *others = said
    assert first == "Waiting"
    assert len(others) > 1
    assert set(others) == {"nothing new for 0 minutes: 1 Waiting"}


async def test_a_job_that_no_operator_looks_at_is_told_once(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_follower, "NOT_LOOKED_AT", 0.05)
    new = job("") | {"status": {}}
    await followed(
        Server([new, job("Waiting", name="other")]), said, JOB, JobName("etl", "other"), seconds=0.4
    )
    unseen = "no operator has looked at it yet: does one run, and does it watch namespace etl?"
    assert sorted(said) == ["Waiting", unseen]

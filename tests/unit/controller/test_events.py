"""Events of jobs hold up nobody, and what becomes of them is known."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.reporting import events
from sluice.controller.reporting.events import EventWriter
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body


class Api:
    """Takes Events once it is told to, or refuses them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.answers = asyncio.Event()
        self.messages: list[str] = []
        self.names: list[str] = []
        self.taken = asyncio.Event()

    async def create(self, _resource: Any, _namespace: str, body: dict[str, Any]) -> None:
        await self.answers.wait()
        if self.error is not None:
            raise self.error
        self.messages.append(body["message"])
        self.names.append(body["metadata"]["name"])
        self.taken.set()

    async def has_taken(self, events: int) -> None:
        while len(self.messages) < events:
            self.taken.clear()
            await self.taken.wait()


class Counted:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def job() -> JobView:
    world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
    world.job_seen(job_body("a"))
    return world.jobs["uid-a"]


async def stopped(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_nobody_waits_for_an_api_server_that_takes_no_events(job: JobView) -> None:
    api: Any = Api()
    writer = EventWriter(api, "me")
    task = asyncio.create_task(writer.run())
    async with asyncio.timeout(30):
        for number in range(100):
            await writer.tell(job, EventReason.QUEUED, str(number))
    assert api.messages == []
    await stopped(task)


async def test_events_are_written_in_the_order_in_which_they_were_told(job: JobView) -> None:
    api: Any = Api()
    writer = EventWriter(api, "me")
    api.answers.set()
    for number in range(20):
        await writer.tell(job, EventReason.QUEUED, str(number))
    task = asyncio.create_task(writer.run())
    async with asyncio.timeout(30):
        await api.has_taken(20)
    await stopped(task)
    assert api.messages == [str(number) for number in range(20)]
    assert api.names == sorted(set(api.names)), "their names keep it, where the seconds are the same"


async def test_more_than_can_wait_are_dropped_counted_and_logged_once(
    job: JobView, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(events, "MOST_WAITING", 5)
    api: Any = Api()
    dropped = Counted()
    writer = EventWriter(api, "me", dropped)
    for number in range(30):
        await writer.tell(job, EventReason.QUEUED, str(number))
    assert dropped.times == 25
    assert [record.getMessage() for record in caplog.records] == [
        "DeltaWriteJob etl/a: event Queued could not be written: 5 wait to be written (0 others before)"
    ]
    api.answers.set()
    await writer.finish()
    assert api.messages == ["0", "1", "2", "3", "4"], "those that were told first"


@pytest.mark.parametrize("error", [ApiError(403, "Forbidden", "no"), RuntimeError("unforeseen")])
async def test_what_the_api_server_refuses_is_dropped_and_the_next_ones_are_written(
    job: JobView, error: Exception
) -> None:
    api: Any = Api(error)
    api.answers.set()
    dropped = Counted()
    writer = EventWriter(api, "me", dropped)
    await writer.tell(job, EventReason.QUEUED, "first")
    await writer.finish()
    api.error = None
    await writer.tell(job, EventReason.QUEUED, "second")
    await writer.finish()
    assert dropped.times == 1
    assert api.messages == ["second"]


async def test_at_its_end_the_operator_waits_a_moment_for_events_and_no_longer(
    job: JobView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "LAST_SECONDS", 0.05)
    api: Any = Api()
    writer = EventWriter(api, "me")
    await writer.tell(job, EventReason.QUEUED, "never")
    async with asyncio.timeout(30):
        await writer.finish()
    assert api.messages == []

"""One object's trouble is that object's condition, and nobody else's."""

from types import SimpleNamespace
from typing import Any

import pytest

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.reporting.error_isolation import ErrorIsolation
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError, NotFoundError
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body


class _Statuses:
    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []
        self.events: list[tuple[str, str, str]] = []
        self.refused: ApiError | None = None

    async def stall(self, job: JobView, reason: str, message: str) -> None:
        if self.refused is not None:
            raise self.refused
        self.told.append((job.key, reason, message))

    async def tell(self, job: JobView, reason: str, message: str, *, warning: bool) -> None:
        assert warning
        self.events.append((job.key, reason, message))


def guarded(found: Any = None) -> tuple[ClusterCache, _Statuses, ErrorIsolation]:
    """`found`: what a look for the job brings."""

    async def job(*_: str) -> Any:
        return found

    world, statuses = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")}), _Statuses()
    world.job_seen(job_body("a"))
    relist: Any = SimpleNamespace(job=job)
    unchecked: Any = statuses
    return world, statuses, ErrorIsolation(world, relist, unchecked, unchecked)


async def fails(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    "error", [KeyError("x"), RecursionError("deep"), AttributeError("y"), ValueError("z")]
)
async def test_whatever_fails_is_told_once_on_the_job_and_logged_with_its_trace(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    _, statuses, guard = guarded()
    for _ in range(3):
        await guard.on("uid-a", fails(error))
    assert [(key, reason) for key, reason, _ in statuses.told] == [("etl/a", "OperatorFailed")]
    assert type(error).__name__ in statuses.told[0][2]
    assert [record.exc_info is not None for record in caplog.records] == [True]


async def test_it_is_told_again_when_it_was_well_in_between() -> None:
    _, statuses, guard = guarded()
    await guard.on("uid-a", fails(KeyError("x")))
    await guard.on("uid-a", _well())
    await guard.on("uid-a", fails(KeyError("x")))
    assert len(statuses.told) == 2


async def _well() -> None:
    return


async def test_what_is_not_there_any_more_is_forgotten() -> None:
    world, statuses, guard = guarded()
    await guard.on("uid-a", fails(NotFoundError(404, "NotFound", "gone")))
    assert world.jobs == {}
    assert statuses.told == []


async def test_what_was_changed_is_read_again() -> None:
    newer = job_body("a", version=9)
    world, _, guard = guarded(newer)
    await guard.on("uid-a", fails(NotFoundError(404, "NotFound", "another object's")))
    assert world.jobs["uid-a"].resource_version == "9"


async def test_what_the_api_server_refuses_for_certain_is_told_once_on_the_job_in_its_own_words() -> None:
    _, statuses, guard = guarded()
    for _ in range(3):
        await guard.on("uid-a", fails(ApiError(403, "Forbidden", "exceeded quota")))
    assert [(key, reason) for key, reason, _ in statuses.told] == [("etl/a", "ApiServerRefuses")]
    assert "exceeded quota" in statuses.told[0][2]


async def test_a_finished_job_keeps_saying_how_it_ended_and_an_event_tells_what_fails_since() -> None:
    world, statuses, guard = guarded()
    ended = {
        "phase": "Succeeded",
        "reason": "Committed",
        "message": "committed version 1 of file:/lake/orders",
    }
    world.job_seen(job_body("a", version=2) | {"status": ended})
    for _ in range(3):
        await guard.on("uid-a", fails(ApiError(403, "Forbidden", "may not patch pods")))
    await guard.on("uid-a", fails(KeyError("x")))
    assert statuses.told == []
    assert [(key, reason) for key, reason, _ in statuses.events] == [
        ("etl/a", "ApiServerRefuses"),
        ("etl/a", "OperatorFailed"),
    ]
    assert "may not patch pods" in statuses.events[0][2]


async def test_where_a_status_is_refused_for_a_stored_spec_one_event_tells_what_is_wrong_with_it() -> None:
    _, statuses, guard = guarded()
    statuses.refused = ApiError(422, "Invalid", "spec.retry.backoff: must be longer than 0")
    for _ in range(3):
        await guard.on("uid-a", fails(statuses.refused))
    assert [(key, reason) for key, reason, _ in statuses.events] == [("etl/a", "ApiServerRefuses")]
    assert "spec.retry.backoff: must be longer than 0" in statuses.events[0][2]


@pytest.mark.parametrize("status", [404, 409, 500])
async def test_where_a_status_is_not_written_for_now_no_event_says_so(status: int) -> None:
    _, statuses, guard = guarded()
    statuses.refused = NotFoundError(404, "NotFound", "") if status == 404 else ApiError(status, "", "")
    await guard.on("uid-a", fails(KeyError("x")))
    assert statuses.events == []


async def test_a_status_without_a_place_for_words_is_told_of_by_one_event() -> None:
    world, statuses, guard = guarded()
    world.job_seen(job_body("a", version=2) | {"status": "text"})
    for _ in range(3):
        job = world.jobs["uid-a"]
        await guard.on("uid-a", guard.tell_unreadable(job, job.unreadable or ""))
    assert statuses.told == []
    assert [(key, reason) for key, reason, _ in statuses.events] == [("etl/a", "StatusUnreadable")]
    assert "it is str, not an object: put it back" in statuses.events[0][2]


@pytest.mark.parametrize("status", [0, 429, 500, 503])
async def test_an_api_server_without_a_certain_answer_is_no_trouble_of_the_job(status: int) -> None:
    _, statuses, guard = guarded()
    await guard.on("uid-a", fails(ApiError(status, "", "not now")))
    assert statuses.told == []


async def test_whoever_asked_for_it_is_told_of_each_request_that_was_not_carried_out() -> None:
    world, statuses, _ = guarded()
    told: list[ApiError] = []
    unchecked: Any = statuses
    guard = ErrorIsolation(world, unchecked, unchecked, unchecked, refused=told.append)
    refusal = ApiError(422, "Invalid", "epoch 6 is over")
    await guard.on("uid-a", fails(refusal))
    await guard.on("uid-a", fails(KeyError("x")))
    assert told == [refusal]

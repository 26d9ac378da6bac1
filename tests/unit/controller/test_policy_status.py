"""The writer of policies' statuses: what fails on one is that one's, and nothing is written twice."""

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.policy_status import PolicyStatuses
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from unit.controller.bodies import policy_body
from unit.policies.looks import look

REFUSED = ApiError(403, "Forbidden", "you may not")


class _Api:
    """Takes patches as the API server does, but for the names that it fails on."""

    def __init__(self, world: ClusterCache) -> None:
        self.world = world
        self.failing: dict[str, Exception] = {}
        self.patched: list[str] = []

    async def patch(self, _: Any, namespace: str, name: str, body: Any, *, sub: str) -> Any:
        assert sub == "status"
        known = self.world.policies.get(namespace, name)
        assert known is not None
        assert body["metadata"]["resourceVersion"] == known["metadata"]["resourceVersion"]
        if name in self.failing:
            raise self.failing[name]
        self.patched.append(name)
        metadata = known["metadata"] | {"resourceVersion": str(int(known["metadata"]["resourceVersion"]) + 1)}
        return known | {"metadata": metadata, "status": (known.get("status") or {}) | body["status"]}


def _told(
    names: str = "abc", *, leads: bool = True, **more: Any
) -> tuple[ClusterCache, _Api, PolicyStatuses]:
    world = ClusterCache({})
    for name in names:
        world.policy_seen(policy_body(name, table={"path": f"/lake/{name}"}, **more))
    world.heed_policies()
    api = _Api(world)
    kube: Any = api
    looks = TableObservations(world, lambda _: look(), every=3600, least_pause=0.0)
    leadership: Any = SimpleNamespace(leads=lambda: leads)
    return world, api, PolicyStatuses(kube, world, leadership, looks=looks, neighbours=VisibleBlockers())


async def _tell(world: ClusterCache, statuses: PolicyStatuses) -> set[str]:
    """Tells all; returns the names of those that failed."""
    return {
        uid.removeprefix("policy-")
        for uid in await statuses.tell([body["metadata"]["uid"] for body in world.policies.values()])
    }


async def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not look():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def test_each_is_told_once() -> None:
    world, api, statuses = _told()
    assert not await _tell(world, statuses)
    assert not await _tell(world, statuses)
    assert sorted(api.patched) == ["a", "b", "c"]


@pytest.mark.parametrize("error", [REFUSED, RuntimeError("broken"), KeyError("x")])
async def test_what_fails_on_one_is_logged_once_and_tried_again_and_others_are_told(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world, api, statuses = _told()
    api.failing["b"] = error
    assert await _tell(world, statuses)
    logged = len(caplog.records)
    assert logged
    assert all("etl/b" in record.getMessage() for record in caplog.records)
    assert await _tell(world, statuses)
    assert len(caplog.records) == logged
    assert sorted(api.patched) == ["a", "c"]
    api.failing.clear()
    assert not await _tell(world, statuses)
    assert sorted(api.patched) == ["a", "b", "c"]


async def test_one_that_is_gone_is_done_and_one_that_was_changed_is_tried_again_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world, api, statuses = _told("ab")
    api.failing["a"] = NotFoundError(404, "NotFound", "gone")
    assert not await _tell(world, statuses)
    world, api, statuses = _told("b")
    api.failing["b"] = ConflictError(409, "Conflict", "changed")
    running = asyncio.create_task(statuses.run())
    statuses.mark("policy-b")
    await asyncio.sleep(0)
    api.failing.clear()
    await until(lambda: api.patched == ["b"])
    running.cancel()
    assert caplog.records == []


async def test_who_does_not_lead_any_more_writes_nothing() -> None:
    world, api, statuses = _told(leads=False)
    assert await _tell(world, statuses)
    assert api.patched == []


async def test_a_change_of_another_policy_is_told_on_this_one() -> None:
    world, api, statuses = _told("a")
    await _tell(world, statuses)
    world.policy_seen(policy_body("older", created="09:00:00", table={"path": "/lake/a"}))
    world.heed_policies()
    await _tell(world, statuses)
    first = world.policies.get("etl", "a")
    assert first is not None
    assert first["status"]["reason"] == "LeftOut"
    assert api.patched == ["a", "a", "older"]


async def test_what_a_look_found_is_told_and_nothing_is_written_where_it_found_nothing_new() -> None:
    world, _, statuses = _told("a", properties={"delta.appendOnly": "true"})
    seen: list[str] = []  # a look that has only begun may answer what is asked for meanwhile
    statuses.looks.listen(seen.append)
    running = [asyncio.create_task(statuses.run()), asyncio.create_task(statuses.looks.run())]
    try:
        await until(lambda: _reason(world) == "Drifted")
        written = statuses.written
        for count in range(2, 5):
            statuses.looks.soon("policy-a")
            await until(lambda: len(seen) >= count)  # noqa: B023 - awaited in the same turn
        await _tell(world, statuses)
        assert statuses.written == written
    finally:
        for task in running:
            task.cancel()


def _reason(world: ClusterCache) -> str:
    body = world.policies.get("etl", "a")
    assert body is not None
    return str((body.get("status") or {}).get("reason"))


async def test_others_have_their_turn_between_any_two_of_many() -> None:
    world, _, statuses = _told("abcdefgh")
    await _tell(world, statuses)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    acting = asyncio.create_task(other())
    await _tell(world, statuses)
    acting.cancel()
    assert turns >= 8


async def test_a_change_of_one_has_only_those_told_anew_to_which_it_matters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, api, statuses = _told()
    told: list[set[str]] = []
    tell = statuses.tell

    async def noted(uids: set[str]) -> set[str]:
        told.append(set(uids))
        return await tell(uids)

    monkeypatch.setattr(statuses, "tell", noted)
    monkeypatch.setattr("sluice.controller.policy_work.policy_status.PAUSE", 0.0)
    running = asyncio.create_task(statuses.run())
    await until(lambda: len(api.patched) == 3)
    for version in (10, 20):  # by the first, their own statuses are heeded
        told.clear()
        table = {"path": f"/lake/{version}"}
        world.policy_seen(policy_body("a", version=version, generation=version, table=table))
        world.heed_policies()
        await until(lambda: len(told) > 2)
    running.cancel()
    assert {uid for uids in told for uid in uids} == {"policy-a"}

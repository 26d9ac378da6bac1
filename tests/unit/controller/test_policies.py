"""The writer of policies' statuses: what fails on one is that one's, and nothing is written twice."""

from types import SimpleNamespace
from typing import Any

import pytest

from sluice.controller.policies import PolicyStatuses
from sluice.controller.world import World
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from unit.controller.bodies import policy_body

REFUSED = ApiError(403, "Forbidden", "you may not")


class _Api:
    """Takes patches as the API server does, but for the names that it fails on."""

    def __init__(self, world: World) -> None:
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


def _told(names: str = "abc", *, leads: bool = True) -> tuple[World, _Api, PolicyStatuses]:
    world = World({})
    for name in names:
        world.policy_seen(policy_body(name, table={"path": f"/lake/{name}"}))
    world.heed_policies()
    api = _Api(world)
    kube: Any = api
    leadership: Any = SimpleNamespace(leads=lambda: leads)
    return world, api, PolicyStatuses(kube, world, leadership)


async def test_each_is_told_once() -> None:
    _, api, statuses = _told()
    assert await statuses.tell()
    assert await statuses.tell()
    assert sorted(api.patched) == ["a", "b", "c"]


@pytest.mark.parametrize("error", [REFUSED, RuntimeError("broken"), KeyError("x")])
async def test_what_fails_on_one_is_logged_once_and_tried_again_and_others_are_told(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    _, api, statuses = _told()
    api.failing["b"] = error
    assert not await statuses.tell()
    logged = len(caplog.records)
    assert logged
    assert all("etl/b" in record.getMessage() for record in caplog.records)
    assert not await statuses.tell()
    assert len(caplog.records) == logged
    assert sorted(api.patched) == ["a", "c"]
    api.failing.clear()
    assert await statuses.tell()
    assert sorted(api.patched) == ["a", "b", "c"]


async def test_one_that_is_gone_is_done_and_one_that_was_changed_is_tried_again_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, api, statuses = _told("ab")
    api.failing["a"] = NotFoundError(404, "NotFound", "gone")
    assert await statuses.tell()
    _, api, statuses = _told("b")
    api.failing["b"] = ConflictError(409, "Conflict", "changed")
    assert not await statuses.tell()
    assert caplog.records == []


async def test_who_does_not_lead_any_more_writes_nothing() -> None:
    _, api, statuses = _told(leads=False)
    assert not await statuses.tell()
    assert api.patched == []


async def test_a_change_of_another_policy_is_told_on_this_one() -> None:
    world, api, statuses = _told("a")
    await statuses.tell()
    world.policy_seen(policy_body("older", created="09:00:00", table={"path": "/lake/a"}))
    world.heed_policies()
    await statuses.tell()
    first = world.policies.get("etl", "a")
    assert first is not None
    assert first["status"]["reason"] == "LeftOut"
    assert api.patched == ["a", "a", "older"]

"""What a leader's Lease object tells of the past. The API server is played."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.controller.leadership.election import Election, LostLeadershipError
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.kube.client import ConflictError


class Server:
    """Stands in for the API server, with one Lease object, which it replaces only if it is as it was read."""

    def __init__(self) -> None:
        self.stored: Json = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "sluice-leader", "namespace": "sluice", "resourceVersion": "1"},
            "spec": {},
        }

        self.late: Callable[[], Awaitable[Json]] | None = None
        """Called in the place of the next answer."""

    async def get(self, *_: Any) -> Json:
        return self.stored if self.late is None else await self.late()

    async def replace(self, _: Any, __: str, ___: str, body: Json) -> Json:
        version = self.stored["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != version:
            raise ConflictError(409, "Conflict", "it is another one now")
        self.stored = body | {"metadata": body["metadata"] | {"resourceVersion": str(int(version) + 1)}}
        return self.stored


async def leading() -> tuple[Server, Election]:
    server: Any = Server()
    leadership = Election(server, OperatorConditions(), "sluice", "sluice", turns=partial(next, count()))
    await leadership.acquire()
    return server, leadership


async def test_renewals_count_from_the_rebuild_on() -> None:
    _, leadership = await leading()
    await leadership.raise_epoch(3)
    assert (leadership.epoch, leadership.beat) == (4, 0)
    leadership.rebuilt()
    await leadership.raise_epoch(3)
    assert leadership.beat == 1


async def test_a_lease_that_is_as_it_was_before_ends_the_leadership_and_is_told() -> None:
    server, leadership = await leading()
    leadership.rebuilt()
    await leadership.raise_epoch(0)
    restored = server.stored
    for epoch in (1, 2):
        await leadership.raise_epoch(epoch)
    server.stored = restored
    with pytest.raises(LostLeadershipError, match="went back"):
        await leadership.raise_epoch(0)
    assert leadership.went_back


async def test_what_ended_the_leadership_while_the_lease_table_was_rebuilt_is_heeded_by_the_next_rebuild() -> (
    None
):
    server, leadership = await leading()
    leadership.rebuilt()
    await leadership.raise_epoch(0)
    restored = server.stored
    await leadership.raise_epoch(1)
    server.stored = restored
    with pytest.raises(LostLeadershipError, match="went back"):
        await leadership.raise_epoch(0)
    leadership.rebuilt()
    assert leadership.went_back
    await leadership.acquire()
    leadership.rebuilt()
    assert not leadership.went_back


async def test_an_answer_that_another_renewal_overtook_is_no_api_server_that_went_back() -> None:
    server, leadership = await leading()
    leadership.rebuilt()
    await leadership.raise_epoch(0)
    asked = server.stored["metadata"]["annotations"] | {names.ANNOTATION_REVOKE: "asked"}
    server.stored = server.stored | {
        "metadata": server.stored["metadata"] | {"annotations": asked, "resourceVersion": "9"}
    }
    asks, overtaken = asyncio.Event(), asyncio.Event()

    async def late(*_: Any) -> Json:
        before = server.stored
        server.late = None
        asks.set()
        await overtaken.wait()
        return before

    server.late = late
    slow = asyncio.create_task(leadership.raise_epoch(0))
    await asks.wait()
    for _ in range(2):
        await leadership.raise_epoch(0)
    overtaken.set()
    assert await slow == 4
    assert leadership.leads()


async def test_what_others_write_beside_is_kept_and_answered_in_one_write() -> None:
    server, leadership = await leading()
    metadata = server.stored["metadata"]
    asked = {**metadata.get("annotations", {}), names.ANNOTATION_REVOKE: "asked"}
    server.stored = server.stored | {"metadata": metadata | {"annotations": asked, "resourceVersion": "9"}}
    await leadership.raise_epoch(0)
    assert leadership.annotation(names.ANNOTATION_REVOKE) == "asked"
    await leadership.annotate({names.ANNOTATION_REVOKED: "answered", names.ANNOTATION_REVOKE: None})
    annotations = server.stored["metadata"]["annotations"]
    assert names.ANNOTATION_REVOKE not in annotations
    assert annotations[names.ANNOTATION_REVOKED] == "answered"


async def test_a_count_that_somebody_wrote_by_hand_counts_from_the_beginning() -> None:
    server, leadership = await leading()
    server.stored["metadata"]["annotations"][names.ANNOTATION_BEAT] = "many"
    assert leadership.beat == 0

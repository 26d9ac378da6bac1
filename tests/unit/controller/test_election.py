"""The Lease object: who leads is written there, given up at the end, and tells the operator's conditions."""

import asyncio
import json
from functools import partial
from itertools import count
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.operator_status import OperatorConditionType, read
from sluice.controller.leadership.election import Election
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.leases import Epochs

LOST = ApiError(0, "NoAnswer", "the API server's answer was lost")


class _Api:
    """One Lease, as the API server keeps it."""

    def __init__(self) -> None:
        self.lease: Json | None = None
        self.loses_answers = False

    async def get(self, *_: Any) -> Json:
        if self.lease is None:
            raise NotFoundError(404, "NotFound", "there is none")
        return json.loads(json.dumps(self.lease))  # type: ignore[no-any-return]

    async def create(self, _resource: Any, _namespace: str, body: Json) -> Json:
        self.lease = body | {"metadata": body["metadata"] | {"resourceVersion": "1", "uid": "lease"}}
        return await self.get()

    async def replace(self, _resource: Any, _namespace: str, _name: str, body: Json) -> Json:
        assert self.lease is not None
        version = self.lease["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != version:
            raise ConflictError(409, "Conflict", "it was changed")
        self.lease = body | {"metadata": body["metadata"] | {"resourceVersion": str(int(version) + 1)}}
        if self.loses_answers:
            raise LOST
        return await self.get()

    @property
    def holder(self) -> str:
        assert self.lease is not None
        return str(self.lease["spec"]["holderIdentity"])


def _leadership(api: _Api) -> tuple[OperatorConditions, Election]:
    kube: Any = api
    conditions = OperatorConditions()
    return conditions, Election(kube, conditions, "sluice-system", "sluice", turns=partial(next, count()))


async def test_a_leader_gives_its_lease_up_also_if_the_answer_to_its_last_write_was_lost() -> None:
    api = _Api()
    _, leadership = _leadership(api)
    await leadership.acquire()
    api.loses_answers = True
    with pytest.raises(ApiError):
        await leadership.raise_epoch(1)
    api.loses_answers = False
    await leadership.release()
    assert api.holder == ""
    assert not leadership.leads()


async def test_who_was_stopped_before_it_heard_that_it_leads_gives_the_lease_up_too() -> None:
    api = _Api()
    _, leadership = _leadership(api)
    await leadership._read_or_create()
    assert api.lease is not None
    api.lease["spec"]["holderIdentity"] = leadership.identity
    await leadership.release()
    assert api.holder == ""


async def test_anothers_lease_is_left_alone() -> None:
    api = _Api()
    _, leader = _leadership(api)
    await leader.acquire()
    _, other = _leadership(api)
    await other.release()
    assert api.holder == leader.identity


async def test_conditions_stand_on_the_lease_and_the_next_leader_goes_on_from_them() -> None:
    api = _Api()
    conditions, leader = _leadership(api)
    await leader.acquire()
    conditions.fails(OperatorConditionType.LEASE_TABLE_USABLE, "RedisFails", "no answer")
    await leader.raise_epoch(0)
    assert api.lease is not None
    written = read(api.lease["metadata"]["annotations"][names.ANNOTATION_CONDITIONS])
    assert [(one.type.value, one.status.value) for one in written] == [
        ("ApiServerReachable", "True"),
        ("LeaseTableUsable", "False"),
    ]
    await leader.release()
    later, successor = _leadership(api)
    await successor.acquire()
    assert later.all()[1] == conditions.all()[1]
    assert successor.epoch == 1


async def test_a_lease_that_cannot_be_made_is_logged_once_until_something_else_is_the_matter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = iter([*["no such namespace"] * 3, *["no answer"] * 2])

    async def refuses(*_: Any) -> Json:
        raise ApiError(404, "NotFound", next(refusals))

    async def at_once(_: float) -> None: ...

    api = _Api()
    created = api.create
    monkeypatch.setattr(api, "create", refuses)
    monkeypatch.setattr(asyncio, "sleep", at_once)
    _, leadership = _leadership(api)
    with pytest.raises(RuntimeError):  # the last refusal is the end of the iterator
        await leadership.acquire()
    monkeypatch.setattr(api, "create", created)
    await leadership.acquire()
    said = [line.message for line in caplog.records if line.name == "sluice.controller.leadership.election"]
    assert said == [
        f"cannot read or create the Lease sluice-system/sluice-leader: {why}; trying again"
        for why in ("no such namespace", "no answer")
    ]


@pytest.mark.parametrize("text", ["999999999", "1" + "0" * 17, str(Epochs.END - 1)])
async def test_an_epoch_that_leaves_none_for_those_to_come_is_not_counted_on_from(text: str) -> None:
    api = _Api()
    _, leadership = _leadership(api)
    await leadership.acquire()
    await leadership.raise_epoch(3)
    assert api.lease is not None
    api.lease["metadata"]["annotations"][names.ANNOTATION_EPOCH] = text
    api.lease["metadata"]["resourceVersion"] += "0"
    assert await leadership.raise_epoch(5) == 6

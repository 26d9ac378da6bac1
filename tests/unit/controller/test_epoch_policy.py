"""The admission policy's parameter is only ever raised, and an epoch counts once the one before it is refused. The API server
is played; tests/integration/operator/test_epochs.py asks a real one."""

import json
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.conditions import ConditionStatus
from sluice.api.operator_status import OperatorCondition
from sluice.controller.leadership import epoch_policy as module
from sluice.controller.leadership.epoch_policy import IS_MISSING, IS_OVER, EpochPolicy, NotFencedError
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.leases import Epochs

POLICIES = [names.epoch_policy("sluice-system", "sluice", judged) for judged in names.JUDGED_BY_EPOCH]


def denied(words: str, policy: str = POLICIES[0]) -> ApiError:
    text = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {words}"
    return ApiError(422, "Invalid", text)


class Api:
    """One ConfigMap, and a policy that takes some looks to see what it says."""

    def __init__(self, epoch: str | None = None) -> None:
        self.epoch, self.version = epoch, 1
        self.written: list[str] = []
        self.lags = 0
        """How many probes the policy takes before it sees a raised parameter."""
        self.installed = set(names.JUDGED_BY_EPOCH)
        self.meanwhile: list[str] = []
        """What somebody else writes between a read and the write that follows."""
        self.probed: list[int] = []

    async def get(self, *_: Any) -> Json:
        if self.epoch is None:
            raise NotFoundError(404, "NotFound", "not there")
        return {"metadata": {"resourceVersion": str(self.version)}, "data": {names.EPOCH_KEY: self.epoch}}

    async def create(self, _: Any, __: str, body: Json, *, only_try: bool = False) -> Json:
        if only_try:
            return self._probed(body)
        if self.epoch is not None:
            raise ConflictError(409, "AlreadyExists", "it is there")
        return self._write(body)

    async def replace(self, _: Any, __: str, ___: str, body: Json) -> Json:
        if self.meanwhile:
            self.epoch, self.version = self.meanwhile.pop(), self.version + 1
        if body["metadata"]["resourceVersion"] != str(self.version):
            raise ConflictError(409, "Conflict", "it is another one now")
        return self._write(body)

    def _write(self, body: Json) -> Json:
        self.epoch, self.version = body["data"][names.EPOCH_KEY], self.version + 1
        self.written.append(body["data"][names.EPOCH_KEY])
        return body

    def _probed(self, body: Json) -> Json:
        epoch = int(body["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH])
        self.probed.append(epoch)
        self.lags -= 1
        judged = body["metadata"]["name"].removeprefix("sluice-epoch-probe-")
        if judged in self.installed and self.lags < 0 and epoch < int(self.epoch or 0):
            raise denied(f"epoch {epoch} {IS_OVER}", names.epoch_policy("sluice-system", "sluice", judged))
        return body


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("PAUSE", 0.001), ("GRACE", 0.0)):
        monkeypatch.setattr(module, name, seconds)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is never refused; what is refused late is waited for however busy the machine is."""
    monkeypatch.setattr(module, "PATIENCE", 0.01)


def policy(
    api: Api, conditions: OperatorConditions | None = None, *, is_expected: bool = True
) -> EpochPolicy:
    kube: Any = api
    return EpochPolicy(
        kube, conditions or OperatorConditions(), "sluice-system", "sluice", is_expected=is_expected
    )


def told(conditions: OperatorConditions) -> OperatorCondition:
    [one] = conditions.all()
    return one


@pytest.mark.parametrize("before", [None, "0", "6"])
async def test_a_new_epoch_is_in_force_once_the_one_before_it_is_refused(before: str | None) -> None:
    api, conditions = Api(before), OperatorConditions()
    api.lags = 3
    epochs = policy(api, conditions)
    await epochs.enforce(7)
    assert (api.epoch, api.written, api.probed) == ("7", ["7"], [6] * (3 + len(POLICIES)))
    assert epochs.epoch == 7
    assert (told(conditions).status, told(conditions).reason) == (ConditionStatus.TRUE, "Fenced")


async def test_the_parameter_is_never_lowered() -> None:
    api = Api("9")
    epochs = policy(api)
    with pytest.raises(NotFencedError, match="says epoch 9, while epoch 7 was begun"):
        await epochs.enforce(7)
    await epochs.keep(5)
    assert (api.epoch, api.written) == ("9", [])
    assert await epochs.last() == 9
    await epochs.try_again()  # a begun epoch that is already over is not tried again
    assert api.probed == []


async def test_whoever_is_overtaken_while_it_writes_leaves_the_higher_epoch() -> None:
    api = Api("3")
    api.meanwhile = ["8"]
    with pytest.raises(NotFencedError, match="says epoch 8"):
        await policy(api).enforce(7)
    assert (api.epoch, api.written) == ("8", [])


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("judged", names.JUDGED_BY_EPOCH)
async def test_a_policy_that_does_not_refuse_is_told_and_the_same_epoch_is_tried_again(judged: str) -> None:
    api, conditions = Api("3"), OperatorConditions()
    api.installed.remove(judged)
    epochs = policy(api, conditions)
    with pytest.raises(NotFencedError, match=f"{judged}.sluice.* does not refuse writes of epoch 6"):
        await epochs.enforce(7)
    assert (told(conditions).status, told(conditions).reason) == (ConditionStatus.FALSE, "NotFenced")
    with pytest.raises(NotFencedError):
        await epochs.try_again()
    api.installed.add(judged)
    await epochs.try_again()
    assert told(conditions).status is ConditionStatus.TRUE
    assert api.written == ["7"], "no epoch is spent on trying"


async def test_a_refusal_by_anybody_else_is_none_of_the_policys() -> None:
    epochs = policy(Api("3"))
    quota = ApiError(403, "Forbidden", f"exceeded quota: what {IS_OVER} is over")
    other = ApiError(422, "Invalid", f"ValidatingAdmissionPolicy 'other' with binding 'x': epoch 2 {IS_OVER}")
    assert not any(map(epochs.says_it_is_over, (quota, other)))
    assert epochs.says_it_is_over(denied(f"epoch 2 {IS_OVER}"))


async def test_a_parameter_that_somebody_deletes_is_made_anew_with_the_same_epoch() -> None:
    api = Api("3")
    epochs = policy(api)
    await epochs.enforce(7)
    api.epoch = None
    assert not epochs.says_it_is_over(denied("no params found for policy binding with `Deny`"))
    await epochs.keep(0)
    assert api.written == ["7", "7"]
    api.epoch = None
    assert not epochs.says_it_is_over(denied(f"it {IS_MISSING}"))
    await epochs.keep(0)
    assert api.written == ["7", "7"], "a write without an epoch says nothing of the parameter"


@pytest.mark.parametrize("wrong", ["", "x", "-1", "007 ", str(Epochs.END), "9" * 30])
async def test_what_is_no_epoch_is_refused_and_not_written_over(wrong: str) -> None:
    api = Api(wrong)
    with pytest.raises(ValueError, match="which is no epoch of an operator: delete it"):
        await policy(api).last()
    with pytest.raises(ValueError, match="no epoch"):
        await policy(api).enforce(7)
    assert api.written == []


async def test_before_its_first_rebuild_a_leader_writes_by_the_last_epoch() -> None:
    api = Api()
    epochs = policy(api)
    await epochs.keep(0)
    assert (api.epoch, epochs.annotations) == ("0", {names.ANNOTATION_WRITER_EPOCH: "0"})
    later = policy(api)
    await later.keep(4)
    assert (api.epoch, later.epoch) == ("4", 4)


async def test_where_no_policy_is_expected_nobody_is_asked_and_that_is_said() -> None:
    api, conditions = Api(), OperatorConditions()
    epochs = policy(api, conditions, is_expected=False)
    await epochs.keep(3)
    assert (epochs.epoch, await epochs.last()) == (3, 0)
    await epochs.enforce(7)
    assert (epochs.epoch, api.epoch, api.probed) == (7, None, [])
    assert (told(conditions).status, told(conditions).reason) == (ConditionStatus.UNKNOWN, "NotFenced")
    assert "run one replica" in json.dumps(told(conditions).message)

"""A right that has gone is noticed by what is refused for it, and not only when all rights are asked for again."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership import prerequisites
from sluice.controller.leadership.prerequisites import Prerequisites, Refusals
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError

PROFILES = {"default": RuntimeProfile(spark_version="4.2.0")}
RIGHTS = OperatorConditionType.RIGHTS_GRANTED


class Api:
    """Answers what an account may do."""

    def __init__(self) -> None:
        self.gone: set[tuple[str, str]] = set()
        self.asked: Counter[tuple[str, str]] = Counter()

    async def create(self, _: Any, __: Any, review: Json) -> Json:
        wanted = review["spec"]["resourceAttributes"]
        what = wanted["verb"], wanted["resource"]
        self.asked[what] += 1
        return {"status": {"allowed": what not in self.gone}}


class Around:
    """Surroundings that look again all the time."""

    def __init__(self) -> None:
        self.definitions_asked = 0
        self.api, self.refusals, self.conditions = Api(), Refusals(), OperatorConditions()
        api: Any = self.api
        config = OperatorConfig(runtimes=PROFILES, watch_namespaces=("etl", "ops"))
        self.world = ClusterCache(PROFILES)
        self.looks = Prerequisites(api, self.world, config, self.refusals)

    def told(self) -> str | None:
        self.looks.tell(self.conditions)
        return self.conditions.failing(RIGHTS, "RightsMissing")

    async def turns(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0.002)


@pytest.fixture
async def around(monkeypatch: pytest.MonkeyPatch) -> Any:
    one = Around()

    async def none(_: Any) -> tuple[()]:
        one.definitions_asked += 1
        return ()

    monkeypatch.setattr(prerequisites, "look_at_definitions", none)
    monkeypatch.setattr(prerequisites, "SOON", 0.001)
    running = asyncio.create_task(one.looks.run())
    await one.turns()
    assert one.told() is None
    yield one
    running.cancel()


async def test_a_right_that_has_gone_is_told_once_something_is_refused_for_it(around: Around) -> None:
    before = around.api.asked.copy()
    around.api.gone.add(("patch", "pods"))
    await around.turns()
    assert around.told() is None
    around.refusals.asked("get", "pods", 200, 0.1)
    around.refusals.asked("create", "sparkapplications", 422, 0.1)
    around.refusals.asked("patch", "pods", 403, 0.1)
    await around.turns()
    assert "may not patch pods in namespace etl; patch pods in namespace ops" in (around.told() or "")
    assert {*(around.api.asked - before)} == {("patch", "pods")}, "nothing else is asked for"
    around.api.gone.clear()
    await around.turns()
    assert around.told() is None


async def test_what_is_refused_all_the_time_with_all_rights_there_is_asked_for_now_and_then(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = around.api.asked.copy()
    for _ in range(5):
        around.refusals.asked("create", "sparkapplications", 403, 0.1)
        around.refusals.asked("create", "serviceaccounts", 403, 0.1)
        await around.turns()
    assert around.told() is None
    assert around.api.asked - before == {("create", "sparkapplications"): 2}
    monkeypatch.setattr(prerequisites, "REFUSALS_EVERY", 0.0)
    await around.turns()
    assert around.api.asked - before == {("create", "sparkapplications"): 4}, "what was refused meanwhile"


async def test_rights_that_cannot_be_asked_for_are_no_missing_ones(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(*_: Any) -> bool:
        raise ApiError(0, "NoAnswer", "no answer")

    monkeypatch.setattr(prerequisites, "may_i", silent)
    around.refusals.asked("patch", "pods", 403, 0.1)
    await around.turns()
    assert around.told() is None


async def test_definitions_are_looked_at_while_a_kind_is_missing_and_not_only_now_and_then(
    around: Around,
) -> None:
    before = around.definitions_asked
    await around.turns()
    assert around.definitions_asked == before
    around.world.mirrors[1].is_served = False
    await around.turns()
    assert around.definitions_asked > before + 1


async def test_that_definitions_could_not_be_asked_for_is_no_word_that_they_are_older(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def boots(_: Any) -> tuple[()]:
        raise ApiError(503, "NotPublished", "it has not published its schema yet")

    monkeypatch.setattr(prerequisites, "look_at_definitions", boots)
    around.world.mirrors[1].is_served = False  # which has it look again at once
    await around.turns()
    around.told()
    (said,) = [one for one in around.conditions.all() if one.type == "DefinitionsCurrent"]
    assert (said.status, said.reason) == ("Unknown", "NotPublished")
    assert said.message == (
        "the API server could not be asked which definitions it serves: it has not published its schema yet; it is asked again"
    )
    assert around.looks.obstacle is None

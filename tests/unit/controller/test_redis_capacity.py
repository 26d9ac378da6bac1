"""A Redis that is full is told of as long as somebody asks for room, and nothing is rebuilt for it. Redis is played."""

import pytest

from sluice.api.operator_status import OperatorConditionType
from sluice.controller.lease_table import redis_capacity, table
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.leases import FullError
from unit.controller.test_table import REACH, A, Api, Clock, Store, built

FULL = FullError("its memory has reached maxmemory")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (table, redis_capacity):
        monkeypatch.setattr(module, "time", found)
    return found


def told(conditions: OperatorConditions) -> str | None:
    return conditions.failing(OperatorConditionType.LEASE_TABLE_USABLE, "RedisFull")


async def test_it_grants_nothing_until_there_is_room_and_is_not_rebuilt_for_it() -> None:
    store, conditions = Store(), OperatorConditions()
    _, table = await built(store, Api(), conditions=conditions)
    epoch = store.epoch
    store.fails = FULL
    assert await table.grant(A, REACH) is None
    assert (table.is_sure, table.unsettled) == (True, {})
    assert (table.no_room or "").startswith(
        "Redis at redis:6379/0 is full (its memory has reached maxmemory)"
    )
    await table.make_sure()
    assert told(conditions) == table.no_room
    store.fails = None
    assert await table.grant(A, REACH) is not None
    await table.make_sure()
    assert (table.no_room, told(conditions)) == (None, None)
    assert store.epoch == epoch


async def test_it_is_no_longer_told_once_nobody_asks_for_room(clock: Clock) -> None:
    store, conditions = Store(), OperatorConditions()
    _, table = await built(store, Api(), conditions=conditions)
    store.fails = FULL
    await table.grant(A, REACH)
    clock.now += redis_capacity.COUNTS
    await table.make_sure()
    assert (table.no_room, told(conditions)) == (None, None)

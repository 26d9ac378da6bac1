"""How fast requests go out."""

import asyncio

from sluice.kube import rate_limit
from sluice.kube.rate_limit import RateLimit


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_so_many_go_at_once_and_then_so_many_a_second() -> None:
    clock = Clock()
    bucket = RateLimit(rate=10.0, burst=3, now=clock)
    assert [round(bucket.reserve(), 3) for _ in range(5)] == [0.0, 0.0, 0.0, 0.1, 0.2]
    clock.now += 0.3
    assert round(bucket.reserve(), 3) == 0.0
    assert round(bucket.reserve(), 3) == 0.1


def test_a_long_rest_saves_no_more_than_a_burst() -> None:
    clock = Clock()
    bucket = RateLimit(rate=10.0, burst=3, now=clock)
    clock.now += 3600
    assert [round(bucket.reserve(), 3) for _ in range(4)] == [0.0, 0.0, 0.0, 0.1]


def test_without_a_rate_nobody_waits() -> None:
    free = RateLimit(rate=0.0, burst=1, now=Clock())
    assert {free.reserve() for _ in range(1000)} == {0.0}


async def test_no_more_are_under_way_than_there_are_places() -> None:
    free = RateLimit()
    under_way, most = 0, 0

    async def request() -> None:
        nonlocal under_way, most
        async with free.turn():
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    await asyncio.gather(*(request() for _ in range(3 * rate_limit.UNDER_WAY)))
    assert most == rate_limit.UNDER_WAY

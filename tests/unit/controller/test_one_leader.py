"""Never do two lead at once, however slowly an API server takes and answers what it is asked. Time is played."""

import asyncio
import selectors
from collections.abc import Coroutine
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.controller.leadership.election import LONGEST_DURATION, Election
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.kube.client import REQUEST_TIMEOUT, ApiError, ConflictError

PACES = (0.05, 0.05, 0.05, 1.0, 2.5, 5.0, 12.0)
"""Seconds that requests take at most on their way, and answers on theirs."""


class _Waits(selectors.DefaultSelector):
    """Nothing comes from outside: whoever waits is as far as that."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return []


class _PlayedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waits = _Waits()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.now


class _Api:
    """Stands in for the API server, with one Lease object."""

    def __init__(self) -> None:
        self.pace = PACES[0]
        self.stored: Json = {
            "metadata": {"name": "sluice-leader", "namespace": "sluice", "resourceVersion": "1"},
            "spec": {},
        }


class _Way:
    """The way from one process to the API server. It may be cut for a while: then what is sent is lost, or its answer."""

    def __init__(self, api: _Api, chance: Random) -> None:
        self._api = api
        self._chance = chance
        self.is_cut = False

    async def get(self, *_: Any) -> Json:
        await self._go()
        found = self._api.stored
        await self._go()
        return found

    async def replace(self, _: Any, __: str, ___: str, body: Json) -> Json:
        """What was sent lands, also if who sent it has ended meanwhile."""
        return await asyncio.shield(asyncio.create_task(self._replace(body)))

    async def _replace(self, body: Json) -> Json:
        await self._go()
        version = self._api.stored["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != version:
            raise ConflictError(409, "Conflict", "it is another one now")
        written = body | {"metadata": body["metadata"] | {"resourceVersion": str(int(version) + 1)}}
        self._api.stored = written
        await self._go()
        return written

    async def _go(self) -> None:
        await asyncio.sleep(self._chance.choice((0.0, 0.2, 1.0)) * self._api.pace)
        if self._chance.random() < (0.5 if self.is_cut else 0.01):
            await asyncio.sleep(REQUEST_TIMEOUT)
            raise ApiError(0, "NoAnswer", "it was lost")


class _Process:
    def __init__(self, api: _Api, chance: Random) -> None:
        self.turns = 0
        self.way = _Way(api, chance)
        kube: Any = self.way
        self._chance = chance
        self._ends_at = asyncio.get_running_loop().time() + chance.random() * 200
        self.leadership = Election(
            kube,
            OperatorConditions(),
            "sluice",
            "sluice",
            turns=self._turns,
            now=asyncio.get_running_loop().time,
        )

    def _turns(self) -> int:
        self.turns += 1
        return self.turns

    async def run(self) -> None:
        """Until it is killed, without a word."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._ends_at):
                while True:
                    await self.leadership.acquire()
                    writes = asyncio.create_task(self._write())
                    try:
                        await self.leadership.keep()
                    finally:
                        writes.cancel()

    async def _write(self) -> None:
        """Beside the renewals, as one who rebuilds the lease table does."""
        while True:
            await asyncio.sleep(self._chance.random() * 20)
            try:
                await self.leadership.raise_epoch(0)
            except Exception:  # noqa: BLE001 - that is tried again
                await asyncio.sleep(1)


async def _play(seed: int) -> int:
    """How often the lead changed."""
    chance = Random(seed)  # noqa: S311 - repeatable chance is what is wanted
    api = _Api()
    running: dict[asyncio.Task[None], _Process] = {}
    led: list[_Process] = []
    loop = asyncio.get_running_loop()
    while loop.time() < 1200:
        for task in [task for task in running if task.done()]:
            task.result()
            del running[task]
        if len(running) < 3:
            process = _Process(api, chance)
            running[asyncio.create_task(process.run())] = process
        leaders = [one for one in running.values() if one.leadership.leads()]
        assert len(leaders) <= 1, f"seed {seed}: two lead after {loop.time():.1f} s"
        if leaders and leaders != led[-1:]:
            led += leaders
        for one in running.values():
            if chance.random() < (0.02 if one.way.is_cut else 0.005):
                one.way.is_cut = not one.way.is_cut
        if chance.random() < 0.02:
            api.pace = chance.choice(PACES)
        await asyncio.sleep(0.1)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return len(led)


def _run(playing: Coroutine[Any, Any, int]) -> int:
    with asyncio.Runner(loop_factory=_PlayedLoop) as runner:
        return runner.run(playing)


@pytest.mark.parametrize("seed", [0, 1, 5, 7, 100, 111])
def test_never_do_two_lead_at_once(seed: int) -> None:
    assert _run(_play(seed)) > 1200 / (200 + LONGEST_DURATION) / 2

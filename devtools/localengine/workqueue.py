"""Works through keys that changed: never two workers on one key, never a change forgotten, failures again after a pause."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import aiohttp

from localengine.objects import told
from sluice.kube.client import ApiError

_log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0

Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """`handle` is told a key and returns the seconds after which it wants to see it again, or None."""

    def __init__(self, name: str, handle: Callable[[Key], Awaitable[float | None]]) -> None:
        self._name = name
        self._handle = handle
        self._ready: asyncio.Queue[Key] = asyncio.Queue()
        self._queued: set[Key] = set()
        self._busy: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()
        if key in self._queued:
            return
        self._queued.add(key)
        if key not in self._busy:
            self._ready.put_nowait(key)

    async def run(self, workers: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._ready.get()
            self._queued.discard(key)
            self._busy.add(key)
            try:
                again = await self._handle(key)
                self._failures.pop(key, None)
            except (ApiError, aiohttp.ClientError, TimeoutError, OSError, RuntimeError) as error:
                again = self._pause(key)
                _log.warning("%s %s: %s; again in %.1f s", self._name, key, told(error), again)
            except Exception:  # noqa: BLE001 - one odd object must not end the engine for all others
                again = self._pause(key)
                _log.exception(
                    "%s %s: this is a fault of the engine, which goes on without it", self._name, key
                )
            finally:
                self._busy.discard(key)
            if key in self._queued:
                self._ready.put_nowait(key)
            elif again is not None:
                self._later(key, again)

    def _pause(self, key: Key) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (failures - 1))

    def _later(self, key: Key, seconds: float) -> None:
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self.add, key)

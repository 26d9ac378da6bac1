"""Leadership in a thread of its own: a busy loop cannot starve the Lease, and a loop that hangs cannot keep it.

Conditions and metrics are shared with that thread; both may be called from several threads.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Self

from sluice.controller.leadership.election import Election
from sluice.controller.process.configuration import OperatorConfig
from sluice.controller.process.event_loop_thread import EventLoopThread
from sluice.controller.process.health import TurnCount
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.kube.client import Kube


class ElectionThread(Election):
    """Leadership as the acting loop sees it. What is awaited is carried out by the other loop, over a connection of its own."""

    def __init__(
        self, thread: EventLoopThread, kube: Kube, conditions: OperatorConditions, config: OperatorConfig
    ) -> None:
        acting = TurnCount()
        super().__init__(kube, conditions, config.namespace, config.deployment, turns=lambda: acting.count)
        self._thread = thread
        self._acting = acting

    @classmethod
    async def connect(
        cls,
        conditions: OperatorConditions,
        config: OperatorConfig,
        kube: Callable[[], Coroutine[Any, Any, Kube]],
    ) -> Self:
        """`kube` connects; it is called in the other thread, because a connection belongs to the loop that it was made in."""
        thread = EventLoopThread("lease")
        try:
            connected = await thread.run(kube())
        except BaseException:
            thread.close()
            raise
        return cls(thread, connected, conditions, config)

    async def acquire(self) -> None:
        await self._thread.run(super().acquire())

    async def keep(self) -> None:
        counting = asyncio.create_task(self._acting.go_on(), name="turns")
        try:
            await self._thread.run(super().keep())
        finally:
            counting.cancel()

    async def annotate(self, annotations: Mapping[str, str | None]) -> None:
        await self._thread.run(super().annotate(annotations))

    async def raise_epoch(self, at_least: int) -> int:
        return await self._thread.run(super().raise_epoch(at_least))

    async def release(self) -> None:
        await self._thread.run(super().release())

    async def close(self) -> None:
        await self._thread.run(self._kube.close())
        self._thread.close()

"""A thread with an event loop of its own, for what no busy loop may hold up."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

ENDS_WITHIN = 5.0
"""Seconds that are waited for its end."""


class BesideThread:
    """What is shared with it must be whole at any moment: between any two of its steps the other thread may have its turn."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon: what hangs in it doesn't keep the process from its end.
        self._thread = threading.Thread(target=self._turn, name=name, daemon=True)
        self._thread.start()

    async def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Carries it out over there. Who is cancelled while it waits has cancelled it there before anything that it asks for
        next begins: the other loop takes both in the order in which they were asked."""
        try:
            running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """What still runs in it is cancelled."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ENDS_WITHIN)

    def _turn(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()

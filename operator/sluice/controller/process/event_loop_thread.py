"""A thread with an event loop of its own, for what a busy loop must not hold up."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

ENDS_WITHIN = 5.0
"""Seconds to wait for its end."""


class EventLoopThread:
    """A thread with a loop. What is shared with it must be consistent at every moment: between any two steps the other thread
    may have its turn."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon: if something in it hangs, the process can still end.
        self._thread = threading.Thread(target=self._turn, name=name, daemon=True)
        self._thread.start()

    async def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Runs the coroutine in the other loop. If the caller is cancelled while it waits, the coroutine is cancelled there
        before anything that the caller asks for next begins: the other loop takes both in the order in which they were asked
        for."""
        try:
            running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:
            coroutine.close()
            raise
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """Cancels what still runs in it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ENDS_WITHIN)

    def _turn(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()

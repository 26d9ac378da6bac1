"""What tells the operator to stop: SIGINT and SIGTERM, however often they come."""

import asyncio
import signal


def heed_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

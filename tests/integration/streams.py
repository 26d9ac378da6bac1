"""Connections of asyncio that a test ends."""

import asyncio
from collections.abc import Iterable


async def abort(writers: Iterable[asyncio.StreamWriter]) -> None:
    """Ends connections, also with bytes still to be sent on them, so that none outlives its loop."""
    writers = list(writers)
    for writer in writers:
        writer.transport.abort()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)

"""A TCP proxy that can fall silent: what was connected stays connected, and nothing gets through any more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from integration.streams import abort

Way = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SwallowingProxy:
    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._open: dict[asyncio.Task[None], asyncio.Event] = {}
        """Connections, and whether they swallow."""
        self._writers: list[asyncio.StreamWriter] = []

    def swallow(self) -> int:
        """All that comes on today's connections is acknowledged and lost; new connections work. Gives their number."""
        for swallows in self._open.values():
            swallows.set()
        return len(self._open)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        swallows = asyncio.Event()
        self._writers.append(writer)
        task = asyncio.create_task(self._carry((reader, writer), swallows))
        self._open[task] = swallows
        task.add_done_callback(self._open.pop)

    async def end(self) -> None:
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await abort(self._writers)

    async def _carry(self, client: Way, swallows: asyncio.Event) -> None:
        server = await asyncio.open_connection(*self._server)
        self._writers.append(server[1])
        try:
            await asyncio.gather(
                _one_way(client[0], server[1], swallows), _one_way(server[0], client[1], swallows)
            )
        finally:
            for _, writer in (client, server):
                writer.close()


async def _one_way(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, swallows: asyncio.Event
) -> None:
    with suppress(OSError):  # ENOTCONN is no ConnectionError
        while data := await reader.read(65536):
            if not swallows.is_set():
                writer.write(data)
                await writer.drain()
        if not swallows.is_set():
            writer.write_eof()


@asynccontextmanager
async def swallowing_proxy(host: str, port: int) -> AsyncIterator[tuple[SwallowingProxy, int]]:
    """And the port on which it listens."""
    proxy = SwallowingProxy(host, port)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    try:
        yield proxy, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await proxy.end()

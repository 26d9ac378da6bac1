"""The wire between one operator and Redis, on which a plan's faults come."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from integration.faults.plan import Plan, What
from integration.faults.points import redis_point
from integration.streams import abort

LATE_SECONDS = 0.7
SLOW_SECONDS = 1.5
_FAILURES = {
    What.FAILS: b"-LOADING Redis is loading the dataset in memory\r\n",
    What.THROTTLED: b"-BUSY Redis is busy running a script\r\n",
    What.CONFLICTS: b"-LOADING Redis is loading the dataset in memory\r\n",
    What.ANSWERED_TOO_LATE: None,
}


class RedisWire:
    """Lives in the event loop of whoever opens it."""

    def __init__(self, port: int, plan: Callable[[], Plan], kill: Callable[[], None]) -> None:
        self._server_port = port
        self._plan = plan
        self._kill = kill
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self.late: list[bytes] = []
        """Requests that land once somebody else leads."""
        self.on_rebuilt: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await abort(self._writers)

    async def _carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._writers.append(to_client)
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            to_client.close()
            return
        self._writers.append(to_server)
        task = asyncio.ensure_future(_Connection(self, client, to_client, server, to_server).pump())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def befalls(self, words: Sequence[bytes]) -> What | None:
        return self._plan().meets(redis_point(words))

    def kill(self) -> None:
        self._kill()

    async def land(self, request: bytes) -> None:
        """Carries it out on a connection of its own, whose answer nobody sees."""
        server, to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
        self._writers.append(to_server)
        to_server.write(request)
        with suppress(OSError):
            await answer_of(server)
        to_server.close()

    def land_later(self, request: bytes) -> None:
        async def wait_and_land() -> None:
            await asyncio.sleep(LATE_SECONDS)
            await self.land(request)

        task = asyncio.ensure_future(wait_and_land())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Connection:
    """One request at a time: its answer is here before the next one is read."""

    def __init__(
        self,
        wire: RedisWire,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        self._wire = wire
        self._client = client
        self._to_client = to_client
        self._server = server
        self._to_server = to_server

    async def pump(self) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                while await self._one():
                    pass
        finally:
            self._to_client.close()
            self._to_server.close()

    async def _one(self) -> bool:
        """Whether the connection is still of use."""
        request, words = await request_of(self._client)
        what = self._wire.befalls(words)
        if what in (What.KILLED_BEFORE, What.LANDS_AFTER_DEATH):
            if what is What.LANDS_AFTER_DEATH:
                self._wire.late.append(request)
            self._wire.kill()
            return False
        if what is What.LANDS_LATE:
            self._wire.land_later(request)
            return False
        if what is not None and (failure := _FAILURES.get(what)) is not None:
            self._to_client.write(failure)
            return True
        if what is What.SLOW:
            await asyncio.sleep(SLOW_SECONDS)
        if what is What.LANDS_TWICE:
            await self._wire.land(request)
        self._to_server.write(request)
        answer = await answer_of(self._server)
        if what is What.KILLED_AFTER:
            self._wire.kill()
            return False
        if what in (What.ANSWER_LOST, What.ANSWERED_TOO_LATE, What.WATCHES_DROP):
            return False
        self._to_client.write(answer)
        await self._to_client.drain()
        if redis_point(words) == "redis rebuild" and b"REBUILT" in answer:
            self._wire.on_rebuilt()
        return True


async def request_of(client: asyncio.StreamReader) -> tuple[bytes, list[bytes]]:
    """Its bytes and its words. Raises IncompleteReadError at the connection's end."""
    head = await client.readuntil(b"\n")
    text, words = head, []
    for _ in range(int(head[1:])):
        length = await client.readuntil(b"\n")
        word = await client.readexactly(int(length[1:]) + 2)
        text += length + word
        words.append(word[:-2])
    return text, words


async def answer_of(server: asyncio.StreamReader) -> bytes:
    """One answer, with all that it holds."""
    line = await server.readuntil(b"\n")
    kind, rest = line[:1], line[1:].strip()
    if kind in b"$=!" and rest != b"-1":
        return line + await server.readexactly(int(rest) + 2)
    inner = {b"*": 1, b"~": 1, b">": 1, b"%": 2}.get(kind, 0)
    for _ in range(inner * max(int(rest), 0) if inner else 0):
        line += await answer_of(server)
    return line

"""A wire to Redis that loses answers, and carries requests twice or late."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from enum import Enum, auto
from typing import Any

from devenv.ports import free_ports


class Fault(Enum):
    LOSES_THE_ANSWER = auto()
    """The request is carried out, and the connection breaks."""
    CARRIES_IT_TWICE = auto()
    """A copy of it is carried out first."""
    CARRIES_IT_LATE = auto()
    """The connection breaks, and the request lands when `land` says so."""


class FaultyWire:
    """Runs in the loop of whoever uses it: nothing happens on it while nobody waits."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.port = free_ports(1)[0]
        self.faults: list[Fault] = []
        """What befalls the next scripts, one by one."""
        self._late: list[bytes] = []
        self._server: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def land(self) -> None:
        """Has everything land that is late."""
        late, self._late = self._late, []
        for request in late:
            await self._carried_out(request)

    async def _carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            to_client.close()
            return
        self._pump(self._requests(client, server, to_server, to_client))

    def _pump(self, pumping: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(pumping)
        self._pumps.add(task)
        task.add_done_callback(self._pumps.discard)

    async def _requests(
        self,
        client: asyncio.StreamReader,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
        to_client: asyncio.StreamWriter,
    ) -> None:
        """One request at a time: its answer is here before the next one comes."""
        with suppress(OSError):
            while request := await client.read(1 << 20):
                fault = self.faults.pop(0) if self.faults and b"EVALSHA" in request else None
                if fault is Fault.CARRIES_IT_LATE:
                    self._late.append(request)
                    break
                if fault is Fault.CARRIES_IT_TWICE:
                    await self._carried_out(request)
                to_server.write(request)
                answer = await server.read(1 << 20)
                if fault is Fault.LOSES_THE_ANSWER or not answer:
                    break
                to_client.write(answer)
        to_client.close()
        to_server.close()

    async def _carried_out(self, request: bytes) -> None:
        server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        to_server.write(request)
        await server.read(1 << 20)
        to_server.close()

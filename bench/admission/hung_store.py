"""A store of tables that never answers."""

import asyncio
from contextlib import suppress

from bench.admission.cluster import BenchError


class HungStore:
    """A store of objects, by S3's protocol, that takes every connection and never answers."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.connections = 0

    async def __aenter__(self) -> "HungStore":
        self._server = await asyncio.start_server(self._say_nothing, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self._open:
            writer.transport.abort()
        if self._server is not None:
            self._server.close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment of an operator that is to take it for the only store there is."""
        if self._server is None:
            raise BenchError("the store was not started")
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_REGION": "us-east-1",
        }

    async def _say_nothing(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        with suppress(ConnectionError):
            while await reader.read(65536):
                pass
        self._open.discard(writer)
        writer.close()

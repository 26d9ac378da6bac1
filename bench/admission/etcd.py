"""Reads and writes what an API server stores without asking it: ten thousand objects exist within seconds.

It uses etcd's JSON gateway. Objects of CRDs are JSON there; pods are protobuf, in which a text may be replaced by one of its
length.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import aiohttp
from bench.admission.cluster import BenchError

TOGETHER = 64
"""Requests under way at one time."""


@dataclass(frozen=True)
class Stored:
    key: str
    value: bytes


class Etcd:
    """An asynchronous context manager."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/v3/kv"
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Etcd":
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=TOGETHER))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, key: str) -> Stored:
        found = (await self._ask("range", {"key": _coded(key.encode())})).get("kvs")
        if not found:
            raise BenchError(f"etcd has nothing at {key}: does this API server store its objects elsewhere?")
        return Stored(key, b64decode(found[0]["value"]))

    async def put_all(self, objects: Iterable[Stored]) -> None:
        """Writes one after another in versions, as the API server does: objects of one transaction would share theirs."""
        left = iter(objects)

        async def put() -> None:
            for one in left:
                await self._ask("put", {"key": _coded(one.key.encode()), "value": _coded(one.value)})

        await asyncio.gather(*(put() for _ in range(TOGETHER)))

    async def _ask(self, what: str, body: dict[str, str]) -> Any:
        if self._session is None:
            raise BenchError("the connection to etcd is not open yet")
        async with self._session.post(f"{self._address}/{what}", json=body) as answer:
            if answer.status != 200:
                raise BenchError(f"etcd answers {what} with {answer.status}: {await answer.text()}")
            return await answer.json()


def key_of(resource: str, group: str, namespace: str, name: str) -> str:
    """The key under which the API server has it; the group of Kubernetes' own kinds is empty."""
    return "/".join(part for part in ("/registry", group, resource, namespace, name) if part)


def _coded(text: bytes) -> str:
    return b64encode(text).decode()

"""An API server that answers as a test says, and what it was asked."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio import client

from sluice.kube.client import Kube
from sluice.kube.connection import Connection
from sluice.kube.rate_limit import RateLimit


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Served:
    """Answers in turn, the last one again and again: a status, headers and a text."""

    answers: list[tuple[int, dict[str, str], str]]
    kube: Kube = field(init=False)
    asked: list[Asked] = field(default_factory=list)
    counted: list[tuple[str, str, int]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.asked.append(Asked(request.method, request.path_qs, dict(request.headers), body))
        status, headers, text = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        return web.Response(status=status, headers=headers, text=text)

    def count(self, verb: str, resource: str, code: int, _seconds: float) -> None:
        self.counted.append((verb, resource, code))


def told(body: Any, status: int = 200, **headers: str) -> tuple[int, dict[str, str], str]:
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body)


@asynccontextmanager
async def served(
    *answers: tuple[int, dict[str, str], str],
    pace: RateLimit | None = None,
) -> AsyncIterator[Served]:
    one = Served(list(answers))
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", one.answer)
    async with TestServer(application) as server:
        settings = client.Configuration(host=f"http://127.0.0.1:{server.port}")
        settings.api_key = {"BearerToken": "secret"}
        settings.api_key_prefix = {"BearerToken": "Bearer"}
        one.kube = Kube(Connection(settings), one.count, pace)
        try:
            yield one
        finally:
            await one.kube.close()

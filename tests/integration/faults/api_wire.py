"""The wire between one operator and the API server, on which a plan's faults come."""

import asyncio
import json
import ssl
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from integration.faults.plan import Plan, What
from integration.faults.points import api_point
from integration.faults.redis_wire import LATE_SECONDS, SLOW_SECONDS

T = TypeVar("T")

_HOP_BY_HOP = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
_MOST_BYTES = 64 << 20
_REFUSALS = {
    What.FAILS: (500, "InternalError"),
    What.THROTTLED: (429, "TooManyRequests"),
    What.CONFLICTS: (409, "Conflict"),
    What.ANSWERED_TOO_LATE: (504, "Timeout"),
}


@dataclass(frozen=True)
class ApiRequest:
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_watch(self) -> bool:
        return "watch=" in self.target


class ApiWire:
    """Lives in the event loop of whoever opens it."""

    def __init__(
        self, server: str, trusted: ssl.SSLContext, plan: Callable[[], Plan], kill: Callable[[], None]
    ) -> None:
        self._server = server
        self._trusted = trusted
        self._plan = plan
        self._kill = kill
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._watches: set[asyncio.Transport] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.late: list[ApiRequest] = []
        """Requests that land once somebody else leads."""

    async def open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._trusted),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        app = web.Application(client_max_size=_MOST_BYTES)
        app.router.add_route("*", "/{path:.*}", self._carry)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True, handle_signals=False
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert self._runner is not None
        assert self._session is not None
        await self._runner.cleanup()
        await self._session.close()

    def kubeconfig(self, of: Path, into: Path) -> Path:
        """Writes the kubeconfig that leads over this wire with the same credentials."""
        assert self._runner is not None
        content = yaml.safe_load(of.read_text(encoding="utf-8"))
        port = self._runner.addresses[0][1]
        for cluster in content["clusters"]:
            cluster["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        into.write_text(yaml.safe_dump(content), encoding="utf-8")
        return into

    async def land(self, request: ApiRequest) -> None:
        """Carries it out; nobody sees the answer."""
        await self._carried_out(request)

    def _sent(self, request: ApiRequest) -> aiohttp.client._RequestContextManager:
        assert self._session is not None
        return self._session.request(
            request.method,
            URL(f"{self._server}{request.target}", encoded=True),
            headers=request.headers,
            data=request.body or None,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )

    async def _carry(self, asked: web.Request) -> web.StreamResponse:
        request = ApiRequest(asked.method, asked.raw_path, _passed(asked.headers), await asked.read())
        what = self._plan().meets(api_point(request.method, request.target, request.body))
        if what in (What.KILLED_BEFORE, What.LANDS_AFTER_DEATH):
            if what is What.LANDS_AFTER_DEATH:
                self.late.append(request)
            self._kill()
            return _broken(asked)
        if what is What.LANDS_LATE:
            self._land_later(request)
            return _broken(asked)
        if what in (What.FAILS, What.THROTTLED, What.CONFLICTS):
            return _refusal(what)
        if what is What.SLOW:
            await asyncio.sleep(SLOW_SECONDS)
        if what is What.LANDS_TWICE and not request.is_watch:
            await self.land(request)
        try:
            if request.is_watch and what is None:
                async with self._sent(request) as answer:
                    return await self._streamed(asked, answer)
            return await self._answered(asked, request, what)
        except aiohttp.ClientError:
            return _broken(asked)

    async def _answered(self, asked: web.Request, request: ApiRequest, what: What | None) -> web.Response:
        answer = await asyncio.shield(self._started(self._carried_out(request)))
        if what is What.KILLED_AFTER:
            self._kill()
        if what is What.WATCHES_DROP:
            for watch in list(self._watches):
                watch.abort()
        if what is What.ANSWERED_TOO_LATE:
            return _refusal(what)
        if request.is_watch or what in (What.KILLED_AFTER, What.ANSWER_LOST):
            return _broken(asked)
        return answer

    async def _carried_out(self, request: ApiRequest) -> web.Response:
        """To its end, also where its sender is gone by then: of a request that is broken off the API server doesn't log whether
        it landed."""
        async with self._sent(request) as answer:
            body = b"" if request.is_watch else await answer.read()
            return web.Response(body=body, status=answer.status, headers=_passed(answer.headers))

    async def _streamed(self, asked: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        stream = web.StreamResponse(status=answer.status, headers=_passed(answer.headers))
        await stream.prepare(asked)
        transport = asked.transport
        if transport is not None:
            self._watches.add(transport)
        try:
            with suppress(ConnectionError):
                async for part in answer.content.iter_any():
                    await stream.write(part)
        finally:
            if transport is not None:
                self._watches.discard(transport)
        return stream

    def _land_later(self, request: ApiRequest) -> None:
        async def wait_and_land() -> None:
            await asyncio.sleep(LATE_SECONDS)
            await self.land(request)

        self._started(wait_and_land())

    def _started(self, doing: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.ensure_future(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _broken(asked: web.Request) -> web.Response:
    """The connection is gone, and with it whatever is answered."""
    if asked.transport is not None:
        asked.transport.abort()
    return web.Response()


def _refusal(what: What) -> web.Response:
    code, reason = _REFUSALS[what]
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "says the wire",
        "reason": reason,
        "code": code,
    }
    headers = {"Retry-After": "1"} if what is What.THROTTLED else {}
    return web.Response(
        text=json.dumps(status), status=code, content_type="application/json", headers=headers
    )


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}

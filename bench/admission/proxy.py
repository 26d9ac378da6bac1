"""An API server in trouble: a proxy between the operator and a healthy server refuses requests for a while, or delays answers."""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

import aiohttp
import yaml
from aiohttp import web
from bench.admission.cluster import BenchError
from yarl import URL

from devenv.stack import ControlPlane

THROTTLED = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "code": 429,
    "reason": "TooManyRequests",
}
RETRY_AFTER = "1"
SEED = 14
_HOP_BY_HOP = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
_MOST_BYTES = 64 * 1024 * 1024


class Proxy:
    """As an asynchronous context manager; without trouble it passes everything on."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane = plane
        self._folder = folder
        self._chance = Random(SEED)  # noqa: S311 - the same each time
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self.refuses = 0.0
        """The share of requests that it answers with 429."""
        self.seconds = 0.0
        """How late each answer is; the request was carried out before."""
        self.refused = 0
        self.asked = 0
        """How many of them are watches, which it neither refuses nor delays: they are few, and last."""

    async def __aenter__(self) -> "Proxy":
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=trusted(self._plane)),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        app = web.Application(client_max_size=_MOST_BYTES)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    @property
    def kubeconfig(self) -> Path:
        """The healthy server's kubeconfig with this proxy's address."""
        if self._runner is None:
            raise BenchError("the proxy was not started")
        content = yaml.safe_load(self._plane.kubeconfig.read_text(encoding="utf-8"))
        port = self._runner.addresses[0][1]
        for cluster in content["clusters"]:
            cluster["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        file = self._folder / "kubeconfig-of-the-proxy"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        lasts = "watch" in request.query
        if not lasts and self._chance.random() < self.refuses:
            self.refused += 1
            return web.json_response(THROTTLED, status=429, headers={"Retry-After": RETRY_AFTER})
        if self._session is None:
            raise BenchError("the proxy was not started")
        async with self._session.request(
            request.method,
            URL(f"{self._plane.server}{request.raw_path}", encoded=True),
            headers=_passed(request.headers),
            data=await request.read() or None,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        ) as answer:
            if not lasts:
                body = await answer.read()
                await asyncio.sleep(self.seconds)
                return web.Response(body=body, status=answer.status, headers=_passed(answer.headers))
            stream = web.StreamResponse(status=answer.status, headers=_passed(answer.headers))
            await stream.prepare(request)
            with suppress(ConnectionError):
                async for part in answer.content.iter_any():
                    await stream.write(part)
            return stream


def trusted(plane: ControlPlane) -> ssl.SSLContext | bool:
    """The certificate by which the healthy server is known."""
    return ssl.create_default_context(cafile=str(plane.api.certificate))


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}

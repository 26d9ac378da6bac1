"""/healthz, /readyz and /metrics."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from sluice.controller.config import HTTP_OFF, ConfigError
from sluice.controller.health import Health
from sluice.controller.metrics import CONTENT_TYPE, Metrics

logger = logging.getLogger(__name__)

_SHUTDOWN_SECONDS = 1.0


@asynccontextmanager
async def served(address: str, health: Health, metrics: Metrics) -> AsyncIterator[None]:
    if address == HTTP_OFF:
        yield
        return
    app = web.Application()
    app.router.add_get("/healthz", _probe(health.stuck))
    app.router.add_get("/readyz", _probe(health.not_ready))
    app.router.add_get("/metrics", _metrics(metrics))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    host, _, port = address.rpartition(":")
    try:
        await web.TCPSite(runner, host.strip("[]") or None, int(port)).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(
            f"httpAddress: nothing can be served at {address}: {error.strerror}; set another address, or {HTTP_OFF}"
        ) from error
    logger.info("serving /healthz, /readyz and /metrics on port %d", runner.addresses[0][1])
    try:
        yield
    finally:
        await runner.cleanup()


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _probe(troubles: Callable[[], list[str]]) -> _Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        found = troubles()
        return web.Response(text="\n".join(found or ["ok"]) + "\n", status=503 if found else 200)

    return answer


def _metrics(metrics: Metrics) -> _Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    return answer

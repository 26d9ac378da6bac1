"""/healthz, /readyz and /metrics, served by a thread that answers while the main event loop stands still."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import web

from sluice.controller.process.configuration import HTTP_OFF, ConfigError
from sluice.controller.process.event_loop_thread import EventLoopThread
from sluice.controller.process.health import Health
from sluice.controller.process.metrics import CONTENT_TYPE, Metrics

logger = logging.getLogger(__name__)

_SHUTDOWN_SECONDS = 1.0
_METRICS_SECONDS = 8.0
"""Seconds that a scrape waits for the main event loop; Prometheus itself waits ten."""


@asynccontextmanager
async def served(address: str, health: Health, metrics: Metrics) -> AsyncIterator[None]:
    if address == HTTP_OFF:
        yield
        return
    thread = EventLoopThread("http")
    try:
        runner = await thread.run(
            _start(address, health, partial(_text_of, metrics, asyncio.get_running_loop()))
        )
        try:
            yield
        finally:
            await thread.run(runner.cleanup())
    finally:
        thread.close()


async def _start(address: str, health: Health, metrics: Callable[[], Awaitable[bytes]]) -> web.AppRunner:
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
    return runner


async def _text_of(metrics: Metrics, main_loop: asyncio.AbstractEventLoop) -> bytes:
    """Asks the main event loop, which alone may read what it changes."""

    async def text() -> bytes:
        return metrics.text()

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(text(), main_loop))


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _probe(troubles: Callable[[], list[str]]) -> _Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        found = troubles()
        return web.Response(text="\n".join(found or ["ok"]) + "\n", status=503 if found else 200)

    return answer


def _metrics(text: Callable[[], Awaitable[bytes]]) -> _Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        try:
            async with asyncio.timeout(_METRICS_SECONDS):
                return web.Response(body=await text(), headers={"Content-Type": CONTENT_TYPE})
        except TimeoutError:
            why = f"the operator's main event loop has not answered for {_METRICS_SECONDS:g} s\n"
            return web.Response(text=why, status=503)

    return answer

"""Servers in trouble, as the bench plays them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
import yaml
from aiohttp import web
from bench.admission import proxy as module
from bench.admission.hung_store import HungStore
from bench.admission.proxy import Proxy


@asynccontextmanager
async def _behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy in front of a server that answers with what it was asked."""

    async def answer(request: web.Request) -> web.Response:
        said = f"{request.method} {request.raw_path} {request.headers.get('Authorization')} {await request.text()}"
        if "Content-Type" not in request.headers:
            said += "of no type"
        return web.Response(text=said, status=201, headers={"Audit-Id": "7"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    kubeconfig = folder / "kubeconfig"
    content = {
        "clusters": [{"cluster": {"server": "https://x", "certificate-authority-data": "x"}}],
        "users": [1],
    }
    kubeconfig.write_text(yaml.safe_dump(content), encoding="utf-8")
    server = f"http://127.0.0.1:{runner.addresses[0][1]}"
    plane = SimpleNamespace(server=server, kubeconfig=kubeconfig, api=SimpleNamespace(certificate=None))
    monkeypatch.setattr(module, "trusted", lambda _: False)
    try:
        async with Proxy(cast("Any", plane), folder) as proxy:
            content = yaml.safe_load(proxy.kubeconfig.read_text(encoding="utf-8"))
            assert content["users"] == [1]
            yield proxy, content["clusters"][0]["cluster"]["server"]
    finally:
        await runner.cleanup()


async def test_without_trouble_all_is_passed_on_as_it_was_asked_and_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _behind(tmp_path, monkeypatch) as (_, address), aiohttp.ClientSession() as session:
        headers = {"Authorization": "Bearer t"}
        async with session.patch(f"{address}/apis/x%2Fy?a=b%20c", data="body", headers=headers) as answer:
            assert await answer.text() == "PATCH /apis/x%2Fy?a=b%20c Bearer t body"
            assert (answer.status, answer.headers["Audit-Id"]) == (201, "7")
        async with session.get(f"{address}/apis") as answer:
            assert await answer.text() == "GET /apis None of no type"


async def test_requests_are_refused_as_a_throttling_api_server_does_and_watches_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _behind(tmp_path, monkeypatch) as (proxy, address), aiohttp.ClientSession() as session:
        proxy.refuses = 1.0
        async with session.get(f"{address}/api/v1/pods") as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            assert (await answer.json())["reason"] == "TooManyRequests"
        async with session.get(f"{address}/api/v1/pods?watch=1") as answer:
            assert answer.status == 201
        assert (proxy.asked, proxy.refused) == (2, 1)


async def test_a_store_that_hangs_takes_connections_and_says_nothing() -> None:
    async with HungStore() as store:
        address = store.environment["AWS_ENDPOINT_URL"].removeprefix("http://")
        reader, writer = await asyncio.open_connection(*address.split(":"))
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.2)
        assert store.connections == 1
        writer.close()

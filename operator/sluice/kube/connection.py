"""The connection to the API server: one HTTP session, set up as the official client would do it, except for what that client
asks anew for each request.

The client lets aiohttp look for proxies and for a netrc file in two threads of its own for each request, which takes as much
CPU as all the rest of it. The proxy does not change while a process lives, and a netrc means nothing to an API server.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

import aiohttp
from kubernetes.aio import client
from kubernetes.aio.client.rest import RESTClientObject
from yarl import URL

READ_AHEAD = 1 << 21
"""Bytes of a watch that are taken in before somebody reads them."""
USER_AGENT = "sluice"


class Connector(aiohttp.TCPConnector):
    """Has closed all of its connections once it is closed. aiohttp's own forgets one whose request was given up, as that of each
    watch is at the end, before the API server has answered its goodbye: a loop that ends then leaves it open."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        # No limit here: each watch has a connection of its own, and whoever waits for one would wait in REQUEST_TIMEOUT.
        super().__init__(limit=0, ssl=tls)
        self._opened: WeakSet[asyncio.Transport] = WeakSet()

    async def connect(self, *args: Any, **kwargs: Any) -> aiohttp.connector.Connection:
        connection = await super().connect(*args, **kwargs)
        if connection.transport is not None:
            self._opened.add(connection.transport)
        return connection

    async def close(self, *, abort_ssl: bool = True) -> None:
        await super().close(abort_ssl=abort_ssl)
        for transport in self._opened:
            transport.abort()
        await asyncio.sleep(0)  # asyncio closes what is aborted in its next turn


class Connection:
    """It is made, and closed, in the event loop that uses it."""

    def __init__(self, settings: client.Configuration) -> None:
        self.address = str(settings.host)
        self._settings = settings
        self._more: dict[str, Any] = {}
        if settings.tls_server_name:
            self._more["server_hostname"] = settings.tls_server_name
        proxy = _proxy_of(settings)
        if proxy is not None:
            self._more |= {"proxy": proxy.with_user(None), "proxy_headers": _for_proxy(proxy, settings)}
        self._session = aiohttp.ClientSession(
            connector=Connector(RESTClientObject(settings).ssl_context),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept": "application/json", "User-Agent": USER_AGENT},
            read_bufsize=READ_AHEAD,
        )

    async def send(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str], patience: float
    ) -> aiohttp.ClientResponse:
        """Sends the request; `path` is spelled as it is to be sent. The answer's body is still to be read, within the same
        patience."""
        credentials = (await self._settings.auth_settings()).get("BearerToken")
        if credentials is not None and credentials["value"]:
            headers = {**headers, "Authorization": credentials["value"]}
        return await self._session.request(
            method,
            URL(self.address + path, encoded=True),
            data=data,
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=patience),
            **self._more,
        )

    async def close(self) -> None:
        await self._session.close()


def _proxy_of(settings: client.Configuration) -> URL | None:
    """The kubeconfig's own proxy, or the environment's."""
    if settings.proxy:
        return URL(settings.proxy)
    server = urlsplit(str(settings.host))
    found = getproxies().get(server.scheme)
    if not found or not server.hostname or proxy_bypass(server.hostname):
        return None
    return URL(found)


def _for_proxy(proxy: URL, settings: client.Configuration) -> dict[str, str]:
    """The credentials for the proxy: aiohttp does not take them from a proxy's address that it is given."""
    headers: dict[str, str] = dict(settings.proxy_headers or {})
    if proxy.user is not None:
        headers["Proxy-Authorization"] = aiohttp.encode_basic_auth(proxy.user, proxy.password or "")
    return headers

"""The few verbs that are needed of Kubernetes, over the official client's connection."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import client, config

from sluice.kube.resources import Resource, plural_in

Json = dict[str, Any]

REQUEST_TIMEOUT = 15
PAGE = 500
"""Objects a page of a list: while one is parsed nothing else is done."""
WATCH_SECONDS = 20
WATCH_GRACE = 5
"""Seconds that the API server's end of a watch may be late before the connection counts as dead."""


class ApiError(Exception):
    """What the API server answered, or that it did not."""

    def __init__(self, status: int, reason: str, message: str, causes: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.causes = causes

    @property
    def is_definite(self) -> bool:
        """The server understood and refused: nothing was changed, and asking again changes nothing."""
        return 400 <= self.status < 500 and self.status not in (408, 409, 429)

    @property
    def says_namespace_ends(self) -> bool:
        """Nothing can be created in the namespace any more, by nobody."""
        return self.status == 403 and "NamespaceTerminating" in self.causes


class NotFoundError(ApiError):
    pass


class ConflictError(ApiError):
    pass


class ExpiredError(ApiError):
    """The version that was asked about is one that the API server remembers no more."""


_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"


Asked = Callable[[str, str, int, float], None]
"""Is told of each request: verb, resource, code (0: no answer) and seconds until it began to be answered."""


class Kube:
    def __init__(self, api: client.ApiClient, asked: Asked | None = None) -> None:
        self._api = api
        self._asked = asked

    @classmethod
    async def connect(
        cls, kubeconfig: str | None = None, context: str | None = None, *, asked: Asked | None = None
    ) -> Self:
        """As the given kubeconfig says, or kubectl's, or the pod that this process runs in."""
        settings = client.Configuration()
        named = {"config_file": kubeconfig, "context": context}
        given = {option: value for option, value in named.items() if value is not None}
        await config.load_config(client_configuration=settings, **given)  # type: ignore[no-untyped-call]
        return cls(client.ApiClient(settings), asked)

    async def close(self) -> None:
        await self._api.close()  # type: ignore[no-untyped-call]

    @property
    def address(self) -> str:
        return str(self._api.configuration.host)

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Json:
        return await self._request("GET", resource.path(namespace, name))

    async def pages(
        self, resource: Resource, namespace: str | None, selector: str = ""
    ) -> AsyncIterator[Json]:
        """A full list, all of it of one moment, which is not before it is asked for."""
        query = {"labelSelector": selector, "limit": str(PAGE)}
        while True:
            page = await self._request("GET", resource.path(namespace), query=query)
            yield page
            token = page["metadata"].get("continue")
            if not token:
                return
            query["continue"] = token

    async def list(self, resource: Resource, namespace: str | None, selector: str = "") -> Json:
        pages = [page async for page in self.pages(resource, namespace, selector)]
        return pages[-1] | {"items": [body for page in pages for body in page["items"]]}

    async def is_discovered(self, resource: Resource) -> bool:
        """Whether the API server names it among what it serves. One that has just started may serve a kind before, or not
        name it for a while though it has its objects."""
        _, _, group, _ = resource.api.split("/")
        groups = (await self._request("GET", "/apis"))["groups"]
        if all(one["name"] != group for one in groups):
            return False
        try:
            served = await self._request("GET", resource.api)
        except NotFoundError:
            return False
        return any(one["name"] == resource.plural for one in served["resources"])

    async def create(self, resource: Resource, namespace: str | None, body: Json) -> Json:
        return await self._request("POST", resource.path(namespace), body=body)

    async def patch(
        self, resource: Resource, namespace: str | None, name: str, body: Json, *, sub: str | None = None
    ) -> Json:
        return await self._request("PATCH", resource.path(namespace, name, sub), body=body, kind=_MERGE_PATCH)

    async def patch_by_tests(
        self, resource: Resource, namespace: str, name: str, operations: Sequence[Json]
    ) -> Json:
        """A JSON patch, which changes nothing if one of its tests fails."""
        return await self._request("PATCH", resource.path(namespace, name), body=operations, kind=_JSON_PATCH)

    async def replace(self, resource: Resource, namespace: str | None, name: str, body: Json) -> Json:
        return await self._request("PUT", resource.path(namespace, name), body=body)

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, body: Json | None = None
    ) -> None:
        await self._request("DELETE", resource.path(namespace, name), body=body)

    async def watch(
        self, resource: Resource, namespace: str | None, version: str, selector: str = ""
    ) -> AsyncIterator[Json]:
        """Events until the server ends the watch; a lost connection ends it, too."""
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "labelSelector": selector,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        path = resource.path(namespace)
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):  # it begins to answer at once
                response = await self._call("GET", path, query=query, patience=WATCH_SECONDS + WATCH_GRACE)
        except TimeoutError as error:
            raise ApiError(0, "NoAnswer", f"GET {path}: the API server begins no watch") from error
        stream = response.response
        try:
            if response.status >= 400:
                raise _error(response.status, await response.read())
            async for line in _lines(stream.content):
                event: Json = json.loads(line)
                if event["type"] == "ERROR":
                    raise _error_of(event["object"].get("code", 500), event["object"])
                yield event
        except TimeoutError as error:
            raise ApiError(0, "Silent", f"GET {path}: the watch is silent") from error
        finally:
            stream.close()

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Json | Sequence[Json] | None = None,
        kind: str = "application/json",
    ) -> Json:
        response = await self._call(method, path, query=query, body=body, kind=kind)
        try:
            data = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiError(
                0, "NoAnswer", f"{method} {path}: the API server's answer was lost: {_words(error)}"
            ) from error
        if response.status >= 400:
            raise _error(response.status, data)
        answer: Json = json.loads(data)
        return answer

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Json | Sequence[Json] | None = None,
        patience: float = REQUEST_TIMEOUT,
        kind: str = "application/json",
    ) -> Any:
        url = self._api.configuration.host + path + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json", "Content-Type": kind}
        await self._api.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        began, code = time.monotonic(), 0
        try:
            response = await self._api.call_api(method, url, headers, body, _request_timeout=patience)
            code = response.status
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise ApiError(
                0, "NoAnswer", f"{method} {path}: no answer from the API server: {_words(error)}"
            ) from error
        finally:
            if self._asked is not None:
                verb = _verb(method, query or {})
                self._asked(verb, plural_in(path), code, time.monotonic() - began)
        return response


def _words(error: BaseException) -> str:
    """A timeout has none of its own."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _verb(method: str, query: dict[str, str]) -> str:
    """As the API server calls it."""
    if method == "GET":
        return "watch" if "watch" in query else "list" if "limit" in query else "get"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[method]


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines of any length: aiohttp's own reader gives up on lines such as a large SparkApplication's."""
    parts: list[bytes] = []
    async for chunk in content.iter_any():
        *ended, begun = chunk.split(b"\n")
        for end in ended:
            yield b"".join((*parts, end))
            parts = []
        parts.append(begun)


def _error(status: int, data: bytes) -> ApiError:
    try:
        return _error_of(status, json.loads(data))
    except (ValueError, AttributeError):
        return _KINDS.get(status, ApiError)(status, "", data.decode(errors="replace"))


def _error_of(status: int, told: Json) -> ApiError:
    causes = frozenset(cause.get("reason", "") for cause in (told.get("details") or {}).get("causes") or ())
    kind = _KINDS.get(status, ApiError)
    return kind(status, told.get("reason", ""), told.get("message", ""), causes)


_KINDS: dict[int, type[ApiError]] = {404: NotFoundError, 409: ConflictError, 410: ExpiredError}

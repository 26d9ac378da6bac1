"""The few Kubernetes verbs that Sluice needs."""

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode

import aiohttp

from sluice.api.base import Json
from sluice.kube.connection import Connection
from sluice.kube.json_depth import cut
from sluice.kube.kubeconfig import connection_by
from sluice.kube.rate_limit import RateLimit
from sluice.kube.resources import LEASES, PODS, Resource, kind_in, plural_in

REQUEST_TIMEOUT = 15
PAGE = 500
"""Objects per page of a list: while one is parsed nothing else is done."""
WATCH_SECONDS = 20
WATCH_GRACE = 5
"""Seconds that the API server's end of a watch may be late before the connection counts as dead."""

LOG_SECONDS = 3600.0
"""Seconds after which a log that is followed is asked for anew: whoever follows it goes on where it ended."""

THROTTLED_SECONDS = 30.0
"""Seconds in all that a request waits for an API server that has no room for it, besides the time that its answers take."""
THROTTLED_PAUSE = 1.0
"""Seconds to wait where the API server doesn't say how long."""


class ApiError(Exception):
    """What the API server answered, or that it did not answer."""

    def __init__(self, status: int, reason: str, message: str, causes: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.causes = causes

    @property
    def is_definite(self) -> bool:
        """Whether the server understood and refused: nothing was changed, and asking again changes nothing."""
        return 400 <= self.status < 500 and self.status not in (408, 409, 429)

    @property
    def says_namespace_ends(self) -> bool:
        """Whether nobody can create anything in the namespace any more."""
        return self.status == 403 and "NamespaceTerminating" in self.causes


class NotFoundError(ApiError):
    pass


class KindMissingError(ApiError):
    """The API server serves no such kind. That does not prove that none of its objects exist: a definition that lost its name
    to another one is not served either, nor is any by an API server that has just started. So it is no NotFoundError."""


class ConflictError(ApiError):
    pass


class ExpiredError(ApiError):
    """The API server no longer remembers the version that was asked about."""


_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
UNAUTHORIZED = 401
_NOT_FOUND = 404
_TOO_MANY = 429
_UNAVAILABLE = 503


Asked = Callable[[str, str, int, float], None]
"""Called for each request: verb, resource, code (0: no answer) and seconds until the answer began."""


class Kube:
    def __init__(
        self, connection: Connection, asked: Asked | None = None, pace: RateLimit | None = None
    ) -> None:
        self._connection = connection
        self._asked = asked
        self._pace = pace or RateLimit()

    @classmethod
    async def connect(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        *,
        asked: Asked | None = None,
        pace: RateLimit | None = None,
    ) -> Self:
        """Connects by the given kubeconfig, or kubectl's, or as the pod that this process runs in. Raises NoClusterKnownError."""
        return cls(await connection_by(kubeconfig, context), asked, pace)

    async def close(self) -> None:
        await self._connection.close()

    @property
    def address(self) -> str:
        return self._connection.address

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Json:
        return await self._request("GET", resource.path(namespace, name))

    async def pages(
        self, resource: Resource, namespace: str | None, selector: str = "", *, fields: str = ""
    ) -> AsyncIterator[Json]:
        """Yields a full list, all of one moment, which is not before it is asked for."""
        query = {"labelSelector": selector, "fieldSelector": fields, "limit": str(PAGE)}
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
        """Whether the API server names the kind among what it serves. One that has just started may serve a kind before it
        names it, or not name it for a while though it has its objects."""
        _, _, group, _ = resource.api.split("/")
        groups = (await self._request("GET", "/apis"))["groups"]
        if all(one["name"] != group for one in groups):
            return False
        try:
            served = await self._request("GET", resource.api)
        except NotFoundError:
            return False
        return any(one["name"] == resource.plural for one in served["resources"])

    async def ask(self, path: str) -> Json:
        """Returns what the API server says of itself, such as its version."""
        return await self._request("GET", path)

    async def create(
        self,
        resource: Resource,
        namespace: str | None,
        body: Json,
        *,
        only_try: bool = False,
        as_manager: str | None = None,
    ) -> Json:
        """Creates the object; or only has the API server say what it would answer. `as_manager`: for what a person wrote, under
        whose name it is noted, and of which no field may be unknown."""
        query = {"dryRun": "All"} if only_try else {}
        if as_manager is not None:
            query |= {"fieldManager": as_manager, "fieldValidation": "Strict"}
        return await self._request("POST", resource.path(namespace), query=query, body=body)

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: Json,
        *,
        sub: str | None = None,
        as_manager: str | None = None,
    ) -> Json:
        """`as_manager`: for what a person asked for, under whose name it is noted."""
        query = {"fieldManager": as_manager} if as_manager is not None else {}
        path = resource.path(namespace, name, sub)
        return await self._request("PATCH", path, query=query, body=body, kind=_MERGE_PATCH)

    async def patch_by_tests(
        self, resource: Resource, namespace: str, name: str, operations: Sequence[Json]
    ) -> Json:
        """Applies a JSON patch, which changes nothing if one of its tests fails."""
        return await self._request("PATCH", resource.path(namespace, name), body=operations, kind=_JSON_PATCH)

    async def replace(self, resource: Resource, namespace: str | None, name: str, body: Json) -> Json:
        return await self._request("PUT", resource.path(namespace, name), body=body)

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, body: Json | None = None
    ) -> None:
        await self._request("DELETE", resource.path(namespace, name), body=body)

    async def watch(
        self, resource: Resource, namespace: str | None, version: str, selector: str = "", *, fields: str = ""
    ) -> AsyncIterator[Json]:
        """Yields events until the server ends the watch; a lost connection ends it, too."""
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "labelSelector": selector,
            "fieldSelector": fields,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        path = f"{resource.path(namespace)}?{urlencode(query)}"
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):  # it begins to answer at once
                response = await self._call(
                    "GET", path, verb="watch", plural=resource.plural, patience=WATCH_SECONDS + WATCH_GRACE
                )
        except TimeoutError as error:
            raise ApiError(0, "NoAnswer", f"GET {path}: the API server does not begin the watch") from error
        try:
            if response.status >= 400:
                raise _error(response.status, await response.read(), path)
            async for line in _lines(response.content):
                yield _event_in(line, path)
        except TimeoutError as error:
            raise ApiError(0, "Silent", f"GET {path}: the watch is silent") from error
        finally:
            response.close()

    async def log(self, namespace: str, pod: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Yields a container's log, in pieces. Where the query follows it, this ends with the container, or with the
        connection."""
        path = f"{PODS.path(namespace, pod, 'log')}?{urlencode(query)}"
        response = await self._call("GET", path, verb="get", plural="pods/log", patience=LOG_SECONDS)
        try:
            if response.status >= 400:
                raise _error(response.status, await response.read(), path)
            async for piece in response.content.iter_any():
                yield piece
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiError(0, "NoAnswer", f"GET {path}: the log was cut off: {_words(error)}") from error
        finally:
            response.close()

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Json | Sequence[Json] | None = None,
        kind: str = _JSON,
    ) -> Json:
        verb, plural = _verb(method, query or {}), plural_in(path)
        path += f"?{urlencode(query)}" if query else ""
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()

        async def exchange() -> _Answer:
            response = await self._call(method, path, verb=verb, plural=plural, data=data, kind=kind)
            try:
                text = await response.read()
            except (aiohttp.ClientError, TimeoutError) as error:
                raise ApiError(
                    0, "NoAnswer", f"{method} {path}: the API server's answer was lost: {_words(error)}"
                ) from error
            return _Answer(response.status, response.headers.get("Retry-After"), text)

        # The leader must not wait behind what it leads, and looks again by itself.
        answer = await (exchange() if plural == LEASES.plural else self._when_there_is_room(method, exchange))
        if answer.status >= 400:
            raise _error(answer.status, answer.text, path)
        try:
            return _parsed(answer.text)
        except (ValueError, RecursionError) as error:
            raise ApiError(
                0, "Unreadable", f"{method} {path}: the API server's answer is not JSON: {error}"
            ) from error

    async def _when_there_is_room(
        self, method: str, exchange: Callable[[], Awaitable["_Answer"]]
    ) -> "_Answer":
        """Asks a server that has too much to do again, after as long as it says: with 429 it has not begun. With 503 it, or a
        proxy in front of it, may have begun; so a request that changes anything isn't sent again then."""
        left = THROTTLED_SECONDS
        while True:
            async with self._pace.turn():
                answer = await exchange()
            if answer.status == _TOO_MANY:
                pause = answer.seconds_to_wait or THROTTLED_PAUSE
            elif answer.status == _UNAVAILABLE and method == "GET" and answer.seconds_to_wait:
                pause = answer.seconds_to_wait
            else:
                return answer
            left -= pause
            if left < 0:
                return answer
            await asyncio.sleep(pause)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        verb: str,
        plural: str,
        data: bytes | None = None,
        patience: float | None = None,
        kind: str = _JSON,
    ) -> aiohttp.ClientResponse:
        began, code = time.monotonic(), 0
        try:
            response = await self._connection.send(
                method, path, data, {"Content-Type": kind}, patience or REQUEST_TIMEOUT
            )
            code = response.status
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise ApiError(
                0, "NoAnswer", f"{method} {path}: no answer from the API server: {_words(error)}"
            ) from error
        finally:
            if self._asked is not None:
                self._asked(verb, plural, code, time.monotonic() - began)
        return response


def _parsed(text: bytes) -> Json:
    """Parses it without a pause for the garbage collector: JSON has no cycles, and to look for some among all that is known, again
    and again while a page of a list is parsed, took half of the CPU of a list."""
    gc.disable()
    try:
        return _read(text)
    finally:
        gc.enable()


def _read(text: bytes) -> Json:
    try:
        told: Json = json.loads(text)
    except RecursionError:
        told = json.loads(cut(text))
    return told


@dataclass(frozen=True)
class _Answer:
    status: int
    retry_after: str | None
    text: bytes

    @property
    def seconds_to_wait(self) -> float | None:
        """The seconds that the API server says, which it never gives as a date."""
        said = self.retry_after or ""
        return float(said) if said.isascii() and said.isdecimal() and len(said) < 9 else None


def _words(error: BaseException) -> str:
    """Describes the error; a timeout has no words of its own."""
    if isinstance(error, TimeoutError):
        return str(error) or "it took too long"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _verb(method: str, query: dict[str, str]) -> str:
    """The verb by the API server's own name."""
    if method == "GET":
        return "watch" if "watch" in query else "list" if "limit" in query else "get"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[method]


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yields whole lines of any length: aiohttp's own reader gives up on lines such as a large SparkApplication's."""
    parts: list[bytes] = []
    async for chunk in content.iter_any():
        *ended, begun = chunk.split(b"\n")
        for end in ended:
            yield b"".join((*parts, end))
            parts = []
        parts.append(begun)


def _event_in(line: bytes, path: str) -> Json:
    try:
        event = _read(line)
        if event["type"] == "ERROR":
            raise _error_of(event["object"].get("code", 500), event["object"])
        metadata = event["object"]["metadata"]
        int(metadata["resourceVersion"])
        if event["type"] != "BOOKMARK":
            metadata["uid"], metadata["name"]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise ApiError(0, "Unreadable", f"GET {path}: an event cannot be read: {_words(error)}") from error
    return event


def _error(status: int, data: bytes, path: str) -> ApiError:
    try:
        return _error_of(status, json.loads(data))
    except (ValueError, AttributeError):
        if status == _NOT_FOUND and path.startswith(
            "/apis/"
        ):  # of an object that is not there it says so in JSON
            return KindMissingError(status, "KindMissing", f"the API server serves no {kind_in(path)}")
        return _KINDS.get(status, ApiError)(status, "", data.decode(errors="replace"))


def _error_of(status: int, told: Json) -> ApiError:
    causes = frozenset(cause.get("reason", "") for cause in (told.get("details") or {}).get("causes") or ())
    kind = _KINDS.get(status, ApiError)
    return kind(status, told.get("reason", ""), told.get("message", ""), causes)


_KINDS: dict[int, type[ApiError]] = {404: NotFoundError, 409: ConflictError, 410: ExpiredError}

"""JSON in, JSON out: the few verbs this engine needs, on the official client's connection.

The engine passes objects through (templates, labels, fields it doesn't know), so typed models would only lose what they don't
know; the official client's credentials, TLS and connection pool are used as they are.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Self

from kubernetes.aio import client, config
from kubernetes.aio.client.exceptions import ApiException

from localengine.application import API_VERSION, Json

PODS = "/api/v1/namespaces/{namespace}/pods"
APPLICATIONS = f"/apis/{API_VERSION}/namespaces/{{namespace}}/sparkapplications"
NODES = "/api/v1/nodes"

_REQUEST_SECONDS = 30


class Api:
    def __init__(self, connection: client.ApiClient) -> None:
        self._client = connection

    @classmethod
    async def connect(cls, kubeconfig: str | None, context: str | None) -> Self:
        settings = client.Configuration()
        await config.load_kube_config(kubeconfig, context=context, client_configuration=settings)  # type: ignore[no-untyped-call]
        return cls(client.ApiClient(settings))

    async def close(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]

    @property
    def address(self) -> str:
        return str(self._client.configuration.host)

    async def get(self, path: str, **query: Any) -> Json | None:
        try:
            return await self._json("GET", path, query)
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    async def create(self, path: str, body: Json) -> Json:
        return await self._json("POST", path, body=body)

    async def merge(self, path: str, body: Json) -> Json:
        return await self._json("PATCH", path, body=body, content_type="application/merge-patch+json")

    async def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> None:
        """Deletes the object if it is still the same one; one that has gone, or was replaced, is as good as deleted."""
        body: Json = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        try:
            await self._json("DELETE", path, body=body)
        except ApiException as error:
            if error.status not in (404, 409):
                raise

    async def watch(self, path: str, seconds: int, **query: Any) -> AsyncIterator[Json]:
        """The events of one watch request, until the server ends it; an ERROR event is raised."""
        query = {**query, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": seconds}
        response = await self._send("GET", path, query, patience=seconds + _REQUEST_SECONDS)
        try:
            rest = b""
            async for chunk in response.response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event: Json = json.loads(line)
                    if event["type"] == "ERROR":
                        told = event["object"]
                        raise ApiException(status=told.get("code"), reason=told.get("message"))
                    yield event
        finally:
            response.response.release()

    async def _json(
        self, method: str, path: str, query: Json | None = None, body: Json | None = None, **options: Any
    ) -> Json:
        response = await self._send(method, path, query or {}, body, **options)
        answer: Json = json.loads(await response.read())
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        query: Json,
        body: Json | None = None,
        *,
        content_type: str = "application/json",
        patience: int = _REQUEST_SECONDS,
    ) -> Any:
        request = await self._client.param_serialize(
            method,
            path,
            query_params=list(query.items()),
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        response = await self._client.call_api(*request, _request_timeout=patience)
        if not 200 <= response.status <= 299:
            text = (await response.response.read()).decode(errors="replace")
            raise ApiException(status=response.status, reason=_reason(text), body=text)
        return response


def path_of(collection: str, namespace: str, name: str = "", part: str = "") -> str:
    base = collection.format(namespace=namespace)
    return "/".join(filter(None, (base, name, part)))


def told(error: Exception) -> str:
    """An error in one line: the client's own text of an API error has four, with headers."""
    if isinstance(error, ApiException):
        return f"{error.status} {' '.join(str(error.reason).split())}"
    return f"{type(error).__name__}: {error}"


def _reason(text: str) -> str:
    """The API server says what is wrong in a Status object; a proxy in between may say it in plain text."""
    try:
        return str(json.loads(text).get("message") or text)
    except (ValueError, AttributeError):
        return text

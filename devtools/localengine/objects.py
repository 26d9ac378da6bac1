"""What is asked of the API server about the objects that this engine works on, by the operator's own client.

The engine passes objects through (templates, labels, fields it doesn't know), so typed models would only lose what they don't
know.
"""

from __future__ import annotations

from contextlib import suppress

from sluice.api.base import Json
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.resources import Resource

NODES = Resource("/api/v1", "nodes")
BINDINGS = Resource("/api/v1", "bindings")


async def find(kube: Kube, resource: Resource, namespace: str | None, name: str) -> Json | None:
    try:
        return await kube.get(resource, namespace, name)
    except NotFoundError:
        return None


async def delete(kube: Kube, resource: Resource, body: Json, grace_seconds: int | None = None) -> None:
    """Deletes the object if it is still the same one; one that has gone, or was replaced, is as good as deleted."""
    metadata = body["metadata"]
    options: Json = {"preconditions": {"uid": metadata["uid"]}, "propagationPolicy": "Background"}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    with suppress(NotFoundError, ConflictError):
        await kube.delete(resource, metadata.get("namespace"), metadata["name"], options)


def told(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, ApiError):
        return f"{error.status or error.reason} {' '.join(str(error).split())}"
    return f"{type(error).__name__}: {error}"

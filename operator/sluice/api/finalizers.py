"""A finalizer, as an object's metadata has it among those of others."""

from sluice.api.base import Json


def has_finalizer(body: Json, finalizer: str) -> bool:
    return finalizer in (body["metadata"].get("finalizers") or ())


def removal_of(finalizer: str, body: Json) -> list[Json]:
    """The JSON patch that takes this finalizer off, and changes nothing where it is no longer at its place in the list."""
    path = f"/metadata/finalizers/{body['metadata']['finalizers'].index(finalizer)}"
    return [{"op": "test", "path": path, "value": finalizer}, {"op": "remove", "path": path}]

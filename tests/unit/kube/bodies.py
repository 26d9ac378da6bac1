"""Objects of some kind, and an API server that lists them."""

from collections.abc import AsyncIterator, Callable, Sequence

from sluice.api.base import Json
from sluice.kube.client import Kube
from sluice.kube.mirror import Mirror
from sluice.kube.resources import PODS, Resource


def body(name: str, version: int, *, uid: str | None = None, namespace: str = "etl") -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-19T10:00:00Z",
        }
    }


def page(version: int, *items: Json) -> Json:
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


class Told:
    """A mirror of pods, and what it told of their changes."""

    def __init__(self) -> None:
        self.changes: list[tuple[str | None, str | None]] = []
        self.mirror = Mirror(PODS, self._note)

    def _note(self, before: Json | None, now: Json | None) -> None:
        self.changes.append((_version(before), _version(now)))

    @property
    def known(self) -> dict[str, int]:
        """Versions by name."""
        return {
            one["metadata"]["name"]: int(one["metadata"]["resourceVersion"]) for one in self.mirror.values()
        }


Part = Json | Callable[[], None] | Exception


class Pages(Kube):
    """Lists as they are given, one after the other; between pages something may happen, or go wrong."""

    def __init__(self, *lists: Sequence[Part]) -> None:
        self._lists = list(lists)
        self.asked = 0

    async def pages(self, *_: Resource | str | None, **__: Resource | str | None) -> AsyncIterator[Json]:
        self.asked += 1
        for part in self._lists.pop(0):
            if isinstance(part, Exception):
                raise part
            if callable(part):
                part()
            else:
                yield part


def _version(one: Json | None) -> str | None:
    return None if one is None else str(one["metadata"]["resourceVersion"])

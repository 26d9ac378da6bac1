"""Collects parts, one after the other. Whatever one of them lacks is told, and ends none of the others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from sluice.api.base import Json
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import Resource
from sluice.online.access.errors import OnlineError
from sluice.online.bundle.archive import Bundle

Say = Callable[[str], None]

SECONDS = 60.0
"""For one part: whoever has a problem has no time for a log that does not answer."""
MOST_OBJECTS = 200
"""Of one kind."""


class Collection:
    def __init__(self, kube: Kube, bundle: Bundle, say: Say) -> None:
        self.kube = kube
        self.bundle = bundle
        self._say = say

    @asynccontextmanager
    async def part(self, what: str) -> AsyncIterator[None]:
        self._say(f"collecting {what}")
        try:
            async with asyncio.timeout(SECONDS):
                with self.told_if_refused(what):
                    yield
        except TimeoutError:
            self._lacks(what, f"it took longer than {SECONDS:.0f} seconds")

    @contextmanager
    def told_if_refused(self, what: str) -> Iterator[None]:
        try:
            yield
        except (ApiError, OnlineError, ValueError) as error:
            self._lacks(what, str(error) or type(error).__name__)

    def _lacks(self, what: str, why: str) -> None:
        self.bundle.lacks(what, why)
        self._say(f"not collected: {what}: {why}")

    async def some(
        self, resource: Resource, namespace: str | None, selector: str = "", *, fields: str = ""
    ) -> list[Json]:
        """No more than are of use to a reader; that there are more is told."""
        found: list[Json] = []
        async for page in self.kube.pages(resource, namespace, selector, fields=fields):
            found += page["items"]
            if len(found) > MOST_OBJECTS:
                self.bundle.lacks(
                    f"all {resource.plural} ({selector or fields})", f"there are more than {MOST_OBJECTS}"
                )
                break
        return found[:MOST_OBJECTS]

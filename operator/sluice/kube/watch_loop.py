"""Keeps a mirror current, for ever.

Only a watch's regular end is trusted: the API server ends it after WATCH_SECONDS, and shortly before tells by a bookmark up to
which version it has told all. A connection that is silent for longer than that is dead, whatever TCP says of it: a proxy in
between, or a server that was stopped, acknowledges all that it gets. So short watches notice it in seconds, and cost a request
each.

After the server's own end the next watch goes on where that one ended, without a list. After any other end everything is
listed: whoever answers then may be another server, with an older store.
"""

import asyncio
import logging
import time

import aiohttp

from sluice.kube.client import ApiError, ExpiredError, KindMissingError, Kube
from sluice.kube.mirror import Mirror, uid_of, version_of
from sluice.kube.paged_list import list_into

logger = logging.getLogger(__name__)

PAUSE = 1.0


class Watcher:
    def __init__(self, kube: Kube, mirror: Mirror, namespace: str | None) -> None:
        self._kube = kube
        self._mirror = mirror
        self._namespace = namespace
        self.called = f"{mirror.resource.plural} of {namespace or 'all namespaces'}"
        self.listed = asyncio.Event()
        """Set once the mirror has been complete."""
        self.is_current = False
        """Whether changes are seen now."""
        self._said = ""

    @property
    def is_missed(self) -> bool:
        """Whether changes should be seen now, and are not."""
        return not self.is_current and not self._mirror.is_undefined

    async def run(self) -> None:
        while True:
            try:
                forgotten = self._mirror.forgotten
                version = await list_into(self._mirror, self._kube, self._namespace)
                self.listed.set()
                self.is_current = True
                self._said = ""
                while self._mirror.forgotten == forgotten:
                    version = await self._follow(version)
            except ExpiredError:
                self.is_current = False
                logger.info(
                    "%s: the API server no longer knows the watch's version; listing anew", self.called
                )
            except KindMissingError as error:
                await self._fails(f"{error}: is its definition applied?")
            except (ApiError, aiohttp.ClientError, OSError, ValueError) as error:
                await self._fails(str(error) or repr(error))

    async def _fails(self, why: str) -> None:
        """Notes a failure; it is logged when it differs from the one before."""
        self.is_current = False
        if why != self._said:
            logger.warning("watching %s: %s; listing anew until it is answered", self.called, why)
        self._said = why
        await asyncio.sleep(PAUSE)

    async def _follow(self, version: str) -> str:
        """Follows the watch, and returns the version that the server had reached when it ended the watch."""
        began, forgotten = time.monotonic(), self._mirror.forgotten
        async for event in self._kube.watch(
            self._mirror.resource, self._namespace, version, self._mirror.selector
        ):
            body = event["object"]
            match event["type"]:
                case "ADDED" | "MODIFIED":
                    self._mirror.seen(body)
                case "DELETED":
                    self._mirror.gone(uid_of(body), version_of(body))
            version = str(body["metadata"]["resourceVersion"])
            if self._mirror.forgotten != forgotten:
                return version
        if time.monotonic() - began < PAUSE:
            await asyncio.sleep(PAUSE)  # a server that ends watches at once isn't asked in a tight loop
        return version

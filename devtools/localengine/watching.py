"""Keeps a copy of one kind of object current, and tells which object changed.

A watch ends for many harmless reasons and misses what happened while it was down, so each one begins with a full list, against
which the copy is compared.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import aiohttp
from kubernetes.aio.client.exceptions import ApiException

from localengine.api import Api, told
from localengine.application import Json

_log = logging.getLogger(__name__)

WATCH_SECONDS = 240
RETRY_SECONDS = 1.0


class Mirror:
    """The objects under one path, by uid, as they were last seen."""

    def __init__(self, api: Api, path: str, changed: Callable[[Json], None], selector: str = "") -> None:
        self._api = api
        self._path = path
        self._selector = selector
        self._changed = changed
        self.objects: dict[str, Json] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        while True:
            try:
                version = await self._list()
                self.synced.set()
                await self._follow(version)
            except (ApiException, aiohttp.ClientError, TimeoutError, OSError) as error:
                _log.warning("watch of %s broke (%s): trying again", self._path, told(error))
                await asyncio.sleep(RETRY_SECONDS)

    async def _list(self) -> str:
        listing = await self._api.get(self._path, labelSelector=self._selector)
        if listing is None:
            raise ApiException(status=404, reason=f"{self._path} does not exist: is the CRD installed?")
        fresh = {item["metadata"]["uid"]: item for item in listing["items"]}
        for gone in [self.objects.pop(uid) for uid in self.objects.keys() - fresh.keys()]:
            self._changed(gone)
        for uid, item in fresh.items():
            self.objects[uid] = item
            self._changed(item)
        return str(listing["metadata"]["resourceVersion"])

    async def _follow(self, version: str) -> None:
        query = {"labelSelector": self._selector, "resourceVersion": version}
        async for event in self._api.watch(self._path, WATCH_SECONDS, **query):
            item = event["object"]
            if event["type"] == "BOOKMARK":
                continue
            uid = item["metadata"]["uid"]
            if event["type"] == "DELETED":
                self.objects.pop(uid, None)
            else:
                self.objects[uid] = item
            self._changed(item)

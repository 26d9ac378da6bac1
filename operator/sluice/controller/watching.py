"""Watches of applications and driver pods, by label on the server: kopf would pull every pod of the cluster."""

import asyncio
import logging

import aiohttp

from sluice.api import names
from sluice.controller.world import World
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import APPLICATIONS, Resource

logger = logging.getLogger(__name__)

OURS = names.LABEL_JOB_UID


class Watcher:
    """Keeps one kind of object in the world up to date, for ever."""

    def __init__(self, kube: Kube, world: World, resource: Resource, namespace: str | None) -> None:
        self._kube = kube
        self._objects = world.applications if resource is APPLICATIONS else world.pods
        self._resource = resource
        self._namespace = namespace

    async def run(self) -> None:
        while True:
            try:
                version = await self.list()
                await self._follow(version)
            except (ApiError, aiohttp.ClientError, OSError, ValueError) as error:
                logger.warning("watching %s: %s; listing again in a second", self._resource.plural, error)
                await asyncio.sleep(1)

    async def list(self) -> str:
        answer = await self._kube.list(self._resource, self._namespace, OURS)
        self._objects.listed(answer, self._namespace)
        return str(answer["metadata"]["resourceVersion"])

    async def _follow(self, version: str) -> None:
        async for event in self._kube.watch(self._resource, self._namespace, version, OURS):
            match event["type"]:
                case "ADDED" | "MODIFIED":
                    self._objects.seen(event["object"])
                case "DELETED":
                    self._objects.gone(event["object"])

"""Full lists, straight from the API server: what a rebuild rests on, where watches may lag."""

from typing import Any

from sluice.controller.watching import OURS
from sluice.controller.world import World
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import APPLICATIONS, JOBS, PODS, POLICIES

Json = dict[str, Any]


class Relist:
    def __init__(self, kube: Kube, world: World, namespaces: tuple[str | None, ...]) -> None:
        self._kube = kube
        self._world = world
        self._namespaces = namespaces

    async def everything(self) -> None:
        """Jobs before applications before pods: a lease's record moves in this direction, and must not be missed."""
        world = self._world
        for namespace in self._namespaces:
            world.policies_listed(await self._kube.list(POLICIES, namespace), namespace)
            world.jobs_listed(await self._kube.list(JOBS, namespace), namespace)
            for resource, known in ((APPLICATIONS, world.applications), (PODS, world.pods)):
                known.listed(await self._kube.list(resource, namespace, OURS), namespace)

    async def job(self, namespace: str, name: str, uid: str) -> Json | None:
        """The job as it is now; None if it is gone, or another one bears its name."""
        try:
            body = await self._kube.get(JOBS, namespace, name)
        except NotFoundError:
            return None
        return body if body["metadata"]["uid"] == uid else None

"""Full lists, straight from the API server: a rebuild rests on them, because watches may lag."""

import time

from sluice.api.base import Json
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.paged_list import list_each_into
from sluice.kube.resources import JOBS


class FullList:
    def __init__(self, kube: Kube, world: ClusterCache, namespaces: tuple[str | None, ...]) -> None:
        self._kube = kube
        self._world = world
        self._namespaces = namespaces
        self.listed_at: float | None = None
        """When everything was last listed."""

    def looks_into(self, namespace: str) -> bool:
        return None in self._namespaces or namespace in self._namespaces

    async def everything(self) -> None:
        while True:
            returns = self._world.returns
            for namespace in self._namespaces:
                await list_each_into(self._world.mirrors, self._kube, namespace)
            if self._world.returns == returns:  # else what was listed before that was noticed was forgotten
                self.listed_at = time.monotonic()
                return

    async def job(self, namespace: str, name: str, uid: str) -> Json | None:
        """Returns the job as it is now; None if it is gone, or another one bears its name."""
        try:
            body = await self._kube.get(JOBS, namespace, name)
        except NotFoundError:
            return None
        return body if body["metadata"]["uid"] == uid else None

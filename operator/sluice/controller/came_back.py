"""Ends applications that came back with an API server that went back to an earlier state, and whose leases had been released.

They ran to their end once. What they held may be others' since, and a Spark operator would submit them again without asking
anybody: so they are deleted before the lease table is rebuilt, while whoever comes next would still notice what happened.
"""

import logging
from contextlib import suppress

from sluice.controller.applications import Applications
from sluice.controller.world import World
from sluice.kube.client import NotFoundError
from sluice.leases.former import Former
from sluice.lifecycle.evidence import PROVED, Evidence, words

logger = logging.getLogger(__name__)


class CameBack:
    def __init__(self, world: World, applications: Applications) -> None:
        self._world = world
        self._applications = applications

    async def end(self, former: Former) -> None:
        """Ends whatever isn't ended and has no lease in Redis, which remembers what came after the earlier state. It holds its
        leases until that is done, like everything that may write."""
        for uid in self._world.awake_uids():
            for one in self._world.evidence(uid).by_application.values():
                has_lease = f"{uid}/{one.number}" in former.values
                if one.holds and not has_lease and one.seen.stage not in PROVED:
                    await self._end(one)

    async def _end(self, one: Evidence) -> None:
        application, pod = one.application, one.pod
        if application is not None and not one.application_is_going:
            metadata = application["metadata"]
            logger.warning(
                "%s came back with the API server's earlier state, and Redis had released its lease: it is deleted, with its "
                "driver's pod",
                words(application),
            )
            with suppress(NotFoundError):  # somebody else was quicker
                await self._applications.delete(metadata["namespace"], metadata["name"])
        if pod is not None and "deletionTimestamp" not in pod["metadata"]:
            with suppress(NotFoundError):
                await self._applications.delete_pod(pod)

"""Ends applications that came back with an API server that went back to an earlier state, and whose leases had been released.

They ran to their end once. What they held may be others' since, and a Spark operator would submit them again without asking
anybody: so they are deleted before the lease table is rebuilt, while whoever comes next would still notice what happened.
"""

import logging
from collections.abc import Collection
from contextlib import suppress

from sluice.controller.applications.applications import Applications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.kube.client import ApiError, NotFoundError
from sluice.lifecycle.evidence.attempt_evidence import PROVED, Evidence, words

logger = logging.getLogger(__name__)


class RestoredApplications:
    def __init__(self, world: ClusterCache, applications: Applications) -> None:
        self._world = world
        self._applications = applications

    async def end(self, known: Collection[str]) -> None:
        """Ends whatever isn't ended and has no lease. `known`: the holders of all leases since the earlier state."""
        for uid in self._world.awake_uids():
            for one in self._world.evidence(uid).by_application.values():
                if one.holds and f"{uid}/{one.number}" not in known and one.seen.stage not in PROVED:
                    await self._end(one)

    def being_ended(self) -> set[str]:
        """The holders that are being ended: they get no lease again, so that they are told apart should the API server go back
        once more, and count as what may write without one until they have ended."""
        return {
            f"{uid}/{one.number}"
            for uid in self._world.awake_uids()
            for one in self._world.evidence(uid).by_application.values()
            if one.came_back and one.application_is_going
        }

    async def _end(self, one: Evidence) -> None:
        """What cannot be deleted holds its tables, and stops nobody else."""
        body = one.application or one.pod
        if body is None:
            return  # an intent alone
        what = f"{words(body)} came back with the API server's earlier state, and its lease had been released"
        try:
            await self._delete(one)
        except ApiError as error:
            if not error.is_definite:
                raise
            logger.warning(
                "%s: it cannot be deleted (%s): delete it before the Spark operator runs", what, error
            )
        else:
            logger.warning("%s: it is deleted, with its driver's pod", what)

    async def _delete(self, one: Evidence) -> None:
        application, pod = one.application, one.pod
        if application is not None and not one.application_is_going:
            metadata = application["metadata"]
            with suppress(NotFoundError):  # somebody else was quicker
                await self._applications.note_return(application)
                await self._applications.delete(metadata["namespace"], metadata["name"])
                await self._applications.look_at(application)
        if pod is not None and not one.pod_is_going:
            with suppress(NotFoundError):
                await self._applications.delete_pod(pod)

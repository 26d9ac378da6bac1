"""Heeds a person's word that a finished job is to have one more attempt: once for each word, and an Event says what came of it."""

import logging

from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.job_figures import JobFigures
from sluice.controller.process import clock
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.lifecycle.retries.manual_retry import RetryGranted, RetryRefused, heeded
from sluice.lifecycle.streams.checkpoints import named_by, taken

logger = logging.getLogger(__name__)


class ManualRetries:
    def __init__(
        self,
        world: ClusterCache,
        statuses: StatusWriter,
        events: EventWriter,
        figures: JobFigures,
        neighbours: VisibleBlockers,
    ) -> None:
        self._world = world
        self._statuses = statuses
        self._events = events
        self._figures = figures
        self._neighbours = neighbours

    async def heed(self, job: JobView, asked: str) -> None:
        match heeded(job, asked, clock.now(), self._taken(job)):
            case RetryGranted(change):
                await self._statuses.write(job, change)
                self._figures.retried(None)
                await self._events.tell(job, EventReason.RETRYING, change.message)
                logger.info("%s: %s", job.key, change.message)
            case RetryRefused(why):
                await self._statuses.retry_heeded(job, asked)
                await self._events.tell(job, EventReason.NOT_RETRIED, why, warning=True)

    def _taken(self, job: JobView) -> str | None:
        """Why the job has no checkpoint to go on from: another one, which lives, would have to end for it."""
        for checkpoint, uid in self._world.checkpoints.users_of(named_by(job.body)):
            return taken(checkpoint, self._neighbours.called(self._world.jobs[uid].key, job.namespace))
        return None

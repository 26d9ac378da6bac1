"""Heeds a person's word that a finished job is to have one more attempt: once for each word, and an Event says what came of it."""

import logging
from datetime import UTC, datetime

from sluice.api.reasons import EventReason
from sluice.controller.events import EventWriter
from sluice.controller.figures import Figures
from sluice.controller.status import StatusWriter
from sluice.lifecycle.by_hand import NoMore, OneMore, heeded
from sluice.lifecycle.job import JobView

logger = logging.getLogger(__name__)


class ByHand:
    def __init__(self, statuses: StatusWriter, events: EventWriter, figures: Figures) -> None:
        self._statuses = statuses
        self._events = events
        self._figures = figures

    async def heed(self, job: JobView, asked: str) -> None:
        match heeded(job, asked, datetime.now(UTC)):
            case OneMore(change):
                await self._statuses.write(job, change)
                self._figures.retried(None)
                await self._events.tell(job, EventReason.RETRYING, change.message)
                logger.info("%s: %s", job.key, change.message)
            case NoMore(why):
                await self._statuses.retry_heeded(job, asked)
                await self._events.tell(job, EventReason.NOT_RETRIED, why, warning=True)

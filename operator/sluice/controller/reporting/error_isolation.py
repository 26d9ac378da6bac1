"""Confines each object's trouble to that object: whatever happens while it is read, judged or acted on becomes its condition."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sluice.api.reasons import EventReason, Reason
from sluice.controller.cache.change_deduplication import ChangeDeduplication
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.full_list import FullList
from sluice.controller.process.retry_pauses import RetryPauses
from sluice.controller.process.timers import Timers
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.lifecycle.job.job_view import JobView

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class _Trouble:
    """What keeps a job from going on, as its status says it, and an Event."""

    reason: Reason
    event: EventReason


_FAILED = _Trouble(Reason.OPERATOR_FAILED, EventReason.OPERATOR_FAILED)
_REFUSED = _Trouble(Reason.API_SERVER_REFUSES, EventReason.API_SERVER_REFUSES)


class ErrorIsolation:
    def __init__(
        self,
        world: ClusterCache,
        relist: FullList,
        statuses: StatusWriter,
        events: EventWriter,
        timers: Timers | None = None,
        *,
        refused: Callable[[ApiError], None] = lambda _: None,
    ) -> None:
        """`refused`: is told of each request that the API server didn't carry out."""
        self._world = world
        self._relist = relist
        self._statuses = statuses
        self._events = events
        self._timers = timers
        """Pauses of the loop itself: what failed is tried again."""
        self.told = refused
        self._pauses: RetryPauses[str] = RetryPauses(time.monotonic, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        self._failing = ChangeDeduplication()
        self._wordless = ChangeDeduplication()
        """News of those whose status has no place for words."""

    async def on(self, uid: str, doing: Awaitable[None]) -> None:
        """Does something for the job with this uid. What fails is tried again after a pause of its own."""
        try:
            await doing
        except ApiError as error:
            self._try_again(uid)
            await self._refused(uid, error)
        except Exception as error:
            self._try_again(uid)
            said = f"{type(error).__name__}: {error}"[:1024]
            if self._failing.is_news(uid, said):
                logger.exception("%s: the operator failed on it; trying again", self._called(uid))
                await self._tell(uid, _FAILED, f"the operator failed on this job: {said}")
        else:
            self._failing.forget(uid)
            self._pauses.forget(uid)

    def _try_again(self, uid: str) -> None:
        self._pauses.tries(uid)
        if self._timers is not None:
            self._timers.within(self._pauses.seconds_left(uid), uid)

    async def tell_unreadable(self, job: JobView, why: str) -> None:
        """Says that the job's status is unreadable: what somebody wrote there hides what the job has done, so nothing is done
        for it before that is put right."""
        message = f"{why}: put it back as it was, or delete the job once its driver has ended"
        if job.can_tell:
            await self._statuses.stall(job, Reason.STATUS_UNREADABLE, message)
        elif self._wordless.is_news(job.uid, message):
            logger.warning("%s: %s", job.key, message)
            await self._events.tell(job, EventReason.STATUS_UNREADABLE, message, warning=True)

    def forget_gone(self) -> None:
        there = self._world.is_there
        self._failing.forget_unless(there)
        self._wordless.forget_unless(there)
        self._pauses.forget_unless(there)

    def _called(self, uid: str) -> str:
        job = self._world.jobs.get(uid)
        return job.key if job is not None else f"job {uid}"

    async def _tell(self, uid: str, trouble: _Trouble, message: str) -> None:
        """Tells it in the job's status; of a finished job by an Event: what is left to be done for it changes nothing of how it
        ended, and nobody would write that there again. So it does where the status is refused: where an API server older than 1.30
        holds a spec that the definition takes no more, it takes no status of it, either."""
        job = self._world.jobs.get(uid)
        if job is None or job.is_deleted:
            return
        if job.is_finished:
            await self._events.tell(job, trouble.event, message, warning=True)
            return
        try:
            await self._statuses.stall(job, trouble.reason, message)
        except ApiError as second:
            logger.warning("%s: its status cannot say so: %s", job.key, second)
            if second.is_definite and not isinstance(second, NotFoundError):
                await self._events.tell(job, trouble.event, message, warning=True)
        except Exception:
            logger.exception("%s: the operator failed to say so in its status", job.key)

    async def _refused(self, uid: str, error: ApiError) -> None:
        """Handles a refusal: the job may be gone, or differ from what was seen, which a watch may have missed."""
        self.told(error)
        job = self._world.jobs.get(uid)
        logger.warning("%s: %s; trying again", self._called(uid), error)
        if job is None:
            return
        if not isinstance(error, NotFoundError | ConflictError):
            if error.is_definite and self._failing.is_news(uid, str(error)):
                message = f"the API server refuses a request for this job: {error}; trying again"
                await self._tell(uid, _REFUSED, message)
            return
        try:
            body = await self._relist.job(job.namespace, job.name, uid)
        except ApiError as second:
            logger.warning("%s: %s; trying again", job.key, second)
            return
        if body is None:
            logger.info("%s is gone", job.key)
            self._world.job_gone(uid)
        else:
            self._world.job_seen(body)

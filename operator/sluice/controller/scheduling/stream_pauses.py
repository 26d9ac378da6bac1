"""Has streams stop at a batch boundary for those that wait for them, as `lifecycle.pausing` decides: writes into a stream's status
for whom it pauses, and tells both. What follows from that is the way of its attempt.

Nobody is looked at for it but those that stand behind a stream that yields, and of these only so many at a time.
"""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from heapq import nsmallest

from sluice.admission import AdmissionDecision, Holder, Queue, Waiter
from sluice.api.job import Yield
from sluice.api.job_status import MAX_BLOCKERS, Attempt, WaitsForPause
from sluice.api.reasons import EventReason
from sluice.controller.cache.change_deduplication import ChangeDeduplication
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.attempts import Attempts
from sluice.controller.process import clock
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_throttle import StatusThrottle
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.engines import Stage
from sluice.engines.progress import stream_of
from sluice.footprint import JobFootprint, NotUnderstoodError
from sluice.lifecycle.attempt import job_events, withdrawal
from sluice.lifecycle.attempt.running_status import running
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.lifecycle.streams import pauses
from sluice.lifecycle.streams.pauses import RunningStream

logger = logging.getLogger(__name__)

LOOK_AGAIN = 0.5
"""Seconds between looks at those that stand behind streams."""
SHARE = 50
"""A look is followed by a pause that is this many times as long."""
MOST_EXPLAINED = 20
"""Waiters of whom all that is in their way is worked out in one look."""
ALWAYS_EXPLAINED = 5
"""Of these, those that are looked at each time."""
MOST_IN_THE_WAY = 256
"""Streams that are asked for one waiter; one that has more in its way waits until there are fewer."""


@dataclass(kw_only=True)
class StreamPauses:
    world: ClusterCache
    attempts: Attempts
    workers: ObjectWorkers
    statuses: StatusWriter
    events: EventWriter
    retelling: StatusThrottle
    neighbours: VisibleBlockers
    _yielding: dict[str, None] = field(default_factory=dict)
    """Streams that hold leases and pause for some of those that wait, by uid."""
    _explained: set[str] = field(default_factory=set)
    """Waiters that were looked at, so that others have their turn."""
    _failing: ChangeDeduplication = field(default_factory=ChangeDeduplication)
    """Waiters of whom the operator fails to tell which streams may pause for them."""
    _next_at: float = 0.0
    _looks_again: bool = False
    """Whether anybody stood behind a stream at the last look, or may have come to since."""
    explained: int = 0
    """How often all was worked out that is in a waiter's way, since the beginning."""

    def holds(self, uid: str, holders: Iterable[Holder]) -> None:
        """Notes what is held for a job."""
        if any(not one.at_rest for one in holders) and self._may_yield(uid):
            self._yielding[uid] = None
        else:
            self._yielding.pop(uid, None)

    def _may_yield(self, uid: str) -> bool:
        """Told from the object, because most are no streams."""
        job = self.world.jobs.get(uid)
        spec = job.body.get("spec") if job is not None else None
        stream = spec.get("stream") if isinstance(spec, dict) else None
        return isinstance(stream, dict) and stream.get("yield", Yield.NEVER.value) != Yield.NEVER.value

    def forget_gone(self) -> None:
        self._failing.forget_unless(lambda uid: uid in self.world.jobs)
        self._explained = {uid for uid in self._explained if uid in self.world.jobs}

    def seconds_until_look(self) -> float | None:
        """Seconds until those behind streams are to be looked at; None: there are none. Each turn of the loop asks, so that streams
        are not gone through for it."""
        if not self._yielding or not self._looks_again:
            return None
        return max(0.0, self._next_at - time.monotonic())

    def turn(self, queue: Queue) -> None:
        """Has streams asked for whoever can go once they have stopped."""
        began = time.monotonic()
        if not self._yielding:
            return
        if began < self._next_at:
            self._looks_again = True
            return
        self._looks_again = any(queue.is_in_the_way(uid) for uid in self._yielding)
        now, streams = clock.now(), dict[str, RunningStream]()
        asked: dict[str, list[str]] = {}
        for waiter in self._next_ones(queue):
            self.explained += 1
            try:
                found = self._to_ask(queue, waiter, streams, now)
            except Exception as error:
                if self._failing.is_news(waiter.uid, repr(error)):
                    logger.exception("%s: the operator failed to tell which streams may pause", waiter.job)
                continue  # for others streams are asked
            for stream in found:
                asked.setdefault(stream, []).append(waiter.uid)
        for stream, waiters in asked.items():
            self.workers.do(stream, partial(self._ask, stream, waiters))
        took = time.monotonic() - began
        self._next_at = began + max(LOOK_AGAIN, SHARE * took)

    def _to_ask(
        self, queue: Queue, waiter: Waiter, streams: dict[str, RunningStream], now: datetime
    ) -> tuple[str, ...]:
        """`streams`: those that are known already; others that are in the waiter's way are added."""
        decision = queue.explain(waiter.uid, MOST_IN_THE_WAY)
        for uid in {one.by.uid for one in decision.blocked_by} - streams.keys():
            if (found := self._running_stream(uid)) is not None:
                streams[uid] = found
        return pauses.to_ask(waiter, decision, streams, now)

    def _next_ones(self, queue: Queue) -> list[Waiter]:
        """Those that stand behind streams and for whom one may pause: the first of them, because others wait behind these, and the
        rest in turns."""
        standing = {
            rank[-1]: rank
            for uid in self._yielding
            for rank in queue.first_behind(uid, MAX_BLOCKERS, _changes_metadata)
        }
        first = nsmallest(ALWAYS_EXPLAINED, standing.values())
        others = standing.keys() - {rank[-1] for rank in first}
        left = others - self._explained
        if not left:
            self._explained.clear()
            left = others
        in_turn = nsmallest(MOST_EXPLAINED - len(first), [standing[uid] for uid in left])
        self._explained.update(rank[-1] for rank in in_turn)
        chosen = [queue.waiter(rank[-1]) for rank in (*first, *in_turn)]
        return [one for one in chosen if one is not None and self._may_be_paused_for(one.uid)]

    def _may_be_paused_for(self, uid: str) -> bool:
        job = self.world.jobs.get(uid)
        try:
            return job is not None and pauses.may_be_paused_for(job)
        except NotUnderstoodError:
            return False

    def _running_stream(self, uid: str) -> RunningStream | None:
        """The stream, if its driver runs and nothing else ends it."""
        job = self.world.jobs.get(uid) if uid in self._yielding else None
        attempt = job.open_attempt if job is not None and not job.is_deleted else None
        if job is None or attempt is None or attempt.ending is not None:
            return None
        evidence = self.world.evidence(uid).of(attempt)
        if evidence.seen.stage is not Stage.RUNNING:
            return None
        try:
            if not job.is_soon_worked_out:
                return None
            stream, footprint = job.spec.stream, job.footprint
        except NotUnderstoodError:
            return None
        if stream is None:
            return None
        began = attempt.started_at or evidence.seen.started_at
        # No driver runs before it is granted: where its node's clock says so, that is behind the operator's.
        started = None if began is None else max(began, attempt.granted_at)
        turn = pauses.turn_of(job, attempt)
        had = pauses.had_its_turn(stream_of(evidence.pod), started, clock.now(), turn)
        return RunningStream(uid, stream.yield_, footprint, had, attempt.pause)

    async def _ask(self, uid: str, waiters: Iterable[str]) -> None:
        """Writes for whom the stream pauses, and then has its driver told."""
        job = self.world.jobs.get(uid)
        if job is None or self._running_stream(uid) is None or (attempt := job.open_attempt) is None:
            return
        asking = [self.world.jobs[waiter] for waiter in waiters if waiter in self.world.jobs]
        asking = [one for one in asking if one.open_attempt is None and pauses.is_kept_waiting_by(one)]
        if not asking:
            return  # they are gone, or wait no longer, since they were looked at
        named = (
            WaitsForPause(job=self.neighbours.called(one.key, job.namespace), uid=one.uid) for one in asking
        )
        pause = pauses.asked(attempt.pause, named, clock.now())
        if pause == attempt.pause:
            return
        asked = attempt.model_copy(update={"pause": pause})
        evidence = self.world.evidence(uid).of(attempt)
        await self.statuses.write(job, running(job, asked, evidence, clock.now()).change)
        logger.info("%s: asked to pause for %s", job.key, ", ".join(one.key for one in asking))
        await self._tell(job, attempt, asked, asking)
        current = self.world.jobs.get(uid)
        if current is not None and current.open_attempt is not None:
            await self.attempts.drive(current, current.open_attempt)

    async def _tell(self, job: JobView, before: Attempt, after: Attempt, asking: Iterable[JobView]) -> None:
        told = job_events.pausing(before, after)
        if told is not None:
            await self.events.tell(job, told.reason, told.message)
        for one in asking:
            stream = self.neighbours.called(job.key, one.namespace)
            message = f"the stream {stream} was asked to pause for it, at its next batch boundary"
            await self.events.tell(one, EventReason.PAUSE_ASKED, message)
        self.retelling.again(one.uid for one in asking)

    def said_to(self, waiter: JobView, decision: AdmissionDecision) -> str:
        """What a waiter's status says of the streams in its way: which pause for it, and which never will."""
        streams = self.world.pausing_for(waiter.uid)
        if streams:
            names = dict.fromkeys(self.neighbours.called(one.key, waiter.namespace) for one in streams)
            return f"; asked to pause for it at a batch boundary: {', '.join(names)}"
        for one in decision.blocked_by:
            stream = self.world.jobs.get(one.by.uid)
            why = pauses.why_it_makes_no_room(stream, waiter) if stream is not None else None
            if stream is not None and why is not None:
                name = self.neighbours.called(stream.key, waiter.namespace)
                return f"; {name} is a stream that runs for ever, and {why}"
        if decision.count > MOST_IN_THE_WAY and self._are_streams(decision):
            return f"; streams are asked to pause only for a job that waits for at most {MOST_IN_THE_WAY} of them"
        return ""

    def _are_streams(self, decision: AdmissionDecision) -> bool:
        """Whether all that are named in a waiter's way run for ever."""
        named = (self.world.jobs.get(one.by.uid) for one in decision.blocked_by)
        return all(job is not None and job.streams_for_ever for job in named)

    def seconds_left(self, stream: JobView) -> float:
        """Seconds for which a stream pauses at the most; 0: it doesn't, or not any more."""
        return pauses.seconds_left(stream, self.world.jobs, clock.now())

    def seconds_to_give_way(self, waiter: JobView) -> float | None:
        """Seconds until a job gives way to the streams that pause for it; None: none has stopped for it."""
        found = self._gives_way(waiter)
        return None if found is None else max(0.0, (found.at - clock.now()).total_seconds())

    def _gives_way(self, waiter: JobView) -> pauses.StreamPauseReason | None:
        return pauses.gives_way(waiter, self.world.pausing_for(waiter.uid), clock.now())

    def backs_off(self, job: JobView, now: datetime) -> bool:
        """Whether it stays out of the queue: it had its tables and got nowhere, or gave way to streams that are yet to go on."""
        return withdrawal.backs_off(job, now, self.world.pausing_for(job.uid))

    async def give_way(self, waiter: JobView) -> None:
        """Has a job that waits leave the queue for a while, because streams have paused for it for as long as they may."""
        found = self._gives_way(waiter)
        if found is None:
            return
        told = found.as_told(partial(self.neighbours.called, by=waiter.namespace))
        change = withdrawal.gave_way(waiter, told.message, clock.now())
        await self.statuses.write(waiter, change)
        await self.events.tell(waiter, EventReason.PAUSE_EXCEEDED, change.message, warning=True)


def _changes_metadata(footprint: JobFootprint) -> bool:
    return footprint.changes_metadata

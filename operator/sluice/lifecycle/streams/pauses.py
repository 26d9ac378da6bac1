"""Who pauses for whom, and for how long. A stream that runs for ever would keep others waiting for ever: it stops at a batch
boundary for those to whom its `yield` gives way, and goes on once they have ended, or have had their time.

It is asked only where that lets somebody go: everything in the way of the waiter is a stream that pauses for it. And it is asked
only after it has had a turn, so that a batch lies between any two pauses.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluice.admission import AdmissionDecision, Waiter
from sluice.admission.stream_yield import Breaks, NoYield, needed_for, why_no_room
from sluice.api.durations import seconds
from sluice.api.job import WhenBlocked, Yield
from sluice.api.job_status import (
    MAX_BLOCKERS,
    Attempt,
    Outcome,
    PauseReason,
    Phase,
    StreamPause,
    StreamProgress,
    WaitsForPause,
)
from sluice.api.reasons import Reason
from sluice.footprint import JobFootprint, NotUnderstoodError
from sluice.lifecycle.job.blocked_status import is_for_a_place
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.streams.stop_requests import PATIENCE
from sluice.lifecycle.streams.stream_progress import got_anywhere, of_attempt

TURN = timedelta(seconds=60)
"""For how long a stream runs before it has had its turn, whatever it has come to."""
LONGEST_TURN = timedelta(hours=1)
"""The same for one that has come to nothing again and again."""
MAX_PAUSE = 900
"""Seconds for which a stream pauses for others, if it doesn't say."""


@dataclass(frozen=True)
class RunningStream:
    """A stream whose driver runs."""

    uid: str
    yields: Yield
    footprint: JobFootprint
    had_its_turn: bool
    pause: StreamPause | None = None
    """Why it was asked to stop already."""

    def gives_way_to(self, waiter: Waiter, now: datetime) -> bool:
        """Whether it pauses for this waiter, which it would not break by that, nor be broken."""
        if not (waiter.footprint.changes_metadata or waiter.has_aged(now)):
            return False
        is_endless = waiter.for_ever is not None
        return why_no_room(self.yields, self.footprint, waiter.footprint, is_endless=is_endless) is None

    def is_asked_for(self, uid: str) -> bool:
        return self.pause is not None and any(one.uid == uid for one in self.pause.for_)

    def goes_on_though_asked(self, now: datetime) -> bool:
        """Whether it has not stopped for so long that it may go on for as long as others would pause."""
        return self.pause is not None and now - self.pause.since >= PATIENCE

    @property
    def can_be_asked(self) -> bool:
        if self.pause is None:
            return self.had_its_turn
        return self.pause.reason is PauseReason.YIELDS and len(self.pause.for_) < MAX_BLOCKERS


def had_its_turn(
    progress: StreamProgress | None, started_at: datetime | None, now: datetime, turn: timedelta = TURN
) -> bool:
    """Whether a stream has ended a batch in its latest attempt, or has found nothing to do, or has run for long enough."""
    return got_anywhere(progress) or (started_at is not None and now - started_at >= turn)


def turn_of(stream: JobView, attempt: Attempt) -> timedelta:
    """How long is long enough for this attempt. If the one before it paused before any batch of it had ended, twice as long as
    that: else a stream that takes long to begin a batch would never come to one."""
    before = next((one for one in reversed(stream.status.attempts) if one.number < attempt.number), None)
    if before is None or before.outcome is not Outcome.PAUSED or before.ended_at is None:
        return TURN
    known, began = stream.status.stream, before.started_at or before.granted_at
    if got_anywhere(of_attempt(known, before.number)):
        return TURN
    if known is not None and known.batch_at is not None and known.batch_at >= began:
        return TURN
    return min(max(TURN, 2 * (before.ended_at - began)), LONGEST_TURN)


def may_be_paused_for(job: JobView) -> bool:
    """Whether streams may pause for it: one that doesn't wait needs none, and another stream would never end."""
    stream = job.spec.stream
    is_endless = stream is not None and stream.trigger.processing_time is not None
    return not is_endless and job.spec.admission.when_blocked is WhenBlocked.WAIT


def to_ask(
    waiter: Waiter, decision: AdmissionDecision, streams: Mapping[str, RunningStream], now: datetime
) -> tuple[str, ...]:
    """The streams that are to be asked, by uid, so that the waiter can go; none where anything else is in its way, where one of
    them is yet to have its turn, or where one doesn't stop though it was asked to. Those ahead of it for whom they pause already
    go first, in the same pause."""
    if is_for_a_place(decision):
        return _to_make_a_place(waiter, decision, streams, now)
    if decision.at_least or decision.count != len(decision.blocked_by):
        return ()
    asked_already = {one.uid for stream in streams.values() if stream.pause for one in stream.pause.for_}
    in_the_way = [
        streams.get(one.by.uid) if one.holds and not one.by.at_rest else None
        for one in decision.blocked_by
        if one.holds or one.by.uid not in asked_already
    ]
    found = dict[str, None]()
    for stream in in_the_way:
        if stream is None or not stream.gives_way_to(waiter, now):
            return ()
        if stream.can_be_asked and not stream.is_asked_for(waiter.uid):
            found[stream.uid] = None
        elif stream.pause is None:
            return ()
    if any(streams[uid].pause is None for uid in found) and any(
        stream is not None and stream.goes_on_though_asked(now) for stream in in_the_way
    ):
        return ()  # they would pause in vain until that one has stopped
    return tuple(found)


def _to_make_a_place(
    waiter: Waiter, decision: AdmissionDecision, streams: Mapping[str, RunningStream], now: datetime
) -> tuple[str, ...]:
    """The one stream that is enough where a table has no place left for another writer; none where one stops for the waiter
    already, or others wait for the place before it."""
    if not all(one.holds for one in decision.blocked_by):
        return ()
    writing = [streams[one.by.uid] for one in decision.blocked_by if one.by.uid in streams]
    if any(one.is_asked_for(waiter.uid) for one in writing):
        return ()
    able = (one for one in writing if one.can_be_asked and one.gives_way_to(waiter, now))
    first = next(able, None)
    return () if first is None else (first.uid,)


def asked(before: StreamPause | None, waiters: Iterable[WaitsForPause], now: datetime) -> StreamPause:
    """The pause with these for whom it is, too."""
    known = before or StreamPause(reason=PauseReason.YIELDS, since=now)
    named = {one.uid for one in known.for_}
    more = tuple(one for one in waiters if one.uid not in named)
    return known.model_copy(update={"for_": (*known.for_, *more)[:MAX_BLOCKERS]})


def why_it_makes_no_room(stream: JobView, waiter: JobView) -> str | None:
    """Why a job would wait for ever behind a stream that runs for ever, and what lets it go; None if the stream ends, or pauses for
    it."""
    if stream.open_attempt is not None and what_is_wrong(stream):
        return "stops for nobody until its spec is put right, which was changed into one that can't be understood"
    try:
        given = stream.spec.stream
        if given is None or given.trigger.processing_time is None:
            return None
        why = why_no_room(
            given.yield_, stream.footprint, waiter.footprint, is_endless=waiter.streams_for_ever
        )
    except NotUnderstoodError:
        return None
    return None if why is None else _in_words(why, waiter.footprint)


def _in_words(why: NoYield | Breaks, waiter: JobFootprint) -> str:
    match why:
        case Breaks():
            return "makes no room for what would break it for good"
        case NoYield.ENDLESS_TOO:
            return (
                "makes no room for another one that does, so that this one never begins: let one of the two have the trigger "
                "availableNow, or delete one"
            )
        case NoYield.YIELDS_NOT:
            return f"makes room for it only with spec.stream.yield: {needed_for(waiter)}"


def wanted_by_itself(job: JobView, attempt: Attempt) -> PauseReason | None:
    """Why a stream is to stop whoever waits for it. A spec that isn't understood stops nothing."""
    try:
        if job.spec.stream is None:
            return None
        if job.spec.admission.suspend:
            return PauseReason.SUSPENDED
        job.footprint_from_spec  # noqa: B018 - one that can't be understood is an error
        if job.hashes.are(attempt.hash):
            return None
        is_written_alike = job.hashes.are_written_as(attempt.hash)
    except NotUnderstoodError:
        return None
    return PauseReason.UNDERSTOOD_OTHERWISE if is_written_alike else PauseReason.SPEC_CHANGED


def what_is_wrong(job: JobView) -> str:
    """What is said of a stream whose spec was changed into one that can't be understood; nothing of any other."""
    given = job.body.get("spec")
    if not isinstance(given, dict) or "stream" not in given:
        return ""
    try:
        job.footprint_from_spec  # noqa: B018 - likewise
    except NotUnderstoodError as error:
        return f"; its spec was changed since, and can't be understood, so that the stream goes on as it was: {error}"
    return ""


def after_a_stop(job: JobView, ended: Attempt, now: datetime) -> StatusChange:
    """What follows an attempt that stopped at a batch boundary."""
    at, pause = ended.ended_at or now, ended.pause
    stopped = f"its stream stopped at a batch boundary at {at:%H:%M:%S} UTC"
    if _is_suspended(job):
        message = f"{stopped}; held by spec.admission.suspend, it goes on from there once that is false"
        return StatusChange(Phase.SUSPENDED, Reason.SUSPENDED, message, attempt=ended)
    if pause is None or pause.reason is not PauseReason.YIELDS:
        is_as_written = pause is not None and pause.reason is PauseReason.UNDERSTOOD_OTHERWISE
        on = "once it is admitted for what it touches now" if is_as_written else "as its spec says now"
        message = f"{stopped}, and queues again, keeping its age, to go on {on}"
        return StatusChange(Phase.PENDING, Reason.RESTARTING, message, attempt=ended)
    # From now on: nobody could begin before that, whatever an outage or the clock of the driver's node tells of the time since.
    until = now + timedelta(seconds=longest_pause(job))
    message = (
        f"{stopped} so that {_named(pause)} can run; it goes on once {'that has' if len(pause.for_) == 1 else 'those have'} ended, "
        f"at {until:%H:%M:%S} UTC at the latest"
    )
    paused = pause.model_copy(update={"until": until})
    return StatusChange(Phase.PAUSED, Reason.YIELDED, message, attempt=ended, pause=paused)


def longest_pause(job: JobView) -> int:
    try:
        given = job.spec.stream.max_pause if job.spec.stream is not None else None
    except NotUnderstoodError:
        given = None
    return MAX_PAUSE if given is None else seconds(given)


def is_kept_waiting_by(waiter: JobView | None) -> bool:
    """Whether a stream that pauses for this job still waits for it."""
    if waiter is None or waiter.is_finished:
        return False
    if waiter.open_attempt is not None:
        return True
    return not waiter.is_deleted and waiter.phase not in (Phase.SUSPENDED, Phase.BACKING_OFF)


def pause_ends(stream: JobView, now: datetime) -> datetime | None:
    """When a stream that has stopped goes on at the latest; None: it pauses for nobody. Whatever stands in its status, that is no
    later than its spec says, which may have been changed since. A leader whose clock was ahead may have written a moment that is
    yet to come; one that is further ahead than any pause lasts is nobody's."""
    pause, since = stream.status.pause, stream.status.since
    if pause is None or pause.until is None:
        return None
    longest = timedelta(seconds=longest_pause(stream))
    if since is None or since - now > longest:
        return min(pause.until, now)
    return min(pause.until, since + longest)


def seconds_left(job: JobView, waiters: Mapping[str, JobView], now: datetime) -> float:
    """Seconds for which a stream pauses at the most; 0: it may go on."""
    ends = pause_ends(job, now)
    if job.phase is not Phase.PAUSED or ends is None or job.status.pause is None:
        return 0.0
    if not any(is_kept_waiting_by(waiters.get(one.uid)) for one in job.status.pause.for_):
        return 0.0
    return max(0.0, (ends - now).total_seconds())


@dataclass(frozen=True)
class StreamPauseReason:
    """Until when streams pause for a job, which then gives way to them."""

    at: datetime
    to: str
    """The first of them, as namespace/name."""
    pauses_for: int
    """For how many seconds that one pauses at the most."""
    has_begun: bool
    """Whether the job was granted its leases."""
    late: str = ""
    """A stream that was asked to stop for the job as well, and has not yet, as namespace/name."""

    def as_told(self, called: Callable[[str], str]) -> "StreamPauseReason":
        """`called`: what the job's status may call a stream."""
        return replace(self, to=called(self.to), late=called(self.late) if self.late else "")

    @property
    def message(self) -> str:
        allowed = f"its spec.stream.maxPause ({self.pauses_for} s)"
        if self.has_begun:
            why = f"the stream {self.to} has paused for it for as long as {allowed} says, and goes on"
        else:
            why = f"of the pause of the stream {self.to} less than a quarter of {allowed} is left, which may not be enough for it"
        if self.late:
            return f"{why}; the stream {self.late} has not stopped yet: make its batches shorter, or that maxPause longer"
        return f"{why}; where it needs more time, make that longer"


def gives_way(waiter: JobView, streams: Collection[JobView], now: datetime) -> StreamPauseReason | None:
    """When the job gives way to those that pause for it; None: none has stopped for it, and is still there. One that has not begun
    does so earlier: what would be ended soon after it began costs its compute, and those others the rest of their pause."""
    if not is_kept_waiting_by(waiter):
        return None
    found = _soonest(streams, now, has_begun=waiter.open_attempt is not None)
    late = next((one.key for one in streams if one.open_attempt is not None and one.open_attempt.pause), "")
    return found if found is None or found.has_begun else replace(found, late=late)


def are_to_go_on(streams: Collection[JobView], now: datetime) -> bool:
    """Whether a job that gave way to these before it began stays out of their way: one of them has yet to run again."""
    have_stopped = [one for one in streams if pause_ends(one, now) is not None and one.has_stopped]
    found = _soonest(have_stopped, now, has_begun=False)
    goes_on = any(one.phase is not Phase.PAUSED and not one.is_deleted for one in have_stopped)
    return goes_on or (found is not None and found.at <= now)


def _soonest(streams: Collection[JobView], now: datetime, *, has_begun: bool) -> StreamPauseReason | None:
    found = list[StreamPauseReason]()
    for stream in streams:
        ends = pause_ends(stream, now)
        if ends is not None and stream.has_stopped and not stream.is_deleted:
            longest = longest_pause(stream)
            left_to_begin = timedelta(0) if has_begun else _lasts(stream, ends) / 4
            over = now - timedelta(seconds=longest)  # whenever that was
            found.append(StreamPauseReason(max(ends, over) - left_to_begin, stream.key, longest, has_begun))
    return min(found, key=lambda one: one.at, default=None)


def _lasts(stream: JobView, ends: datetime) -> timedelta:
    """How long this pause lasts at the most: a spec that allows longer ones by now counts from the next one on."""
    since = stream.status.since or ends
    return max(timedelta(0), ends - since)


def since_when(waiter: str, streams: Collection[JobView]) -> datetime | None:
    """Since when streams were asked to pause for a job. From then on it counts as aged: while they stop, nobody else is to come
    between."""
    pauses = (
        pause
        for stream in streams
        for pause in (stream.status.pause, stream.open_attempt.pause if stream.open_attempt else None)
    )
    since = (one.since for one in pauses if one is not None and any(to.uid == waiter for to in one.for_))
    return min(since, default=None)


def _is_suspended(job: JobView) -> bool:
    try:
        return job.spec.admission.suspend
    except NotUnderstoodError:
        return False


def _named(pause: StreamPause) -> str:
    names = [one.job for one in pause.for_]
    return ", ".join(names) or "others"

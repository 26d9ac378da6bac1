"""Counts jobs and policies by what their statuses say, whoever wrote them. It follows each change, so that a scrape costs the same
however many there are."""

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.api.reasons import PolicyReason, Reason
from sluice.kube.mirror import uid_of
from sluice.lifecycle.job.status import NEED_A_PERSON
from sluice.policies.status import standing_in

_PHASES = {phase.value: phase for phase in Phase}
_NEW = "New"
_SPARE = 64
"""Entries of jobs that wait no longer that may stay beside those that do, whatever their number."""
_REASONS = frozenset(reason.value for reason in Reason)
_POLICY_REASONS = frozenset(reason.value for reason in PolicyReason)
_OTHER = "other"
_GETS_ON = frozenset({Reason.STREAMING, Reason.PAUSING, Reason.PAUSE_NOT_HEEDED, Reason.YIELDED})
"""Reasons of a stream that has ended a batch, or found nothing to do, since it last failed."""

OF_STREAMS = (
    (Phase.RUNNING, Reason.STREAMING),
    (Phase.RUNNING, Reason.PAUSING),
    (Phase.RUNNING, Reason.PAUSE_NOT_HEEDED),
    (Phase.PAUSED, Reason.YIELDED),
    (Phase.BACKING_OFF, Reason.RETRYING),
)
"""What is there to be counted before the first stream is."""


class Oldest:
    """The oldest of the moments that jobs have now."""

    def __init__(self) -> None:
        self._by_uid: dict[str, datetime] = {}
        self.entries: list[tuple[datetime, str]] = []
        """The same as a heap, with entries of jobs that have another moment by now, or none."""

    def follow(self, uid: str, at: datetime | None) -> None:
        if at is None:
            self._by_uid.pop(uid, None)
        elif self._by_uid.get(uid) != at:
            self._by_uid[uid] = at
            heappush(self.entries, (at, uid))
            if len(self.entries) > 2 * len(self._by_uid) + _SPARE:
                self.entries = [(moment, one) for one, moment in self._by_uid.items()]
                heapify(self.entries)

    @property
    def at(self) -> datetime | None:
        while self.entries and self._by_uid.get(self.entries[0][1]) != self.entries[0][0]:
            heappop(self.entries)
        return self.entries[0][0] if self.entries else None


class JobCounts:
    def __init__(self) -> None:
        self.phases: Counter[str] = Counter()
        """How many jobs are in each phase."""
        self.need_a_person: Counter[str] = Counter(dict.fromkeys(sorted(NEED_A_PERSON), 0))
        """How many jobs that have not ended don't go on by themselves, by reason."""
        self.streams: Counter[tuple[str, str]] = Counter(dict.fromkeys(OF_STREAMS, 0))
        """How many streams that have not ended are in each phase, and why."""
        self._failures: Counter[int] = Counter()
        """How many streams have failed so often since one of their batches ended."""
        self.waiting = Oldest()
        """When the jobs that wait were queued."""
        self.paused = Oldest()
        """Since when the streams pause that do."""
        self.policies: Counter[tuple[str, str]] = Counter()
        """How many policies there are by the condition that is True, and its reason."""

    def follow_policy(self, before: Json | None, now: Json | None) -> None:
        for body, change in ((before, -1), (now, +1)):
            if body is not None:
                self.policies[_standing_of(body)] += change

    def follow(self, before: Json | None, now: Json | None) -> None:
        for body, change in ((before, -1), (now, +1)):
            if body is not None:
                self.phases[_phase_in(body)] += change
                reason = _reason_to_help(body)
                if reason is not None:
                    self.need_a_person[reason] += change
                stream = _stream_in(body)
                if stream is not None:
                    self.streams[stream] += change
                    self._failures[_failures_of(body, *stream)] += change
        body = now if now is not None else before
        if body is not None:
            uid = uid_of(body)
            self.waiting.follow(uid, _waits_since(now) if now is not None else None)
            self.paused.follow(uid, _paused_since(now) if now is not None else None)

    @property
    def oldest_queued_at(self) -> datetime | None:
        """When the job was queued that has waited longest; None if none waits."""
        return self.waiting.at

    @property
    def failures_in_a_row(self) -> int:
        """How often the stream has failed that has failed most often since one of its batches ended."""
        return max((failures for failures, streams in self._failures.items() if streams), default=0)


def _standing_of(policy: Json) -> tuple[str, str]:
    standing, reason = standing_in(policy), _status_in(policy).get("reason")
    if standing is None:
        return _NEW, _NEW
    return standing.value, reason if isinstance(reason, str) and reason in _POLICY_REASONS else _OTHER


def _status_in(body: Json) -> Json:
    status = body.get("status")
    return status if isinstance(status, dict) else {}


def _phase_in(body: Json) -> str:
    phase = _status_in(body).get("phase")
    return phase if isinstance(phase, str) and phase in _PHASES else _NEW


def _reason_to_help(body: Json) -> str | None:
    reason, phase = _status_in(body).get("reason"), _PHASES.get(_phase_in(body))
    is_over = phase is not None and phase.is_terminal
    return reason if isinstance(reason, str) and reason in NEED_A_PERSON and not is_over else None


def _stream_in(body: Json) -> tuple[str, str] | None:
    """The phase of a stream that has not ended, and why it is in it."""
    spec = body.get("spec")
    if not isinstance(spec, dict) or not spec.get("stream"):
        return None
    phase, reason = _phase_in(body), _status_in(body).get("reason")
    if phase in _PHASES and _PHASES[phase].is_terminal:
        return None
    return phase, reason if isinstance(reason, str) and reason in _REASONS else _OTHER


def _failures_of(body: Json, phase: str, reason: str) -> int:
    retries = _status_in(body).get("retries")
    gets_on = reason in _GETS_ON or phase == Phase.SUSPENDED.value
    return retries if isinstance(retries, int) and not gets_on else 0


def _paused_since(body: Json) -> datetime | None:
    return _time_in(body, "since") if _phase_in(body) == Phase.PAUSED.value else None


def _waits_since(body: Json) -> datetime | None:
    """When the job was queued, let go on after it was suspended, or queued again for a retry. One that gives way to streams for a
    moment goes on waiting."""
    gives_way = _phase_in(body) == Phase.BACKING_OFF.value and (
        _status_in(body).get("reason") == Reason.PAUSE_EXCEEDED.value
    )
    if _phase_in(body) != Phase.WAITING.value and not gives_way:
        return None
    told = (_time_in(body, name) for name in ("queuedAt", "resumedAt", "retryAt"))
    return max((at for at in told if at is not None), default=None)


def _time_in(body: Json, name: str) -> datetime | None:
    given = _status_in(body).get(name)
    if not isinstance(given, str):
        return None
    with suppress(ValueError):  # is told where the job is read
        at = datetime.fromisoformat(given)
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return None

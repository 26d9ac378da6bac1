"""Counts jobs by what stands in their statuses, whoever wrote it. It follows each change of a job, so that a scrape costs the
same however many there are."""

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.kube.mirror import uid_of
from sluice.lifecycle.status import NEED_A_PERSON

_PHASES = {phase.value: phase for phase in Phase}
_NEW = "New"
_SPARE = 64
"""Entries of jobs that wait no longer that may stay beside those that do, whatever their number."""


class Tally:
    def __init__(self) -> None:
        self.phases: Counter[str] = Counter()
        """How many jobs are in each phase."""
        self.need_a_person: Counter[str] = Counter(dict.fromkeys(sorted(NEED_A_PERSON), 0))
        """How many jobs that have not ended don't go on by themselves, by reason."""
        self._waiting: dict[str, datetime] = {}
        """When each job that waits was queued, by uid."""
        self._oldest: list[tuple[datetime, str]] = []
        """The same as a heap, with entries of jobs that wait no longer."""

    def follow(self, before: Json | None, now: Json | None) -> None:
        for body, change in ((before, -1), (now, +1)):
            if body is not None:
                self.phases[_phase_in(body)] += change
                reason = _reason_to_help(body)
                if reason is not None:
                    self.need_a_person[reason] += change
        self._follow_waiting(before, now)

    @property
    def oldest_queued_at(self) -> datetime | None:
        """When the job was queued that has waited longest; None if none waits."""
        while self._oldest and not self._is_current(*self._oldest[0]):
            heappop(self._oldest)
        return self._oldest[0][0] if self._oldest else None

    def _is_current(self, queued_at: datetime, uid: str) -> bool:
        return self._waiting.get(uid) == queued_at

    def _follow_waiting(self, before: Json | None, now: Json | None) -> None:
        queued_at = _waits_since(now) if now is not None else None
        body = now if now is not None else before
        if body is None:
            return
        uid = uid_of(body)
        if queued_at is None:
            self._waiting.pop(uid, None)
        elif self._waiting.get(uid) != queued_at:
            self._waiting[uid] = queued_at
            heappush(self._oldest, (queued_at, uid))
            if len(self._oldest) > 2 * len(self._waiting) + _SPARE:
                self._oldest = [(at, waiting) for waiting, at in self._waiting.items()]
                heapify(self._oldest)


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


def _waits_since(body: Json) -> datetime | None:
    """When the job was queued, let go on after it was suspended, or queued again for a retry."""
    if _phase_in(body) != Phase.WAITING.value:
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

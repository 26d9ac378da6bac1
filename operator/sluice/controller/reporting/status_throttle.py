"""Tells a waiting job at once that it waits, and who is in the way. When one of those has gone, the job is told who is left;
of thousands that wait for one table, not all at once whenever one of them finishes."""

import time
from collections.abc import Callable, Collection, Iterable

PER_SECOND = 10.0


class StatusThrottle:
    def __init__(self, clock: Callable[[], float] = time.monotonic, per_second: float = PER_SECOND) -> None:
        self._clock = clock
        self._pause = 1 / per_second
        self._next_at = 0.0
        self._named: dict[str, dict[str, None]] = {}
        """Jobs that were told of somebody in their way, by that one's uid."""
        self._names: dict[str, tuple[str, ...]] = {}
        """Whom each of them was told of."""
        self._stale: dict[str, None] = {}
        """Jobs whose statuses name somebody who has gone, in the order in which that happened."""

    def told(self, uid: str, of: Iterable[str]) -> None:
        """Notes that a job was told who is in its way; `of`: the uids of the jobs that its status names now."""
        names = tuple(of)
        self._waits_no_more(uid, but_for=names)
        self._names[uid] = names
        for other in names:
            self._named.setdefault(other, {})[uid] = None

    def _waits_no_more(self, uid: str, but_for: Collection[str] = ()) -> None:
        self._stale.pop(uid, None)
        for other in self._names.pop(uid, ()):
            if other in but_for:
                continue
            named = self._named.get(other, {})
            named.pop(uid, None)
            if not named:
                self._named.pop(other, None)

    def gone(self, uid: str) -> None:
        """Notes that this job is in nobody's way any more, or no longer as it was; and that it doesn't wait."""
        self._waits_no_more(uid)
        self._stale.update(self._named.pop(uid, {}))

    def is_to_be_told(self, uid: str) -> bool:
        return uid in self._stale

    def again(self, uids: Iterable[str]) -> None:
        """Has these jobs told again: there is something else to say of them."""
        self._stale.update(dict.fromkeys(uids))

    def seconds_left(self) -> float | None:
        """Seconds until the next one is to be told; None: there is none."""
        return max(0.0, self._next_at - self._clock()) if self._stale else None

    def take_due(self) -> str | None:
        if not self._stale or self._clock() < self._next_at:
            return None
        self._next_at = max(
            self._next_at + self._pause, self._clock() - 1.0
        )  # what was not used is lost but for a second
        uid = next(iter(self._stale))
        del self._stale[uid]
        return uid

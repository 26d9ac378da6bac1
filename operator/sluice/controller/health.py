"""Whether this process moves, and whether it sees what there is. Kubernetes restarts it for the one and waits for the other.

kopf has an endpoint of its own, which isn't used: it stays well while the acting loop stands still, and knows of no Lease.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sluice.kube.watching import Watcher

STUCK_AFTER = 120.0
"""Seconds: more than a loop that moves takes for its longest step, all of whose requests may time out."""

TURN_EVERY = 0.5


class Pulse:
    """Beats as something moves that has to move once it has begun, and until it rests."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._beaten: float | None = None

    def beat(self) -> None:
        self._beaten = self._now()

    def rest(self) -> None:
        self._beaten = None

    def silent_for(self) -> float:
        beaten = self._beaten  # read once: another thread may beat meanwhile
        return 0.0 if beaten is None else self._now() - beaten


class Turns:
    """Of the loop that all but the Lease is done in, counted as long as it turns."""

    def __init__(self) -> None:
        self.count = 0

    async def go_on(self) -> None:
        while True:
            self.count += 1
            await asyncio.sleep(TURN_EVERY)


class Stillness:
    """Of a loop, as another thread sees it that looks every TURN_EVERY. Looks are counted, and not seconds: who was stopped
    itself, with its process or its machine, hasn't seen the other stand still."""

    def __init__(self, turns: Callable[[], int]) -> None:
        self._turns = turns
        self._seen = -1
        self._looks = 0

    def look(self) -> float:
        """For how many seconds it has been seen to stand still."""
        turns = self._turns()
        self._looks = self._looks + 1 if turns == self._seen else 0
        self._seen = turns
        return self._looks * TURN_EVERY


@dataclass(frozen=True, kw_only=True)
class Health:
    asks_the_lease: Callable[[], bool]
    """Whether the API server answered when it was last asked; nobody leads where it doesn't."""
    leads: Callable[[], bool]
    has_listed: Callable[[], bool]
    """Asked of a leader, which lists all kinds itself. kopf doesn't tell when its own first list of policies has come to its end;
    what a follower has seen of jobs matters only when it leads."""
    lease: Pulse
    """Of who looks at the Lease, or renews it."""
    loop: Pulse
    """Of the acting loop, which runs on the leader alone, and once its installation has its claim."""
    watchers: tuple[Watcher, ...]

    def stuck(self) -> list[str]:
        """Why it should be started anew; empty: it moves."""
        return list(self._stuck())

    def not_ready(self) -> list[str]:
        return [*self._stuck(), *self._unseen()]

    def _stuck(self) -> Iterable[str]:
        if self.lease.silent_for() > STUCK_AFTER:
            yield f"nobody has looked at the Lease for {self.lease.silent_for():.0f} s"
        if self.loop.silent_for() > STUCK_AFTER:
            yield f"the acting loop has not moved for {self.loop.silent_for():.0f} s"

    def _unseen(self) -> Iterable[str]:
        if not self.asks_the_lease():
            yield "the Lease can't be asked: see the operator's log"
        for watcher in self.watchers:
            if not watcher.is_current:
                yield f"{watcher.called} are not watched"
        if self.leads() and not self.has_listed():
            yield "not all objects were listed yet"

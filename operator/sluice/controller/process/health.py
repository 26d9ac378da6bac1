"""Tells whether this process moves, and whether it sees what there is: Kubernetes restarts it for the one and waits for the other.

kopf has an endpoint of its own, which isn't used: it stays well while the acting loop stands still, and does not know of the
Lease.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sluice.kube.watch_loop import Watcher

STUCK_AFTER = 120.0
"""Seconds: more than a moving loop takes for its longest step, even if all requests of that step time out."""

TURN_EVERY = 0.5


class Pulse:
    """Beats whenever something moves that has to move from its beginning until it rests."""

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


async def beat_while_turning(pulse: Pulse) -> None:
    """Beats as long as the event loop that runs this turns."""
    while True:
        pulse.beat()
        await asyncio.sleep(TURN_EVERY)


class TurnCount:
    """Counts the turns of the loop that does everything but the Lease, as long as it turns."""

    def __init__(self) -> None:
        self.count = 0

    async def go_on(self) -> None:
        while True:
            self.count += 1
            await asyncio.sleep(TURN_EVERY)


class Stillness:
    """Watches a loop stand still, from another thread that looks every TURN_EVERY. It counts looks and not seconds: a watcher
    that was itself stopped, with its process or its machine, has not seen the other stand still."""

    def __init__(self, turns: Callable[[], int]) -> None:
        self._turns = turns
        self._seen = -1
        self._looks = 0

    def look(self) -> float:
        """Returns for how many seconds the loop has been seen to stand still."""
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
    """Whether all was listed. It is asked of a leader only, which lists all kinds itself: kopf does not tell when its own
    first list of policies is complete, and what a follower has seen of jobs matters only once it leads."""
    lease: Pulse
    """The pulse of the task that looks at the Lease, or renews it."""
    main: Pulse
    """The pulse of the main event loop, on every replica."""
    loop: Pulse
    """The pulse of the acting loop, which runs on the leader alone, once its installation has its claim."""
    watchers: tuple[Watcher, ...]
    missing: Callable[[], Iterable[str]]
    """What keeps this replica from doing its work, and is not its own fault."""

    def stuck(self) -> list[str]:
        """Why the process should be restarted; empty: it moves."""
        return list(self._stuck())

    def not_ready(self) -> list[str]:
        return [*self._stuck(), *self._unseen()]

    def _stuck(self) -> Iterable[str]:
        if self.lease.silent_for() > STUCK_AFTER:
            yield f"nobody has looked at the Lease for {self.lease.silent_for():.0f} s"
        if self.main.silent_for() > STUCK_AFTER:
            yield f"the main event loop has not turned for {self.main.silent_for():.0f} s"
        if self.loop.silent_for() > STUCK_AFTER:
            yield f"the acting loop has not moved for {self.loop.silent_for():.0f} s"

    def _unseen(self) -> Iterable[str]:
        if not self.asks_the_lease():
            yield "the Lease cannot be read: see the operator's log"
        for watcher in self.watchers:
            if watcher.is_missed:
                yield f"{watcher.called} are not watched"
        yield from self.missing()
        if self.leads() and not self.has_listed():
            yield "not all objects have been listed yet"

"""Looks at the tables of policies: each now and then, when its policy was changed, and after a job that may have changed it.

It runs beside the acting loop, on the leader alone. Few threads look, a store that hangs holds up its own tables only, and
what was last seen of a table stays until it is seen again: a look that fails is made again soon, and counts when it fails twice.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from sluice.api.base import Json
from sluice.api.reasons import PolicyReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.readers.store_threads import StoreThreads, store_of
from sluice.tables import TableKey, unread
from sluice.tables.table_observation import TableObservation, TableState

logger = logging.getLogger(__name__)

PER_STORE, IN_ALL, MOST_STUCK = 2, 6, 16
PATIENCE = 60.0
"""Seconds that a look may take before its table counts as one that could not be read."""
LEAST_PAUSE = 10.0
"""Seconds between two looks at one table, however many jobs change it."""
AGAIN = 15.0
"""Seconds to the look that tells whether one that failed did so by chance."""
SPREAD = 60.0
"""Seconds over which the first looks of a new leader are spread, but for those at policies that nobody has told of yet."""
_TURN = 1.0
_EARLIER = 0.2
"""The part of the interval by which a look may come earlier, so that looks that began together don't stay together."""

Listener = Callable[[str], None]


@dataclass
class _Watched:
    """One policy, by uid, and what was seen of its table."""

    key: TableKey
    namespace: str
    generation: int
    due: float
    look: TableObservation | None = None
    ended: float = float("-inf")
    asked: float = float("-inf")
    """When another look was asked for."""
    begun: float = float("-inf")
    """When the look began that was seen last."""
    changed: float = float("-inf")
    """When the last run had ended that may have changed the table."""
    failed: bool = False
    """Whether the last look could not read the table."""


class TableObservations:
    def __init__(
        self,
        world: ClusterCache,
        look: Callable[[TableKey], TableObservation],
        *,
        every: float,
        patience: float = PATIENCE,
        least_pause: float = LEAST_PAUSE,
        again: float = AGAIN,
        spread: float = SPREAD,
    ) -> None:
        self._world = world
        self._every = every
        self._patience = patience
        self._least_pause = least_pause
        self._again = again
        self._spread = spread
        self._look_at = look
        self._threads = StoreThreads[TableObservation](
            per_store=PER_STORE,
            in_all=IN_ALL,
            most_stuck=MOST_STUCK,
            consequence="their policies are compared with what was last seen of them",
        )
        self._watched: dict[str, _Watched] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._outlived: set[asyncio.Task[None]] = set()
        """Looks at tables that their policies are not about any more."""
        self._served: dict[str, float] = {}
        """When a table of each store was last seen."""
        self._listeners: list[Listener] = []
        self._wakes = asyncio.Event()
        self._heeded = -1
        self.looks = 0
        """Looks since the beginning."""

    def close(self) -> None:
        self._threads.close()

    def listen(self, listener: Listener) -> None:
        """Has it called with the policy's uid after each look, also one that found nothing new."""
        self._listeners.append(listener)

    def of(self, uid: str) -> TableObservation | None:
        """What was last seen of the table of the policy with this uid. None: nothing yet, or the policy doesn't count."""
        watched = self._watched.get(uid)
        return watched.look if watched is not None else None

    def key_of(self, uid: str) -> TableKey | None:
        """The table of the policy with this uid. None: the policy doesn't count."""
        watched = self._watched.get(uid)
        return watched.key if watched is not None else None

    def after_all_runs(self, uid: str) -> TableObservation | None:
        """What was last seen of the policy's table, if that look began after all runs had ended that may have changed the table.
        None: there is no such look yet that could read it, and the next one comes as soon as may be."""
        watched = self._watched.get(uid)
        if watched is None:
            return None
        if watched.look is not None and watched.look.state.unread is None and watched.begun > watched.changed:
            return watched.look
        self._hasten(watched)
        return None

    def is_to_come(self, uid: str) -> bool:
        """Whether a look at the policy's table is under way, or waits for its turn, and is not overdue."""
        watched = self._watched.get(uid)
        return watched is not None and uid in self._looking and not watched.failed

    def soon(self, uid: str) -> None:
        """Has the policy's table looked at again as soon as may be."""
        watched = self._watched.get(uid)
        if watched is not None:
            watched.asked = time.monotonic()
            self._hasten(watched)

    def _hasten(self, watched: _Watched) -> None:
        watched.due = min(watched.due, max(time.monotonic(), watched.ended + self._least_pause))
        self._wakes.set()

    def changed(self, tables: Iterable[TableKey]) -> None:
        """Notes that a run has ended that may have changed these tables."""
        changed = tuple(tables)
        for uid, watched in self._watched.items():
            if any(watched.key.may_equal(table) for table in changed):
                watched.changed = time.monotonic()
                self.soon(uid)

    async def run(self) -> None:
        """Runs as long as this replica leads. What was seen by an earlier leader is not known."""
        self._watched.clear()
        self._heeded = -1
        try:
            while True:
                try:
                    self._heed_policies()
                    self._begin()
                except Exception:
                    logger.exception("the operator failed on the looks at tables of policies; trying again")
                await self._wait()
        finally:
            for task in (*self._looking.values(), *self._outlived):
                task.cancel()
            self._looking.clear()

    async def _wait(self) -> None:
        self._wakes.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wakes.wait(), _TURN)

    def _begin(self) -> None:
        now = time.monotonic()
        for uid, watched in self._watched.items():
            if watched.due <= now and uid not in self._looking:
                self._looking[uid] = asyncio.create_task(self._look(uid, watched), name=f"look {watched.key}")

    def _heed_policies(self) -> None:
        if self._heeded == self._world.policies_heeded:
            return
        is_first = self._heeded < 0
        self._heeded = self._world.policies_heeded
        left = set(self._watched)
        for body in self._world.policies.values():
            uid = body["metadata"]["uid"]
            key = self._table_of(body)
            if key is None:
                continue
            left.discard(uid)
            self._heed(uid, key, body, is_first=is_first)
        for uid in left:
            del self._watched[uid]
        stores = {store_of(watched.key) for watched in self._watched.values()}
        self._served = {store: at for store, at in self._served.items() if store in stores}

    def _heed(self, uid: str, key: TableKey, body: Json, *, is_first: bool) -> None:
        generation = body["metadata"]["generation"]
        known = self._watched.get(uid)
        now = time.monotonic()
        if known is None or known.key != key:
            was_told = is_first and _was_compared(body)
            wait = random.uniform(0, min(self._spread, self._every)) if was_told else 0.0  # noqa: S311 - no secret
            self._watched[uid] = _Watched(key, body["metadata"]["namespace"], generation, now + wait)
            outlived = self._looking.pop(uid, None)
            if outlived is not None:
                self._outlived.add(outlived)
                outlived.add_done_callback(self._outlived.discard)
        elif known.generation != generation:
            known.generation = generation
            self.soon(uid)

    def _table_of(self, body: Json) -> TableKey | None:
        """The table of a policy that counts."""
        called = f"{body['metadata']['namespace']}/{body['metadata']['name']}"
        if self._world.leaves_alone(called):
            return None
        return self._world.declarations.tables.get(called)

    async def _look(self, uid: str, watched: _Watched) -> None:
        """Looks once. A look that is overdue is told as one that failed, and again when it ends: until then there is no other."""
        try:
            self.looks += 1
            began, begun = datetime.now(UTC), time.monotonic()
            reading = self._threads.read(
                watched.key, [watched.namespace], partial(self._look_at, watched.key)
            )
            if not await self._ends_in_time(watched.key, reading):
                self._threads.is_overdue(watched.key)
                watched.failed = True
                late = _unread(began, f"it did not answer within {self._patience:g} s")
                self._seen(uid, watched, late, begun)
                await asyncio.wait({reading})
            error = reading.exception()
            if error is not None:
                logger.error("looking at %s: the operator failed on it", watched.key, exc_info=error)
            seen, begun = (
                reading.result()
                if error is None
                else (_unread(began, f"the operator failed on it: {error!r}"), begun)
            )
        finally:
            if self._looking.get(uid) is asyncio.current_task():
                del self._looking[uid]
        if seen.state.unread is None:
            self._served[store_of(watched.key)] = time.monotonic()
        self._seen(uid, watched, seen, begun)
        is_about_it = self._watched.get(uid) is watched
        if is_about_it and watched.asked >= begun:  # what was asked for may have come too late for this look
            self.soon(uid)

    async def _ends_in_time(
        self, key: TableKey, reading: asyncio.Future[tuple[TableObservation, float]]
    ) -> bool:
        """One whose turn has not come is not overdue as long as others of its store are seen: there may be thousands."""
        left = self._patience
        while not (await asyncio.wait({reading}, timeout=left))[0]:
            begun, served = self._threads.begun_at(key), self._served.get(store_of(key), float("-inf"))
            left = self._patience - (time.monotonic() - (served if begun is None else begun))
            if left <= 0:
                return False
        return True

    def _seen(self, uid: str, watched: _Watched, look: TableObservation, begun: float) -> None:
        if self._watched.get(uid) is not watched:
            return  # it is gone, or is about another table now
        has_failed = look.state.unread is not None
        may_be_chance = has_failed and not watched.failed and watched.look is not None
        if not may_be_chance:
            watched.look, watched.begun = look, begun
        watched.failed = has_failed
        watched.ended = time.monotonic()
        pause = self._again if may_be_chance else self._every * random.uniform(1 - _EARLIER, 1)  # noqa: S311 - no secret
        watched.due = watched.ended + pause
        for listener in self._listeners:
            try:
                listener(uid)
            except Exception:
                logger.exception("the operator failed on what it saw of %s", watched.key)


def _was_compared(body: Json) -> bool:
    """Whether its status says what somebody found who looked."""
    status = body.get("status")
    if not isinstance(status, dict) or status.get("observedGeneration") != body["metadata"]["generation"]:
        return False
    return status.get("reason") != PolicyReason.NOT_READ_YET.value


def _unread(at: datetime, why: str) -> TableObservation:
    return TableObservation(at, TableState(unread=why), unread(why))

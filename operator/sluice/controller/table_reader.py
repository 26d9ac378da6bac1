"""Has tables read for the jobs that touch them, beside the acting loop, and never for longer than a job can wait.

A job is judged by what was read after it had arrived, and after the last job ended that may have changed the table. Where
no answer comes in time, the table counts as unread: then the job waits for everything that it might meet.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sluice.controller.world import World
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job import JobView
from sluice.tables import Declarations, TableFacts, TableKey, drift, known, unread

logger = logging.getLogger(__name__)

PATIENCE = 10.0
FRESH_SECONDS = 20.0
"""Counted from when a read began: more than the longest read and a turn of the acting loop, or nothing would be fresh."""
"""Age of facts that a grant may rest on: others than Sluice's jobs change tables, too."""

_THREADS = 8
_NEVER = float("-inf")
_TELLING = 120

_Job = tuple[str, int]


class TableReader:
    def __init__(
        self,
        world: World,
        read: Callable[[TableKey], TableFacts],
        *,
        patience: float = PATIENCE,
        fresh_seconds: float = FRESH_SECONDS,
    ) -> None:
        self._world = world
        self._read = read
        self._patience = patience
        self._fresh_seconds = fresh_seconds
        # A pool of its own: reads that hang must not take the threads of those who look for a run's outcome.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tables")
        self._declarations = world.declarations
        self._arrived: dict[_Job, float] = {}
        self._answered: dict[TableKey, float] = {}
        """When the read began whose answer is known."""
        self._changed: dict[TableKey, float] = {}
        """When a job ended that may have changed the table."""
        self._reading: dict[TableKey, asyncio.Task[None]] = {}
        self._overdue: set[TableKey] = set()
        self._asking: dict[TableKey, set[str]] = {}

    def close(self) -> None:
        for task in self._reading.values():
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def knows(self, job: JobView, *, for_grant: bool = False) -> bool:
        """Whether there is an answer for each of its tables that the job may be judged by, and for each that tells where its
        rows land. If not, it is marked when there is."""
        self._heed_policies()
        job = self._world.jobs.get(job.uid, job)  # its tables may have other keys now
        now = time.monotonic()
        since = self._arrived.setdefault((job.uid, job.generation), now)
        if for_grant:
            since = max(since, now - self._fresh_seconds)
        missing = [key for key in (*job.tables, *job.sources) if not self._is_known(key, since)]
        for key in missing:
            self._asking.setdefault(key, set()).add(job.uid)
            self._ask(key)
        return not missing

    def waited(self, job: JobView) -> float:
        """Seconds since its tables were first asked for."""
        now = time.monotonic()
        return now - self._arrived.get((job.uid, job.generation), now)

    def changed(self, tables: tuple[TableKey, ...]) -> None:
        """A run has ended that may have changed their metadata, by whatever key others know them."""
        spelled_otherwise = [key for key in self._answered if any(key.may_equal(table) for table in tables)]
        self._changed.update(dict.fromkeys((*tables, *spelled_otherwise), time.monotonic()))

    def forget_unused(self) -> None:
        """What no job needs any more."""
        jobs = [job for job in self._world.jobs.values() if not job.is_finished]
        there = {(job.uid, job.generation) for job in jobs}
        asked = (job for job in jobs if (job.uid, job.generation) in self._arrived)
        used = {key for job in asked for key in _tables_of(job)}
        used.update(self._reading)
        self._arrived = {job: since for job, since in self._arrived.items() if job in there}
        known: dict[TableKey, float] | dict[TableKey, TableFacts]
        for known in (self._answered, self._changed, self._world.facts):
            for key in set(known) - used:
                del known[key]

    def _is_known(self, key: TableKey, since: float) -> bool:
        if key in self._overdue:
            return True
        return self._answered.get(key, _NEVER) >= max(since, self._changed.get(key, _NEVER))

    def _ask(self, key: TableKey) -> None:
        if key not in self._reading:
            self._reading[key] = asyncio.create_task(self._answer(key), name=f"read {key}")

    async def _answer(self, key: TableKey) -> None:
        begun, by = time.monotonic(), self._declarations
        try:
            found = await self._read_in_time(key, by)
        finally:
            del self._reading[key]
            self._overdue.discard(key)
        if by is self._declarations:  # else it may be another table's
            self._tell(key, found, by)
            self._answered[key] = begun
        self._wake(key)

    async def _read_in_time(self, key: TableKey, by: Declarations) -> TableFacts:
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self._threads, self._read, key)
        if not (await asyncio.wait({reading}, timeout=self._patience))[0]:
            self._overdue.add(key)
            self._tell(key, unread(f"the log of {key} did not answer within {self._patience:g} s"), by)
            self._wake(key)
            await asyncio.wait({reading})
        error = reading.exception()
        if error is None:
            return reading.result()
        logger.error("reading %s: the operator failed on it", key, exc_info=error)
        return unread(f"the log of {key} cannot be read: {error!r}")

    def _tell(self, key: TableKey, found: TableFacts, by: Declarations) -> None:
        declared = by.declared(key)
        facts = known(found, declared)
        before = self._world.facts.get(key)
        if facts == before or (before is not None and _is_same_trouble(facts, before)):
            return
        if found.unread is not None:
            logger.warning("%s: its columns do not tell what jobs touch: %s", key, found.unread)
        for one in drift(found, declared) if declared is not None else ():
            says = f"policy {by.by_table[key].policy} says {one.field}: {one.wanted}"
            logger.warning("%s: %s, but the log says %s", key, says, one.found)
        self._world.table_seen(key, facts)

    def _wake(self, key: TableKey) -> None:
        for uid in self._asking.pop(key, ()):
            self._world.mark(uid)

    def _heed_policies(self) -> None:
        """After a change of policies every table is read again: what they declare is part of the answer."""
        self._world.heed_policies()
        if self._declarations is not self._world.declarations:
            self._declarations = self._world.declarations
            self._answered.clear()


def _tables_of(job: JobView) -> tuple[TableKey, ...]:
    """None of a job that is not understood: one may run whose runtime profile was taken out of the configuration."""
    try:
        return (*job.tables, *job.sources)
    except NotUnderstoodError:
        return ()
    except Exception:
        logger.exception("%s: the operator failed on its tables", job.key)
        return ()


def _is_same_trouble(one: TableFacts, other: TableFacts) -> bool:
    """Stores put times and numbers of requests into what they say; statuses are not written again for those."""
    if one.unread is None or other.unread is None or one.declares != other.declares:
        return False
    return one.unread[:_TELLING] == other.unread[:_TELLING]

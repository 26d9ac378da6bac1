"""Has tables read for the jobs that touch them, beside the acting loop, and never for longer than a job can wait.

A job is judged by what was read after it had arrived, and after the last job ended that may have changed the table. One read
serves all that were there when it began. A lone job's read begins at once; between two reads there is a pause in which more
jobs may come. If no answer comes in time, the table counts as unread: then the job waits for everything that it might meet.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.readers.store_threads import StoreThreads
from sluice.lifecycle.evidence.finished_jobs import is_over
from sluice.lifecycle.job.job_view import JobView
from sluice.tables import TableFacts, TableKey, known, unread, wrong_facts_in

logger = logging.getLogger(__name__)

PATIENCE = 10.0
FRESH_SECONDS = 20.0
"""The age of facts that a grant may rest on, counted from when their read began: tables change by other hands than Sluice's,
too. It is more than the longest read and a turn of the acting loop take, or nothing would be fresh."""
LEAST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""The pause between two reads of one table, so that jobs which come one after another share them: a few times as long as the
first read took."""

_PAUSE_TO_READ = 3.0
_NEVER = float("-inf")
_TELLING = 120


class TableReader:
    def __init__(
        self,
        world: ClusterCache,
        read: Callable[[TableKey], TableFacts],
        *,
        patience: float = PATIENCE,
        fresh_seconds: float = FRESH_SECONDS,
        least_pause: float = LEAST_PAUSE,
        told: Callable[[tuple[TableKey, ...]], None] = lambda _: None,
    ) -> None:
        self._world = world
        self._patience = patience
        self._fresh_seconds = fresh_seconds
        self._least_pause = least_pause
        self._told = told
        """Called with tables whose metadata a run may have changed."""
        self._read = read
        self._threads = StoreThreads[TableFacts]()
        self.reads = 0
        """Reads since the beginning."""
        self._declarations = world.declarations
        self._arrived: dict[str, tuple[int, float]] = {}
        """The generation, by uid, and when it was first asked for."""
        self._answered: dict[TableKey, float] = {}
        """When the read began whose answer is known."""
        self._found: dict[TableKey, TableFacts] = {}
        """What these reads found in the log, without what policies declare."""
        self._changed: dict[TableKey, float] = {}
        """When a job ended that may have changed the table."""
        self._rests_until: dict[TableKey, float] = {}
        self._reading: dict[TableKey, asyncio.Task[None]] = {}
        """Tables being read; also while they rest."""
        self._overdue: set[TableKey] = set()
        self._asking: dict[TableKey, dict[str, float]] = {}
        """Uids of jobs, and when a read must have begun to be an answer for each."""

    def close(self) -> None:
        for task in self._reading.values():
            task.cancel()
        self._threads.close()

    def knows(self, job: JobView, *, for_grant: bool = False) -> bool:
        """Whether there is an answer that the job may be judged by for each of its tables, and for each that tells where its
        rows land. If not, the job is marked when there is."""
        self._heed_policies()
        job = self._world.jobs.get(job.uid, job)  # its tables may have other keys now
        tables = (*job.tables, *job.sources)
        if job.uid in self._world.jobs:
            self._world.resting.rests(job.uid, tables)
        now = time.monotonic()
        since = self._arrival(job, now)
        if for_grant:
            since = max(since, now - self._fresh_seconds)
        missing = [key for key in tables if not self._is_known(key, since)]
        for key in missing:
            self._asking.setdefault(key, {})[job.uid] = since
            self._ask(key)
            self._threads.joins(key, job.namespace)
        return not missing

    def waited(self, job: JobView) -> float:
        """Seconds since the job's tables were first asked for."""
        generation, since = self._arrived.get(job.uid, (None, 0.0))
        return time.monotonic() - since if generation == job.generation else 0.0

    def changed(self, tables: tuple[TableKey, ...]) -> None:
        """Notes that a run has ended that may have changed the tables' metadata, by whatever key others know them."""
        if not tables:
            return
        self._told(tables)
        spelled_otherwise = [key for key in self._answered if any(key.may_equal(table) for table in tables)]
        self._changed.update(dict.fromkeys((*tables, *spelled_otherwise), time.monotonic()))

    def forget_unused(self) -> None:
        """Forgets what no job needs any more, now that some have finished or are gone."""
        settled, self._world.settled = self._world.settled, set()
        for uid in settled:
            job = self._world.jobs.get(uid)
            if job is None or is_over(job.body):
                self._arrived.pop(uid, None)
                self._world.rests_on_nothing(uid)
        for key in self._world.resting.take_left():
            if key not in self._reading:
                self._forget(key)

    def _forget(self, key: TableKey) -> None:
        for kept in (self._answered, self._found, self._changed, self._rests_until, self._world.facts):
            kept.pop(key, None)

    def _arrival(self, job: JobView, now: float) -> float:
        """When the job arrived; an edited job counts as a new one."""
        generation, since = self._arrived.get(job.uid, (None, now))
        if generation != job.generation:
            since = now
            if job.uid in self._world.jobs:
                self._arrived[job.uid] = job.generation, now
        return since

    def _is_known(self, key: TableKey, since: float) -> bool:
        return key in self._overdue or self._is_answer(key, self._answered.get(key, _NEVER), since)

    def _is_answer(self, key: TableKey, begun: float, since: float) -> bool:
        return begun >= max(since, self._changed.get(key, _NEVER))

    def _ask(self, key: TableKey) -> None:
        if key not in self._reading:
            self._reading[key] = asyncio.create_task(self._answer(key), name=f"read {key}")

    async def _answer(self, key: TableKey) -> None:
        try:
            await asyncio.sleep(self._rests_until.get(key, _NEVER) - time.monotonic())
            found, begun = await self._read_in_time(key)
        finally:
            del self._reading[key]
            self._overdue.discard(key)
        self._tell(key, found)
        self._answered[key] = begun
        now = time.monotonic()
        pause = min(max(self._least_pause, (now - begun) * _PAUSE_TO_READ), LONGEST_PAUSE)
        self._rests_until[key] = now + pause
        self._wake(key, begun)
        if key in self._asking:
            self._ask(key)
        elif not self._world.resting.on(key):
            self._forget(key)

    async def _read_in_time(self, key: TableKey) -> tuple[TableFacts, float]:
        """Returns the facts and the time when the read began."""
        asked = time.monotonic()
        self.reads += 1
        reading = self._threads.read(key, self._namespaces_asking(key), partial(self._read, key))
        if not (await asyncio.wait({reading}, timeout=self._patience))[0]:
            self._overdue.add(key)
            self._threads.is_overdue(key)
            late = unread(f"the log of {key} did not answer within {self._patience:g} s")
            self._tell(key, late, is_told=True)
            self._wake(key)
            await asyncio.wait({reading})
        error = reading.exception()
        if error is None:
            return reading.result()
        logger.error("reading %s: the operator failed on it", key, exc_info=error)
        return unread(f"the log of {key} cannot be read: {error!r}"), asked

    def _namespaces_asking(self, key: TableKey) -> list[str]:
        """The empty one if all who asked are gone."""
        jobs = (self._world.jobs.get(uid) for uid in self._asking.get(key, ()))
        return list(dict.fromkeys(job.namespace for job in jobs if job is not None)) or [""]

    def _tell(self, key: TableKey, found: TableFacts, *, is_told: bool = False) -> None:
        """Tells why tables are unread. `is_told`: the reason is told once for all tables of its store."""
        self._found[key] = found
        by = self._declarations
        declared = by.declared(key)
        facts = known(found, declared)
        before = self._world.facts.get(key)
        if facts == before or (before is not None and _is_same_trouble(facts, before)):
            return
        if found.unread is not None and not is_told:
            logger.warning("%s: its columns do not tell what jobs touch: %s", key, found.unread)
        for one in wrong_facts_in(found, declared) if declared is not None else ():
            says = f"policy {by.by_table[key].policy} says {one.field}: {one.stated}"
            logger.warning("%s: %s, but the log says %s", key, says, one.found)
        self._world.table_seen(key, facts)

    def _wake(self, key: TableKey, begun: float = float("inf")) -> None:
        """Wakes those for whom a read that began then is an answer; the others go on asking."""
        asking = self._asking.pop(key, {})
        unanswered = {uid: since for uid, since in asking.items() if not self._is_answer(key, begun, since)}
        if unanswered:
            self._asking[key] = unanswered
        for uid in asking.keys() - unanswered.keys():
            self._world.mark(uid)

    def _heed_policies(self) -> None:
        """Adds to what logs said what policies declare by now. No log is read again for that: the tables of others do not wait for
        a policy that changes all the time."""
        self._world.heed_policies()
        before, self._declarations = self._declarations, self._world.declarations
        if before is self._declarations:
            return
        differing = self._declarations.differing(before)
        if before.names != self._declarations.names:
            names = [key for key in self._found if key.is_name]
            differing.update(names)
            for key in names:  # what is said of a name depends on where it leads
                self._answered.pop(key, None)
        for key in differing & self._found.keys():
            self._tell(key, self._found[key], is_told=True)


def _is_same_trouble(one: TableFacts, other: TableFacts) -> bool:
    """Whether the trouble is the same but for times and request numbers, which stores put into their messages; statuses are
    not written again for those."""
    if one.unread is None or other.unread is None or one.declares != other.declares:
        return False
    return one.unread[:_TELLING] == other.unread[:_TELLING]

"""Threads in which tables are read, with a bound per store and one overall: a store that hangs holds up nobody else's tables,
and never takes more than a bounded number of threads."""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from sluice.tables import TableKey

logger = logging.getLogger(__name__)

PER_STORE = 8
IN_ALL = 16
"""Reads that are not overdue."""
MOST_STUCK = 48
"""Overdue reads beside them. A store that hangs has one place, so as many stores may hang together before others are held up."""
BY_ADDRESS = "hdfs://host:port"
JOBS_WAIT = "they count as unread, and their jobs wait for all jobs that they might meet"

Found = TypeVar("Found")


def store_of(key: TableKey) -> str:
    """Returns what hangs together: a bucket or a host; for a file system, which may be mounted anywhere, the folder around the
    table. All NameNodes by address are one store: any job may name any host and port, and each of them may be silent."""
    if key.is_name:
        return ""
    scheme, _, rest = key.text.partition(":")
    if scheme == "file":
        return key.text.rpartition("/")[0]
    authority = rest.lstrip("/").partition("/")[0]
    return BY_ADDRESS if scheme == "hdfs" and ":" in authority else f"{scheme}://{authority}"


class StoreThreads(Generic[Found]):
    def __init__(
        self,
        read: Callable[[TableKey], Found],
        *,
        per_store: int = PER_STORE,
        in_all: int = IN_ALL,
        most_stuck: int = MOST_STUCK,
        consequence: str = JOBS_WAIT,
    ) -> None:
        self._read = read
        self._per_store = per_store
        self._in_all = in_all
        self._most_stuck = most_stuck
        self._consequence = consequence
        # A pool of its own: reads that hang must not take the threads of those who look for a run's outcome.
        self._threads = ThreadPoolExecutor(in_all + most_stuck, thread_name_prefix="tables")
        self._waiting: OrderedDict[str, deque[tuple[TableKey, asyncio.Future[tuple[Found, float]]]]] = (
            OrderedDict()
        )
        """Reads by store, the store whose turn it is first."""
        self._running: dict[str, list[TableKey]] = {}
        """By store; a table is in it once for each of its reads, of which there are several where who asked for one is gone."""
        self._begun: dict[TableKey, float] = {}
        """When the last read of each of these tables began."""
        self._stuck: list[TableKey] = []
        self._under_way = 0
        self._hanging: set[str] = set()
        """Stores that were reported as hanging, until a read of theirs ends in time."""

    def close(self) -> None:
        self._waiting.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def read(self, key: TableKey) -> asyncio.Future[tuple[Found, float]]:
        """Reads the table, one read at a time, and answers with what was found and the time when the read began. It begins when
        there is a place for its store."""
        answer: asyncio.Future[tuple[Found, float]] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(store_of(key), deque()).append((key, answer))
        self._begin()
        return answer

    def begun_at(self, key: TableKey) -> float | None:
        """When the read of the table began that is under way; None: it waits for its place."""
        return self._begun.get(key)

    def is_overdue(self, key: TableKey) -> None:
        """Notes that nobody waits for the read any more: its thread, if it has one, takes no place from other stores."""
        store = store_of(key)
        running = self._running.get(store, [])
        if running.count(key) > self._stuck.count(key):
            self._stuck.append(key)
        # Where none of its reads has begun, others' reads took the time.
        if running and store not in self._hanging:
            self._hanging.add(store)
            logger.warning(
                "%s: its tables are not read in time; until they are, %s",
                store or "the catalog",
                self._consequence,
            )
        self._begin()

    def _begin(self) -> None:
        passed = 0
        while passed < len(self._waiting) and self._places() > 0:
            store, waiting = next(iter(self._waiting.items()))
            self._waiting.move_to_end(store)
            running = self._running.setdefault(store, [])
            if len(running) >= (1 if store in self._hanging else self._per_store):
                passed += 1
                continue
            passed = 0
            key, answer = waiting.popleft()
            if not waiting:
                del self._waiting[store]
            running.append(key)
            self._begun[key] = time.monotonic()
            self._under_way += 1
            reading = asyncio.get_running_loop().run_in_executor(self._threads, self._timed, key)
            reading.add_done_callback(lambda done, key=key, answer=answer: self._ended(key, done, answer))  # type: ignore[misc]

    def _timed(self, key: TableKey) -> tuple[Found, float]:
        begun = time.monotonic()
        return self._read(key), begun

    def _places(self) -> int:
        set_aside = min(len(self._stuck), self._most_stuck)
        return self._in_all - (self._under_way - set_aside)

    def _ended(
        self,
        key: TableKey,
        done: asyncio.Future[tuple[Found, float]],
        answer: asyncio.Future[tuple[Found, float]],
    ) -> None:
        store = store_of(key)
        running = self._running[store]
        running.remove(key)
        if key not in running:
            del self._begun[key]
        if not running:
            del self._running[store]
        self._under_way -= 1
        if key in self._stuck:
            self._stuck.remove(key)
        elif store in self._hanging:
            self._hanging.discard(store)
            logger.info("%s: its tables are read in time again", store or "the catalog")
        if not answer.done():
            if done.cancelled():
                answer.cancel()
            elif (error := done.exception()) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(done.result())
        self._begin()

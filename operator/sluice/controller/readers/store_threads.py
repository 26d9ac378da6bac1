"""Threads in which tables are read, with a bound per store and one overall: a store that hangs holds up nobody else's tables,
and never takes more than a bounded number of threads. Namespaces take turns, and each leaves as many places as it takes."""

import asyncio
import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sluice.tables import TableKey

logger = logging.getLogger(__name__)

PER_STORE = 6
"""Fewer than a namespace may have, so that a store that hangs leaves places to its other stores."""
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


@dataclass(eq=False)
class _Read(Generic[Found]):
    """A read that waits for its place, perhaps in the queues of several namespaces, or is under way."""

    key: TableKey
    work: Callable[[], Found]
    answer: asyncio.Future[tuple[Found, float]]
    wanted_by: set[str] = field(default_factory=set)
    """The namespaces in whose queues it is, or was."""
    namespace: str | None = None
    """The one whose place it has. None: it waits."""
    is_overdue: bool = False
    """Whether its callers have stopped waiting for it."""


class StoreThreads(Generic[Found]):
    def __init__(
        self,
        *,
        per_store: int = PER_STORE,
        in_all: int = IN_ALL,
        most_stuck: int = MOST_STUCK,
        consequence: str = JOBS_WAIT,
    ) -> None:
        self._per_store = per_store
        self._in_all = in_all
        self._most_stuck = most_stuck
        self._consequence = consequence
        # A pool of its own: reads that hang must not take the threads of those who look for a run's outcome.
        self._threads = ThreadPoolExecutor(in_all + most_stuck, thread_name_prefix="tables")
        self._waiting: OrderedDict[str, OrderedDict[str, deque[_Read[Found]]]] = OrderedDict()
        """Reads by namespace and store, those first whose turn it is. One that another namespace has begun is still in it."""
        self._last: dict[TableKey, _Read[Found]] = {}
        """The last read of each table, as long as it waits."""
        self._running: dict[str, list[TableKey]] = {}
        """By store; a table is in it once for each of its reads, of which there are several where who asked for one is gone."""
        self._begun: dict[TableKey, float] = {}
        """When the last read of each of these tables began."""
        self._stuck: list[_Read[Found]] = []
        self._under_way: dict[_Read[Found], None] = {}
        self._hanging: set[str] = set()
        """Stores that were reported as hanging, until a read of theirs ends in time."""

    def close(self) -> None:
        self._waiting.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def read(
        self, key: TableKey, namespaces: Iterable[str], work: Callable[[], Found]
    ) -> asyncio.Future[tuple[Found, float]]:
        """Reads the table, one read at a time, and answers with what was found and the time when the read began. It begins when
        it is the turn of one of the namespaces, and there is a place for its store."""
        read = self._last[key] = _Read(key, work, asyncio.get_running_loop().create_future())
        for namespace in namespaces:
            self._wait(read, namespace)
        self._begin()
        return read.answer

    def joins(self, key: TableKey, namespace: str) -> None:
        """Notes that another namespace waits for the last read of the table, too: it begins at the first turn of any of them."""
        read = self._last.get(key)
        if read is not None and namespace not in read.wanted_by:
            self._wait(read, namespace)
            self._begin()

    def _wait(self, read: _Read[Found], namespace: str) -> None:
        read.wanted_by.add(namespace)
        stores = self._waiting.setdefault(namespace, OrderedDict())
        stores.setdefault(store_of(read.key), deque()).append(read)

    def begun_at(self, key: TableKey) -> float | None:
        """When the read of the table began that is under way; None: it waits for its place."""
        return self._begun.get(key)

    def is_overdue(self, key: TableKey) -> None:
        """Notes that nobody waits for the read any more: its thread, if it has one, takes no place from other stores."""
        store = store_of(key)
        running = self._running.get(store, [])
        read = next((one for one in self._under_way if one.key == key and not one.is_overdue), None)
        if read is not None:
            self._stuck.append(read)
        else:
            read = self._last.get(key)
        if read is not None:
            read.is_overdue = True
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
        has_begun = True
        while has_begun:
            has_begun, taken = False, self._taken()
            for namespace in list(self._waiting) if self._places() > 0 else ():
                places = self._places()
                if taken[namespace] < places and (read := self._next(namespace)) is not None:
                    self._start(read, namespace)
                    taken[namespace] += not read.is_overdue
                    has_begun = True

    def _taken(self) -> Counter[str]:
        """Places by namespace, without those of the reads that are set aside."""
        set_aside = set(self._stuck[: self._most_stuck])
        return Counter(one.namespace or "" for one in self._under_way if one not in set_aside)

    def _next(self, namespace: str) -> _Read[Found] | None:
        """Takes the next read of the namespace for whose store there is a place."""
        stores = self._waiting[namespace]
        for _ in range(len(stores)):
            store, waiting = next(iter(stores.items()))
            while waiting and waiting[0].namespace is not None:
                waiting.popleft()
            is_full = len(self._running.get(store, ())) >= (1 if store in self._hanging else self._per_store)
            found = waiting.popleft() if waiting and not is_full else None
            stores.move_to_end(store)
            if not waiting:
                del stores[store]
            if not stores:
                del self._waiting[namespace]
            elif found is not None:
                self._waiting.move_to_end(namespace)
            if found is not None:
                return found
        return None

    def _start(self, read: _Read[Found], namespace: str) -> None:
        read.namespace = namespace
        if self._last.get(read.key) is read:
            del self._last[read.key]
        self._running.setdefault(store_of(read.key), []).append(read.key)
        self._begun[read.key] = time.monotonic()
        self._under_way[read] = None
        if read.is_overdue:
            self._stuck.append(read)
        reading = asyncio.get_running_loop().run_in_executor(self._threads, _timed, read.work)
        reading.add_done_callback(lambda done: self._ended(read, done))

    def _places(self) -> int:
        set_aside = min(len(self._stuck), self._most_stuck)
        return self._in_all - (len(self._under_way) - set_aside)

    def _ended(self, read: _Read[Found], done: asyncio.Future[tuple[Found, float]]) -> None:
        key, store = read.key, store_of(read.key)
        running = self._running[store]
        running.remove(key)
        if key not in running:
            del self._begun[key]
        if not running:
            del self._running[store]
        del self._under_way[read]
        if read in self._stuck:
            self._stuck.remove(read)
        elif store in self._hanging:
            self._hanging.discard(store)
            logger.info("%s: its tables are read in time again", store or "the catalog")
        if not read.answer.done():
            if done.cancelled():
                read.answer.cancel()
            elif (error := done.exception()) is not None:
                read.answer.set_exception(error)
            else:
                read.answer.set_result(done.result())
        self._begin()


def _timed(work: Callable[[], Found]) -> tuple[Found, float]:
    begun = time.monotonic()
    return work(), begun

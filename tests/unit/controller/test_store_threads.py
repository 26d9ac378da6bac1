"""So many reads at once for each store, and so many in all; those that hang are set aside, up to a number."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest

from sluice.controller.readers.store_threads import StoreThreads, store_of
from sluice.tables import TableFacts, TableKey, key_of_name, key_of_path, unread


class Stores:
    """Each read waits until its table is let go."""

    def __init__(self) -> None:
        self.begun: list[TableKey] = []
        self._go: dict[TableKey, threading.Event] = {}
        self._lock = threading.Lock()

    def read(self, key: TableKey) -> TableFacts:
        with self._lock:
            self.begun.append(key)
        self._of(key).wait(60)
        return unread(key.text)

    def threads(self, **places: int) -> "Threads":
        return Threads(self, StoreThreads(**places))  # type: ignore[arg-type] # mypy takes them for the consequence, too

    def let_go(self, *keys: TableKey) -> None:
        for key in keys:
            self._of(key).set()

    def let_all_go(self) -> None:
        self.let_go(*list(self._go))

    def _of(self, key: TableKey) -> threading.Event:
        with self._lock:
            return self._go.setdefault(key, threading.Event())


class Threads:
    """Each table is read for a namespace of its own, unless a test says which."""

    def __init__(self, stores: Stores, threads: StoreThreads[TableFacts]) -> None:
        self._stores = stores
        self._threads = threads
        self.joins, self.is_overdue, self.close = threads.joins, threads.is_overdue, threads.close

    def read(self, key: TableKey, namespace: str = "") -> asyncio.Future[tuple[TableFacts, float]]:
        return self._threads.read(key, [namespace or key.text], partial(self._stores.read, key))


@pytest.fixture
async def stores() -> AsyncIterator[Stores]:
    yield (made := Stores())
    made.let_all_go()


def tables(store: str, number: int) -> list[TableKey]:
    return [key_of_path(f"s3://{store}/{one}") for one in range(number)]


async def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not look():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def begun(stores: Stores, store: str) -> int:
    return sum(store_of(key) == f"s3://{store}" for key in list(stores.begun))


@pytest.mark.parametrize(
    ("key", "store"),
    [
        (key_of_path("s3://bucket/a/b"), "s3://bucket"),
        (key_of_path("s3a://bucket/c"), "s3://bucket"),
        (key_of_path("abfss://c@account.dfs.core.windows.net/t"), "abfss://c@account.dfs.core.windows.net"),
        (key_of_path("hdfs://name/lake/t"), "hdfs://name"),
        (key_of_path("hdfs://host:9000/t"), "hdfs://host:port"),
        (key_of_path("hdfs://10.0.0.1:1/t"), "hdfs://host:port"),
        (key_of_path("/lake/sales/orders"), "file:/lake/sales"),
        (key_of_name("sales.orders"), ""),
    ],
)
def test_what_hangs_as_one_is_one_store(key: TableKey, store: str) -> None:
    assert store_of(key) == store


async def test_a_store_has_so_many_reads_at_once_and_the_next_begins_when_one_ends(stores: Stores) -> None:
    threads, keys = stores.threads(per_store=2, in_all=9), tables("one", 4)
    answers = [threads.read(key) for key in keys]
    await until(lambda: stores.begun == keys[:2])
    stores.let_go(keys[0])
    found, _ = await answers[0]
    assert found.unread == keys[0].text
    await until(lambda: stores.begun == keys[:3])
    stores.let_all_go()
    stores.let_go(keys[3])
    await asyncio.gather(*answers)
    threads.close()


async def test_stores_take_turns(stores: Stores) -> None:
    threads = stores.threads(per_store=4, in_all=1)
    one, other = tables("one", 3), tables("other", 1)
    stores.let_go(*one, *other)
    await asyncio.gather(*(threads.read(key, "etl") for key in (*one, *other)))
    assert stores.begun.index(other[0]) < stores.begun.index(one[2])
    threads.close()


async def test_reads_that_hang_take_no_place_from_others_up_to_a_number(stores: Stores) -> None:
    threads = stores.threads(per_store=2, in_all=2, most_stuck=2)
    hung, more, good = tables("hung", 2), tables("more", 2), tables("good", 1)
    for key in hung:
        threads.read(key)
    await until(lambda: begun(stores, "hung") == 2)
    for key in (*more, *good):
        threads.read(key, store_of(key))
    await asyncio.sleep(0)
    assert begun(stores, "more") == begun(stores, "good") == 0
    for key in hung:
        threads.is_overdue(key)
    await until(lambda: begun(stores, "more") == begun(stores, "good") == 1)
    for key in more:
        threads.is_overdue(key)
    last = threads.read(key_of_path("s3://last/0"))
    await asyncio.sleep(0.05)
    assert begun(stores, "last") == 0
    stores.let_all_go()
    stores.let_go(key_of_path("s3://last/0"), more[1])
    await last
    threads.close()


async def test_a_store_that_hangs_has_one_place_and_so_leaves_others_theirs(stores: Stores) -> None:
    threads = stores.threads(per_store=3, in_all=3, most_stuck=3)
    hung = tables("hung", 9)
    for key in hung:
        threads.read(key)
    await until(lambda: begun(stores, "hung") == 3)
    for key in hung[:3]:
        threads.is_overdue(key)
    stores.let_go(hung[0])
    stores.let_go(hung[1])
    good = tables("good", 3)
    stores.let_go(*good)
    await asyncio.wait_for(asyncio.gather(*(threads.read(key) for key in good)), 20)
    assert begun(stores, "hung") == 3
    stores.let_go(*hung)
    threads.close()


async def test_a_store_whose_reads_only_waited_for_others_is_not_said_to_hang(
    stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    threads = stores.threads(per_store=1, in_all=1)
    (slow,), (waits,) = tables("slow", 1), tables("waits", 1)
    answers = [threads.read(slow), threads.read(waits)]
    await until(lambda: begun(stores, "slow") == 1)
    threads.is_overdue(waits)
    threads.is_overdue(slow)
    assert [record.message.partition(": ")[0] for record in caplog.records] == ["s3://slow"]
    stores.let_go(slow, waits)
    await asyncio.gather(*answers)
    threads.close()


async def test_a_store_that_hangs_is_told_once_and_again_when_it_does_not(
    stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    threads, keys = stores.threads(per_store=2), tables("one", 3)
    answers = [threads.read(key) for key in keys]
    await until(lambda: begun(stores, "one") == 2)
    for key in keys:
        threads.is_overdue(key)
    assert [record.message.partition(";")[0] for record in caplog.records] == [
        "s3://one: its tables are not read in time"
    ]
    stores.let_go(*keys)
    await asyncio.gather(*answers)
    await threads.read(keys[0])
    assert [record.message for record in caplog.records][1:] == [
        "s3://one: its tables are read in time again"
    ]
    threads.close()


async def test_two_reads_of_one_table_are_both_answered_and_leave_their_places(stores: Stores) -> None:
    threads = stores.threads(per_store=2, in_all=2)
    (table,) = tables("a", 1)
    both = threads.read(table), threads.read(table)
    for _ in both:
        threads.is_overdue(table)
    stores.let_go(table)
    async with asyncio.timeout(20):
        await asyncio.gather(*both)
        await asyncio.gather(threads.read(table), threads.read(table))
    threads.close()


async def test_a_namespace_leaves_as_many_places_as_it_takes(stores: Stores) -> None:
    """One job that named a thousand silent buckets had all threads, and no other tables were read."""
    threads = stores.threads(in_all=8, most_stuck=16)
    silent = [key_of_path(f"s3://silent-{number}/t") for number in range(100)]
    for key in silent:
        threads.read(key, "hostile")
    await until(lambda: len(stores.begun) == 4)
    for round_of_four in range(1, 5):
        for key in stores.begun[-4:]:
            threads.is_overdue(key)
        await until(lambda expected=4 * (1 + round_of_four): len(stores.begun) == expected)  # type: ignore[misc]
    good = tables("good", 4)
    stores.let_go(*good)
    await asyncio.wait_for(asyncio.gather(*(threads.read(key, "etl") for key in good)), 20)
    assert len(stores.begun) == 20 + 4
    stores.let_go(*silent)
    threads.close()


async def test_a_table_that_two_namespaces_wait_for_is_read_at_the_first_turn_of_either(
    stores: Stores,
) -> None:
    threads = stores.threads(in_all=1)
    (slow,), many, (shared,) = tables("slow", 1), tables("a", 50), tables("shared", 1)
    stores.let_go(*many, shared)
    first = threads.read(slow, "other")
    answers = [threads.read(key, "hostile") for key in (*many, shared)]
    threads.joins(shared, "etl")
    threads.joins(shared, "etl")
    stores.let_go(slow)
    await asyncio.gather(first, *answers)
    assert stores.begun.index(shared) <= 2
    assert stores.begun.count(shared) == 1
    threads.close()


async def test_reads_that_hang_beyond_those_that_are_set_aside_are_still_their_namespaces(
    stores: Stores,
) -> None:
    threads = stores.threads(in_all=8, most_stuck=4)
    silent = [key_of_path(f"s3://silent-{number}/t") for number in range(50)]
    for key in silent:
        threads.read(key, "hostile")
    for number in (4, 8):
        await until(lambda expected=number: len(stores.begun) >= expected)  # type: ignore[misc]
        for key in list(stores.begun):
            threads.is_overdue(key)
    (good,) = tables("good", 1)
    stores.let_go(good)
    await asyncio.wait_for(threads.read(good, "etl"), 20)
    assert len(stores.begun) == 8 + 1
    stores.let_go(*silent)
    threads.close()


async def test_a_read_that_begins_once_nobody_waits_for_it_takes_no_place(stores: Stores) -> None:
    threads = stores.threads(in_all=1, most_stuck=2)
    (slow,), (late,), (good,) = tables("slow", 1), tables("late", 1), tables("good", 1)
    threads.read(slow)
    threads.read(late)
    threads.is_overdue(late)
    stores.let_go(slow)
    await until(lambda: late in stores.begun)
    stores.let_go(good)
    await asyncio.wait_for(threads.read(good), 20)
    stores.let_go(late)
    threads.close()

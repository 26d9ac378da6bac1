"""Jobs are judged by what was read after they arrived, and wait for no read longer than they must."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.readers.store_threads import PER_STORE
from sluice.controller.readers.table_reader import TableReader
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job.job_view import JobView
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, TableKey, key_of_name, key_of_path, unread
from sluice.tables.dialect import delta_rs
from unit.controller.bodies import PARTITIONED, UPDATE, job_body, policy_body

ORDERS = key_of_path("/lake/orders")


class Lake:
    """What logs say, and who asked."""

    def __init__(self) -> None:
        self.facts = {ORDERS: PARTITIONED}
        self.asked: list[TableKey] = []
        self.hangs = threading.Event()
        self.hangs.set()
        self.error: BaseException | None = None

    def read(self, key: TableKey) -> TableFacts:
        self.asked.append(key)
        self.hangs.wait(10)
        if self.error is not None:
            raise self.error
        return self.facts.get(key, unread("nothing there"))


def world() -> ClusterCache:
    return ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})


@asynccontextmanager
async def reading(
    seen: ClusterCache, lake: Lake, patience: float = 5.0, fresh: float = 60.0, pause: float = 0.0
) -> AsyncIterator[TableReader]:
    reader = TableReader(seen, lake.read, patience=patience, fresh_seconds=fresh, least_pause=pause)
    try:
        yield reader
    finally:
        lake.hangs.set()
        reader.close()


def log_store(job: JobView) -> LogStore:
    (table,) = job.footprint.tables
    return table.log_store


async def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not look():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def reads(job: JobView) -> str:
    return job.footprint.tables[0].reads_text


async def test_a_job_is_judged_when_its_tables_were_read_and_is_marked_then() -> None:
    seen, lake = world(), Lake()
    seen.job_seen(job_body("a"))
    async with reading(seen, lake) as reader:
        seen.take_changes()
        assert reader.waited(seen.jobs["uid-a"]) == 0.0
        assert not reader.knows(seen.jobs["uid-a"])
        await seen.wait_for_change(20)
        assert seen.take_changes() == ["uid-a"]
        assert reader.knows(seen.jobs["uid-a"])
        assert reads(seen.jobs["uid-a"]) == "date = DATE '2026-11-19'"
        assert lake.asked == [ORDERS]
        assert reader.waited(seen.jobs["uid-a"]) > 0.0


async def test_one_read_serves_all_who_wait_but_none_who_came_later() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        for name in ("a", "b"):
            seen.job_seen(job_body(name))
            reader.knows(seen.jobs[f"uid-{name}"])
        await until(lambda: all(reader.knows(job) for job in seen.jobs.values()))
        assert len(lake.asked) <= 2
        before = len(lake.asked)
        seen.job_seen(job_body("c"))
        assert not reader.knows(seen.jobs["uid-c"])
        await until(lambda: reader.knows(seen.jobs["uid-c"]))
        assert len(lake.asked) == before + 1


async def test_who_waits_is_understood_anew_when_a_table_changes() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a"))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        before = seen.jobs["uid-a"]
        assert reads(before) != "true"
        lake.facts[ORDERS] = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}))
        reader.changed((ORDERS,))
        assert not reader.knows(before)
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert seen.jobs["uid-a"] is not before
        assert reads(seen.jobs["uid-a"]) == "true"


async def test_a_grant_rests_on_nothing_old() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake, fresh=0.0) as reader:
        seen.job_seen(job_body("a"))
        job = seen.jobs["uid-a"]
        await until(lambda: reader.knows(job))
        await asyncio.sleep(0.01)
        assert reader.knows(job)
        assert not reader.knows(job, for_grant=True)
        await until(lambda: len(lake.asked) == 2)


async def test_a_read_that_hangs_makes_the_table_unread_and_holds_nobody_else_up() -> None:
    seen, lake = world(), Lake()
    lake.hangs.clear()
    async with reading(seen, lake, patience=0.1) as reader:
        seen.job_seen(job_body("a"))
        await until(lambda: reader.knows(seen.jobs["uid-a"], for_grant=True))
        job = seen.jobs["uid-a"]
        assert reads(job) == "true"
        assert "did not answer within 0.1 s" in " ".join(job.footprint.tables[0].widened)
        seen.job_seen(job_body("later"))
        assert reader.knows(seen.jobs["uid-later"])  # nothing better can be had
        assert len(lake.asked) == 1
        lake.hangs.set()
        await until(lambda: reads(seen.jobs["uid-a"]) != "true")


@pytest.mark.parametrize("error", [RuntimeError("a bug"), BaseException("a panic")])
async def test_a_read_that_breaks_makes_the_table_unread(error: BaseException) -> None:
    seen, lake = world(), Lake()
    lake.error = error
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a"))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert reads(seen.jobs["uid-a"]) == "true"
        assert str(error) in " ".join(seen.jobs["uid-a"].footprint.tables[0].widened)


async def test_another_number_in_the_same_trouble_is_no_change() -> None:
    seen, lake = world(), Lake()
    footprints = []
    async with reading(seen, lake) as reader:
        for number in range(3):
            lake.facts[ORDERS] = unread(
                f"the log of {ORDERS} cannot be read: {'denied ' * 20}request {number}"
            )
            reader.changed((ORDERS,))
            seen.job_seen(job_body("a", version=number + 1))
            await until(lambda: reader.knows(seen.jobs["uid-a"]))
            footprints.append(seen.jobs["uid-a"].footprint)
        assert all(one is footprints[0] for one in footprints)


async def test_a_policy_leads_from_a_name_to_a_log_and_back() -> None:
    seen, lake = world(), Lake()
    name = key_of_name("sales.orders")
    sql = "UPDATE sales.orders SET id = 1 WHERE date = DATE '2026-11-19'"
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a", sql=sql))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert reads(seen.jobs["uid-a"]) == "true"
        seen.policy_seen(policy_body("p", table={"path": "/lake/orders", "name": "sales.orders"}))
        assert not reader.knows(seen.jobs["uid-a"])
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert reads(seen.jobs["uid-a"]) != "true"
        assert log_store(seen.jobs["uid-a"]) is LogStore.RENAME
        seen.policy_gone("policy-p")
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert reads(seen.jobs["uid-a"]) == "true"
        assert log_store(seen.jobs["uid-a"]) is LogStore.UNKNOWN
        assert lake.asked == [name, ORDERS, name]


COPY = "INSERT INTO delta.`/lake/orders` SELECT * FROM delta.`/lake/raw` WHERE id = 1"


async def test_the_columns_of_a_source_are_read_where_they_may_tell_where_rows_land() -> None:
    seen, lake = world(), Lake()
    raw = key_of_path("/lake/raw")
    lake.facts[raw] = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}))
    sql = COPY.replace("id = 1", "date > DATE '2026-11-18'")
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a", sql=sql))
        await until(lambda: reader.knows(seen.jobs["uid-a"], for_grant=True))
        assert lake.asked == [ORDERS, raw]
        assert seen.jobs["uid-a"].footprint.tables[0].writes_text == "date >= DATE '2026-11-19'"
        reader.forget_unused()
        lake.facts[raw] = TableFacts(columns=Table.of({"date": "date", "id": "bigint"}))
        reader.changed((raw,))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert seen.jobs["uid-a"].footprint.tables[0].writes_text == "true"


async def test_no_source_is_read_for_a_table_without_partitions() -> None:
    seen, lake = world(), Lake()
    lake.facts[ORDERS] = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}))
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a", sql=COPY))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert lake.asked == [ORDERS]


async def test_a_change_of_a_policy_s_status_reads_nothing_again() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        seen.policy_seen(policy_body("p", table={"path": "/lake/orders"}))
        seen.job_seen(job_body("a"))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        seen.policy_seen(policy_body("p", version=2, table={"path": "/lake/orders"}))
        assert reader.knows(seen.jobs["uid-a"])


@pytest.mark.parametrize("of", ["/lake/other", "/lake/orders"])
async def test_no_log_is_read_again_because_a_policy_changes_however_often(of: str) -> None:
    seen, lake = world(), Lake()
    lake.hangs.clear()

    def change(generation: int, dialect: str) -> None:
        body = policy_body("p", version=generation, generation=generation)
        seen.policy_seen(body | {"spec": {"table": {"path": of}, "dialect": {"name": dialect}}})

    async with reading(seen, lake) as reader:
        change(1, "databricks")
        seen.job_seen(job_body("a"))
        assert not reader.knows(seen.jobs["uid-a"])
        await until(lambda: lake.asked == [ORDERS])
        change(2, "oss")
        assert not reader.knows(seen.jobs["uid-a"])
        lake.hangs.set()
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        change(3, "delta-rs")
        assert reader.knows(seen.jobs["uid-a"], for_grant=True)
        declared = delta_rs(None) if of == "/lake/orders" else PARTITIONED.dialect
        assert seen.facts[ORDERS].dialect == declared
        assert lake.asked == [ORDERS]


async def test_what_no_job_needs_is_forgotten() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a"))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        reader.forget_unused()
        assert seen.facts == {ORDERS: PARTITIONED}
        seen.job_gone("uid-a")
        reader.forget_unused()
        assert seen.facts == {}


async def test_a_job_that_is_not_understood_any_more_ends_nothing() -> None:
    """It may be running, and its runtime profile have been taken out of the configuration."""
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a", sql=UPDATE, runtimeRef="gone"))
        with pytest.raises(NotUnderstoodError):
            reader.knows(seen.jobs["uid-a"])
        reader.forget_unused()


async def test_an_edited_job_is_a_new_one() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a"))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        lake.facts[ORDERS] = replace(PARTITIONED, properties={"a": "b"})
        seen.job_seen(job_body("a", version=2, generation=2))
        assert not reader.knows(seen.jobs["uid-a"])
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert seen.facts[ORDERS].properties == {"a": "b"}


async def test_a_table_with_five_hundred_waiters_is_read_once() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        for number in range(500):
            seen.job_seen(job_body(f"{number}"))
            assert not reader.knows(seen.jobs[f"uid-{number}"])
        seen.take_changes()
        marked: set[str] = set()
        while len(marked) < 500:
            await seen.wait_for_change(20)
            marked |= set(seen.take_changes())
        assert all(reader.knows(job) for job in seen.jobs.values())
        assert lake.asked == [ORDERS]


async def test_jobs_that_come_one_after_another_share_the_next_read_and_are_not_marked_before() -> None:
    seen, lake = world(), Lake()
    lake.hangs.clear()
    async with reading(seen, lake, pause=1.0) as reader:
        seen.job_seen(job_body("first"))
        reader.knows(seen.jobs["uid-first"])
        await until(lambda: lake.asked == [ORDERS])  # at once, as nobody asked before
        for number in range(50):
            seen.job_seen(job_body(f"{number}"))
            reader.knows(seen.jobs[f"uid-{number}"])
        seen.take_changes()
        lake.hangs.set()
        await seen.wait_for_change(20)
        assert seen.take_changes() == ["uid-first"]
        for number in range(50, 100):
            seen.job_seen(job_body(f"{number}"))
            reader.knows(seen.jobs[f"uid-{number}"])
        await until(lambda: all(reader.knows(job) for job in seen.jobs.values()))
        assert lake.asked == [ORDERS, ORDERS]


async def test_a_read_that_began_before_a_run_ended_answers_nobody_who_asked_before() -> None:
    seen, lake = world(), Lake()
    lake.hangs.clear()
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a"))
        reader.knows(seen.jobs["uid-a"])
        await until(lambda: lake.asked == [ORDERS])
        reader.changed((ORDERS,))
        lake.hangs.set()
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert lake.asked == [ORDERS, ORDERS]


async def test_a_change_of_a_table_concerns_its_own_jobs_alone() -> None:
    seen, lake = world(), Lake()
    other = key_of_path("/lake/other")
    lake.facts[other] = PARTITIONED
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a"))
        seen.job_seen(job_body("b", sql=UPDATE.replace("orders", "other")))
        await until(lambda: all(reader.knows(job) for job in seen.jobs.values()))
        footprints = {uid: job.footprint for uid, job in seen.jobs.items()}
        before = dict(seen.jobs)
        seen.take_changes()
        assert seen.resting.on(other) == ("uid-b",)
        seen.table_seen(other, replace(PARTITIONED, properties={"a": "b"}))
        assert seen.take_changes() == ["uid-b"]
        assert seen.jobs["uid-a"] is before["uid-a"]
        assert seen.jobs["uid-b"] is not before["uid-b"]
        assert seen.jobs["uid-a"].footprint is footprints["uid-a"]


async def test_a_finished_job_rests_on_no_table_and_is_not_understood_any_more() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        seen.job_seen(job_body("a"))
        await until(lambda: reader.knows(seen.jobs["uid-a"]))
        assert reads(seen.jobs["uid-a"]) != "true"
        seen.job_seen(job_body("a", version=2) | {"status": {"phase": "Succeeded", "observedGeneration": 1}})
        reader.forget_unused()
        assert seen.facts == {}
        assert seen.resting.on(ORDERS) == ()
        with pytest.raises(NotUnderstoodError):
            reads(seen.jobs["uid-a"])


async def test_what_no_job_needs_is_found_by_those_that_left() -> None:
    seen, lake = world(), Lake()
    async with reading(seen, lake) as reader:
        for number in range(20):
            path = f"/lake/{number}"
            lake.facts[key_of_path(path)] = PARTITIONED
            seen.job_seen(job_body(f"{number}", sql=UPDATE.replace("/lake/orders", path)))
        await until(lambda: all(reader.knows(job) for job in list(seen.jobs.values())))
        reader.forget_unused()
        assert len(seen.facts) == 20
        seen.job_gone("uid-7")
        assert seen.settled == {"uid-7"}
        reader.forget_unused()
        assert seen.settled == set()
        assert len(seen.facts) == 19
        assert key_of_path("/lake/7") not in seen.facts


def test_where_nobody_asks_for_tables_nothing_is_noted_of_jobs_that_end() -> None:
    """A replica that doesn't lead asks for none: notes would grow there with every job that ever was."""
    seen = world()
    seen.job_seen(job_body("a"))
    seen.job_seen(job_body("a", version=2) | {"status": {"phase": "Succeeded"}})
    seen.job_gone("uid-a")
    assert seen.settled == set()


async def test_a_store_that_hangs_for_a_thousand_tables_holds_up_no_other_store(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen, lake = world(), Lake()
    hangs = threading.Event()
    good = [key_of_path(f"s3://good/{number}") for number in range(40)]
    lake.facts |= dict.fromkeys(good, PARTITIONED)

    def read(key: TableKey) -> TableFacts:
        if key.text.startswith("s3://hung/"):
            lake.asked.append(key)
            hangs.wait(60)
        return lake.read(key)

    reader = TableReader(seen, read, patience=0.5)
    try:
        for number in range(1000):
            seen.job_seen(job_body(f"h{number}", sql=f"DELETE FROM delta.`s3://hung/{number}`"))
            reader.knows(seen.jobs[f"uid-h{number}"])
        for number in range(40):
            seen.job_seen(job_body(f"g{number}", sql=f"DELETE FROM delta.`s3://good/{number}`"))
        of_the_good = [seen.jobs[f"uid-g{number}"] for number in range(40)]
        for job in of_the_good:
            reader.knows(job)
        await until(lambda: all(seen.facts.get(key) == PARTITIONED for key in good))
        await until(lambda: all(reader.knows(job) for job in list(seen.jobs.values())))
        assert len([key for key in lake.asked if key.text.startswith("s3://hung/")]) == PER_STORE
        assert seen.facts[key_of_path("s3://hung/999")].unread is not None
        told = [record.getMessage() for record in caplog.records if "s3://hung" in record.getMessage()]
        assert len(told) == 1
        assert "s3://hung: its tables are not read in time" in told[0]
        hangs.set()
        await until(lambda: "nothing there" in str(seen.facts[key_of_path("s3://hung/999")].unread))
    finally:
        hangs.set()
        reader.close()


async def test_whoever_follows_tables_is_told_which_a_run_may_have_changed() -> None:
    told: list[tuple[TableKey, ...]] = []
    reader = TableReader(world(), Lake().read, told=told.append)
    reader.changed(())
    reader.changed((ORDERS,))
    reader.close()
    assert told == [(ORDERS,)]

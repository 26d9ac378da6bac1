"""Reads of tables on S3 by child processes, so that a store which answers late, or never, stops nothing else."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from devenv.s3_server import S3Server
from integration.tables.store_proxy import HANGS, StoreProxy
from sluice.controller.readers.table_processes import TableProcesses, limits_in
from sluice.processes.child import DeathCause
from sluice.tables import key_of_path
from unit.tables.lake import commit, orders

TABLE = key_of_path("s3://far/orders")
MOST_REQUESTS = 3


def _patient(seconds: float) -> TableProcesses:
    return TableProcesses(replace(limits_in(None), patience=seconds))


@pytest.fixture
def reads(signed_in: pytest.MonkeyPatch) -> Iterator[TableProcesses]:
    processes = _patient(20.0)
    yield processes
    processes.close()


def test_a_table_on_s3_is_looked_at_and_what_did_not_change_is_the_same(
    s3: S3Server, reads: TableProcesses
) -> None:
    place = s3.bucket("far") / "orders"
    orders(place)
    first = reads.look(TABLE)
    assert first.state.unread is None
    assert (first.state.version, first.state.partition_by) == (0, ("date",))
    again = reads.look(TABLE)
    assert again.at > first.at
    assert (again.state, again.history) == (first.state, first.history)
    assert again.files is first.files, "files that did not change are not sent once more"
    commit(place, 1)
    assert reads.look(TABLE).state.version == 1


def test_a_look_that_finds_nothing_new_costs_few_requests_however_long_the_log_is(
    s3: S3Server, store: StoreProxy, reads: TableProcesses
) -> None:
    """Each request is paid for, and policies have their tables looked at all day."""
    counts = []
    for commits in (1, 20):
        place, table = s3.bucket("far") / f"of-{commits}", key_of_path(f"s3://far/of-{commits}")
        orders(place)
        for version in range(1, commits):
            commit(place, version)
        asked = len(store.requests)
        first = reads.look(table)
        assert first.state.version == commits - 1
        at_first, asked = len(store.requests) - asked, len(store.requests)
        assert reads.look(table).state == first.state
        again = store.requests[asked:]
        told = [f"{one.method} {one.target}" for one in again]
        print(f"a log of {commits}: {at_first} requests at first, {len(again)} again: {told}")
        counts.append(len(again))
    assert counts[0] == counts[1]
    assert counts[0] <= MOST_REQUESTS


def test_a_store_that_hangs_stops_no_other_thread_and_is_given_up_in_time(
    s3: S3Server, store: StoreProxy, signed_in: pytest.MonkeyPatch
) -> None:
    """A look in this very process would stop the proxy's threads, too, and so wait for itself."""
    orders(s3.bucket("hung") / "orders")
    table = key_of_path("s3://hung/orders")
    looks = _patient(10.0)
    with ThreadPoolExecutor(1) as beside:
        try:
            assert looks.look(table).state.version == 0
            store.fault = lambda _: HANGS
            asked = len(store.requests)
            hanging = beside.submit(looks.look, table)
            while len(store.requests) == asked:
                time.sleep(0.01)
            found = hanging.result(60)
            assert found.state.unread is not None
            assert (
                "s3://hung/orders cannot be read: its reader did not answer within 10 s" in found.state.unread
            )
            store.thaw()
            assert looks.look(table).state.version == 0
        finally:
            looks.close()


def test_who_waits_for_a_store_goes_on_when_it_is_closed(
    s3: S3Server, store: StoreProxy, signed_in: pytest.MonkeyPatch
) -> None:
    orders(s3.bucket("closed") / "orders")
    table = key_of_path("s3://closed/orders")
    looks = _patient(3600.0)
    store.fault = lambda _: HANGS
    with ThreadPoolExecutor(1) as beside:
        hanging = beside.submit(looks.look, table)
        while not store.requests:
            time.sleep(0.01)
        looks.close()
        assert hanging.result(60).state.unread is not None
    assert looks.look(table).state.unread is not None


@pytest.mark.parametrize("kind", ["facts", "look"])
def test_reads_that_a_killed_process_had_begun_are_done_by_another_one(
    s3: S3Server, store: StoreProxy, reads: TableProcesses, kind: str
) -> None:
    for table in ("a", "b", "c"):
        orders(s3.bucket(f"killed-{kind}") / table)
    keys = [key_of_path(f"s3://killed-{kind}/{table}") for table in ("a", "b", "c")]
    before = {child.pid for child in psutil.Process().children()}
    store.fault = lambda _: HANGS
    with ThreadPoolExecutor(3) as beside:
        reading = [beside.submit(getattr(reads, kind), key) for key in keys]
        while not store.requests:
            time.sleep(0.01)
        (child,) = {child.pid for child in psutil.Process().children()} - before
        os.kill(child, signal.SIGKILL)
        store.thaw()
        found = [one.result(120) for one in reading]
    assert all(getattr(one, "state", one).unread is None for one in found)
    assert reads.deaths == {DeathCause.OTHER: 1}


def test_facts_of_other_stores_are_read_while_a_look_holds_its_process(
    s3: S3Server, store: StoreProxy, reads: TableProcesses, tmp_path: Path
) -> None:
    orders(s3.bucket("held") / "orders")
    orders(tmp_path / "near")
    table, near = key_of_path("s3://held/orders"), key_of_path(str(tmp_path / "near"))
    assert reads.look(table).state.version == 0
    store.fault = lambda _: HANGS
    asked = len(store.requests)
    with ThreadPoolExecutor(1) as beside:
        hanging = beside.submit(reads.look, table)
        while len(store.requests) == asked:
            time.sleep(0.01)
        assert reads.facts(near).unread is None
        assert not hanging.done()
        store.thaw()
        assert hanging.result(120).state.version == 0

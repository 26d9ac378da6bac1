"""Looks at a table on S3: by a process of their own, so that a store which answers late, or never, stops nothing else."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from devenv.s3_server import S3Server
from integration.tables.store_proxy import HANGS, StoreProxy
from sluice.controller.far_looks import FarLooks
from sluice.tables import TableKey, key_of_path
from sluice.tables.look import Look
from unit.tables.lake import commit, orders

TABLE = key_of_path("s3://far/orders")
MOST_REQUESTS = 3


def _nobody_is_near(key: TableKey) -> Look:
    raise AssertionError(key)


@pytest.fixture
def far(signed_in: pytest.MonkeyPatch) -> Iterator[FarLooks]:
    looks = FarLooks(_nobody_is_near, patience=20.0)
    yield looks
    looks.close()


def test_a_table_on_s3_is_looked_at_and_what_did_not_change_is_the_same(s3: S3Server, far: FarLooks) -> None:
    place = s3.bucket("far") / "orders"
    orders(place)
    first = far.look(TABLE)
    assert first.state.unread is None
    assert (first.state.version, first.state.partition_by) == (0, ("date",))
    again = far.look(TABLE)
    assert again.at > first.at
    assert (again.state, again.history) == (first.state, first.history)
    assert again.files is first.files, "files that did not change are not sent once more"
    commit(place, 1)
    assert far.look(TABLE).state.version == 1


def test_a_look_that_finds_nothing_new_costs_few_requests_however_long_the_log_is(
    s3: S3Server, store: StoreProxy, far: FarLooks
) -> None:
    """Each request is paid for, and policies have their tables looked at all day."""
    counts = []
    for commits in (1, 20):
        place, table = s3.bucket("far") / f"of-{commits}", key_of_path(f"s3://far/of-{commits}")
        orders(place)
        for version in range(1, commits):
            commit(place, version)
        asked = len(store.requests)
        first = far.look(table)
        assert first.state.version == commits - 1
        at_first, asked = len(store.requests) - asked, len(store.requests)
        assert far.look(table).state == first.state
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
    looks = FarLooks(_nobody_is_near, patience=10.0)
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
            assert "s3://hung/orders cannot be read: it did not answer within 10 s" in found.state.unread
            store.thaw()
            assert looks.look(table).state.version == 0
        finally:
            looks.close()


def test_who_waits_for_a_store_goes_on_when_it_is_closed(
    s3: S3Server, store: StoreProxy, signed_in: pytest.MonkeyPatch
) -> None:
    orders(s3.bucket("closed") / "orders")
    table = key_of_path("s3://closed/orders")
    looks = FarLooks(_nobody_is_near, patience=3600.0)
    store.fault = lambda _: HANGS
    with ThreadPoolExecutor(1) as beside:
        hanging = beside.submit(looks.look, table)
        while not store.requests:
            time.sleep(0.01)
        looks.close()
        assert hanging.result(60).state.unread is not None
    assert looks.look(table).state.unread is not None

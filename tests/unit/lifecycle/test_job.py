"""What a job touches, by what is known of its tables; and what it is held to when that changes under it."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.api.job_status import Attempt, Phase
from sluice.controller.world import World
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError
from sluice.leases import Lease
from sluice.lifecycle.holding import changed_tables, holder_of
from sluice.lifecycle.job import JobView
from sluice.lifecycle.status import Understood, is_as_recorded
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path, unread
from unit.controller.bodies import PARTITIONED, UPDATE, job_body

ORDERS = key_of_path("/lake/orders")
UNPARTITIONED = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}))
OTHERWISE = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}, ["id"]))
ABSENT = TableFacts(columns=Table.of([]), exists=False)


def world(facts: TableFacts | None = PARTITIONED) -> World:
    seen = World({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
    if facts is not None:
        seen.table_seen(ORDERS, facts)
    return seen


def job(sql: str = UPDATE, facts: TableFacts | None = PARTITIONED) -> JobView:
    seen = world(facts)
    seen.job_seen(job_body("a", sql=sql))
    return seen.jobs["uid-a"]


def reads(view: JobView) -> str:
    return view.footprint.tables[0].reads_text


@pytest.mark.parametrize("facts", [None, unread("the store is down"), UNPARTITIONED, ABSENT])
def test_without_partitions_that_are_known_it_touches_all(facts: TableFacts | None) -> None:
    assert reads(job(facts=facts)) == "true"


def test_its_status_says_why_it_is_taken_to_touch_all() -> None:
    (found,) = Understood.of(job(facts=unread("the store is down"))).footprint
    assert "the store is down" in " ".join(found.widened)


def test_with_partitions_it_touches_those_of_its_condition() -> None:
    view = job()
    assert reads(view) == "date = DATE '2026-11-19'"
    assert view.tables == (ORDERS,)
    assert view.refusal is None


def test_tables_that_are_not_its_own_decide_nothing() -> None:
    seen = world()
    seen.job_seen(job_body("a", sql="DELETE FROM delta.`/lake/other` WHERE date = DATE '2026-11-19'"))
    view = seen.jobs["uid-a"]
    assert reads(view) == "true"
    seen.table_seen(ORDERS, UNPARTITIONED)
    assert seen.jobs["uid-a"] is view


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("UPDATE delta.`/lake/orders` SET nope = 1", "no column nope; the table has id, date"),
        ("DELETE FROM delta.`/lake/orders` WHERE date = 'banana'", "banana"),
    ],
)
def test_what_its_tables_refuse_may_touch_all_of_them(sql: str, why: str) -> None:
    view = job(sql)
    assert why in (view.refusal or "")
    assert reads(view) == "true"
    assert job(sql, facts=None).refusal is None


def test_what_no_table_could_take_is_an_error_at_once() -> None:
    view = job("DELET FROM delta.`/lake/orders`")
    for ask in (lambda: view.refusal, lambda: view.tables, lambda: view.footprint):
        with pytest.raises(NotUnderstoodError):
            ask()


def test_the_work_is_the_same_whatever_is_known() -> None:
    assert job().spec_hash == job(facts=None).spec_hash == job(facts=UNPARTITIONED).spec_hash


def test_what_was_concluded_is_kept_until_a_table_changes() -> None:
    seen = world()
    seen.job_seen(job_body("a"))
    before = seen.jobs["uid-a"].footprint
    seen.job_seen(job_body("a", version=2))
    assert seen.jobs["uid-a"].footprint is before
    seen.table_seen(ORDERS, replace(PARTITIONED))
    assert seen.jobs["uid-a"].footprint is before
    seen.table_seen(ORDERS, UNPARTITIONED)
    assert reads(seen.jobs["uid-a"]) == "true"


def holding(seen: World) -> Lease:
    """The job's leases are granted on what is known now."""
    seen.job_seen(job_body("a"))
    view = seen.jobs["uid-a"]
    attempt = Attempt(number=1, token=1, hash=view.spec_hash, application="a-1", granted_at=view.arrived_at)
    status = view.status.model_copy(
        update=vars(Understood.of(view)) | {"phase": Phase.RUNNING, "attempts": (attempt,), "attempt": 1}
    )
    body: dict[str, Any] = job_body("a", version=2)
    seen.job_seen(body | {"status": status.model_dump(mode="json", by_alias=True, exclude_defaults=True)})
    return Lease("uid-a", 1, view.spec_hash, "etl/a", (ORDERS.text,))


def test_a_holder_touches_what_it_was_granted_for() -> None:
    seen = world()
    lease = holding(seen)
    holder = holder_of(lease, seen.jobs.get(lease.uid))
    assert is_as_recorded(seen.jobs["uid-a"])
    assert [table.reads_text for table in holder.footprint.tables] == ["date = DATE '2026-11-19'"]


@pytest.mark.parametrize("after", [UNPARTITIONED, ABSENT, unread("gone"), OTHERWISE])
def test_a_holder_under_which_a_table_changed_touches_all_of_it(after: TableFacts) -> None:
    seen = world(PARTITIONED)
    lease = holding(seen)
    seen.table_seen(ORDERS, after)
    holder = holder_of(lease, seen.jobs.get(lease.uid))
    assert not is_as_recorded(seen.jobs["uid-a"])
    assert "true" in [table.reads_text for table in holder.footprint.tables]


def test_a_change_that_does_not_touch_what_a_holder_does_leaves_it_as_it_was() -> None:
    seen = world(PARTITIONED)
    lease = holding(seen)
    seen.table_seen(ORDERS, replace(PARTITIONED, properties={"delta.enableChangeDataFeed": "true"}))
    holder = holder_of(lease, seen.jobs.get(lease.uid))
    assert [table.reads_text for table in holder.footprint.tables] == ["date = DATE '2026-11-19'"]


@pytest.mark.parametrize(
    ("sql", "facts", "changed"),
    [
        (UPDATE, PARTITIONED, False),
        (UPDATE, ABSENT, True),
        ("ALTER TABLE delta.`/lake/orders` ADD COLUMNS (x INT)", PARTITIONED, True),
        ("CREATE TABLE IF NOT EXISTS delta.`/lake/orders` (x INT) USING delta", PARTITIONED, False),
        ("CREATE TABLE IF NOT EXISTS delta.`/lake/orders` (x INT) USING delta", ABSENT, True),
        ("OPTIMIZE delta.`/lake/orders`", PARTITIONED, False),
    ],
)
def test_what_a_run_may_have_changed(sql: str, facts: TableFacts, changed: bool) -> None:
    view = job(sql, facts)
    attempt = Attempt(number=1, token=1, hash=view.spec_hash, application="a-1", granted_at=view.arrived_at)
    assert changed_tables(view, attempt) == ((ORDERS,) if changed else ())
    edited = attempt.model_copy(update={"hash": "another"})
    assert changed_tables(view, edited) == ()  # its status names none


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("runKey", "nightly/2026-11-19"),
        ("writes", ["date = DATE '2026-11-19'"]),
    ],
)
def test_a_promise_that_no_run_would_keep_is_refused(field: str, value: Any) -> None:
    seen = world()
    seen.job_seen(job_body("a", sql=UPDATE, **{field: value}))
    with pytest.raises(NotUnderstoodError, match=rf"^spec\.{field}: not yet: .*leave it out"):
        seen.jobs["uid-a"].unaided  # noqa: B018 - what is wrong in the spec alone is an error


@pytest.mark.parametrize("status", [[], [1], "text", 7])
def test_a_status_that_is_no_object_hides_what_the_job_did(status: Any) -> None:
    seen = world()
    seen.job_seen(job_body("a") | {"status": status})
    unreadable = seen.jobs["uid-a"].unreadable
    assert (unreadable is None) == (status == [])
    assert seen.jobs["uid-a"].status.attempts == ()


def test_a_location_that_no_status_can_hold_is_refused() -> None:
    """The status must tell later leaders which tables are held."""
    longest = "x" * (1024 - len("file:/lake/"))
    assert job(f"DELETE FROM delta.`/lake/{longest}` WHERE id = 1").unaided.keys
    with pytest.raises(NotUnderstoodError, match="1025 characters"):
        job(f"DELETE FROM delta.`/lake/{longest}x` WHERE id = 1").unaided  # noqa: B018 - it is the refusal that counts

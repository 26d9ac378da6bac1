"""What a job touches, by what is known of its tables; and what it is held to when that changes under it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Attempt, Phase
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.footprint import Days, NotUnderstoodError
from sluice.leases import Lease
from sluice.lifecycle.attempt.lease_evidence import changed_tables, holder_of, lease_for
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import UnderstoodFields, is_as_recorded
from sluice.lifecycle.spec.spec_hashes import is_by_days
from sluice.predicates import Table
from sluice.tables import Names, TableFacts, key_of_name, key_of_path, unread
from sluice.tables.reported_names import NameReport, ReportedNames
from unit.controller.bodies import PARTITIONED, UPDATE, job_body

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
ORDERS = key_of_path("/lake/orders")
UNPARTITIONED = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}))
OTHERWISE = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}, ["id"]))
ABSENT = TableFacts(columns=Table.of([]), exists=False)


def world(facts: TableFacts | None = PARTITIONED) -> ClusterCache:
    seen = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
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
    (found,) = UnderstoodFields.of(job(facts=unread("the store is down"))).footprint
    assert "the store is down" in " ".join(found.widened)


def test_its_status_says_where_it_deletes_all_rows() -> None:
    overwrite = "INSERT OVERWRITE delta.`/orders` VALUES (1, DATE '2026-11-19')"
    found = [UnderstoodFields.of(job(sql)).footprint[0].deletes for sql in (overwrite, UPDATE)]
    assert found == ["true", None]


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
        ("UPDATE delta.`/lake/orders` SET nope = 1", "no column nope: the table has id, date"),
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


def holding(seen: ClusterCache, **spec: Any) -> Lease:
    """The job's leases are granted on what is known now."""
    seen.job_seen(job_body("a", **spec))
    view = seen.jobs["uid-a"]
    attempt = Attempt(number=1, token=1, hash=view.spec_hash, application="a-1", granted_at=view.arrived_at)
    status = view.status.model_copy(
        update=vars(UnderstoodFields.of(view))
        | {"phase": Phase.RUNNING, "attempts": (attempt,), "attempt": 1}
    )
    body: dict[str, Any] = job_body("a", version=2, **spec)
    seen.job_seen(body | {"status": status.model_dump(mode="json", by_alias=True, exclude_defaults=True)})
    return Lease("uid-a", 1, view.spec_hash, "etl/a", (ORDERS.text,))


def test_a_holder_touches_what_it_was_granted_for() -> None:
    seen = world()
    lease = holding(seen)
    holder = holder_of(lease, seen.jobs.get(lease.uid))
    assert is_as_recorded(seen.jobs["uid-a"])
    assert [table.reads_text for table in holder.footprint.tables] == ["date = DATE '2026-11-19'"]


@pytest.mark.parametrize(("told", "is_known"), [(None, True), ("date = DATE '2026-11-20'", False)])
def test_a_holder_of_an_earlier_version_touches_what_it_was_granted_for(
    told: str | None, *, is_known: bool
) -> None:
    """It did not say what it deletes."""
    seen, sql = world(), f"DELETE FROM delta.`{ORDERS.text}` WHERE date = DATE '2026-11-19'"
    holding(seen, sql=sql)
    status = seen.jobs["uid-a"].body["status"]
    (shown,) = status["footprint"]
    assert shown["deletes"] == shown["reads"]
    without = {name: value for name, value in shown.items() if name != "deletes"}
    then = without if told is None else without | {"deletes": told}
    seen.job_seen(job_body("a", version=3, sql=sql) | {"status": status | {"footprint": [then]}})
    assert is_as_recorded(seen.jobs["uid-a"]) == is_known


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


def test_what_says_what_is_done_anyway_is_taken() -> None:
    seen = world()
    seen.job_seen(job_body("a", sql=UPDATE, retry={"limit": 0}, admission={"risk": "Strict"}))
    assert seen.jobs["uid-a"].footprint_from_spec.keys


def test_deadlines_are_taken() -> None:
    seen = world()
    limits: Json = {"activeDeadlineSeconds": 60, "admission": {"startTimeout": "5m", "quotaTimeout": "1m"}}
    seen.job_seen(job_body("a", sql=UPDATE, **limits))
    assert seen.jobs["uid-a"].footprint_from_spec.keys


@pytest.mark.parametrize("status", [[], [1], "", "text", 0, 7, False])
def test_a_status_that_is_no_object_hides_what_the_job_did(status: Any) -> None:
    seen = world()
    seen.job_seen(job_body("a") | {"status": status})
    assert "not an object" in (seen.jobs["uid-a"].unreadable or "")
    assert seen.jobs["uid-a"].status.attempts == ()


def test_a_status_of_null_is_none() -> None:
    seen = world()
    seen.job_seen(job_body("a") | {"status": None})
    assert seen.jobs["uid-a"].unreadable is None


@pytest.mark.parametrize("spec", [None, [], [{"sql": UPDATE}], UPDATE, 7, {"sql": None}, {}])
def test_a_spec_that_is_none_is_refused_by_its_name(spec: Any) -> None:
    body = job_body("a") | {"spec": spec}
    seen = world()
    for one in (body, {name: value for name, value in body.items() if name != "spec"}):
        seen.job_seen(one)
        with pytest.raises(NotUnderstoodError, match=r"^spec: "):
            seen.jobs["uid-a"].footprint_from_spec  # noqa: B018 - it is the refusal that counts


def test_what_is_stored_is_read_as_kubernetes_spells_it() -> None:
    """Who writes the names of this code has another version's field in mind, or a mistake."""
    seen = world()
    seen.job_seen(job_body("a", sql=UPDATE, runtime_ref="default"))
    with pytest.raises(NotUnderstoodError, match=r"^spec\.runtime_ref: there is no such field"):
        seen.jobs["uid-a"].footprint_from_spec  # noqa: B018 - it is the refusal that counts
    seen.job_seen(job_body("b") | {"status": {"queued_at": "2026-11-19T10:00:00Z"}})
    assert seen.jobs["uid-b"].status.queued_at is None


def test_a_location_that_no_status_can_hold_is_refused() -> None:
    """The status must tell later leaders which tables are held."""
    longest = "x" * (1024 - len("file:/lake/"))
    assert job(f"DELETE FROM delta.`/lake/{longest}` WHERE id = 1").footprint_from_spec.keys
    with pytest.raises(NotUnderstoodError, match="1025 characters"):
        job(f"DELETE FROM delta.`/lake/{longest}x` WHERE id = 1").footprint_from_spec  # noqa: B018 - it is the refusal that counts


def test_what_is_open_is_the_first_attempt_without_an_outcome() -> None:
    one = {"number": 1, "token": 1, "hash": "x", "application": "a-1", "grantedAt": "2026-11-19T10:00:00Z"}
    two = one | {"number": 2, "application": "a-2"}
    for attempts, expected in (
        ([one | {"outcome": "Failed"}, two], 2),
        ([one, two], 1),
        ([one | {"outcome": "Failed"}], None),
        ([], None),
    ):
        seen = world()
        seen.job_seen(job_body("a") | {"status": {"attempts": attempts}})
        found = seen.jobs["uid-a"].open_attempt
        assert (found.number if found else None) == expected


def test_a_runtime_that_there_is_not_is_named_with_those_that_there_are() -> None:
    seen = world()
    seen.job_seen(job_body("a", sql=UPDATE, runtimeRef="large"))
    with pytest.raises(NotUnderstoodError, match=r"no runtime profile 'large'; the operator has default"):
        seen.jobs["uid-a"].footprint_from_spec  # noqa: B018 - it is the refusal that counts


def test_its_age_is_the_recorded_one_and_else_counts_from_when_it_was_first_seen() -> None:
    seen = world()
    seen.job_seen(job_body("a"))
    assert seen.jobs["uid-a"].queued_at == seen.jobs["uid-a"].arrived_at
    seen.job_seen(job_body("a", version=2) | {"status": {"queuedAt": "2026-11-19T08:00:00Z"}})
    assert seen.jobs["uid-a"].queued_at == datetime(2026, 11, 19, 8, tzinfo=UTC)


def test_a_leader_whose_clock_was_ahead_puts_nobody_behind_those_that_come_later() -> None:
    seen = world()
    ahead = datetime.now(UTC) + timedelta(hours=1)
    seen.job_seen(job_body("a") | {"status": {"queuedAt": ahead.isoformat()}})
    seen.job_seen(job_body("b"))
    assert seen.jobs["uid-a"].queued_at < seen.jobs["uid-b"].queued_at


def test_its_patience_counts_from_when_it_was_let_go_on_and_its_age_does_not() -> None:
    def waited(**status: Any) -> tuple[float, datetime]:
        view = JobView(job_body("a") | {"status": {"queuedAt": "2025-11-19T10:00:00Z"} | status}, {}, NOW)
        return view.waited(NOW), view.queued_at

    year = timedelta(days=365)
    assert waited(phase="Waiting") == (year.total_seconds(), NOW - year)
    assert waited(phase="Suspended") == (0.0, NOW - year)
    assert waited(phase="Waiting", resumedAt="2026-11-19T09:59:00Z") == (60.0, NOW - year)


def test_its_run_key_is_its_uid_unless_it_says_another() -> None:
    for key, expected in ((None, "uid-a"), ("nightly", "nightly")):
        given: Json = {"runKey": key} if key else {}
        view = JobView(job_body("a", sql=UPDATE, **given), {}, NOW)
        assert view.run_key == expected


SELECT = "INSERT INTO delta.`/lake/orders` SELECT id, date FROM delta.`/lake/source`"


def test_what_it_selects_from_counts_for_tables_with_partitions_alone() -> None:
    source = key_of_path("/lake/source")
    for facts, expected in ((PARTITIONED, (source,)), (UNPARTITIONED, ()), (None, ())):
        assert job(SELECT, facts).sources == expected


def test_it_depends_on_what_it_selects_from_and_on_its_own_tables_once_it_was_concluded_on() -> None:
    seen = world()
    seen.job_seen(job_body("a", sql=SELECT))
    view = seen.jobs["uid-a"]
    source = key_of_path("/lake/source")
    assert not view.depends_on(ORDERS)
    view.footprint  # noqa: B018 - concludes
    assert view.depends_on(ORDERS)
    assert view.depends_on(source)
    assert not view.depends_on(key_of_path("/lake/else"))
    seen.table_seen(source, UNPARTITIONED)
    assert seen.jobs["uid-a"] is not view


def test_what_its_tables_refused_is_judged_anew_once_they_change() -> None:
    seen = world()
    body = job_body("a", sql="UPDATE delta.`/lake/orders` SET note = 1 WHERE date = DATE '2026-11-19'")
    seen.job_seen(body)
    assert "there is no column note" in (seen.jobs["uid-a"].refusal or "")
    assert seen.jobs["uid-a"].footprint.tables[0].reads_text == "true"
    later = body["metadata"] | {"resourceVersion": "6"}
    seen.job_seen(body | {"metadata": later, "status": {"phase": "Waiting"}})
    assert seen.jobs["uid-a"].depends_on(ORDERS)


def test_what_a_holder_reads_and_was_granted_for_counts_though_names_lead_elsewhere_by_now() -> None:
    seen = world()
    lease = replace(
        holding(seen), tables=(ORDERS.text, "file:/lake/before"), reads=("file:/lake/read-before",)
    )
    holder = holder_of(lease, seen.jobs["uid-a"])
    assert (holder.uid, holder.job) == ("uid-a", "etl/a")
    assert {key.text for key in holder.footprint.keys} == {ORDERS.text, "file:/lake/before"}
    assert key_of_path("/lake/read-before") in holder.footprint.reads.tables


def by_reports(*places: str) -> JobView:
    """A job by a name that runs found at these places."""
    seen = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
    told = ((key_of_name("sales.orders"), NameReport(place, "etl/other", NOW)) for place in places)
    seen.names_reported(ReportedNames.of(told))
    seen.heed_policies()
    seen.job_seen(job_body("a", sql="DELETE FROM sales.orders"))
    return seen.jobs["uid-a"]


def test_a_holder_stays_at_each_place_to_which_its_name_led_when_it_was_granted_whoever_leads_now() -> None:
    granted = by_reports("/lake/a", "/lake/b")
    lease = lease_for(granted, 1, granted.spec_hash)
    assert lease.tables == ("sales.orders", "file:/lake/a", "file:/lake/b")
    later = holder_of(lease, by_reports("/lake/x", "/lake/y")).footprint.keys
    for place in ("/lake/a", "/lake/b", "/lake/x"):
        assert any(key.may_equal(key_of_path(place)) for key in later)
    assert not any(key.may_equal(key_of_path("/lake/c")) for key in later)
    assert holder_of(lease, granted).footprint.keys == granted.footprint.keys


def test_a_holder_whose_spec_is_another_by_now_touches_all_that_it_was_granted_for() -> None:
    seen = world()
    lease = replace(holding(seen), hash="another")
    holder = holder_of(lease, seen.jobs["uid-a"])
    assert {table.reads_text for table in holder.footprint.tables} == {"true"}
    assert holder.footprint.reads.any_table


def test_the_lease_names_what_is_written_and_what_is_read() -> None:
    view = job(SELECT)
    lease = lease_for(view, 3, "hash")
    assert (lease.uid, lease.attempt, lease.hash, lease.job) == ("uid-a", 3, "hash", "etl/a")
    assert (lease.tables, lease.reads) == ((ORDERS.text,), ("file:/lake/source",))
    assert lease_for(job("INSERT INTO delta.`/lake/orders` SELECT id, date FROM f(1)"), 1, "x").reads is None


def test_a_run_under_which_a_table_changed_may_have_changed_it() -> None:
    seen = world()
    holding(seen)
    attempt = seen.jobs["uid-a"].status.attempts[0]
    assert changed_tables(seen.jobs["uid-a"], attempt) == ()
    seen.table_seen(ORDERS, OTHERWISE)
    assert changed_tables(seen.jobs["uid-a"], attempt) == (ORDERS,)


def test_a_holder_that_began_before_its_table_had_partitions_touches_all_of_it() -> None:
    seen = world(UNPARTITIONED)
    lease = holding(seen)
    seen.table_seen(ORDERS, PARTITIONED)
    holder = holder_of(lease, seen.jobs[lease.uid])
    assert [table.reads_text for table in holder.footprint.tables] == ["date = DATE '2026-11-19'", "true"]


def test_where_it_may_read_any_table_every_name_that_leads_elsewhere_counts() -> None:
    elsewhere = frozenset({key_of_path("/lake/elsewhere")})
    for source, kept in (("delta.`/lake/source`", True), ("f(1)", False)):
        view = job(f"INSERT INTO delta.`/lake/orders` SELECT id, date FROM {source}")
        before = view.footprint
        assert (
            view.renamed(Names(), is_concerned=view.concludes_from(elsewhere)).footprint is before
        ) == kept


def test_a_job_that_was_over_when_somebody_read_it_is_understood_once_its_spec_is_there_again() -> None:
    """Of a job that is over a mirror keeps no spec; a retry by hand brings the whole object, of the same generation."""
    whole = job().body
    without = whole | {"spec": {}, "status": {"phase": "Failed", "observedGeneration": 1}}
    seen = world()
    seen.job_seen(without)
    with pytest.raises(NotUnderstoodError):
        _ = seen.jobs["uid-a"].tables
    now = seen.jobs["uid-a"].now(whole, Names())
    assert now.tables == (ORDERS,)


def test_a_job_is_the_same_after_names_that_it_does_not_use_lead_elsewhere() -> None:
    view = job("INSERT INTO delta.`/lake/orders` SELECT * FROM lake.staging")
    kept, names = view.footprint, Names()
    others, own = frozenset({key_of_name("lake.returns")}), frozenset({key_of_name("lake.staging")})
    assert view.concludes_from(own)
    assert not view.concludes_from(others)
    renamed = view.renamed(names, is_concerned=False)
    assert renamed == replace(view, names=names)
    assert renamed.names is names
    assert renamed.footprint is kept
    judged_anew = view.renamed(names, is_concerned=True)
    assert judged_anew.is_read
    assert not judged_anew.concludes_from(own)


OLD = "DELETE FROM delta.`/lake/orders` WHERE date < current_date() - INTERVAL 90 DAYS"
MADE = datetime(2026, 11, 19, 10, tzinfo=UTC)


def asking_for_the_day(
    arrived: datetime, granted: datetime | None = None, granted_as: str = "x-y-days"
) -> JobView:
    body = job_body("a", sql=OLD)
    if granted is not None:
        attempt = {
            "number": 1,
            "token": 1,
            "hash": granted_as,
            "application": "a-1",
            "grantedAt": granted.isoformat(),
        }
        body["status"] = {"phase": "Running", "attempts": [attempt]}
    profiles = {"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")}
    return JobView(body, profiles, arrived, {ORDERS: PARTITIONED})


def test_a_job_that_asks_for_the_day_touches_what_it_may_on_the_days_on_which_it_may_run() -> None:
    view = asking_for_the_day(MADE)
    assert view.days == Days(MADE.date())
    assert reads(view) == "date <= DATE '2026-08-23'"
    assert job().days is None


def test_a_job_that_comes_too_late_for_its_days_may_touch_all() -> None:
    view = asking_for_the_day(MADE + timedelta(days=2))
    assert view.days is None
    assert reads(view) == "true"


def test_a_job_that_has_waited_past_its_days_is_judged_anew() -> None:
    view, later = asking_for_the_day(MADE), MADE + timedelta(days=2)
    assert reads(view) == "date <= DATE '2026-08-23'"
    assert not view.is_late_on(MADE)
    assert view.is_late_on(later)
    assert reads(view.judged_on(later)) == "true"
    assert not view.judged_on(later).is_late_on(later + timedelta(days=9))


@pytest.mark.parametrize(
    ("granted_as", "expected"),
    [("x-y-days", "date <= DATE '2026-08-23'"), ("x-y", "true"), ("in one piece", "true")],
)
def test_an_attempt_keeps_what_it_was_granted_by_whatever_its_status_says_of_the_time(
    granted_as: str, expected: str
) -> None:
    """Midnight may have passed between decision and grant; and the driver of a grant without days looks at none."""
    for days, arrived in ((0, 0), (0, 30), (2, 2), (2, 30)):
        granted, seen = MADE + timedelta(days=days), MADE + timedelta(days=arrived)
        assert reads(asking_for_the_day(seen, granted, granted_as)) == expected


def test_an_attempt_is_granted_by_the_hash_that_tells_its_days() -> None:
    dated, late = asking_for_the_day(MADE), asking_for_the_day(MADE + timedelta(days=2))
    assert is_by_days(dated.spec_hash)
    assert not is_by_days(late.spec_hash)
    for view in (dated, late):
        granted = asking_for_the_day(MADE + timedelta(days=9), MADE, view.spec_hash)
        assert reads(granted) == reads(view)
        assert granted.hashes.are(view.spec_hash)
        assert granted.has_spec({dated.spec_hash})


def test_what_was_read_of_it_is_not_kept_when_its_days_are_others() -> None:
    late = asking_for_the_day(MADE + timedelta(days=2))
    assert reads(late) == "true"
    granted = asking_for_the_day(MADE, granted=MADE).body
    assert reads(late.now(granted, late.names)) == "date <= DATE '2026-08-23'"

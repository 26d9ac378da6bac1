"""A name is bound by what runs report, and to each place to which it led as long as anybody may hold one of them."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.installations.reported_names import written_as
from sluice.tables import TableKey, key_of_name, key_of_path
from sluice.tables.names import Names, names_of
from sluice.tables.owners import Owners, TableOwner
from sluice.tables.reported_names import MOST_LEADS, NameReport, ReportedNames

ORDERS = key_of_name("lake.sales.orders")
HERE, THERE = "s3://lake/orders", "s3a://lake/orders-2"
BEGUN = datetime(2026, 11, 19, 10, tzinfo=UTC)


def lead(location: str, minute: int = 0, job: str = "etl/load") -> NameReport:
    return NameReport(location, job, BEGUN + timedelta(minutes=minute))


def heard(*leads: NameReport, owners: Owners | None = None) -> ReportedNames:
    return ReportedNames().heard([(ORDERS, one) for one in leads], owners or Owners())


def names(reported: ReportedNames, *policies: tuple[str | None, str | None]) -> Names:
    told = [(name and key_of_name(name), path and key_of_path(path)) for name, path in policies]
    return names_of([(name or None, path or None) for name, path in told]).with_reports(
        reported.leads, reported.claims
    )


def nobody(_: TableKey) -> bool:
    return False


def test_a_name_leads_where_a_run_reported() -> None:
    key = names(heard(lead(HERE))).key_of(ORDERS)
    assert (key, key.is_name, key.scheme) == (key_of_path(HERE), False, "s3")


def test_a_name_that_nobody_told_of_may_still_lie_where_a_reported_one_leads() -> None:
    known = names(heard(lead(HERE)))
    assert known.key_of(key_of_path(HERE)).may_equal(key_of_name("crm.orders_by_another_name"))


def test_jobs_by_two_names_do_not_wait_for_each_other_once_one_is_reported() -> None:
    known = names(heard(lead(HERE)))
    assert not known.key_of(ORDERS).may_equal(known.key_of(key_of_name("lake.crm.returns")))
    assert known.key_of(ORDERS).may_equal(known.key_of(key_of_name("orders")))


def test_a_name_that_leads_elsewhere_later_leads_to_both_and_to_the_newer_once_nobody_holds() -> None:
    both = heard(lead(HERE), lead(THERE, 1))
    key = names(both).key_of(ORDERS)
    assert key.is_name
    assert key.may_equal(key_of_path(HERE))
    assert key.may_equal(key_of_path(THERE))
    assert not key.may_equal(key_of_path("s3://lake/returns"))
    assert both.unless_held(key_of_path(HERE).may_equal) == both
    assert both.unless_held(ORDERS.may_equal) == both, (
        "whoever holds it by a name that led nowhere may be anywhere"
    )
    assert names(both.unless_held(nobody)).key_of(ORDERS) == key_of_path(THERE)


def test_two_names_meet_where_both_may_lead() -> None:
    returns = key_of_name("lake.sales.returns")
    swapped = ReportedNames().heard(
        (name, lead(place, minute))
        for name, places in ((ORDERS, (HERE, THERE)), (returns, (THERE, HERE)))
        for minute, place in enumerate(places)
    )
    one, other = names(swapped).key_of(ORDERS), names(swapped).key_of(returns)
    assert one.is_name
    assert other.is_name
    assert one.may_equal(other)
    assert other.may_equal(one)
    (asks, _), (_, stands) = one.seen, other.seen
    assert not asks.isdisjoint(stands)
    elsewhere = heard(lead("s3://lake/a"), lead("s3://lake/b", 1))
    assert not names(elsewhere).key_of(ORDERS).may_equal(other)


def test_what_was_heard_before_does_not_bring_back_an_older_place() -> None:
    newest = heard(lead(HERE), lead(THERE, 1)).unless_held(nobody)
    assert newest.heard([(ORDERS, lead(HERE))]) == newest


def test_a_name_that_leads_back_leads_there_in_the_end() -> None:
    back = heard(lead(HERE), lead(THERE, 1), lead(HERE, 2))
    assert names(back.unless_held(nobody)).key_of(ORDERS) == key_of_path(HERE)


def test_places_that_were_told_of_at_one_time_both_count() -> None:
    assert len(heard(lead(HERE), lead(THERE)).known[ORDERS].leads) == 2


def test_a_name_is_kept_with_no_more_places_than_may_be() -> None:
    many = heard(*(lead(f"s3://lake/t{minute}", minute) for minute in range(3 * MOST_LEADS)))
    assert len(many.known[ORDERS].leads) == MOST_LEADS
    assert many.known[ORDERS].leads[-1].location == f"s3://lake/t{3 * MOST_LEADS - 1}"


@pytest.mark.parametrize("spelled", ["default.orders", "orders", "spark_catalog.default.orders"])
def test_policies_go_first_however_they_spell_the_name(spelled: str) -> None:
    reported = ReportedNames().heard([(key_of_name("default.orders"), lead(HERE))])
    known = names(reported, (spelled, "s3://lake/by-policy"))
    for asked in ("orders", "default.orders"):
        assert known.key_of(key_of_name(asked)) == key_of_path("s3://lake/by-policy")
        assert not known.is_reported(key_of_name(asked))


def test_a_report_from_a_namespace_that_has_no_say_in_the_name_leads_nobody_there() -> None:
    owners = Owners((TableOwner(namespaces=("sales",), names=("lake.sales.*",)),))
    reported = heard(lead(HERE, job="sales/load"), lead(THERE, 1, job="etl/evil"), owners=owners)
    assert names(reported).key_of(ORDERS) == key_of_path(HERE)
    claimed = heard(lead(THERE, job="etl/evil"), owners=owners)
    key = names(claimed, ("crm.orders", THERE)).key_of(ORDERS)
    assert key.is_name
    assert not key.bound
    assert key.may_equal(names(claimed, ("crm.orders", THERE)).key_of(key_of_path(THERE)))


def test_a_report_of_a_location_that_is_another_namespaces_leads_nobody_there() -> None:
    owners = Owners((TableOwner(namespaces=("sales",), paths=("s3://lake",)),))
    assert names(heard(lead(HERE, job="etl/evil"), owners=owners)).key_of(ORDERS).is_name


def test_a_claim_takes_no_place_of_those_who_have_a_say() -> None:
    owners = Owners((TableOwner(namespaces=("sales",), names=("lake.sales.*",)),))
    evil = [lead(f"s3://evil/t{minute}", 10 + minute, job="etl/evil") for minute in range(3 * MOST_LEADS)]
    reported = heard(lead(HERE, job="sales/load"), *evil, owners=owners)
    assert names(reported).key_of(ORDERS) == key_of_path(HERE)
    assert reported.unless_held(nobody).known[ORDERS].all == (lead(HERE, job="sales/load"),)


def test_where_there_is_no_room_those_go_first_that_nobody_holds_and_nobody_told_of_for_longest() -> None:
    told = [
        (key_of_name(f"lake.sales.t{minute}"), lead(f"s3://lake/t{minute}", minute)) for minute in range(9)
    ]
    reported = ReportedNames().heard(told)
    size = len("lake.sales.t0") + lead("s3://lake/t0").size
    left = reported.within(5 * size, key_of_path("s3://lake/t0").may_equal)
    assert [name.text[-2:] for name in left.known] == ["t0", "t5", "t6", "t7", "t8"]
    assert names(left).key_of(key_of_name("lake.sales.t1")).may_equal(key_of_path("s3://lake/t1"))


def test_only_what_differs_is_judged_anew() -> None:
    before = names(heard(lead(HERE)))
    after = names(heard(lead(HERE)).heard([(key_of_name("lake.sales.returns"), lead("s3://lake/returns"))]))
    assert after.differing(before) == {key_of_name("lake.sales.returns")}
    assert before.fingerprint == after.fingerprint
    assert names(heard(lead(HERE), lead(THERE))).differing(before) == {ORDERS}


def test_names_by_policies_alone_know_nothing_of_reports() -> None:
    known = names(heard(lead(HERE)), ("lake.crm.returns", THERE))
    assert known.by_policies.key_of(ORDERS) == ORDERS
    assert known.by_policies.key_of(ORDERS).is_name
    assert known.by_policies.key_of(key_of_name("lake.crm.returns")) == key_of_path(THERE)


def test_where_there_is_no_room_it_is_asked_who_holds_those_alone_that_may_go() -> None:
    told = [
        (key_of_name(f"lake.sales.t{minute}"), lead(f"s3://lake/t{minute}", minute)) for minute in range(50)
    ]
    reported = ReportedNames().heard(told)
    asked: list[str] = []

    def held(table: TableKey) -> bool:
        asked.append(table.text)
        return table == key_of_path("s3://lake/t0")

    left = reported.within(reported.size - 1, held)
    assert key_of_name("lake.sales.t1") not in left.known
    assert asked == ["s3://lake/t0", "s3://lake/t1"]


def test_the_names_of_a_run_are_found_by_their_last_part_and_by_their_places() -> None:
    told = [(key_of_name(f"lake.sales.t{number}"), lead(f"s3://lake/t{number}")) for number in range(50)]
    told += [(ORDERS, lead(HERE)), (ORDERS, lead(THERE, 1)), (key_of_name("lake.crm.orders"), lead(HERE))]
    known = names(ReportedNames().heard(told), ("crm.by_policy", "s3://lake/by-policy"))
    granted = known.as_granted({key_of_path(HERE).text})
    for one in (known, granted):
        assert one.ending_in(["orders", "by_policy", "sales"]) == {
            ORDERS,
            key_of_name("lake.crm.orders"),
            key_of_name("crm.by_policy"),
        }
    assert known.key_of(ORDERS).bound == {key_of_path(HERE).text, key_of_path(THERE).text}
    assert granted.key_of(ORDERS) == key_of_path(HERE)
    assert granted.key_of(key_of_name("lake.sales.t1")) == key_of_path("s3://lake/t1")
    assert known.as_granted({"s3://lake/nowhere"}) is known


@pytest.mark.parametrize("folder", ["orders", "заказы", "注文", '"\\"', "a" * 900, "ж" * 900])
@pytest.mark.parametrize("job", ["etl/load", "etl/" + "x" * 200])
def test_names_are_as_large_as_they_are_written_down(folder: str, job: str) -> None:
    moments = (BEGUN, BEGUN + timedelta(minutes=1, microseconds=1), BEGUN + timedelta(minutes=2))
    leads = [NameReport(f"s3://lake/{folder}/{number}", job, at) for number, at in enumerate(moments)]
    reported = heard(*leads)
    text = written_as(reported.known[ORDERS].all)
    assert len(text.encode()) + len(ORDERS.text) <= reported.size <= len(text.encode()) + 64

"""What the policies of a job's tables say of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.admission import Waiter, decide
from sluice.api.job import Admission, DeltaWriteJobSpec, Risk
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.reasons import Reason
from sluice.footprint import JobFootprint, footprint_of
from sluice.footprint.model import TableFootprint
from sluice.lifecycle.job.table_rules import (
    Patience,
    accepted,
    ages_after,
    not_understood,
    patience,
    risk_not_allowed,
    too_many_places,
    writers_at_a_time,
    wrong_namespace,
)
from sluice.predicates import Table
from sluice.tables import (
    Declarations,
    LogStore,
    Policy,
    TableFacts,
    TableKey,
    declarations_of,
    key_of_name,
    key_of_path,
    unread,
)

ORDERS, LINES = key_of_path("/lake/orders"), key_of_path("/lake/lines")
READ = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}, ["date"]))
UNREAD = unread("the store is down")


def policies(*specs: dict[str, Any]) -> Declarations:
    return declarations_of(
        Policy(f"p{number}", "etl", DeltaTablePolicySpec.model_validate(spec), f"2026-11-19T10:00:0{number}Z")
        for number, spec in enumerate(specs)
    )


def orders(**spec: Any) -> dict[str, Any]:
    return {"table": {"path": "/lake/orders"}, **spec}


def footprint(sql: str, facts: TableFacts = READ, **spec: Any) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql, **spec}), {}, facts={ORDERS: facts})


@pytest.mark.parametrize(
    "sql",
    [
        "; ".join(f"DELETE FROM delta.`/lake/{'é' * 60}{number}`" for number in range(900)),
        "INSERT INTO delta.`/lake/orders` SELECT 1, d FROM "
        + " CROSS JOIN ".join(f"delta.`/lake/{'é' * 1000}{number}`" for number in range(40)),
    ],
)
def test_a_job_whose_lease_no_annotation_could_hold_is_refused(sql: str) -> None:
    refused = too_many_places(footprint(sql))
    assert refused is not None
    assert refused.reason is Reason.NOT_UNDERSTOOD
    assert "196,608: split it into several jobs" in refused.message
    assert too_many_places(footprint("DELETE FROM delta.`/lake/orders`")) is None


def test_so_is_one_by_a_name_that_policies_bind_to_hundreds_of_paths() -> None:
    bound = policies(
        *({"table": {"path": f"/lake/{'p' * 900}{n}", "name": "sales.orders"}} for n in range(250))
    )
    several = bound.names.key_of(key_of_name("sales.orders"))
    by_name = footprint("DELETE FROM sales.orders WHERE id = 1")
    refused = too_many_places(replace(by_name, tables=(replace(by_name.tables[0], table=several),)))
    assert refused is not None
    assert "leave one path for sales.orders" in refused.message


def test_a_job_of_another_namespace_is_refused_with_the_table_the_policy_and_what_to_do() -> None:
    declared = policies(orders(allowedNamespaces=["etl", "ml"]))
    assert wrong_namespace("ml", (ORDERS,), declared) is None
    refused = wrong_namespace("web", (LINES, ORDERS), declared)
    assert refused is not None
    assert refused.reason == "NamespaceNotAllowed"
    for part in ("namespace web", "file:/lake/orders", "etl/p0", "allowedNamespaces", "create it again"):
        assert part in refused.message


@pytest.mark.parametrize("declared", [policies(), policies(orders())])
def test_without_a_list_all_namespaces_may_write(declared: Declarations) -> None:
    assert wrong_namespace("web", (ORDERS,), declared) is None


def test_of_two_policies_for_one_table_only_the_one_that_counts_refuses() -> None:
    declared = policies(orders(), orders(allowedNamespaces=["etl"]))
    assert wrong_namespace("web", (ORDERS,), declared) is None


def test_a_name_that_may_lead_to_several_tables_is_bound_by_the_rules_of_each() -> None:
    name, other = key_of_name("sales.orders"), {"path": "/lake/other", "name": "sales.orders"}
    declared = policies(
        {"table": other},
        orders(allowedNamespaces=["etl"]),
        {"table": {"path": "/lake/orders", "name": "sales.orders"}},
    )
    assert declared.names.key_of(name).is_name
    assert wrong_namespace("web", (name,), declared) is not None
    assert wrong_namespace("etl", (name,), declared) is None


NOT_UNDERSTOOD = [
    ("INSERT INTO delta.`/lake/orders` SELECT * FROM raw.x", "raw.x may be a view over"),
    ("DELETE FROM delta.`/lake/orders` WHERE my_udf(date) = 3", "my_udf() may be a function over"),
    (
        "SET spark.databricks.delta.nobodyKnows = 1; DELETE FROM delta.`/lake/orders` WHERE id = 1",
        "Sluice does not know this setting",
    ),
    (
        f"DELETE FROM delta.`/lake/orders` WHERE id IN ({', '.join(['1'] * 40_000)})",
        "tokens",
    ),
]


@pytest.mark.parametrize("facts", [READ, UNREAD], ids=["read", "unread"])
@pytest.mark.parametrize(("sql", "why"), NOT_UNDERSTOOD, ids=["view", "function", "setting", "too large"])
def test_what_cannot_be_told_from_the_spec_is_refused_whether_or_not_the_log_can_be_read(
    sql: str, why: str, facts: TableFacts
) -> None:
    refused = not_understood(
        footprint(sql, facts), (ORDERS,), policies(orders(admission={"unknownFootprint": "Reject"}))
    )
    assert refused is not None
    assert refused.reason == "FootprintUnknown"
    for part in (why, "file:/lake/orders", "etl/p0", "spec.footprint"):
        assert part in refused.message


@pytest.mark.parametrize("facts", [READ, UNREAD], ids=["read", "unread"])
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM delta.`/lake/orders` WHERE date = current_date()",
        "INSERT INTO delta.`/lake/orders` SELECT * FROM delta.`/lake/lines`",
        "MERGE INTO delta.`/lake/orders` t USING delta.`/lake/lines` s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
        "ALTER TABLE delta.`/lake/orders` ADD COLUMN x int; DELETE FROM delta.`/lake/orders` WHERE id = 1",
    ],
)
def test_what_only_touches_much_is_not_refused_nor_is_a_table_whose_log_cannot_be_read(
    sql: str, facts: TableFacts
) -> None:
    found = footprint(sql, facts)
    assert any(one.adds.is_everything or one.reads.is_everything for one in found.tables)
    assert (
        not_understood(found, (ORDERS,), policies(orders(admission={"unknownFootprint": "Reject"}))) is None
    )


@pytest.mark.parametrize(
    "declared",
    [
        policies(),
        policies(orders()),
        policies({"table": {"path": "/lake/lines"}, "admission": {"unknownFootprint": "Reject"}}),
    ],
    ids=["no policy", "no word", "another table"],
)
def test_where_its_table_does_not_reject_it_runs_alone(declared: Declarations) -> None:
    assert not_understood(footprint(NOT_UNDERSTOOD[0][0]), (ORDERS,), declared) is None


def test_a_declared_footprint_is_believed() -> None:
    declared = {"table": {"path": "/lake/orders"}, "operation": "Append"}
    found = footprint(NOT_UNDERSTOOD[0][0], footprint=[declared])
    assert (
        not_understood(found, (ORDERS,), policies(orders(admission={"unknownFootprint": "Reject"}))) is None
    )


@pytest.mark.parametrize(
    ("own", "tables", "waits"),
    [
        ("3h", (ORDERS, LINES), Patience("3h")),
        (None, (ORDERS, LINES), Patience("1h", "etl/p1")),
        (None, (ORDERS,), Patience("90m", "etl/p0")),
        (None, (key_of_path("/lake/other"),), None),
    ],
)
def test_a_job_waits_as_long_as_it_says_itself_else_as_the_shortest_of_its_tables(
    own: str | None, tables: tuple[TableKey, ...], waits: Patience | None
) -> None:
    declared = policies(
        orders(admission={"defaultTimeout": "90m"}),
        {"table": {"path": "/lake/lines"}, "admission": {"defaultTimeout": "1h"}},
    )
    assert patience(Admission(timeout=own), tables, declared) == waits


def takes_risks(path: str) -> dict[str, Any]:
    return {"table": {"path": path}, "admission": {"risk": "Optimistic"}}


@pytest.mark.parametrize(
    ("own", "declared", "tables", "found"),
    [
        (None, policies(), (ORDERS,), set()),
        (None, policies(orders()), (ORDERS,), set()),
        (None, policies(takes_risks("/lake/orders")), (ORDERS,), {ORDERS}),
        (None, policies(takes_risks("/lake/orders")), (ORDERS, LINES), {ORDERS}),
        (Risk.OPTIMISTIC, policies(takes_risks("/lake/orders")), (ORDERS,), {ORDERS}),
        (Risk.STRICT, policies(takes_risks("/lake/orders")), (ORDERS,), set()),
    ],
)
def test_a_risk_is_accepted_on_tables_whose_policy_takes_it_unless_the_job_says_strict(
    own: Risk | None, declared: Declarations, tables: tuple[TableKey, ...], found: set[TableKey]
) -> None:
    assert accepted(Admission(risk=own), tables, declared) == found


def test_a_name_that_leads_to_two_tables_takes_none() -> None:
    elsewhere = {"table": {"name": "sales.orders", "path": "/lake/other"}}
    here = takes_risks("/lake/orders") | {"table": {"name": "sales.orders", "path": "/lake/orders"}}
    declared = policies(here, elsewhere)
    name = declared.names.key_of(key_of_name("sales.orders"))
    assert accepted(Admission(), (name,), declared) == set()


def test_a_location_with_several_names_is_one_table_and_takes_them() -> None:
    spec = DeltaTablePolicySpec.model_validate(takes_risks("/lake/orders"))
    names = [(key_of_name(name), ORDERS) for name in ("sales.orders", "archive.orders")]
    declared = declarations_of([Policy("p0", "etl", spec, "2026-11-19T10:00:00Z")], names)
    for key in (ORDERS, *(name for name, _ in names)):
        table = declared.names.key_of(key)
        assert len(table.bound) == 2
        assert accepted(Admission(), (table,), declared) == {ORDERS}
        assert risk_not_allowed(Admission(risk=Risk.OPTIMISTIC), (table,), declared) is None


def test_who_asks_for_a_risk_that_a_policy_does_not_take_is_refused() -> None:
    asks, declared = Admission(risk=Risk.OPTIMISTIC), policies(takes_risks("/lake/orders"))
    assert risk_not_allowed(asks, (ORDERS,), declared) is None
    assert risk_not_allowed(Admission(), (LINES,), declared) is None
    refused = risk_not_allowed(asks, (ORDERS, LINES), declared)
    assert refused is not None
    assert refused.reason == "RiskNotAllowed"
    assert "a DeltaTablePolicy for file:/lake/lines that says so, too" in refused.message


@pytest.mark.parametrize(
    ("given", "found"), [({}, "2m"), ({"ageAfter": "1h"}, "1h"), ({"ageAfter": "0s"}, "0s")]
)
def test_a_job_ages_as_its_tables_policies_say_or_else_as_the_operator_does(
    given: dict[str, str], found: str
) -> None:
    minutes = {"2m": 2, "1h": 60, "0s": 0}[found]
    declared = policies(orders(admission=given))
    assert ages_after((ORDERS,), declared, timedelta(minutes=2)) == timedelta(minutes=minutes)


def test_of_several_tables_the_shortest_age_counts() -> None:
    lines = {"table": {"path": "/lake/lines"}, "admission": {"ageAfter": "10m"}}
    declared = policies(orders(admission={"ageAfter": "1h"}), lines)
    assert ages_after((ORDERS, LINES), declared, timedelta(minutes=2)) == timedelta(minutes=10)


def test_limits_are_told_for_each_name_of_a_table() -> None:
    named = {"table": {"path": "/lake/orders", "name": "sales.orders"}, "admission": {"maxWriters": 3}}
    declared = policies(named, {"table": {"path": "/lake/lines"}})
    assert writers_at_a_time(declared) == {declared.names.key_of(ORDERS): 3}
    assert declared.names.key_of(key_of_name("sales.orders")) == declared.names.key_of(ORDERS)


@pytest.mark.parametrize(
    "specs",
    [
        (
            {"table": {"path": "/lake/other", "name": "sales.orders"}},
            orders(admission={"maxWriters": 1}),
            {"table": {"path": "/lake/orders", "name": "sales.orders"}},
        ),
        (
            {"table": {"path": "/lake/orders", "name": "sales.orders"}, "admission": {"maxWriters": 1}},
            {"table": {"path": "/lake/other", "name": "sales.orders"}},
        ),
    ],
    ids=["by another policy", "by its own policy"],
)
def test_a_name_that_may_lead_to_several_tables_takes_a_place_of_each_that_has_few(
    specs: tuple[dict[str, Any], ...],
) -> None:
    declared = policies(*specs)
    name = declared.names.key_of(key_of_name("sales.orders"))
    at = datetime(2026, 11, 19, tzinfo=UTC)
    waiters = [
        Waiter(uid, f"etl/{uid}", JobFootprint(tables=(append(key),)), 0, at, at + timedelta(hours=1))
        for uid, key in (("named", name), ("located", declared.names.key_of(ORDERS)))
    ]
    decisions = decide(waiters, [], at, writers_at_a_time(declared))
    assert [one.granted for one in decisions].count(True) == 1


def append(table: TableKey) -> TableFootprint:
    (found,) = footprint("INSERT INTO delta.`/lake/orders` VALUES (1, DATE '2026-11-19')").tables
    return replace(found, table=table, log_store=LogStore.SAFE)

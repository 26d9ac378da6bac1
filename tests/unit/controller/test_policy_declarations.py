"""Which policy counts for a table."""

from typing import Any

import pytest

from sluice.api.policy import DeltaTablePolicySpec
from sluice.controller.cache.policy_declarations import PolicyDeclarations, declarations
from sluice.tables import LogStore, TableKey, key_of_name, key_of_path, keys_of
from sluice.tables.address import LogUnreadableError, address_of
from sluice.tables.owners import NOBODY, Owners, TableOwner
from unit.controller.bodies import policy_body

PATH, NAME = key_of_path("/lake/orders"), key_of_name("sales.orders")


def test_a_policy_with_both_says_where_a_name_leads() -> None:
    found, _ = declarations([policy_body("a", table={"path": "/lake/orders", "name": "Sales.Orders"})])
    assert found.names.key_of(NAME) == PATH
    assert found.names.key_of(PATH) == PATH
    assert found.declared(NAME) == found.declared(PATH)


def test_a_name_without_a_path_leads_nowhere() -> None:
    found, _ = declarations([policy_body("a", table={"name": "sales.orders"}, logStore="Safe")])
    assert found.names.key_of(NAME) == NAME
    assert found.declared(NAME) is not None
    assert found.declared(PATH) is None


def test_the_older_of_two_counts_and_of_equally_old_ones_the_first_by_name() -> None:
    table = {"path": "s3a://lake//orders/"}
    same = {"path": "s3://lake/orders"}
    younger = policy_body("a", created="10:00:01", table=table, logStore="Safe")
    older = policy_body("b", table=same, logStore="S3DynamoDB")
    twin = policy_body("c", table=same, logStore="S3SingleDriver")
    for order in ([younger, older, twin], [twin, older, younger]):
        found, ignored = declarations(order)
        declared = found.declared(key_of_path("s3://lake/orders"))
        assert declared is not None
        assert declared.log_store is LogStore.S3_DYNAMODB
        assert [(one.policy, one.reason) for one in ignored] == [("etl/c", "LeftOut"), ("etl/a", "LeftOut")]
        assert {one.why for one in ignored} == {
            "only its name binding counts, because etl/b is an older policy for the same table"
        }


def test_a_policy_whose_facts_do_not_count_binds_its_name_all_the_same() -> None:
    older = policy_body("a", table={"path": "/lake/orders"}, logStore="Safe")
    younger = policy_body(
        "b", created="11:00:00", table={"path": "/lake/orders", "name": "sales.orders"}, logStore="S3DynamoDB"
    )
    found, _ = declarations([older, younger])
    assert found.names.key_of(NAME) == PATH
    declared = found.declared(NAME)
    assert declared is not None
    assert declared.log_store is LogStore.SAFE


def test_who_binds_a_name_that_others_bind_elsewhere_is_told_on_both_sides() -> None:
    """From then on no driver finds the table by its name."""
    older = policy_body("a", table={"path": "/lake/orders", "name": "sales.orders"})
    younger = policy_body("b", created="11:00:00", table={"path": "/lake/other", "name": "sales.orders"})
    apart = policy_body("c", table={"path": "/lake/third", "name": "sales.third"})
    found, told = declarations([older, younger, apart])
    assert found.names.key_of(NAME).bound == {"file:/lake/orders", "file:/lake/other"}
    last = {one.policy: one for one in told}
    assert {name: one.reason for name, one in last.items()} == {"etl/a": "Ambiguous", "etl/b": "Ambiguous"}
    assert {name: one.goes_on for name, one in last.items()} == {"etl/a": True, "etl/b": False}
    assert "This policy goes on for file:/lake/orders, by that location" in last["etl/a"].why
    assert "Only the name binding of this policy counts, as it is the younger one" in last["etl/b"].why
    assert found.tables == {"etl/a": PATH, "etl/c": key_of_path("/lake/third")}
    assert "other policies bind sales.orders to file:/lake/other" in last["etl/a"].why
    assert "other policies bind sales.orders to file:/lake/orders" in last["etl/b"].why


def test_each_of_many_policies_that_bind_one_name_is_told_of_three_others() -> None:
    """All of their paths, told to each of them, would take gigabytes for a thousand policies."""
    paths = [f"/lake/{number:03}" for number in range(100)]
    bodies = [
        policy_body(f"p{number:03}", table={"path": path, "name": "sales.orders"})
        for number, path in enumerate(paths)
    ]
    found, told = declarations(bodies)
    assert found.names.key_of(NAME).bound == {f"file:{path}" for path in paths}
    last = {one.policy: one.why for one in told}
    for name, others in (
        ("p000", "file:/lake/001, file:/lake/002, file:/lake/003 and others"),
        ("p099", "file:/lake/000"),
    ):
        assert f"other policies bind sales.orders to {others}" in last[f"etl/{name}"]
    assert {why.count("file:/lake/") for why in last.values()} == {4, 5}
    with pytest.raises(LogUnreadableError, match="file:/lake/002 and others: leave one"):
        address_of(found.names.key_of(NAME))


def test_so_does_one_that_is_not_understood() -> None:
    table = {"path": "/lake/orders", "name": "sales.orders"}
    found, _ = declarations([policy_body("a", table=table, logStore="Hope")])
    assert found.names.key_of(NAME) == PATH
    assert found.declared(NAME) is None


def test_the_oldest_of_those_about_a_name_and_about_its_path_counts() -> None:
    older = policy_body("a", table={"name": "sales.orders"}, logStore="Safe")
    younger = policy_body("b", created="11:00:00", table={"path": "/lake/orders"}, logStore="S3DynamoDB")
    binding = policy_body("c", created="12:00:00", table={"path": "/lake/orders", "name": "sales.orders"})
    declared = declarations([older, younger, binding])[0].declared(PATH)
    assert declared is not None
    assert declared.log_store is LogStore.SAFE


def test_a_policy_that_is_not_understood_counts_for_nothing_and_says_why() -> None:
    broken = policy_body("a", table={"path": "/lake/orders"}, logStore="Hope")
    found, ignored = declarations([broken, policy_body("b", table={"path": "/lake/orders"}, logStore="Safe")])
    assert found.declared(PATH) is not None
    assert [(one.policy, one.reason) for one in ignored] == [("etl/a", "NotUnderstood")]
    assert "spec.logStore" in ignored[0].why


@pytest.mark.parametrize("spec", [None, [], "x", {}, {"table": {"path": 5}}, {"log_store": "Safe"}])
def test_a_spec_of_another_schema_counts_for_nothing_and_says_why(spec: Any) -> None:
    body = policy_body("a") | {"spec": spec}
    if isinstance(spec, dict) and spec:
        body["spec"] = {"table": {"path": "/lake/orders"}} | spec
    for one in (body, {name: value for name, value in body.items() if name != "spec"}):
        found, (left_out,) = declarations([one])
        assert found.declared(PATH) is None
        assert (left_out.policy, left_out.reason) == ("etl/a", "NotUnderstood")
        assert "spec" in left_out.why


def test_one_that_the_operator_fails_on_leaves_the_others_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails_on_one(name: str | None, path: str | None) -> Any:
        if path == "/lake/odd":
            raise RecursionError("deep")
        return keys_of(name, path)

    monkeypatch.setattr("sluice.tables.policies.keys_of", fails_on_one)
    bodies = [
        policy_body("odd", table={"path": "/lake/odd"}),
        policy_body("a", table={"path": "/lake/orders"}),
    ]
    known = PolicyDeclarations(NOBODY)
    for _ in range(2):
        found, (left_out,) = known.declarations(bodies)
        assert found.declared(PATH) is not None
        assert left_out.policy == "etl/odd"
        assert "the operator failed on it: RecursionError('deep')" in left_out.why
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_after_a_change_of_one_policy_only_that_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [policy_body(name, table={"path": f"/lake/{name}"}, logStore="Safe") for name in "abcdef"]
    known = PolicyDeclarations(NOBODY)
    assert known.declarations(bodies) == declarations(bodies)
    read: list[object] = []
    validate = DeltaTablePolicySpec.as_stored

    def reading(spec: object) -> DeltaTablePolicySpec:
        read.append(spec)
        return validate(spec)

    monkeypatch.setattr(DeltaTablePolicySpec, "as_stored", reading)
    changed = {
        **bodies[2],
        "metadata": {**bodies[2]["metadata"], "generation": bodies[2]["metadata"]["generation"] + 1},
        "spec": {"table": {"path": "/lake/c"}, "logStore": "S3DynamoDB"},
    }
    found, _ = known.declarations([*bodies[:2], changed, *bodies[4:]])
    assert read == [changed["spec"]]
    declared = found.declared(key_of_path("/lake/c"))
    assert declared is not None
    assert declared.log_store is LogStore.S3_DYNAMODB
    assert found.declared(key_of_path("/lake/d")) is None


OWNERS = Owners(
    (
        TableOwner(namespaces=("sales",), paths=("s3://lake/sales",)),
        TableOwner(namespaces=("hr",), names=("hr.*",)),
    )
)
ORDERS = key_of_path("s3://lake/sales/orders")
BOTH = {"path": "s3://lake/sales/orders", "name": "sales.orders"}


def test_a_squatter_binds_no_name_and_its_facts_do_not_count_though_it_is_the_older_one() -> None:
    squatter = policy_body("old", namespace="etl", table=BOTH | {"name": "other.orders"}, logStore="Safe")
    owner = policy_body("new", namespace="sales", created="11:00:00", table=BOTH, logStore="S3DynamoDB")
    found, told = PolicyDeclarations(OWNERS).declarations([squatter, owner])
    declared = found.declared(ORDERS)
    assert declared is not None
    assert declared.log_store is LogStore.S3_DYNAMODB
    assert found.names.key_of(key_of_name("other.orders")).is_name
    (one,) = told
    assert (one.policy, one.reason) == ("etl/old", "NotOwner")
    assert one.why == (
        "the operator's configuration (tableOwners) leaves policies for s3://lake/sales/orders to the namespace sales, and this "
        "one is in etl: nothing of it counts. Move it there, or ask whoever runs the operator to add etl"
    )


def test_a_squatter_by_a_name_that_the_owner_binds_is_one_too() -> None:
    squatter = policy_body(
        "old", namespace="etl", table={"name": "sales.orders"}, admission={"maxWriters": 1}
    )
    owner = policy_body("new", namespace="sales", created="11:00:00", table=BOTH)
    found, told = PolicyDeclarations(OWNERS).declarations([squatter, owner])
    assert found.by_table[ORDERS].policy == "sales/new"
    assert [(one.policy, one.reason) for one in told] == [("etl/old", "NotOwner")]
    alone, _ = PolicyDeclarations(OWNERS).declarations([squatter])
    assert alone.by_table[NAME].policy == "etl/old", "nobody was given the name, nor knows where it leads"


def test_many_policies_by_one_name_cost_no_more_than_each_place_where_it_leads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[TableKey] = []
    of = Owners.of

    def asking(owners: Owners, table: TableKey) -> tuple[str, ...]:
        asked.append(table)
        return of(owners, table)

    monkeypatch.setattr(Owners, "of", asking)
    many = range(40)
    binding = [policy_body(f"b{one}", table={"path": f"/lake/{one}", "name": "etl.many"}) for one in many]
    by_name = [policy_body(f"n{one}", table={"name": "etl.many"}) for one in many]
    known = PolicyDeclarations(OWNERS)
    known.declarations([*binding, *by_name])
    asked.clear()
    known.declarations([*binding, *by_name])
    assert len(asked) == len(many)


def test_a_squatter_that_is_not_understood_binds_nothing() -> None:
    squatter = policy_body("old", namespace="etl", table=BOTH, logStore="Hope")
    found, told = PolicyDeclarations(OWNERS).declarations([squatter])
    assert found.names.key_of(NAME).is_name
    assert [one.reason for one in told] == ["NotOwner"]


@pytest.mark.parametrize("has_configuration", [True, False])
@pytest.mark.parametrize("log_store", ["Safe", "Hope"])
def test_a_table_stays_one_table_under_the_name_that_a_squatter_has_for_it(
    log_store: str, has_configuration: bool
) -> None:
    """His jobs find it there in their catalog, whoever owns it."""
    squatter = policy_body("old", namespace="etl", table=BOTH | {"name": "etl.copy"}, logStore=log_store)
    other = policy_body("too", namespace="etl", table=BOTH | {"name": "etl.again"})
    owner = policy_body("new", namespace="sales", created="11:00:00", table=BOTH)
    given = [squatter, other, owner]
    if has_configuration:
        found, _ = PolicyDeclarations(OWNERS).declarations(given)
    else:
        status = {"reason": "NotOwner", "observedGeneration": squatter["metadata"]["generation"]}
        found, _ = declarations([squatter | {"status": status}, other | {"status": status}, owner])
    copy, again, orders, elsewhere = (
        found.names.key_of(key)
        for key in (key_of_name("etl.copy"), key_of_name("etl.again"), NAME, key_of_path("s3://lake/other"))
    )
    assert orders == ORDERS
    for one, another in ((copy, orders), (again, orders), (copy, again), (copy, elsewhere)):
        assert one.may_equal(another)
        assert another.may_equal(one)
    assert found.names.locations.keys() == {NAME}, "no driver is told where his names lead"
    assert set(found.by_table) == {ORDERS}


def test_a_squatter_makes_no_two_tables_of_one() -> None:
    """What he says of a name takes nothing from where it may lead, nor from what may lead to a location."""
    squatter = policy_body("old", namespace="etl", table=BOTH)
    found, _ = PolicyDeclarations(OWNERS).declarations([squatter])
    orders, name = found.names.key_of(ORDERS), found.names.key_of(NAME)
    assert name.may_equal(key_of_path("s3://lake/other"))
    assert found.names.key_of(key_of_name("any.thing")).may_equal(orders)


def test_who_has_no_configuration_takes_the_operators_word_for_who_is_no_owner() -> None:
    body = policy_body("old", namespace="etl", table=BOTH)
    status = {"reason": "NotOwner", "observedGeneration": body["metadata"]["generation"]}
    assert declarations([body | {"status": status}])[0].by_table == {}
    assert declarations([body | {"status": status | {"observedGeneration": 0}}])[0].by_table

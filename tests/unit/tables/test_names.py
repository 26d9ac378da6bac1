"""A name and the location that it is bound to are one table; what nobody has bound may be more than one thing."""

import pytest

from sluice.tables import TableKey, key_of_name, key_of_path
from sluice.tables.names import Names, names_of

ORDERS, RETURNS = key_of_path("s3://lake/orders"), key_of_path("s3://lake/returns")


def bound(**locations: str | None) -> Names:
    """Names as `sales_orders`, because dots can't be written here."""
    return names_of(
        (key_of_name(name.replace("_", ".")), None if path is None else key_of_path(path))
        for name, path in locations.items()
    )


def may_be_one(names: Names, one: str, other: str) -> bool:
    first, second = (
        names.key_of(key_of_path(text) if "/" in text else key_of_name(text)) for text in (one, other)
    )
    assert first.may_equal(second) is second.may_equal(first)
    return first == second or first.may_equal(second)


def test_a_name_and_its_location_have_one_key() -> None:
    names = bound(sales_orders="s3a://lake//orders/", crm_orders="s3://lake/orders")
    for name in ("sales.orders", "spark_catalog.Sales.Orders", "crm.orders"):
        assert names.key_of(key_of_name(name)) == ORDERS
    assert names.key_of(ORDERS) == ORDERS


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ("sales.orders", "sales.returns", False),
        ("sales.orders", "s3://lake/orders/date=2026-11-19", True),
        ("sales.orders", "s3://lake/returns", False),
        ("sales.orders", "lake.sales.orders", True),  # perhaps in another catalog, perhaps in the session's
        ("sales.orders", "orders", True),
        ("sales.orders", "sales.customers", False),  # as two names in a catalog
        ("sales.customers", "s3://lake/orders", False),  # it is another name's
        ("sales.customers", "s3://lake/customers", True),  # nobody's
        ("orders", "s3://lake/returns", False),
        ("orders", "s3://lake/orders", True),
    ],
)
def test_an_unbound_name_may_be_any_location_that_is_not_another_name_s(
    one: str, other: str, may: bool
) -> None:
    names = bound(sales_orders="s3://lake/orders", sales_returns="s3://lake/returns")
    assert may_be_one(names, one, other) is may


def test_a_name_that_is_bound_to_two_locations_may_be_either() -> None:
    twice = [(key_of_name("sales.orders"), path) for path in (ORDERS, RETURNS)]
    names = names_of([*twice, (key_of_name("crm.orders"), ORDERS), (key_of_name("crm.other"), None)])
    for one in ("s3://lake/orders", "s3://lake/returns/date=1", "crm.orders", "sales.orders", "orders"):
        assert may_be_one(names, "sales.orders", one), one
    for other in ("s3://lake/customers", "crm.other"):
        assert not may_be_one(names, "sales.orders", other), other


def test_a_name_that_is_only_claimed_may_lie_there_and_wherever_else_it_may() -> None:
    claims = [
        *((key_of_name(name), ORDERS) for name in ("crm.orders", "crm.copy", "sales.returns")),
        (key_of_name("crm.elsewhere"), key_of_path("s3://lake/customers")),
    ]
    given = [(key_of_name("sales.orders"), ORDERS), (key_of_name("sales.returns"), RETURNS)]
    names, unclaimed = names_of(given, claims), names_of(given)
    for one, other in (
        *(("crm.copy", "sales.orders"), ("crm.copy", "crm.orders"), ("crm.copy", "s3://lake/customers")),
        *(("crm.copy", "s3://lake/orders/date=1"), ("crm.other", "s3://lake/customers")),
    ):
        assert may_be_one(names, one, other), (one, other)
    for one, other in (("sales.returns", "s3://lake/orders"), ("crm.copy", "s3://lake/returns")):
        assert not may_be_one(names, one, other), (one, other)
    copy = names.key_of(key_of_name("crm.copy"))
    looks, stands = copy.seen
    assert not looks.isdisjoint(names.key_of(ORDERS).seen[1]) or not stands.isdisjoint(
        names.key_of(ORDERS).seen[0]
    )
    assert key_of_name("crm.copy") in names.differing(unclaimed)
    assert key_of_name("crm.copy") in unclaimed.differing(names)
    assert names.fingerprint != unclaimed.fingerprint


def test_what_is_known_by_name_is_a_table_and_other_names_may_be_views() -> None:
    names = bound(sales_orders="s3://lake/orders", sales_returns=None)
    tables = {name: names.is_table(key_of_name(name)) for name in ("sales.orders", "sales.returns", "orders")}
    assert tables == {"sales.orders": True, "sales.returns": True, "orders": False}
    assert names.is_table(key_of_path("s3://lake/unknown"))


@pytest.mark.parametrize(
    ("after", "differing"),
    [
        (bound(sales_orders="s3://lake/orders"), set()),
        (bound(sales_orders="s3://lake/returns"), {"sales.orders", ORDERS.text, RETURNS.text}),
        (bound(), {"sales.orders", ORDERS.text}),
        (bound(sales_orders="s3://lake/orders", other=None), {"other", "default.other"}),
        (
            bound(sales_orders="s3://lake/orders", o="s3://lake/orders"),
            {"sales.orders", "o", "default.o", ORDERS.text},
        ),
    ],
)
def test_what_a_change_of_bindings_is_about(after: Names, differing: set[str]) -> None:
    before = bound(sales_orders="s3://lake/orders")
    for found in (before.differing(after), after.differing(before)):
        assert found == {TableKey.parse(text) for text in differing}
    assert (before.fingerprint != after.fingerprint) is bool(differing)


def test_the_fingerprint_is_that_of_what_is_bound_in_whatever_order() -> None:
    one = bound(sales_orders="s3://lake/orders", other=None, o="s3://lake/o")
    assert (
        one.fingerprint == bound(o="s3://lake/o", other=None, sales_orders="s3a://lake/orders/").fingerprint
    )
    assert one.fingerprint != bound(sales_orders="s3://lake/orders", other="s3://lake/o", o=None).fingerprint


def test_what_sparks_own_schema_holds_has_one_key_with_its_name_and_without() -> None:
    names = bound(orders="s3://lake/orders")
    assert names.key_of(key_of_name("default.orders")) == names.key_of(key_of_name("orders")) == ORDERS
    assert names.is_table(key_of_name("spark_catalog.default.orders"))
    assert names.key_of(key_of_name("sales.orders")) == key_of_name("sales.orders")
    both = bound(orders="s3://lake/orders", default_orders="s3://lake/returns")
    assert both.key_of(key_of_name("orders")).may_equal(RETURNS)
    assert both.key_of(key_of_name("default.orders")).may_equal(ORDERS)

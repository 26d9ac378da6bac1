"""A run is told of each bound name that its texts may mean, and of no others."""

import pytest

from sluice.engines.bound_names import bound_names
from sluice.tables.names import Names, keys_of, names_of

LAKE = {
    "orders": "s3://lake/plain",
    "sales.orders": "s3a://lake/orders",
    "sales.lines": "file:/lake/lines",
    "prod.sales.orders": "s3://prod/orders",
    "my-cat.s-1.t": "s3://prod/t",
}


def names(**more: str) -> Names:
    given = {**LAKE, **{name.replace("__", "."): path for name, path in more.items()}}
    return names_of([keys_of(name, path) for name, path in given.items()])


def told(*texts: str, named: tuple[str, ...] = (), default: str = "") -> dict[str, str]:
    conf = {"spark.sql.defaultCatalog": default} if default else {}
    return {name: key.text for name, key in bound_names(texts, named, names(), conf)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO sales.orders SELECT * FROM sales.lines", {"sales.orders", "sales.lines", "orders"}),
        ("DELETE FROM `Sales`.`LINES`", {"sales.lines"}),
        ("DELETE FROM orders", {"orders"}),
        ("DELETE FROM prod.sales.orders", {"prod.sales.orders", "sales.orders", "orders"}),
        ("DELETE FROM PROD.sales.orders", {"PROD.sales.orders", "sales.orders", "orders"}),
        ("DELETE FROM `my-cat`.`s-1`.t", {"my-cat.s-1.t"}),
        ("USE sales; DELETE FROM lines", {"sales.lines"}),
        ("DELETE FROM delta.`/lake/lines`", set()),
        ("DELETE FROM lines", set()),
        ("DELETE FROM other.ordersx", set()),
    ],
)
def test_a_name_is_told_where_all_its_words_are_in_a_text(text: str, expected: set[str]) -> None:
    assert set(told(text)) == expected


def test_the_default_catalog_is_not_written_in_the_text() -> None:
    assert told("DELETE FROM sales.orders", default="Prod")["Prod.sales.orders"] == "s3://prod/orders"


def test_the_table_of_a_write_counts_as_well() -> None:
    assert set(told(named=("sales.lines",))) == {"sales.lines"}


def test_a_use_may_complete_any_name_that_ends_alike() -> None:
    assert set(told("USE prod.sales", "OPTIMIZE orders")) == {"orders", "sales.orders", "prod.sales.orders"}


def test_a_name_that_policies_lead_to_several_places_is_told_of_to_nobody() -> None:
    contradicting = names_of(
        [
            keys_of("sales.orders", "/a"),
            keys_of("sales.orders", "/b"),
            keys_of("t", "/c"),
            keys_of("default.t", "/d"),
        ]
    )
    assert bound_names(["DELETE FROM sales.orders; DELETE FROM t"], [], contradicting, {}) == []
    assert bound_names(["DELETE FROM sales.orders"], [], names_of([keys_of("sales.orders", None)]), {}) == []

"""A run is told of each bound name that its texts may mean, and of no others."""

from collections.abc import Iterable

import pytest

from sluice.engines.bound_names import bound_names
from sluice.tables import TableKey, key_of_name, key_of_path
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
    return {one.name: one.table.text for one in bound_names(texts, named, names(), conf)}


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


def by_reports(*given: tuple[str, str], claims: tuple[tuple[str, str], ...] = ()) -> Names:
    return names_of([keys_of("sales.orders", "/policy")]).with_reports(_places(given), _places(claims))


def _places(given: Iterable[tuple[str, str]]) -> dict[TableKey, frozenset[TableKey]]:
    found: dict[TableKey, frozenset[TableKey]] = {}
    for name, path in given:
        found[key_of_name(name)] = found.get(key_of_name(name), frozenset()) | {key_of_path(path)}
    return found


def seen(names: Names, text: str) -> set[tuple[str, str, bool]]:
    return {(one.name, one.table.text, one.is_reported) for one in bound_names([text], [], names, {})}


def test_a_name_of_which_only_runs_say_where_it_leads_is_told_as_reported() -> None:
    known = by_reports(("sales.orders", "/elsewhere"), ("sales.lines", "s3a://lake/lines"))
    assert seen(known, "INSERT INTO sales.orders SELECT * FROM sales.lines") == {
        ("sales.orders", "file:/policy", False),
        ("sales.lines", "s3://lake/lines", True),
    }


def test_a_name_that_runs_found_in_several_places_is_told_at_each() -> None:
    known = by_reports(("sales.lines", "/a"), ("sales.lines", "/b"), claims=(("sales.lines", "/c"),))
    assert seen(known, "OPTIMIZE sales.lines") == {
        ("sales.lines", "file:/a", True),
        ("sales.lines", "file:/b", True),
        ("sales.lines", "file:/c", True),
    }


@pytest.mark.parametrize(
    "text",
    [
        "WITH s AS (SELECT '`' AS q) INSERT INTO sales.lines SELECT * FROM s WHERE q <> '`'",
        "MERGE /* don`t */ INTO sales.lines USING delta.`/lake/s` s ON false WHEN NOT MATCHED THEN INSERT *",
        "DELETE /* ` */ FROM `sales`.`lines`",
    ],
)
def test_a_quote_in_a_string_or_a_comment_hides_no_name(text: str) -> None:
    assert seen(by_reports(("sales.lines", "/a")), text) == {("sales.lines", "file:/a", True)}
    quoted = text.replace("sales.lines", "`my-schema`.lines").replace("`sales`", "`my-schema`")
    assert seen(by_reports(("my-schema.lines", "/a")), quoted) == {("my-schema.lines", "file:/a", True)}


def test_what_is_only_claimed_of_a_name_is_told_to_nobody() -> None:
    assert seen(by_reports(claims=(("sales.lines", "/c"),)), "OPTIMIZE sales.lines") == set()


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({"file:/a"}, {"file:/a"}),
        ({"file:/a", "file:/b"}, {"file:/a", "file:/b"}),
        ({"sales.lines"}, {"file:/a", "file:/b", "file:/c"}),
        ({"sales.lines", "file:/a"}, {"file:/a", "file:/b", "file:/c"}),
        ({"file:/other"}, {"file:/a", "file:/b", "file:/c"}),
    ],
)
def test_a_driver_is_led_to_no_place_that_was_reported_after_the_grant(
    held: set[str], expected: set[str]
) -> None:
    known = by_reports(("sales.lines", "/a"), ("sales.lines", "/b"), claims=(("sales.lines", "/c"),))
    assert {place for _, place, _ in seen(known.as_granted(held), "OPTIMIZE sales.lines")} == expected

"""Whether somebody holds what may be a table is found without comparing it with all that is held, and as if it were."""

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.tables import TableKey, key_of_name, key_of_path
from sluice.tables.table_holders import TableHolders

PLACES = (
    *(
        "s3://lake/orders",
        "s3a://lake/orders/date=2026-11-19",
        "s3://Lake/orders",
        "gs://lake/orders",
        "s3:///orders",
    ),
    *("s3://x-s3alias/orders", "file:/lake/orders", "hdfs://a:8020/lake/orders", "webhdfs://b/lake/orders"),
    *(
        "dbfs:/lake/orders",
        "viewfs://c/lake/orders",
        "abfss://c@a.dfs.core.windows.net/orders",
        "s3://lake/returns",
    ),
)
NAMES = ("lake.sales.orders", "sales.orders", "orders", "lake.crm.returns", "default.orders")

LOCATIONS = tuple(key_of_path(path).text for path in PLACES)


def drawn(chance: Random) -> TableKey:
    if chance.random() < 0.5:
        return TableKey(chance.choice(LOCATIONS), bound=some(NAMES, chance))
    name = key_of_name(chance.choice(NAMES)).text
    return TableKey(name, True, some(LOCATIONS, chance), some(LOCATIONS, chance))


def some(texts: Sequence[str], chance: Random) -> frozenset[str]:
    return frozenset(chance.sample(texts, chance.randint(0, 2)))


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=True))
def test_a_table_is_held_where_it_may_be_one_with_any_that_is(chance: Random) -> None:
    for _ in range(200):
        held, table = [drawn(chance) for _ in range(chance.randint(0, 6))], drawn(chance)
        found = any(key.may_equal(table) for key in held)
        assert TableHolders(held)(table) is found, (held, table)


def test_one_that_is_held_by_nobody_is_compared_with_none_of_thousands() -> None:
    compared: list[str] = []

    class Counting(TableKey):
        def may_equal(self, other: TableKey) -> bool:
            compared.append(self.text)
            return super().may_equal(other)

    held = TableHolders(Counting(f"s3://lake/t{number}") for number in range(2000))
    assert not held(key_of_path("s3://lake/t2000"))
    assert not compared
    assert held(key_of_path("s3://lake/t7"))
    assert compared == ["s3://lake/t7"]

"""Whether somebody holds what may be a table is found without comparing it with all that is held, and as if it were."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.tables import TableKey, key_of_name, key_of_path
from sluice.tables.held import HeldTables

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

LOCATIONS = st.frozensets(st.sampled_from(PLACES).map(lambda path: key_of_path(path).text), max_size=2)
BY_LOCATION = st.builds(
    lambda path, names: TableKey(key_of_path(path).text, bound=names),
    st.sampled_from(PLACES),
    st.frozensets(st.sampled_from(NAMES), max_size=2),
)
BY_NAME = st.builds(
    lambda name, bound, claimed: TableKey(key_of_name(name).text, True, bound, claimed),
    st.sampled_from(NAMES),
    LOCATIONS,
    LOCATIONS,
)
KEYS = BY_LOCATION | BY_NAME


@settings(max_examples=1500, deadline=None)
@given(st.lists(KEYS, max_size=6), KEYS)
def test_a_table_is_held_where_it_may_be_one_with_any_that_is(held: list[TableKey], table: TableKey) -> None:
    assert HeldTables(held)(table) is any(key.may_equal(table) for key in held)


def test_one_that_is_held_by_nobody_is_compared_with_none_of_thousands() -> None:
    compared: list[str] = []

    class Counting(TableKey):
        def may_equal(self, other: TableKey) -> bool:
            compared.append(self.text)
            return super().may_equal(other)

    held = HeldTables(Counting(f"s3://lake/t{number}") for number in range(2000))
    assert not held(key_of_path("s3://lake/t2000"))
    assert not compared
    assert held(key_of_path("s3://lake/t7"))
    assert compared == ["s3://lake/t7"]

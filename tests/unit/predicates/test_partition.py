"""A partition that a log names, held against what a condition speaks of."""

from collections.abc import Mapping

import pytest

from sluice.predicates import Table, compiled, disjoint, parse, partition_region

COLUMNS = Table.of(
    {
        "day": "date",
        "region": "string",
        "shard": "int",
        "amount": "decimal(10,2)",
        "open": "boolean",
        "at": "timestamp",
        "share": "double",
        "id": "long",
    },
    ["day", "region", "shard", "amount", "open", "at", "share"],
)


def is_within(values: Mapping[str, str | None], condition: str) -> bool:
    there, _ = partition_region(values, COLUMNS)
    return not disjoint(there, compiled(parse(condition, COLUMNS)))


@pytest.mark.parametrize(
    ("values", "inside", "outside"),
    [
        ({"day": "2026-11-19"}, "day = DATE '2026-11-19'", "day > DATE '2026-11-19'"),
        ({"day": None}, "day IS NULL", "day = DATE '2026-11-19'"),
        ({"region": "it's \\ ${x}"}, "region <> 'EU'", "region = 'EU'"),
        ({"region": ""}, "region IS NULL", "region = 'EU'"),
        ({"shard": "-7"}, "shard < 0", "shard IN (0, 1)"),
        ({"amount": "1.50"}, "amount = 1.5", "amount > 2"),
        ({"open": "true"}, "open", "NOT open"),
        ({"day": "2026-11-19", "region": "EU"}, "day > DATE '2026-01-01' AND region = 'EU'", "region = 'US'"),
    ],
)
def test_a_partition_lies_where_its_values_are(
    values: Mapping[str, str | None], inside: str, outside: str
) -> None:
    assert is_within(values, inside)
    assert not is_within(values, outside)


@pytest.mark.parametrize(
    "values",
    [{"at": "2026-11-19 10:00:00"}, {"share": "0.1"}, {"day": "yesterday"}, {"shard": "1e3"}, {}],
)
def test_a_value_that_is_not_surely_known_is_said_to_be_unknown_and_excludes_nothing(
    values: Mapping[str, str | None],
) -> None:
    there, unknown = partition_region(values, COLUMNS)
    assert there.is_everything
    assert unknown == {column.axis for column in COLUMNS.partition_columns}

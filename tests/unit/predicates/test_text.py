"""A region is written as a condition that Spark reads alike."""

import pytest

from sluice.predicates import Table, compiled, parse, to_sql


@pytest.mark.parametrize("name", ["null", "TRUE", "false", "a b"])
def test_a_column_that_is_called_like_a_value_is_quoted(name: str) -> None:
    table = Table.of({name: "string"}, partition_columns=[name])
    assert to_sql(compiled(parse(f"`{name}` = 'x'", table))) == f"`{name}` = 'x'"

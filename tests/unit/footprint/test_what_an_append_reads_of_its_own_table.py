"""An append is blind only where nothing in its query can be its own table."""

import pytest

from sluice.footprint import NOTHING
from unit.footprint.statements import footprint


@pytest.mark.parametrize(
    "query",
    [
        "VALUES (1), (2)",
        "SELECT 1",
        "SELECT * FROM VALUES (1), (2)",
        "SELECT * FROM range(10)",
        "SELECT explode(array(1, 2))",
        "SELECT abs(1), xxhash64('a'), current_date(), named_struct('a', 1).a",
        "SELECT * FROM delta.`/lake/other`",
        "SELECT * FROM delta.`s3://lake/t` VERSION AS OF 3",
        "SELECT * FROM parquet.`/lake/t`",
        "WITH x AS (SELECT * FROM delta.`/lake/o`), y AS (SELECT * FROM x) SELECT * FROM y JOIN x",
        "SELECT * FROM (WITH v AS (SELECT 1) SELECT * FROM v)",
        "SELECT (SELECT max(a) FROM delta.`/lake/o`)",
        "SELECT * FROM delta.`/lake/o` LATERAL VIEW explode(xs) e AS x",
    ],
)
def test_an_append_of_what_cannot_be_its_table_is_blind(query: str) -> None:
    found = footprint(f"INSERT INTO delta.`/lake/t` {query}")
    assert found.reads == NOTHING
    assert found.is_blind


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM delta.`/lake/t`",
        "SELECT * FROM delta.`file:///lake/./t/`",
        "SELECT * FROM delta.`/lake/t@v3`",
        "SELECT * FROM delta.`/lake/t/date=2026-11-19`",
        "SELECT * FROM orders",
        "SELECT * FROM a.b.orders",
        "SELECT * FROM cat.delta.`/lake/other`",
        "SELECT * FROM cat.parquet.`/lake/other`",
        "SELECT * FROM delta.`lake/t`",
        "TABLE orders",
        "TABLE delta.`/lake/t`",
        "FROM orders SELECT *",
        "FROM orders |> WHERE a = 1",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM orders)",
        "SELECT (SELECT max(a) FROM delta.`/lake/t`)",
        "SELECT 1 UNION ALL SELECT * FROM orders",
        "SELECT * FROM IDENTIFIER(:x)",
        "SELECT * FROM table_changes('t', 0)",
        "SELECT * FROM my_function(1)",
        "SELECT my_function(a)",
        "SELECT sales.abs(a)",
        "SELECT sales.my_function(a)",
        "VALUES ((SELECT max(a) FROM orders))",
        "WITH v AS (SELECT * FROM v) SELECT * FROM v",
        "WITH v AS (SELECT * FROM w), w AS (SELECT 1) SELECT * FROM v",
        "SELECT * FROM (WITH v AS (SELECT 1) SELECT * FROM v) JOIN v",
        "WITH RECURSIVE v AS (SELECT 1 UNION ALL SELECT * FROM v) SELECT * FROM v",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    ],
)
def test_an_append_of_what_may_be_its_table_reads_it_and_says_why(query: str) -> None:
    found = footprint(f"INSERT INTO delta.`/lake/t` {query}")
    assert found.reads.is_everything
    assert found.widened
    assert not found.is_blind


def test_an_append_to_a_name_may_read_it_by_any_location() -> None:
    assert footprint("INSERT INTO sales.orders SELECT * FROM delta.`/lake/x`").reads.is_everything

"""Each statement has the kind of its verb, and its target is the table that it names."""

import pytest

from sluice.api.job import Operation
from sluice.tables import key_of_name, key_of_path
from unit.footprint.statements import footprint

T = key_of_path("/lake/t")


NAME = key_of_name("sales.orders")


@pytest.mark.parametrize(
    ("sql", "operation"),
    [
        ("INSERT INTO {} VALUES (1)", Operation.APPEND),
        ("insert into table {} select 1", Operation.APPEND),
        ("INSERT INTO {} (a, b) SELECT 1, 2", Operation.APPEND),
        ("INSERT INTO {} PARTITION (d = 'x') SELECT 1", Operation.APPEND),
        ("INSERT INTO {} BY NAME SELECT 1 AS a", Operation.APPEND),
        ("INSERT INTO {} (SELECT 1)", Operation.APPEND),
        ("INSERT INTO {} TABLE other", Operation.APPEND),
        ("INSERT INTO {} FROM other SELECT *", Operation.APPEND),
        ("INSERT INTO {} WITH x AS (SELECT 1) SELECT * FROM x", Operation.APPEND),
        ("INSERT INTO {} REPLACE WHERE a = 1 SELECT 1", Operation.OVERWRITE),
        ("INSERT INTO {} (a) REPLACE WHERE a = 1 SELECT 1", Operation.OVERWRITE),
        ("INSERT INTO {} BY NAME REPLACE USING (a) SELECT 1", Operation.OVERWRITE),
        ("INSERT OVERWRITE {} SELECT 1", Operation.OVERWRITE),
        ("INSERT WITH SCHEMA EVOLUTION OVERWRITE {} SELECT 1", Operation.OVERWRITE),
        ("INSERT WITH SCHEMA EVOLUTION OVERWRITE TABLE {} SELECT 1", Operation.OVERWRITE),
        ("INSERT OVERWRITE TABLE {} PARTITION (d = 1) IF NOT EXISTS SELECT 1", Operation.OVERWRITE),
        ("MERGE INTO {} t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", Operation.MERGE),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO {} USING s ON true WHEN NOT MATCHED THEN INSERT *",
            Operation.MERGE,
        ),
        ("UPDATE {} SET a = 1", Operation.UPDATE),
        ("DELETE FROM {} WHERE a = 1", Operation.DELETE),
        ("TRUNCATE TABLE {}", Operation.DELETE),
        ("OPTIMIZE {} WHERE d = 'x' ZORDER BY (a)", Operation.OPTIMIZE),
        ("VACUUM {} RETAIN 168 HOURS", Operation.VACUUM),
        ("ALTER TABLE {} ADD COLUMN x INT", Operation.ALTER),
        ("RESTORE TABLE {} TO VERSION AS OF 1", Operation.RESTORE),
        ("RESTORE {} TO VERSION AS OF 1", Operation.RESTORE),
        ("CREATE TABLE {} (a INT) USING delta", Operation.CREATE),
        ("CREATE TABLE IF NOT EXISTS {} (a INT) USING delta", Operation.CREATE),
        ("CREATE OR REPLACE TABLE {} USING delta AS SELECT 1", Operation.REPLACE),
        ("REPLACE TABLE {} USING delta AS SELECT 1", Operation.REPLACE),
    ],
)
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("delta.`/lake/t`", T),
        ("DELTA . `file:///lake//t/`", T),
        ("Sales.Orders", NAME),
        ("`sales`.`orders`", NAME),
    ],
)
def test_each_statement_has_its_kind_and_its_target(
    sql: str, operation: Operation, name: str, key: object
) -> None:
    found = footprint("/* why */ -- and\n" + sql.format(name))
    assert (found.table, found.operation) == (key, operation)
    assert found.is_blind == (operation is Operation.APPEND and "other" not in sql)


def test_an_insert_that_may_add_columns_is_no_blind_append() -> None:
    for into in ("INTO", "INTO TABLE"):
        found = footprint(f"INSERT WITH SCHEMA EVOLUTION {into} delta.`/lake/t` SELECT 1")
        assert (found.table, found.operation, found.is_blind) == (T, Operation.APPEND, False)

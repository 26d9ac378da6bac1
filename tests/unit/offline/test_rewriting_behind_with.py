"""A statement behind a WITH is advised as the statement alone is, and its text stays whole."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.offline.jobs import Job
from sluice.offline.statement_rewrites import rewrites_of
from sluice.predicates import Table
from sluice.tables import Names, TableFacts, key_of_path

FACTS = {key_of_path("/t"): TableFacts(columns=Table.of({"id": "bigint", "d": "date"}, ["d"]))}
DAY = "d = DATE '2026-11-19'"


@pytest.mark.parametrize(
    ("sql", "advised"),
    [
        (
            "WITH s AS (SELECT 1 AS id, DATE '2026-11-19' AS d) MERGE INTO delta.`/t` t USING s "
            "ON t.id = s.id AND t.d = s.d WHEN MATCHED THEN DELETE",
            "WITH s AS (SELECT 1 AS id, DATE '2026-11-19' AS d) MERGE INTO delta.`/t` t USING s "
            f"ON t.id = s.id AND t.d = s.d AND t.{DAY} WHEN MATCHED THEN DELETE",
        ),
        (
            f"WITH s AS (SELECT 1) DELETE FROM delta.`/t` WHERE ({DAY} AND id = 1) OR ({DAY} AND id = 2)",
            f"WITH s AS (SELECT 1) DELETE FROM delta.`/t` WHERE {DAY} AND (({DAY} AND id = 1) OR ({DAY} AND id = 2))",
        ),
    ],
)
def test_the_advised_line_stands_behind_its_with(sql: str, advised: str) -> None:
    job = Job("job", "job", DeltaWriteJobSpec.model_validate({"sql": sql}))
    (found,) = rewrites_of(job, FACTS, {}, Names())
    assert (found.sql, found.keeps_result) == (advised, True)

"""`TABLE name` and queries in parentheses are read as what they select, wherever a query may stand."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, footprint_of
from sluice.tables import key_of_path
from unit.footprint.landing import FACTS, footprint

DAY = "DATE '2026-11-19'"
ROW = f"(1, {DAY})"
VIEW = "CREATE TEMP VIEW v AS SELECT * FROM {t} WHERE date = " + DAY + "; "


@pytest.mark.parametrize(
    "query",
    [
        f"(VALUES {ROW})",
        f"((VALUES {ROW}))",
        f"(VALUES {ROW}) LIMIT 1",
        f"(VALUES {ROW}) UNION ALL (VALUES {ROW})",
        f"(FROM {{s}} SELECT id, {DAY} AS date)",
        f"(WITH x AS (VALUES {ROW}) SELECT * FROM x)",
        f"WITH x AS (VALUES {ROW}) TABLE x",
        f"(SELECT id, date FROM {{s}} WHERE date = {DAY})",
    ],
)
def test_rows_of_a_query_in_parentheses_are_known(query: str) -> None:
    found = footprint("INSERT INTO {t} (id, date) " + query)
    assert found.writes_text == f"date = {DAY}"
    assert found.blind


@pytest.mark.parametrize(
    "insert",
    [
        "INSERT INTO {t} TABLE {t}",
        "INSERT INTO {t} (TABLE {t})",
        "INSERT INTO {t} BY NAME TABLE {t} LIMIT 1",
        "INSERT INTO {t} (TABLE {s}) UNION ALL (TABLE {t})",
        "INSERT INTO {t} TABLE {s} UNION ALL TABLE {t}",
        "INSERT INTO {t} WITH y AS (TABLE {t}) SELECT * FROM y",
        "WITH y AS (TABLE {t}) INSERT INTO {t} TABLE y",
        "INSERT INTO {t} (id) SELECT 1 WHERE 1 IN (TABLE {t})",
        "INSERT INTO {t} (id) SELECT 1 WHERE EXISTS (TABLE {t})",
        "INSERT INTO {t} (id) SELECT (TABLE {t}) AS id",
        "INSERT INTO {t} (id) SELECT id FROM (TABLE {t}) AS x",
    ],
)
def test_a_table_that_a_query_is_made_of_is_read(insert: str) -> None:
    found = footprint(insert)
    assert not found.blind
    assert found.reads.is_everything


@pytest.mark.parametrize(
    "insert",
    [
        "INSERT INTO {t} WITH y AS (TABLE v) SELECT * FROM y",
        "INSERT INTO {t} TABLE v",
        "INSERT INTO {t} (TABLE v)",
        "INSERT INTO {t} (id) SELECT 1 WHERE 1 IN (TABLE v)",
    ],
)
def test_a_view_that_a_query_is_made_of_is_looked_through(insert: str) -> None:
    found = footprint(VIEW + insert)
    assert not found.blind
    assert found.reads_text == f"date = {DAY}"


@pytest.mark.parametrize(
    "query", ["TABLE v v", "TABLE TABLE v", "TABLE v AS w", "TABLE v WHERE x = 1", "TABLE v VERSION AS OF 1"]
)
def test_what_cannot_stand_after_a_table_query_is_refused_with_its_place(query: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"line 1, column \d+: TABLE and a name are followed by"):
        footprint("INSERT INTO {t} " + query)


def test_a_job_that_shows_a_table_first_reads_it() -> None:
    text = "TABLE delta.`/lake/s`; TABLE delta.`/lake/o` LIMIT 1; DELETE FROM delta.`/lake/t`"
    spec = DeltaWriteJobSpec.model_validate({"sql": text})
    found = footprint_of(spec, {}, facts={key_of_path("/lake/t"): FACTS})
    assert set(found.reads.tables) == {key_of_path("/lake/s"), key_of_path("/lake/o")}

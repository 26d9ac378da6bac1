"""What Sluice takes for statements that write nothing commits nothing, and what it says that Spark refuses is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from contract.conftest import FreezingSpark
from sluice.footprint import split
from sluice.footprint.sql.statement_context import Surroundings
from sluice.footprint.statements.script import Script

WRITE_NOTHING = [
    "EXPLAIN INSERT INTO {t} SELECT * FROM {s}",
    "EXPLAIN EXTENDED DELETE FROM {t} WHERE d = DATE '2026-11-19'",
    "EXPLAIN FORMATTED UPDATE {t} SET id = 3",
    "EXPLAIN COST MERGE INTO {t} t USING {s} s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "EXPLAIN CODEGEN WITH x AS (TABLE {s}) SELECT * FROM x",
    "TABLE {s} LIMIT 1",
    "CACHE TABLE {s}",
    "REFRESH TABLE {s}",
    "REFRESH {s}",
    "UNCACHE TABLE {s}",
    "CREATE OR REPLACE TEMP VIEW v (a COMMENT 'c', b) COMMENT 'd' AS SELECT * FROM {s}",
    "SELECT a, b FROM v",
    "CACHE TABLE v",
    "CACHE LAZY TABLE c1 OPTIONS ('storageLevel' 'MEMORY_ONLY') AS SELECT * FROM {s}",
    "CACHE TABLE c2 (SELECT * FROM {s})",
    "UNCACHE TABLE IF EXISTS v",
    "CLEAR CACHE",
    "DESCRIBE QUERY SELECT * FROM {s}",
    "DESC HISTORY {s} LIMIT 3",
    "DESCRIBE DETAIL {s}",
    "SHOW TBLPROPERTIES {s}",
]
REFUSED = [
    "ANALYZE TABLE {t} COMPUTE STATISTICS",
    "ANALYZE TABLE {t} COMPUTE STATISTICS FOR ALL COLUMNS",
    "EXPLAIN OPTIMIZE {t}",
    "EXPLAIN ANALYZE SELECT 1",
    "CREATE TEMP VIEW v2 TBLPROPERTIES ('a' = 'b') AS SELECT 1 AS x",
    "CACHE TABLE a.b AS SELECT 1",
]


@pytest.fixture(scope="module")
def commits(freezing: FreezingSpark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, session = tmp_path_factory.mktemp("commits"), freezing.spark.newSession()
    for name in ("t", "s", "written"):
        session.sql(f"CREATE TABLE delta.`{folder}/{name}` (id INT, d DATE) USING delta PARTITIONED BY (d)")
        session.sql(f"INSERT INTO delta.`{folder}/{name}` VALUES (1, DATE '2026-11-19')")
    return folder


def _logs(folder: Path) -> list[Path]:
    return sorted(folder.rglob("_delta_log/*.json"))


def test_nothing_is_committed_by_what_is_taken_to_write_nothing(session: SparkSession, commits: Path) -> None:
    before, script = _logs(commits), Script(Surroundings())
    for text in WRITE_NOTHING:
        statement = text.format(t=f"delta.`{commits}/t`", s=f"delta.`{commits}/s`")
        session.sql(statement).collect()
        script = script.then(split(statement)[0])
        assert not script.tables, statement
        assert _logs(commits) == before, statement


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_said_to_be_refused_is_refused(session: SparkSession, commits: Path, text: str) -> None:
    with pytest.raises(PySparkException):
        session.sql(text.format(t=f"delta.`{commits}/t`")).collect()


def test_rows_that_are_kept_are_kept_anew_after_a_write_of_the_same_session(
    session: SparkSession, commits: Path
) -> None:
    table = f"delta.`{commits}/written`"
    session.sql(f"CACHE TABLE kept AS SELECT * FROM {table}")
    session.sql(f"INSERT INTO {table} VALUES (2, DATE '2026-11-20')")
    assert session.sql("SELECT count(*) FROM kept").collect()[0][0] == 2

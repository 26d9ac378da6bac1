"""Whatever is wrong with a text, wherever it stands in a manifest, is said by one kind of error and never by a crash."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

import sluice
from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, footprint_of
from sluice.predicates import PredicateError, Session, Table, parse
from sluice.tables import TableFacts, key_of_name, key_of_path
from unit.footprint.broken_text import broken

T = "delta.`/t`"
S = "delta.`/s`"
STATEMENTS = [
    f"INSERT INTO {T} PARTITION (d = DATE '2026-11-19', r) (id, r) VALUES (1, 'eu'), (2, NULL)",
    f"INSERT INTO {T} BY NAME SELECT s.*, d + 1 AS d FROM {S} s LEFT JOIN o ON s.id = o.id WHERE s.d > '2026' AND NOT s.x",
    f"INSERT OVERWRITE TABLE {T} PARTITION (d = NULL) IF NOT EXISTS SELECT explode(xs) AS (x) FROM {S} LATERAL VIEW stack(2, 1) l",
    f"INSERT INTO {T} REPLACE WHERE d = '2026-11-19' WITH x AS (SELECT 1 AS id), y AS (TABLE x) SELECT * EXCEPT (id) FROM y",
    f"INSERT INTO {T} FROM {S} SELECT CAST(id AS INT), count(*) OVER (PARTITION BY r ORDER BY d) GROUP BY ROLLUP (id, d)",
    f"INSERT INTO {T} SELECT id FROM {S} UNION ALL (SELECT 1 EXCEPT SELECT a.b[0] FROM o TABLESAMPLE (5 ROWS)) LIMIT 5",
    f"MERGE WITH SCHEMA EVOLUTION INTO {T} t USING (SELECT * FROM {S} WHERE d IN (DATE '2026-11-19', :day)) s "
    "ON t.id = s.id AND t.d = s.d WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET t.n = s.n, t.r = s.r "
    "WHEN NOT MATCHED BY TARGET AND s.d > '2026' THEN INSERT (id, d) VALUES (s.id, s.d) WHEN NOT MATCHED BY SOURCE THEN DELETE",
    f"MERGE INTO {T} t USING {S} s ON t.id = s.id WHEN NOT MATCHED AND s.op = 'd' THEN INSERT *",
    f"UPDATE {T} AS t SET d = DATE '2026-11-19', st.a = CASE WHEN id > 1 THEN (2) END WHERE t.r BETWEEN 'a' AND 'b' OR id IS NULL",
    f"DELETE FROM {T} t WHERE d <= current_date() - INTERVAL 1 DAY AND r LIKE 'e%' AND id IN (SELECT id FROM {S})",
    f"OPTIMIZE {T} WHERE d >= DATE '2026-11-19' AND r <> 'eu' ZORDER BY (id, n)",
    f"REORG TABLE {T} WHERE d = '2026-11-19' APPLY (PURGE)",
    f"VACUUM {T} RETAIN 168 HOURS DRY RUN",
    f"ALTER TABLE {T} ADD COLUMNS (x INT COMMENT 'c' AFTER id)",
    f"ALTER TABLE {T} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', delta.appendOnly = false)",
    f"COMMENT ON TABLE {T} IS 'what it is'",
    f"RESTORE TABLE {T} TO VERSION AS OF 12",
    "CREATE OR REPLACE TABLE a.b USING delta PARTITIONED BY (x) LOCATION '/t' AS SELECT 1 AS x",
    f"CREATE TABLE IF NOT EXISTS {T} SHALLOW CLONE {S} VERSION AS OF 3",
    "CONVERT TO DELTA parquet.`/t` PARTITIONED BY (d DATE)",
    f"TRUNCATE TABLE {T}; SET spark.sql.session.timeZone = 'UTC'; SET TIME ZONE 'UTC'; USE a.b; DELETE FROM {T}",
    f"CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM {S} WHERE d = 1; INSERT INTO {T} TABLE v",
    f"CREATE TEMPORARY FUNCTION f AS 'a.B'; UPDATE {T} SET id = f(id)",
    "CREATE TABLE a.b (id INT NOT NULL, d DATE COMMENT 'x') USING delta CLUSTER BY (id) TBLPROPERTIES ('a' = 'b') COMMENT 'c'",
    f"WITH x AS (SELECT * FROM {S}), y (a) AS (TABLE x) INSERT INTO {T} BY NAME SELECT a AS id FROM y",
    f"FROM {S} s JOIN {T} INSERT INTO {T} (id, d) SELECT s.id, s.d WHERE s.id = 1 INSERT OVERWRITE a.b SELECT id, d LIMIT 3",
    f"CREATE OR REPLACE VIEW a.v (x COMMENT 'c', y) COMMENT 'd' AS SELECT id, d FROM a.b; DROP VIEW a.v; DELETE FROM {T}",
    f"SHOW TABLES IN a LIKE 'x*'; DESCRIBE HISTORY a.b LIMIT 3; SELECT id FROM {S}; ALTER TABLE {T} DROP CONSTRAINT IF EXISTS c",
    "VACUUM '/t' RETAIN 100 HOURS; OPTIMIZE '/t' WHERE d = '2026-11-19'",
]
QUERIES = [text[text.index("SELECT") :] for text in STATEMENTS if "SELECT" in text] + [
    "WITH a AS (VALUES (1)) TABLE a",
    f"FROM {S} |> WHERE id = 1 |> SELECT *",
]
CONDITIONS = [
    "d = DATE '2026-11-19' AND (r IN ('eu', 'us') OR NOT (id <=> 5)) AND n BETWEEN 1.5 AND 2e3",
    "d >= '2026-11-19' AND d < date_add(current_date(), -1) OR r IS NOT NULL AND r LIKE 'e\\_%' ESCAPE '/'",
    "CASE WHEN id % 2 = 0 THEN TRUE ELSE r RLIKE '^a' END AND st.a[0] = -X'1F' AND d IN (SELECT d FROM x)",
    "EXISTS (SELECT 1) AND cast(d AS STRING) = :day AND array(1)[0] = id AND (id, n) = (1, 2) AND id::INT > +1L",
]
COLUMNS = {"id": "bigint", "d": "date", "r": "string", "n": "double", "st": "struct<a: int>"}
KNOWN = TableFacts(columns=Table.of(COLUMNS, ["d", "r"]))
FACTS = {key_of_path("/t"): KNOWN, key_of_path("/s"): KNOWN, key_of_name("a.b"): KNOWN}
PARAMETER = {"parameters": {"day": {"date": "2026-11-19"}}}
SOURCE = {"source": {"format": "delta", "path": "/s"}, "checkpoint": "/c", "trigger": {"availableNow": True}}
DECLARED = {"table": {"path": "/t"}, "operation": "Update"}

PLACES = {
    "sql": (STATEMENTS, lambda text: {"sql": text}),
    "write.source.sql": (QUERIES, lambda text: {"write": {"table": {"path": "/t"}, "source": {"sql": text}}}),
    "write.replaceWhere": (
        CONDITIONS,
        lambda text: {
            "write": {
                "table": {"path": "/t"},
                "source": {"format": "json"},
                "mode": "Overwrite",
                "replaceWhere": text,
            }
        },
    ),
    "stream.sql": (STATEMENTS, lambda text: {"stream": {**SOURCE, "sql": text}}),
    "stream.query": (QUERIES, lambda text: {"stream": {**SOURCE, "table": {"path": "/t"}, "query": text}}),
    "writes": (CONDITIONS, lambda text: {"sql": f"INSERT INTO {T} SELECT * FROM {S}", "writes": [text]}),
    "footprint.reads": (
        CONDITIONS,
        lambda text: {"sql": "SELECT 1", "footprint": [{**DECLARED, "reads": text}]},
    ),
    "footprint.writes": (
        CONDITIONS,
        lambda text: {"sql": "SELECT 1", "footprint": [{**DECLARED, "writes": text}]},
    ),
    "a temporary view": (
        QUERIES,
        lambda text: {"sql": f"CREATE TEMP VIEW v AS {text}; INSERT INTO {T} SELECT * FROM v"},
    ),
}
EXAMPLES = 150


@pytest.mark.parametrize("place", PLACES)
def test_broken_text_in_a_manifest_is_understood_or_refused(place: str) -> None:
    corpus, manifest = PLACES[place]
    texts = broken(corpus, EXAMPLES, seed=len(place))
    outcomes = [_outcome(manifest(text) | (PARAMETER if ":day" in text else {})) for text in texts]
    assert {"understood", "refused"} <= set(outcomes)


@pytest.mark.parametrize("text", STATEMENTS)
def test_before_they_were_broken_they_were_understood(text: str) -> None:
    assert _outcome({"sql": text} | (PARAMETER if ":day" in text else {})) == "understood"


def _outcome(manifest: dict[str, object]) -> str:
    try:
        spec = DeltaWriteJobSpec.model_validate(manifest)
    except ValidationError:
        return "not a manifest"
    try:
        footprint_of(spec, {}, facts=FACTS)
    except NotUnderstoodError:
        return "refused"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {manifest}") from error
    return "understood"


def test_a_broken_condition_is_understood_or_refused() -> None:
    refused = 0
    for text in broken(CONDITIONS, 10 * EXAMPLES, seed=1):
        try:
            parse(text, KNOWN.columns, session=Session("UTC", ansi=True))
        except PredicateError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {text}") from error
    assert 0 < refused < 10 * EXAMPLES


@pytest.mark.parametrize(
    "text",
    [
        f"INSERT INTO {T} FROM AND (*",
        f"MERGE INTO {T} t USING {S} s ON t.id = s.id WHEN NOT AND s.op = 'd' THEN DELETE",
    ],
)
def test_what_made_a_parser_or_a_reader_fail_is_refused_with_its_place(text: str) -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": f"DELETE FROM {T};\n{text}"})
    with pytest.raises(NotUnderstoodError, match=r"statement 2 \(line 2\)"):
        footprint_of(spec, {}, facts=FACTS)


def test_one_module_calls_the_parser_which_throws_anything() -> None:
    root = Path(sluice.__file__).parent
    calls = re.compile(
        r"parse_one|parse_into|\.parser\(|\.tokenize\(|sqlglot\.parse|import parse\b.*sqlglot|Dialect\."
    )
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if calls.search(path.read_text())}
    assert found == {"predicates/syntax.py"}

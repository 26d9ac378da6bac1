"""Texts as a slipping hand leaves them: tokens of good ones taken out, doubled, swapped, or put into one another."""

import random
import re
from collections.abc import Iterator, Sequence

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
    f"DELETE FROM {T} t WHERE d <= current_date() - INTERVAL 1 DAY AND r LIKE 'e%' AND id IN (1, 2)",
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
    f"CREATE TEMPORARY FUNCTION f AS 'a.B'; UPDATE {T} SET id = f(id); DROP TEMPORARY FUNCTION IF EXISTS f",
    "CREATE TABLE a.b (id INT NOT NULL, d DATE COMMENT 'x') USING delta CLUSTER BY (id) TBLPROPERTIES ('a' = 'b') COMMENT 'c'",
    f"WITH x AS (SELECT * FROM {S}), y (a) AS (TABLE x) INSERT INTO {T} BY NAME SELECT a AS id FROM y",
    f"FROM {S} s JOIN {T} INSERT INTO {T} (id, d) SELECT s.id, s.d WHERE s.id = 1 INSERT OVERWRITE a.b SELECT id, d LIMIT 3",
    f"CREATE OR REPLACE VIEW a.v (x COMMENT 'c', y) COMMENT 'd' AS SELECT id, d FROM a.b; DROP VIEW a.v; DELETE FROM {T}",
    f"SHOW TABLES IN a LIKE 'x*'; DESCRIBE HISTORY a.b LIMIT 3; SELECT id FROM {S}; ALTER TABLE {T} DROP CONSTRAINT IF EXISTS c",
    f"INSERT INTO {T} (VALUES (1, DATE '2026-11-19')) LIMIT 5; INSERT INTO {T} (FROM {S} SELECT id) UNION ALL (TABLE a.b)",
    f"CREATE OR REPLACE TEMP VIEW v (x COMMENT 'c', y) COMMENT 'd' AS SELECT id, d FROM {S}; "
    f"EXPLAIN FORMATTED DELETE FROM {T} WHERE id = 1; DELETE FROM {T}",
    f"CACHE LAZY TABLE c OPTIONS ('storageLevel' 'MEMORY_ONLY') AS SELECT * FROM {S}; CACHE TABLE {S}; "
    f"REFRESH TABLE {S}; DELETE FROM {T}",
    f"UNCACHE TABLE IF EXISTS c; CLEAR CACHE; DESCRIBE QUERY SELECT id FROM {S}; TABLE {S} LIMIT 3; DELETE FROM {T}",
    "CREATE SCHEMA IF NOT EXISTS a.b COMMENT 'c' LOCATION '/t' WITH DBPROPERTIES ('x' = 'y'); OPTIMIZE a.b",
    "VACUUM '/t' RETAIN 100 HOURS; OPTIMIZE '/t' WHERE d = '2026-11-19'",
]
QUERIES = [
    f"SELECT s.*, d + 1 AS d FROM {S} s LEFT JOIN o ON s.id = o.id WHERE s.d > '2026' AND NOT s.x",
    f"SELECT explode(xs) AS (x) FROM {S} LATERAL VIEW stack(2, 1) l",
    "WITH x AS (SELECT 1 AS id), y AS (TABLE x) SELECT * EXCEPT (id) FROM y",
    f"FROM {S} SELECT CAST(id AS INT), count(*) OVER (PARTITION BY r ORDER BY d) GROUP BY ROLLUP (id, d)",
    f"SELECT id FROM {S} UNION ALL (SELECT 1 EXCEPT SELECT a.b[0] FROM o TABLESAMPLE (5 ROWS)) LIMIT 5",
    "WITH a AS (VALUES (1)) SELECT * FROM a",
    f"FROM {S} |> WHERE id = 1 |> SELECT *",
]
CONDITIONS = [
    "d = DATE '2026-11-19' AND (r IN ('eu', 'us') OR NOT (id <=> 5)) AND n BETWEEN 1.5 AND 2e3",
    "d >= '2026-11-19' AND d < date_add(current_date(), -1) OR r IS NOT NULL AND r LIKE 'e\\_%' ESCAPE '/'",
    "CASE WHEN id % 2 = 0 THEN TRUE ELSE r RLIKE '^a' END AND st.a[0] = -X'1F' AND d IN (SELECT d FROM x)",
    "EXISTS (SELECT 1) AND cast(d AS STRING) = :day AND array(1)[0] = id AND (id, n) = (1, 2) AND id::INT > +1L",
]

_TOKEN = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\w+|\s+|[^\w\s]")


def broken(corpus: Sequence[str], number: int, seed: int) -> Iterator[str]:
    chance = random.Random(seed)  # noqa: S311 - the same texts each time are wanted
    tokens = [_TOKEN.findall(text) for text in corpus]
    for _ in range(number):
        found = list(chance.choice(tokens))
        for _ in range(chance.randint(1, 3)):
            chance.choice(_SLIPS)(found, tokens, chance)
        text = "".join(found)
        if text.strip():
            yield text


def _remove(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    if len(found) > 1:
        del found[chance.randrange(len(found))]


def _cut(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    start = chance.randrange(len(found))
    del found[max(start, 1) : start + chance.randint(1, 6)]


def _double(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    at = chance.randrange(len(found))
    found.insert(at, found[at] + " ")


def _swap(found: list[str], _: Sequence[list[str]], chance: random.Random) -> None:
    one, other = chance.randrange(len(found)), chance.randrange(len(found))
    found[one], found[other] = found[other], found[one]


def _splice(found: list[str], corpus: Sequence[list[str]], chance: random.Random) -> None:
    other = chance.choice(corpus)
    start = chance.randrange(len(other))
    at = chance.randrange(len(found) + 1)
    found[at:at] = [" ", *other[start : start + chance.randint(1, 8)], " "]


def _word(found: list[str], corpus: Sequence[list[str]], chance: random.Random) -> None:
    found[chance.randrange(len(found))] = chance.choice(chance.choice(corpus))


_SLIPS = (_remove, _cut, _double, _swap, _splice, _word)

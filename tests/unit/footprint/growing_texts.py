"""Specs of any size, one for each way in which a job's texts can grow."""

from collections.abc import Callable, Mapping

from sluice.api.base import Json

T = "delta.`s3://lake/t`"
S = "delta.`s3://lake/s`"
WIDE = "delta.`s3://lake/wide`"
COLUMNS_OF_WIDE = 2_000

OR, AND = " OR ", " AND "


def each(count: int, one: str, by: str = ", ") -> str:
    """The template with each number in the place of {k}."""
    return by.join(one.format(k=number) for number in range(count))


def chain(count: int, one: str, first: str, by: str = ", ") -> str:
    """The same, with what the one before is called in the place of {before}."""
    return by.join(
        one.format(k=number, before=f"v{number - 1}" if number else first) for number in range(count)
    )


def _sql(text: str, **more: object) -> Json:
    return {"sql": text, **more}


def _with_parameters(text: str) -> Json:
    return _sql(text, parameters={"p": {"integer": 1}, "d": {"date": "2026-11-19"}})


def _delete(condition: str, table: str = T) -> Json:
    return _sql(f"DELETE FROM {table} WHERE {condition}")


def _insert(query: str) -> Json:
    return _sql(f"INSERT INTO {T} {query}")


def _merge(on: str, clauses: str, source: str = f"{S} s") -> Json:
    return _sql(f"MERGE INTO {T} t USING {source} ON {on} {clauses}")


def _shared(count: int) -> Json:
    same = each(count, "t.id <> {k}", AND)
    return _merge(f"(t.id = s.id AND {same}) OR (t.s = s.s AND {same})", "WHEN MATCHED THEN DELETE")


def _changed(count: int) -> Json:
    altered = each(count, "ALTER TABLE delta.`s3://lake/t{k}` SET TBLPROPERTIES ('a' = '{k}'); ", "")
    return _sql(altered + f"INSERT INTO {T} SELECT * FROM {S};" * count)


def _views(count: int) -> Json:
    views = chain(count, "CREATE TEMP VIEW v{k} AS SELECT * FROM {before}; ", S, "")
    return _sql(f"{views} INSERT INTO {T} SELECT * FROM v{count - 1}")


def _common(count: int, first: str = S) -> str:
    return "WITH " + chain(count, "v{k} AS (SELECT * FROM {before})", first)


def _stream(count: int) -> Json:
    return {
        "stream": {
            "source": {"format": "delta", "path": "s3://lake/s"},
            "query": f"{_common(count, 'source')} SELECT * FROM v{count - 1}",
            "table": {"path": "s3://lake/t"},
            "checkpoint": "s3://lake/_checkpoints/t",
            "trigger": {"availableNow": True},
        }
    }


def _conditions_on_rows(count: int) -> Json:
    rows = each(count, "(1, current_date())")
    return _insert(
        f"SELECT a, d, 'x' FROM (VALUES {rows}) v(a, d) WHERE {each(count, 'd = {k}', AND)}".replace(
            "d = ", "d > DATE'2026-11-19' AND d = "
        )
    )


def _joined(count: int) -> Json:
    tables = each(count, f"{S} s{{k}}")
    return _insert(f"SELECT {each(count, 's{k}.id')} FROM {tables} WHERE {each(count, 's{k}.id = {k}', AND)}")


def _declared(count: int) -> Json:
    reads = each(60, "id = {k}", OR)
    one = {"table": {"path": "s3://lake/t"}, "operation": "Delete", "reads": reads}
    return _sql(f"DELETE FROM {T}", footprint=[one] * count)


def _promised(count: int) -> Json:
    days = each(60, "DATE '20{k:02}-11-19'")
    return _sql(f"INSERT INTO {T} SELECT * FROM {S};" * count, writes=[f"d IN ({days})"])


GROWING: Mapping[str, tuple[int, Callable[[int], Json]]] = {
    "uses of a parameter": (250, lambda n: _with_parameters(f"INSERT INTO {T} VALUES {each(n, '(:p, :d)')}")),
    "uses of a parameter in a list": (
        700,
        lambda n: _with_parameters(f"DELETE FROM {T} WHERE d = :d AND id IN ({each(n, ':p')})"),
    ),
    "statements that use a parameter": (
        30,
        lambda n: _with_parameters(f"DELETE FROM {T} WHERE id = :p AND d = :d;" * n),
    ),
    "times by a parameter": (
        40,
        lambda n: _with_parameters(
            f"INSERT INTO {T} SELECT :p AS p"
            + each(n, f", (SELECT max(id) FROM {S} TIMESTAMP AS OF :d) AS c{{k}}", "")
        ),
    ),
    "patterns that are not understood": (160, lambda n: _delete(each(n, "s LIKE '%{k}'", OR))),
    "patterns in CASE": (100, lambda n: _delete(each(n, "CASE WHEN s LIKE '%{k}' THEN s END LIKE '_b'", OR))),
    "alternatives on one column": (60, lambda n: _delete(each(n, "id = 1{k}1", OR))),
    "alternatives on two columns": (40, lambda n: _delete(each(n, "(id = {k} AND s = '{k}')", OR))),
    "alternatives on a column each": (150, lambda n: _delete(each(n, "c{k} = 1", OR), WIDE)),
    "columns of two alternatives": (
        120,
        lambda n: _delete(f"({each(n, 'c{k} = 1', AND)}) OR ({each(n, 'c{k} = 2', AND)})", WIDE),
    ),
    "conditions that two alternatives share": (150, _shared),
    "numbers of IN": (300, lambda n: _delete(f"id IN ({each(n, '1{k}1')})")),
    "texts of IN": (300, lambda n: _delete(f"s IN ({each(n, chr(39) + '{k}' + chr(39))})")),
    "pairs of IN": (50, lambda n: _delete("(id, s) IN (" + each(n, "({k}, '{k}')") + ")")),
    "ranges": (40, lambda n: _delete(each(n, "id BETWEEN 1{k}0 AND 1{k}5", OR))),
    "functions": (15, lambda n: _delete(each(n, "(year(d) = 1{k:03} AND id <> {k})", OR))),
    "digits of a text that is compared": (4_000, lambda n: _delete(f"id = '{'1' * n}x'")),
    "levels of IS NULL": (5, lambda n: _delete(f"{'(' * n}id = 1{') IS NULL' * n}")),
    "zeros of a scale": (2, lambda n: _delete(f"id = CAST(1 AS DECIMAL(10, 1{'0' * n}))")),
    "statements": (30, lambda n: _sql(each(n, f"DELETE FROM {T} WHERE id = {{k}}", "; "))),
    "tables": (40, lambda n: _sql(each(n, "DELETE FROM delta.`s3://lake/t{k}`", "; "))),
    "tables that are changed": (80, _changed),
    "settings": (
        25,
        lambda n: _sql(each(n, f"SET spark.sql.x{{k}} = {{k}}; DELETE FROM {T} WHERE id = {{k}}", "; ")),
    ),
    "the same setting": (
        25,
        lambda n: _sql(f"SET spark.sql.session.timeZone = UTC; DELETE FROM {T} WHERE id = 1;" * n),
    ),
    "views upon views": (60, _views),
    "a view that is made anew": (
        30,
        lambda n: _sql(
            f"CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM {S}; INSERT INTO {T} SELECT * FROM v;" * n
        ),
    ),
    "common tables": (150, lambda n: _insert(f"{_common(n)} SELECT * FROM v{n - 1}")),
    "common tables before the verb": (
        120,
        lambda n: _sql(f"{_common(n)} INSERT INTO {T} SELECT * FROM v{n - 1}"),
    ),
    "queries of UNION": (120, lambda n: _insert(each(n, f"SELECT id, d, s FROM {S}", " UNION ALL "))),
    "rows of UNION": (30, lambda n: _insert(each(n, "SELECT {k}, DATE '2026-11-19', 'a'", " UNION ALL "))),
    "rows": (30, lambda n: _insert("VALUES " + each(n, "({k}, DATE '2026-11-19', 'a')"))),
    "columns": (100, lambda n: _insert(f"SELECT {each(n, 'id AS c{k}')} FROM {S}")),
    "columns of columns": (
        100,
        lambda n: _insert(f"SELECT {chain(n, '{before} AS v{k}', 'id')} FROM {S}"),
    ),
    "stars": (5, lambda n: _insert(f"SELECT {each(n, '*')} FROM {WIDE}")),
    "joins": (
        60,
        lambda n: _insert(f"SELECT * FROM {S} " + each(n, f"JOIN {S} s{{k}} ON s{{k}}.id = 1", " ")),
    ),
    "joined queries": (
        40,
        lambda n: _insert(
            f"SELECT * FROM {S} " + each(n, f"JOIN (SELECT * FROM {S} WHERE id = 1) s{{k}} USING (id)", " ")
        ),
    ),
    "conditions on joined tables": (80, _joined),
    "conditions on rows": (50, _conditions_on_rows),
    "conditions on the own table": (
        120,
        lambda n: _insert(f"SELECT * FROM {T} WHERE " + each(n, "s LIKE '%{k}'", AND)),
    ),
    "clauses of MERGE": (
        15,
        lambda n: _merge("t.id = s.id", each(n, "WHEN MATCHED AND s.id = {k} THEN DELETE", " ")),
    ),
    "clauses and conditions of MERGE": (
        12,
        lambda n: _merge(
            f"t.id = s.id AND t.id IN ({each(20 * n, '1{k}1')})",
            each(n, "WHEN MATCHED AND t.id = {k} THEN DELETE", " "),
        ),
    ),
    "clauses of MERGE that are not understood": (
        200,
        lambda n: _merge("t.id = s.id", each(n, "WHEN MATCHED AND s.id = {k} THEN DELETE", " ") + " WHEN"),
    ),
    "conditions of MERGE": (
        60,
        lambda n: _merge("t.id = s.id AND " + each(n, "t.id <> {k}", AND), "WHEN MATCHED THEN DELETE"),
    ),
    "rows of MERGE": (
        25,
        lambda n: _merge(
            "t.id = s.id",
            "WHEN NOT MATCHED THEN INSERT (id, d) VALUES (s.id, s.d)",
            "(SELECT * FROM VALUES " + each(n, "({k}, DATE '2026-11-19')") + " v(id, d)) s",
        ),
    ),
    "columns that MERGE sets": (
        100,
        lambda n: _sql(
            f"MERGE INTO {WIDE} t USING {S} s ON t.c0 = s.id WHEN MATCHED THEN UPDATE SET "
            + each(n, "t.c{k} = s.id")
        ),
    ),
    "columns that UPDATE sets": (
        100,
        lambda n: _sql(f"UPDATE {WIDE} SET {each(n, 'c{k} = c{k} + 1')} WHERE c0 = 1"),
    ),
    "columns that ALTER adds": (
        150,
        lambda n: _sql(f"ALTER TABLE {T} ADD COLUMNS (" + each(n, "a{k} STRUCT<a: INT> COMMENT 'x'") + ")"),
    ),
    "columns with defaults": (
        200,
        lambda n: _sql(f"ALTER TABLE {T} ADD COLUMNS ({each(n, 'a{k} INT DEFAULT 1 + 1 + 1')} !"),
    ),
    "columns of a new table": (
        150,
        lambda n: _sql(f"CREATE TABLE {T} ({each(n, 'a{k} INT NOT NULL')}) USING DELTA"),
    ),
    "properties": (150, lambda n: _sql(f"ALTER TABLE {T} SET TBLPROPERTIES ({each(n, 'a.b.c{k} = {k}')})")),
    "columns of ZORDER": (400, lambda n: _sql(f"OPTIMIZE {WIDE} ZORDER BY ({each(n, 'c{k}')})")),
    "conditions of OPTIMIZE": (
        60,
        lambda n: _sql(f"OPTIMIZE {T} WHERE " + each(n, "d <> DATE '1{k:03}-11-19'", AND)),
    ),
    "inserts of one source": (
        8,
        lambda n: _sql(f"FROM {S} " + each(n, f"INSERT INTO {T} SELECT id, d, s WHERE id = {{k}}", " ")),
    ),
    "comments": (100, lambda n: _delete(each(n, "id = {k} /* {k} */ -- {k}\n", OR))),
    "texts beside texts": (600, lambda n: _delete("s = " + each(n, "'{k}'", " "))),
    "pipes": (8, lambda n: _insert(f"FROM {S} " + each(n, "|> WHERE id = {k}", " "))),
    "windows": (40, lambda n: _insert(f"SELECT {each(n, 'max(id) OVER (ORDER BY s) AS w{k}')} FROM {S}")),
    "lateral views": (
        40,
        lambda n: _insert(
            f"SELECT * FROM {S} " + each(n, "LATERAL VIEW explode(array(1)) l{k} AS e{k}", " ")
        ),
    ),
    "starts of URIs": (1_500, lambda n: _sql(f"DELETE FROM {T}; SELECT '{'://a?sig=' * n}'")),
    "queries of a stream": (60, _stream),
    "promises": (15, _promised),
    "declared conditions": (4, _declared),
}

"""Rows for statements that are easily misread: each touches another partition than a quick reader would say.

Each meets a DELETE, and an UPDATE or a MERGE, of the partition that it really touches, and a DELETE of the one that it
is believed to touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from contract.harness.layouts import DAYS
from contract.harness.operations import T, merge, sql
from contract.harness.rows import Row, Spec

BOTH = frozenset({"3.3.3", "4.4.0"})
NOT_IN_3 = frozenset({"4.4.0"})
"""Spark 3.5 has no such statement."""


@dataclass(frozen=True)
class Misread:
    layout: str
    kind: str
    spec: Spec
    really: str
    """The condition on what it really touches."""
    believed: str | None = None
    refused: bool = False
    opaque: tuple[str, ...] = ()
    versions: frozenset[str] = BOTH
    before: Spec | None = None


def misread_rows(version: str) -> Iterator[Row]:
    for place, (name, misread) in enumerate(_ALL.items()):
        if version in misread.versions:
            for probe, kind, spec in _probes(misread, merges=place % 2 == 1):
                yield Row(
                    id=f"misread/{name}/{probe}",
                    layout=misread.layout,
                    first=misread.spec,
                    second=spec,
                    kinds=(misread.kind, kind),
                    partitions="disjoint" if probe == "delete-believed" else "same",
                    opaque=misread.opaque,
                    refused=misread.refused,
                    before=misread.before,
                )


def _probes(misread: Misread, *, merges: bool) -> Iterator[tuple[str, str, Spec]]:
    really = misread.really
    yield "delete-really", "delete", sql(f"DELETE FROM {T} WHERE {really} AND k = 1")
    if merges:
        deleting = merge("SELECT 1 AS k", f"t.k = s.k AND t.{really}", "WHEN MATCHED THEN DELETE")
        yield "merge-really", "merge", deleting
    else:
        yield "update-really", "update", sql(f"UPDATE {T} SET k = 9 WHERE {really} AND k = 1")
    if misread.believed is not None:
        yield "delete-believed", "delete", sql(f"DELETE FROM {T} WHERE {misread.believed} AND k = 1")


def _labels(text: str, really: str = "p = 'real'", believed: str | None = "p = 'believed'") -> Misread:
    """An INSERT into a table of (id, p, q, v, k), partitioned by p."""
    return Misread("labels", "append", sql(text), really, believed)


def _one_place_on(generator: str) -> Misread:
    """It yields two columns, so that what stands behind it is one place further on than it seems."""
    return _labels(f"INSERT INTO {T} SELECT {generator}, 'believed', 'v', 7")


_SHIFTED: Mapping[str, Misread] = {
    "inline": _one_place_on("inline(array(struct(900L, 'real')))"),
    "inline-named": _one_place_on("inline(array(struct(900L, 'real'))) AS (id, x)"),
    "posexplode": _one_place_on("posexplode(array('real'))"),
    "stack": _one_place_on("stack(1, 900L, 'real')"),
    "explode-map": _one_place_on("explode(map(900L, 'real'))"),
    "json-tuple": _labels(
        f"INSERT INTO {T} (v, p, q, id, k)"
        """ SELECT json_tuple('{"a": "v", "b": "real"}', 'a', 'b'), 'believed', 900L, 7"""
    ),
    "lateral-view": _labels(
        f"INSERT INTO {T} SELECT *, 'believed', 'v', 7"
        " FROM (SELECT 900L AS id) s LATERAL VIEW explode(array('real')) e AS p"
    ),
    "lateral-view-hides": _labels(
        f"INSERT INTO {T} SELECT s.id, e.p, s.p, 'v', 7"
        " FROM (SELECT 900L AS id, 'believed' AS p) s LATERAL VIEW explode(array('real')) e AS p"
    ),
    "quoted-pattern": Misread(
        "labels",
        "append",
        sql(
            f"SET spark.sql.parser.quotedRegexColumnNames = true; INSERT INTO {T} SELECT `id|p`, q, 'v', 7"
            " FROM (SELECT 900L AS id, 'real' AS p, 'believed' AS q)"
        ),
        "p = 'real'",
        "p = 'believed'",
        refused=True,
    ),
}

_GROUPED = "(SELECT 900L AS id, 'believed' AS p, 'q' AS q, 'v' AS v, 7 AS k)"


def _grouped(by: str) -> Misread:
    """Rows of totals have no value of what they are grouped by."""
    text = f"INSERT INTO {T} SELECT max(id), p, max(q), max(v), max(k) FROM {_GROUPED} GROUP BY {by}"
    return _labels(text, "p IS NULL", "p = 'real'")


_TOTALS: Mapping[str, Misread] = {
    "rollup": _grouped("ROLLUP (p)"),
    "with-rollup": _grouped("p WITH ROLLUP"),
    "cube": _grouped("CUBE (p)"),
    "grouping-sets": _grouped("GROUPING SETS ((p), ())"),
    "grouped-by-grouping-sets": _grouped("p GROUPING SETS ((p), ())"),
}

_ANSI = "SET spark.sql.ansi.enabled = true; "
_NULL_NUMBER = "SELECT 901L AS id, CAST(NULL AS INT) AS p, 'q' AS q, 'v' AS v, 7 AS k"
_TEXT = "SELECT 900L AS id, '01' AS p, 'q' AS q, 'v' AS v, 7 AS k"
_ADDED = "WHEN NOT MATCHED THEN INSERT *"


def _coerced(query: str) -> Misread:
    """Beside a number, text is read as a number: 01 becomes 1."""
    return _labels(f"{_ANSI}INSERT INTO {T} {query}", "p = '1'", "p = '01'")


_COERCED: Mapping[str, Misread] = {
    "except-number": _coerced(f"{_TEXT} EXCEPT SELECT 901L, 2, 'q', 'v', 7"),
    "union-null-number": _coerced(f"{_TEXT} UNION ALL {_NULL_NUMBER}"),
    "intersect-number": _coerced(f"{_TEXT} INTERSECT SELECT 900L, 1, 'q', 'v', 7"),
    "merge-union-null-number": Misread(
        "labels",
        "merge",
        sql(
            f"{_ANSI}MERGE INTO {T} AS t USING ({_TEXT} UNION ALL {_NULL_NUMBER}) AS s"
            f" ON t.id = s.id AND t.p = 'eu' {_ADDED}"
        ),
        "p = '1'",
        "p = '01'",
    ),
}

_NEXT = f"date = DATE '{DAYS['B']}'"
_MOVING = f"date = DATE '{DAYS['A']}'"
_MOVED: Mapping[str, Misread] = {
    "update-identifier": Misread(
        "labels",
        "update",
        sql(f"UPDATE {T} SET IDENTIFIER('p') = 'real' WHERE p = 'believed' AND k = 2"),
        "p = 'real'",
        "p = 'eu'",
        refused=True,
        versions=NOT_IN_3,
    ),
    "merge-identifier": Misread(
        "labels",
        "merge",
        merge(
            "SELECT 2 AS k",
            "t.k = s.k AND t.p = 'believed'",
            "WHEN MATCHED THEN UPDATE SET IDENTIFIER('p') = 'real'",
        ),
        "p = 'real'",
        "p = 'eu'",
        refused=True,
        versions=NOT_IN_3,
    ),
    "update-dashed": Misread(
        "dashed",
        "update",
        sql(f"UPDATE {T} SET `my-ts` = TIMESTAMP '{DAYS['B']} 05:00:00' WHERE {_MOVING} AND k = 2"),
        _NEXT,
        f"date = DATE '{DAYS['C']}'",
    ),
    "merge-dashed": Misread(
        "dashed",
        "merge",
        merge(
            "SELECT 2 AS k",
            f"t.k = s.k AND t.{_MOVING}",
            f"WHEN MATCHED THEN UPDATE SET t.`MY-TS` = TIMESTAMP '{DAYS['B']} 05:00:00'",
        ),
        _NEXT,
        f"date = DATE '{DAYS['C']}'",
    ),
    "insert-dashed": Misread(
        "dashed",
        "append",
        sql(f"INSERT INTO {T} (id, `my-ts`, k) VALUES (900L, TIMESTAMP '{DAYS['B']} 05:00:00', 7)"),
        _NEXT,
        f"date = DATE '{DAYS['C']}'",
    ),
    "update-field": Misread(
        "nested",
        "update",
        sql(f"UPDATE {T} SET s.x = 7 WHERE p = 'real' AND k = 2"),
        "p = 'real'",
        "p = 'believed'",
    ),
}

_ROW = "'q' AS q, 'v' AS v, 7 AS k"
_LATER = f"WITH a AS (SELECT * FROM b), b AS (SELECT 900L AS id, 'believed' AS p, {_ROW}) SELECT * FROM a"
_VIEW_B = f"CREATE OR REPLACE TEMPORARY VIEW b AS SELECT 900L AS id, 'real' AS p, {_ROW}; "
_NAMED: Mapping[str, Misread] = {
    "seen-before-its-definition": _labels(f"{_VIEW_B}INSERT INTO {T} {_LATER}"),
    "with-before-insert": _labels(
        f"WITH a AS (SELECT 900L AS id, 'real' AS p, {_ROW}) INSERT INTO {T} SELECT * FROM a"
    ),
    "with-before-merge": Misread(
        "labels",
        "merge",
        sql(
            f"WITH a AS (SELECT 900L AS id, 'real' AS p, {_ROW}) MERGE INTO {T} AS t USING a AS s"
            " ON t.id = s.id AND t.p = 'eu' WHEN NOT MATCHED THEN INSERT *"
        ),
        "p = 'real'",
        "p = 'believed'",
    ),
    "from-before-insert": _labels(
        f"FROM (SELECT 900L AS id, 'believed' AS p, {_ROW}) s INSERT INTO {T} SELECT s.id, 'real', s.p, v, k"
    ),
    "from-before-inserts": _labels(
        f"FROM (SELECT 900L AS id, 'eu' AS p, {_ROW}) s INSERT INTO {T} SELECT *"
        f" INSERT INTO {T} SELECT s.id, 'real', s.p, v, k"
    ),
}

_FROM_DOUBLES = "SELECT id, b, c, k FROM delta.`{source}` WHERE b = 9007199254740993"


def _rounded(text: str, kind: str = "append", stored: int = 9007199254740992) -> Misread:
    """Compared with a floating number, a large number is the next smaller one, and so it is stored."""
    return Misread("large", kind, sql(text), f"b = {stored}", f"b = {stored + 1}")


_ROUNDED: Mapping[str, Misread] = {
    "double": _rounded(f"INSERT INTO {T} {_FROM_DOUBLES}"),
    "double-in-place": _rounded(f"INSERT INTO {T} SELECT 900L, CAST(9007199254740993 AS DOUBLE), 0L, 7"),
    "merge-double": _rounded(
        f"MERGE INTO {T} AS t USING ({_FROM_DOUBLES}) AS s ON t.id = s.id AND t.b = 1 {_ADDED}", "merge"
    ),
    "float-without-ansi": _rounded(
        "SET spark.sql.ansi.enabled = false;"
        f" INSERT INTO {T} SELECT id, f, c, k FROM delta.`{{source}}` WHERE f = 16777217",
        stored=16777216,
    ),
}

_ANOTHER_CASE = "spark.sql.sources.partitionoverwritemode"


def _overwrite(text: str, **more: object) -> Misread:
    return Misread("labels", "overwrite", {**sql(text), **more}, "p = 'real'", refused=True)


_ONE_ROW = f"SELECT 900L AS id, 'believed' AS p, {_ROW}"
_DAYS_ROW = "SELECT 900L AS id, 7 AS k, 'new' AS v"
_ELSEWHERE = "America/Los_Angeles"
_SET_UP: Mapping[str, Misread] = {
    "key-in-another-case": _overwrite(f"SET {_ANOTHER_CASE} = dynamic; INSERT OVERWRITE {T} {_ONE_ROW}"),
    "key-in-another-case-of-the-job": _overwrite(
        f"INSERT OVERWRITE {T} {_ONE_ROW}", runtime={"sparkConf": {_ANOTHER_CASE: "dynamic"}}
    ),
    "zone-of-a-view": Misread(
        "daily",
        "append",
        sql(
            f"SET TIME ZONE '{_ELSEWHERE}'; CREATE OR REPLACE TEMPORARY VIEW w AS {_DAYS_ROW},"
            f" CAST(TIMESTAMP '{DAYS['B']} 02:00:00Z' AS DATE) AS date; SET TIME ZONE 'UTC';"
            f" INSERT INTO {T} SELECT * FROM w"
        ),
        f"date = DATE '{DAYS['A']}'",
        f"date = DATE '{DAYS['B']}'",
    ),
    "compacts-everything": Misread(
        "auto-compact",
        "append",
        {
            **sql(
                "SET spark.databricks.delta.autoCompact.modifiedPartitionsOnly.enabled = false;"
                f" INSERT INTO {T} {_DAYS_ROW}, DATE '{DAYS['A']}' AS date"
            ),
            "runtime": {"sparkConf": {"spark.databricks.delta.autoCompact.minNumFiles": "2"}},
        },
        f"date = DATE '{DAYS['C']}'",
    ),
}

_CHANGED: Mapping[str, Misread] = {
    "changed-source": replace(
        _rounded(f"INSERT INTO {T} {_FROM_DOUBLES}"),
        layout="copied",
        before=sql(
            "CREATE OR REPLACE TABLE delta.`{source}` USING delta AS"
            " SELECT 900L AS id, CAST(9007199254740992L AS DOUBLE) AS b, 0L AS c, 7 AS k"
        ),
    ),
}
"""What it selects from counts exactly when that is read, and no longer when it runs."""

_ALL: Mapping[str, Misread] = {
    **_SHIFTED,
    **_TOTALS,
    **_COERCED,
    **_MOVED,
    **_NAMED,
    **_ROUNDED,
    **_SET_UP,
    **_CHANGED,
}

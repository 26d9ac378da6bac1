"""The kinds of operations that meet on the daily layouts, with the variants in which they differ for Delta.

Each is told for a day: the partition that it is about. Every daily layout has the same columns, so the same statements
run on partitioned, unpartitioned and clustered tables, where they make sense.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contract.harness.layouts import DAYS
from contract.harness.rows import Spec

T = "delta.`{table}`"
ANYWHERE = "*"
"""All partitions."""
UNKNOWN = "?"
"""Partitions that can't be told from the job."""
NOWHERE = ""
"""No rows at all."""

DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic; "


@dataclass(frozen=True)
class Operation:
    name: str
    kind: str
    spec: Spec
    region: str
    """Letters of the days that it is about, or ANYWHERE, UNKNOWN, NOWHERE."""
    opaque: tuple[str, ...] = ()


def date(day: str) -> str:
    return f"DATE '{DAYS[day]}'"


def new_row(day: str, k: int = 1) -> str:
    """A row that's new to the table."""
    return f"SELECT {500 + k}L AS id, {k} AS k, 'new' AS v, {date(day)} AS date"


def known_rows(day: str) -> str:
    """A row that is there, and one that isn't."""
    known = "ABCD".index(day) * 10 + 1
    return (
        f"SELECT {known}L AS id, 1 AS k, 'merged' AS v, {date(day)} AS date"
        f" UNION ALL SELECT 600L, 1, 'merged', {date(day)}"
    )


def sql(text: str) -> Spec:
    return {"sql": text}


def write(mode: str, query: str, **more: object) -> Spec:
    return {"write": {"table": {"path": "{table}"}, "source": {"sql": query}, "mode": mode, **more}}


def stream(query: str | None = None, text: str | None = None, checkpoint: str = "one") -> Spec:
    target: dict[str, object] = {"table": {"path": "{table}"}, "query": query} if query else {"sql": text}
    return {
        "stream": {
            "source": {"format": "delta", "path": "{source}"},
            "checkpoint": f"{{checkpoint}}/{checkpoint}",
            "trigger": {"availableNow": True},
            **target,
        }
    }


def merge(source: str, on: str, clauses: str) -> Spec:
    return sql(f"MERGE INTO {T} AS t USING ({source}) AS s ON {on} {clauses}")


UPDATE_V = "WHEN MATCHED THEN UPDATE SET v = s.v"
INSERT_ROW = "WHEN NOT MATCHED THEN INSERT (id, k, v, date) VALUES (s.id, s.k, s.v, s.date)"


def _appends(a: str) -> dict[str, tuple[str, Spec, str]]:
    d = date(a)
    return {
        "append": ("append", sql(f"INSERT INTO {T} VALUES (500L, 1, 'new', {d})"), a),
        "append-query": ("append", sql(f"INSERT INTO {T} {new_row(a)}"), a),
        "append-write": ("append", write("Append", new_row(a)), a),
        "append-static": (
            "append",
            sql(f"INSERT INTO {T} PARTITION (date = {d}) SELECT 500L AS id, 1 AS k, 'new' AS v"),
            a,
        ),
        "append-range": (
            "append",
            sql(
                f"INSERT INTO {T} SELECT id, CAST(id AS INT) AS k, 'r' AS v, {d} AS date FROM range(700, 703)"
            ),
            a,
        ),
        "append-txn": ("append", write("Append", new_row(a), txnAppId="app-1", txnVersion=1), a),
        "append-txn-other": ("append", write("Append", new_row(a), txnAppId="app-2", txnVersion=1), a),
        "append-evolve": (
            "append-evolve",
            write("Append", f"SELECT *, 1 AS extra FROM ({new_row(a)})", schemaEvolution=True),
            a,
        ),
        "append-evolve-nothing": ("append", write("Append", new_row(a), schemaEvolution=True), a),
        "append-none": ("append", sql(f"INSERT INTO {T} SELECT * FROM ({new_row(a)}) WHERE id < 0"), NOWHERE),
        "self-read": (
            "self-read",
            sql(f"INSERT INTO {T} SELECT id + 800, k, v, date FROM {T} WHERE date = {d}"),
            a,
        ),
        "self-read-max": (
            "self-read",
            sql(f"INSERT INTO {T} SELECT max(id) + 1 AS id, 1 AS k, 'max' AS v, {d} AS date FROM {T}"),
            ANYWHERE,
        ),
        "self-read-count": (
            "self-read",
            sql(f"INSERT INTO {T} SELECT count(*) AS id, 1 AS k, 'count' AS v, {d} AS date FROM {T}"),
            ANYWHERE,
        ),
        "self-read-subquery": (
            "self-read",
            sql(
                f"INSERT INTO {T} SELECT s.* FROM ({new_row(a)}) s"
                f" WHERE NOT EXISTS (SELECT 1 FROM {T} t WHERE t.date = {d} AND t.id = s.id)"
            ),
            a,
        ),
        "self-read-anti": (
            "self-read",
            sql(f"INSERT INTO {T} SELECT s.* FROM ({new_row(a)}) s LEFT ANTI JOIN {T} t ON s.id = t.id"),
            ANYWHERE,
        ),
        "self-read-scalar": (
            "self-read",
            sql(
                f"INSERT INTO {T} SELECT s.id + (SELECT max(id) FROM {T} WHERE date = {d}) AS id, s.k, s.v, s.date"
                f" FROM ({new_row(a)}) s"
            ),
            a,
        ),
        "self-read-old": (
            "append",
            sql(f"INSERT INTO {T} SELECT id + 800, k, v, date FROM {T} VERSION AS OF 2 WHERE date = {d}"),
            a,
        ),
        "self-read-copy": (
            "self-read",
            sql(f"INSERT INTO {T} SELECT id + 800, k, v, {date('A')} AS date FROM {T} WHERE date = {d}"),
            a + "A",
        ),
    }


def _deletes(a: str, b: str) -> dict[str, tuple[str, Spec, str]]:
    d, e = date(a), date(b)
    return {
        "delete": ("delete", sql(f"DELETE FROM {T} WHERE date = {d} AND k = 1"), a),
        "delete-partition": ("delete", sql(f"DELETE FROM {T} WHERE date = {d}"), a),
        "delete-file": ("delete", sql(f"DELETE FROM {T} WHERE date = {d} AND k <= 2"), a),
        "delete-unpinned": ("delete", sql(f"DELETE FROM {T} WHERE k = 1"), ANYWHERE),
        "delete-id": ("delete", sql(f"DELETE FROM {T} WHERE id = {'ABCD'.index(a) * 10 + 1}"), UNKNOWN),
        "delete-none": ("delete", sql(f"DELETE FROM {T} WHERE date = {d} AND k = 999"), NOWHERE),
        "delete-or": (
            "delete",
            sql(f"DELETE FROM {T} WHERE (date = {d} AND k = 1) OR (date = {e} AND k = 2)"),
            a + b,
        ),
        "delete-or-open": ("delete", sql(f"DELETE FROM {T} WHERE (date = {d} AND k = 1) OR k = 2"), ANYWHERE),
        "delete-common-factor": (
            "delete",
            sql(f"DELETE FROM {T} WHERE (date = {d} AND k = 1) OR (date = {d} AND k = 2)"),
            a,
        ),
        "delete-de-morgan": ("delete", sql(f"DELETE FROM {T} WHERE NOT (date <> {d} OR k <> 1)"), a),
        "delete-in": ("delete", sql(f"DELETE FROM {T} WHERE date IN ({d}, {e}) AND k = 1"), a + b),
        "delete-between": ("delete", sql(f"DELETE FROM {T} WHERE date BETWEEN {d} AND {d} AND k = 1"), a),
        "delete-null-safe": ("delete", sql(f"DELETE FROM {T} WHERE date <=> {d} AND k = 1"), a),
        "delete-cast": (
            "delete",
            sql(f"DELETE FROM {T} WHERE CAST(date AS STRING) = '{DAYS[a]}' AND k = 1"),
            a,
        ),
        "delete-text": ("delete", sql(f"DELETE FROM {T} WHERE date = '{DAYS[a]}' AND k = 1"), a),
        "delete-year": ("delete", sql(f"DELETE FROM {T} WHERE year(date) = 2026 AND k = 1"), ANYWHERE),
        "delete-all": ("delete", sql(f"DELETE FROM {T}"), ANYWHERE),
        "delete-true": ("delete", sql(f"DELETE FROM {T} WHERE true"), ANYWHERE),
        "truncate": ("truncate", sql(f"TRUNCATE TABLE {T}"), ANYWHERE),
    }


def _updates(a: str, b: str) -> dict[str, tuple[str, Spec, str]]:
    d, e = date(a), date(b)
    return {
        "update": ("update", sql(f"UPDATE {T} SET v = 'set' WHERE date = {d} AND k = 1"), a),
        "update-partition": ("update", sql(f"UPDATE {T} SET v = 'set' WHERE date = {d}"), a),
        "update-unpinned": ("update", sql(f"UPDATE {T} SET v = 'set' WHERE k = 1"), ANYWHERE),
        "update-all": ("update", sql(f"UPDATE {T} SET v = v"), ANYWHERE),
        "update-none": ("update", sql(f"UPDATE {T} SET v = 'set' WHERE date = {d} AND k = 999"), NOWHERE),
        "update-move": ("update", sql(f"UPDATE {T} SET date = {e} WHERE date = {d} AND k = 1"), a + b),
        "update-move-computed": (
            "update",
            sql(f"UPDATE {T} SET date = date_add(date, 1) WHERE date = {d} AND k = 1"),
            a + chr(ord(a) + 1),
        ),
        "update-or": (
            "update",
            sql(f"UPDATE {T} SET v = 'set' WHERE (date = {d} AND k = 1) OR (date = {e} AND k = 2)"),
            a + b,
        ),
        "update-in": ("update", sql(f"UPDATE {T} SET v = 'set' WHERE date IN ({d}) AND k IN (1, 2)"), a),
    }


def _merges(a: str, b: str) -> dict[str, tuple[str, Spec, str]]:
    d = date(a)
    pinned = f"t.id = s.id AND t.date = {d}"
    both = f"{UPDATE_V} {INSERT_ROW}"
    cases = {
        "merge": (merge(known_rows(a), pinned, both), a),
        "merge-unpinned": (merge(known_rows(a), "t.id = s.id AND t.date = s.date", both), ANYWHERE),
        "merge-star": (
            merge(known_rows(a), pinned, "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"),
            a,
        ),
        "merge-update": (merge(known_rows(a), pinned, UPDATE_V), a),
        "merge-delete": (merge(known_rows(a), pinned, "WHEN MATCHED THEN DELETE"), a),
        "merge-insert": (merge(known_rows(a), pinned, INSERT_ROW), a),
        "merge-insert-unpinned": (merge(known_rows(a), "t.id = s.id", INSERT_ROW), ANYWHERE),
        "merge-insert-false": (merge(new_row(a), "false", INSERT_ROW), a),
        "merge-insert-one-is-two": (merge(new_row(a), "t.id = s.id AND 1 = 2", INSERT_ROW), a),
        "merge-on-true": (merge(known_rows(a), "t.id = s.id AND true", both), ANYWHERE),
        "merge-elsewhere": (merge(known_rows(b), pinned, both), a + b),
        "merge-clause": (
            merge(known_rows(a), "t.id = s.id", f"WHEN MATCHED AND t.date = {d} THEN UPDATE SET v = s.v"),
            a,
        ),
        "merge-clause-open": (
            merge(
                known_rows(a),
                "t.id = s.id",
                f"WHEN MATCHED AND t.date = {d} THEN UPDATE SET v = s.v WHEN MATCHED THEN DELETE",
            ),
            ANYWHERE,
        ),
        "merge-by-source": (
            merge(
                known_rows(a), pinned, f"{UPDATE_V} WHEN NOT MATCHED BY SOURCE AND t.date = {d} THEN DELETE"
            ),
            ANYWHERE,
        ),
        "merge-or": (
            merge(
                known_rows(a),
                f"t.id = s.id AND ((t.date = {d} AND t.k = 1) OR (t.date = {date(b)} AND t.k = 2))",
                both,
            ),
            ANYWHERE,
        ),
        "merge-common-factor": (
            merge(
                known_rows(a),
                f"t.id = s.id AND ((t.date = {d} AND t.k = 1) OR (t.date = {d} AND t.k = 2))",
                both,
            ),
            a,
        ),
        "merge-in": (merge(known_rows(a), f"t.id = s.id AND t.date IN ({d}, {date(b)})", both), a + b),
        "merge-move": (
            merge(known_rows(a), pinned, f"WHEN MATCHED THEN UPDATE SET date = {date(b)}"),
            a + b,
        ),
        "merge-none": (merge(known_rows(a), f"{pinned} AND t.k = 999", UPDATE_V), NOWHERE),
        "merge-self": (
            merge(f"SELECT * FROM {T} WHERE date = {date(b)}", pinned, both),
            a + b,
        ),
    }
    return {name: ("merge", spec, region) for name, (spec, region) in cases.items()}


def _overwrites(a: str, b: str) -> dict[str, tuple[str, Spec, str]]:
    d = date(a)
    return {
        "overwrite": ("overwrite", sql(f"INSERT OVERWRITE {T} {new_row(a)}"), ANYWHERE),
        "overwrite-write": ("overwrite", write("Overwrite", new_row(a)), ANYWHERE),
        "overwrite-self": (
            "overwrite",
            sql(f"INSERT OVERWRITE {T} SELECT * FROM {T} WHERE date = {d}"),
            ANYWHERE,
        ),
        "overwrite-static": (
            "repl-where",
            sql(f"INSERT OVERWRITE {T} PARTITION (date = {d}) SELECT 500L AS id, 1 AS k, 'new' AS v"),
            a,
        ),
        "replace-where": ("repl-where", write("Overwrite", new_row(a), replaceWhere=f"date = {d}"), a),
        "replace-where-sql": ("repl-where", sql(f"INSERT INTO {T} REPLACE WHERE date = {d} {new_row(a)}"), a),
        "replace-where-rows": (
            "repl-where",
            write("Overwrite", new_row(a), replaceWhere=f"date = {d} AND k = 1"),
            a,
        ),
        "replace-where-or": (
            "repl-where",
            write(
                "Overwrite",
                new_row(a),
                replaceWhere=f"(date = {d} AND k = 1) OR (date = {date(b)} AND k = 2)",
            ),
            a + b,
        ),
        "replace-where-unpinned": (
            "repl-where",
            write("Overwrite", new_row(a), replaceWhere="k = 1"),
            ANYWHERE,
        ),
        "replace-where-empty": (
            "repl-where",
            write("Overwrite", f"SELECT * FROM ({new_row(a)}) WHERE id < 0", replaceWhere=f"date = {d}"),
            a,
        ),
        "dynamic": ("dyn-ow", write("OverwritePartitions", new_row(a)), a),
        "dynamic-sql": ("dyn-ow", sql(f"{DYNAMIC}INSERT OVERWRITE {T} {new_row(a)}"), a),
        "dynamic-conf": (
            "dyn-ow",
            {
                **sql(f"INSERT OVERWRITE {T} {new_row(a)}"),
                "runtime": {"sparkConf": {"spark.sql.sources.partitionOverwriteMode": "dynamic"}},
            },
            a,
        ),
        "dynamic-bounded": (
            "dyn-ow",
            write("OverwritePartitions", f"SELECT id + 800 AS id, k, v, date FROM {T} WHERE date = {d}"),
            a,
        ),
        "dynamic-none": (
            "dyn-ow",
            write("OverwritePartitions", f"SELECT * FROM ({new_row(a)}) WHERE id < 0"),
            NOWHERE,
        ),
        "replace-table": (
            "repl-table",
            sql(f"CREATE OR REPLACE TABLE {T} USING delta PARTITIONED BY (date) AS {new_row(a)}"),
            ANYWHERE,
        ),
        "replace-table-empty": (
            "repl-table",
            sql(
                f"CREATE OR REPLACE TABLE {T} (id BIGINT, k INT, v STRING, date DATE) USING delta PARTITIONED BY (date)"
            ),
            ANYWHERE,
        ),
        "replace-table-other": (
            "repl-table",
            sql(f"CREATE OR REPLACE TABLE {T} USING delta AS SELECT 1 AS x"),
            ANYWHERE,
        ),
    }


def _maintenance(a: str) -> dict[str, tuple[str, Spec, str]]:
    d = date(a)
    return {
        "optimize": ("optimize", sql(f"OPTIMIZE {T} WHERE date = {d}"), a),
        "optimize-all": ("optimize", sql(f"OPTIMIZE {T}"), ANYWHERE),
        "optimize-none": ("optimize", sql(f"OPTIMIZE {T} WHERE date = DATE '1999-01-01'"), NOWHERE),
        "zorder": ("zorder", sql(f"OPTIMIZE {T} WHERE date = {d} ZORDER BY (k)"), a),
        "zorder-all": ("zorder", sql(f"OPTIMIZE {T} ZORDER BY (k)"), ANYWHERE),
        "purge": ("optimize", sql(f"REORG TABLE {T} APPLY (PURGE)"), ANYWHERE),
        "vacuum": ("vacuum", sql(f"VACUUM {T}"), NOWHERE),
        "vacuum-retain": ("vacuum", sql(f"VACUUM {T} RETAIN 200 HOURS"), NOWHERE),
        "restore": ("restore", sql(f"RESTORE TABLE {T} TO VERSION AS OF 1"), ANYWHERE),
        "restore-adds": ("restore", sql(f"RESTORE TABLE {T} TO VERSION AS OF 2"), "E"),
        "restore-current": ("restore", sql(f"RESTORE TABLE {T} TO VERSION AS OF 3"), NOWHERE),
    }


def _streams(a: str) -> dict[str, tuple[str, Spec, str]]:
    d = date(a)
    query = f"SELECT id, k, v, {d} AS date FROM source"
    upsert = (
        f"MERGE INTO {T} AS t USING (SELECT id, k, v, {d} AS date FROM batch) AS s"
        f" ON t.id = s.id AND t.date = {d} {UPDATE_V} {INSERT_ROW}"
    )
    return {
        "stream": ("stream", stream(query), a),
        "stream-two": ("stream", stream(query, checkpoint="two"), a),
        "stream-merge": ("merge", stream(text=upsert, checkpoint="three"), a),
        "stream-insert": (
            "append",
            stream(text=f"INSERT INTO {T} SELECT id, k, v, {d} AS date FROM batch", checkpoint="four"),
            a,
        ),
    }


def _alter(text: str) -> Spec:
    return sql(f"ALTER TABLE {T} {text}")


def _set(key: str, value: str) -> Spec:
    return _alter(f"SET TBLPROPERTIES ('{key}' = '{value}')")


METADATA: Mapping[str, tuple[str, Spec]] = {
    "set-props": ("set-props", _set("delta.logRetentionDuration", "interval 40 days")),
    "set-own-props": ("set-props", _set("team", "sales")),
    "unset-props": ("set-props", _alter("UNSET TBLPROPERTIES IF EXISTS ('steward')")),
    "add-column": ("add-column", _alter("ADD COLUMNS (extra INT)")),
    "comment-column": ("comment", _alter("ALTER COLUMN v COMMENT 'value'")),
    "comment-table": ("comment", sql(f"COMMENT ON TABLE {T} IS 'orders by day'")),
    "add-constraint": ("add-constr", _alter("ADD CONSTRAINT positive CHECK (k > 0)")),
    "not-null": ("comment", _alter("ALTER COLUMN v DROP NOT NULL")),
    "deletion-vectors": ("enable-feat", _set("delta.enableDeletionVectors", "true")),
    "enable-row-tracking": ("enable-feat", _set("delta.enableRowTracking", "true")),
    "column-mapping": ("enable-feat", _set("delta.columnMapping.mode", "name")),
    "enable-change-feed": ("enable-feat", _set("delta.enableChangeDataFeed", "true")),
    "append-only": ("enable-feat", _set("delta.appendOnly", "true")),
    "type-widening": ("enable-feat", _set("delta.enableTypeWidening", "true")),
    "commit-timestamps": ("enable-feat", _set("delta.enableInCommitTimestamps", "true")),
    "checkpoint-v2": ("enable-feat", _set("delta.checkpointPolicy", "v2")),
    "support-feature": ("enable-feat", _set("delta.feature.vacuumProtocolCheck", "supported")),
}


def catalogue(a: str, b: str) -> Mapping[str, Operation]:
    """Every operation about day a; b is the other day of those that are about two."""
    found = {
        name: Operation(name, kind, spec, region)
        for part in (
            _appends(a),
            _deletes(a, b),
            _updates(a, b),
            _merges(a, b),
            _overwrites(a, b),
            _maintenance(a),
            _streams(a),
        )
        for name, (kind, spec, region) in part.items()
    }
    found |= {name: Operation(name, kind, spec, NOWHERE) for name, (kind, spec) in METADATA.items()}
    random = Operation(
        "delete-random",
        "delete",
        sql(f"DELETE FROM {T} WHERE date = {date(a)} AND rand() < 2"),
        a,
        opaque=("rand",),
    )
    udf = Operation(
        "delete-udf",
        "delete",
        sql(f"DELETE FROM {T} WHERE date = {date(a)} AND opaque(v) = 'BASE' AND k = 1"),
        a,
        opaque=("opaque",),
    )
    return {**found, random.name: random, udf.name: udf}


Builder = Callable[[str, str], Mapping[str, Operation]]

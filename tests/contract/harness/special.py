"""Rows for tables with something of their own: paths without a table, generated and identity columns, several partition
columns, features that can be dropped, clustering that changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations_with_replacement

from contract.harness.layouts import DAYS
from contract.harness.operations import INSERT_ROW, UPDATE_V, T, catalogue, merge, new_row, sql, stream, write
from contract.harness.rows import Row, Spec

Named = Mapping[str, tuple[str, Spec]]


def special_rows() -> Iterator[Row]:
    yield from rows_of("absent", _ABSENT, combinations_with_replacement(_ABSENT, 2))
    yield from rows_of("identity", _IDENTITY, combinations_with_replacement(_IDENTITY, 2))
    yield from rows_of("generated", _GENERATED, combinations_with_replacement(_GENERATED, 2))
    yield from rows_of("grid", _GRID, ((name, probe) for name in _GRID for probe in _GRID_PROBES))
    daily = {name: (operation.kind, operation.spec) for name, operation in catalogue("A", "B").items()}
    probes = ("append", "delete", "optimize", "set-props", "vacuum")
    for layout, own in (("altered", _ALTERED), ("constrained", _CONSTRAINED), ("daily-dv", _VECTORED)):
        yield from rows_of(layout, {**daily, **own}, ((name, probe) for name in own for probe in probes))
        yield from rows_of(layout, own, combinations_with_replacement(own, 2))
    yield from rows_of(
        "clustered", {**daily, **_CLUSTERED}, ((name, probe) for name in _CLUSTERED for probe in probes)
    )
    yield from rows_of("clustered", _CLUSTERED, combinations_with_replacement(_CLUSTERED, 2))
    for layout, pairs in _FEATURE_PAIRS.items():
        yield from rows_of(layout, {**daily, **_FEATURES}, pairs)
    yield from rows_of(
        "daily", {**daily, **_DROPPING}, ((name, probe) for name in _DROPPING for probe in probes)
    )
    yield from rows_of(
        "daily", {**daily, **_OF_COLUMNS}, ((name, loser) for name in _OF_COLUMNS for loser in _COMPACTS)
    )
    yield from rows_of("mapped", {**daily, **_RENAMING}, [("rename-partition", "optimize")])
    yield from rows_of("daily", {**daily, **_UNBOUND}, ((name, "delete") for name in _UNBOUND))
    yield from rows_of("daily", {**daily, **_REPLACING}, _PROTOCOL_PAIRS)
    yield from rows_of("auto-compact", {**daily, **_COMPACTED}, [("append-compacted", "optimize")])
    yield from rows_of("daily", {**daily, **_BY_FOLDER}, [("optimize-folder", "delete")])
    yield from rows_of(
        "daily", {**daily, **_CALLING}, ((name, probe) for name in _CALLING for probe in _RIVALS)
    )
    yield from rows_of("daily", _VACUUMED, ((name, vacuum) for name in _READING for vacuum in _VACUUMS))
    yield from rows_of("kept-shortly", _VACUUMED, ((name, "vacuum") for name in _READING))


def rows_of(layout: str, named: Named, pairs: Iterable[tuple[str, str]]) -> Iterator[Row]:
    for first, second in pairs:
        (kind, spec), (other_kind, other_spec) = named[first], named[second]
        yield Row(
            id=f"{layout}/{first}/{second}",
            layout=layout,
            first=spec,
            second=other_spec,
            kinds=(kind, other_kind),
            partitions="unknown",
            opaque=("opaque",) if "opaque(" in str(spec) else (),
        )


def _alter(text: str) -> Spec:
    return sql(f"ALTER TABLE {T} {text}")


_ABSENT: Named = {
    "create": ("create", sql(f"CREATE TABLE {T} (id BIGINT, k INT, v STRING, date DATE) USING delta")),
    "create-if-not-exists": (
        "create",
        sql(f"CREATE TABLE IF NOT EXISTS {T} (id BIGINT, k INT, v STRING, date DATE) USING delta"),
    ),
    "create-as": ("create", sql(f"CREATE TABLE {T} USING delta AS {new_row('A')}")),
    "create-or-replace": ("repl-table", sql(f"CREATE OR REPLACE TABLE {T} USING delta AS {new_row('A')}")),
    "append": ("append", write("Append", new_row("A"))),
    "overwrite": ("overwrite", write("Overwrite", new_row("A"))),
    "stream": ("stream", stream(f"SELECT id, k, v, DATE '{DAYS['A']}' AS date FROM source")),
}

_DAY = f"DATE '{DAYS['A']}'"
_IDENTITY: Named = {
    "insert-generated": ("append", sql(f"INSERT INTO {T} (k, date) VALUES (7, {_DAY})")),
    "insert-explicit": ("append", sql(f"INSERT INTO {T} (id, k, date) VALUES (900, 7, {_DAY})")),
    "write-generated": ("append", write("Append", f"SELECT 7 AS k, {_DAY} AS date")),
    "sync": ("sync-identity", _alter("ALTER COLUMN id SYNC IDENTITY")),
    "add-column": ("add-column", _alter("ADD COLUMNS (extra INT)")),
    "row-tracking": ("enable-feat", _alter("SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")),
    "delete": ("delete", sql(f"DELETE FROM {T} WHERE date = {_DAY} AND k = 1")),
    "merge-generated": (
        "merge",
        merge(
            f"SELECT 9 AS k, {_DAY} AS date",
            f"t.k = s.k AND t.date = {_DAY}",
            "WHEN NOT MATCHED THEN INSERT (k, date) VALUES (s.k, s.date)",
        ),
    ),
    "optimize": ("optimize", sql(f"OPTIMIZE {T} WHERE date = {_DAY}")),
}


def _at(day: str, hour: int = 1) -> str:
    return f"TIMESTAMP '{DAYS[day]} {hour:02}:00:00'"


_GENERATED: Named = {
    "append": ("append", sql(f"INSERT INTO {T} (id, k, ts) VALUES (900, 7, {_at('A')})")),
    "append-elsewhere": ("append", sql(f"INSERT INTO {T} (id, k, ts) VALUES (900, 7, {_at('C')})")),
    "delete-by-date": ("delete", sql(f"DELETE FROM {T} WHERE date = DATE '{DAYS['A']}' AND k = 1")),
    "delete-by-time": ("delete", sql(f"DELETE FROM {T} WHERE ts = {_at('A')}")),
    "delete-by-cast": (
        "delete",
        sql(f"DELETE FROM {T} WHERE CAST(ts AS DATE) = DATE '{DAYS['A']}' AND k = 1"),
    ),
    "update-by-time": (
        "update",
        sql(f"UPDATE {T} SET k = 8 WHERE ts >= {_at('A', 0)} AND ts < {_at('B', 0)}"),
    ),
    "copy-by-time": (
        "self-read",
        sql(f"INSERT INTO {T} (id, k, ts) SELECT id + 800, k, ts FROM {T} WHERE ts = {_at('A')}"),
    ),
    "copy-by-range": (
        "self-read",
        sql(
            f"INSERT INTO {T} (id, k, ts) SELECT id + 800, k, ts FROM {T}"
            f" WHERE ts >= {_at('A', 0)} AND ts < {_at('A', 9)}"
        ),
    ),
    "copy-by-cast": (
        "self-read",
        sql(
            f"INSERT INTO {T} (id, k, ts) SELECT id + 800, k, ts FROM {T}"
            f" WHERE CAST(ts AS DATE) = DATE '{DAYS['A']}'"
        ),
    ),
}


def _insert(date: str, region: str, n: str) -> tuple[str, Spec]:
    return "append", sql(f"INSERT INTO {T} VALUES (900L, 7, 'new', {date}, {region}, {n})")


_CONDITIONS = {
    "equal": "region = 'eu-west'",
    "is-null": "region IS NULL",
    "is-not-null": "region IS NOT NULL",
    "null-safe": "region <=> NULL",
    "not-equal": "region <> 'us'",
    "like": "region LIKE 'eu%'",
    "not-like": "region NOT LIKE 'eu%'",
    "in": "region IN ('eu-west', 'us')",
    "not-in": "region NOT IN ('us', 'eu-east')",
    "in-null": "region IN ('us', NULL)",
    "upper": "upper(region) = 'US'",
    "coalesce": "coalesce(region, 'us') = 'us'",
    "concat": "concat(region, '-1') = 'us-1'",
    "less": "n < 2",
    "at-least": "n >= 2",
    "number-as-text": "n = '2'",
    "number-as-decimal": "n = 2.0",
    "number-cast": "CAST(n AS STRING) = '2'",
    "arithmetic": "n + 1 = 3",
    "between": "n BETWEEN 2 AND 5",
    "after": f"date > DATE '{DAYS['A']}'",
    "date-as-text": f"date = '{DAYS['B']}'",
    "date-as-timestamp": f"date = TIMESTAMP '{DAYS['B']} 00:00:00'",
    "date-in-both": f"date IN (DATE '{DAYS['A']}', DATE '{DAYS['B']}')",
    "year": "year(date) = 2026",
    "today": "date = current_date()",
    "and": f"date = DATE '{DAYS['B']}' AND region = 'eu-west'",
    "or-columns": f"date = DATE '{DAYS['B']}' OR region = 'eu-west'",
    "not-and": f"NOT (date = DATE '{DAYS['B']}' AND region = 'eu-west')",
    "columns": "region = v",
    "case": "CASE WHEN n = 2 THEN 'x' ELSE 'y' END = 'x'",
    "if": "IF(n = 2, true, false)",
    "pair": "(region, n) IN (('us', 2), ('eu-west', 1))",
    "never": "region = 'us' AND region = 'eu-west'",
}
_GRID_PROBES = ("append-us", "append-null", "append-west")
_GRID: Named = {
    **{
        name: ("delete", sql(f"DELETE FROM {T} WHERE {text} AND k = 1")) for name, text in _CONDITIONS.items()
    },
    "merge-like": (
        "merge",
        merge(
            f"SELECT 1L AS id, DATE '{DAYS['A']}' AS date, 'eu-west' AS region, 1 AS n, 1 AS k, 'm' AS v",
            "t.id = s.id AND t.region LIKE 'eu%' AND t.n = 1",
            "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        ),
    ),
    "replace-where-in": (
        "repl-where",
        write(
            "Overwrite",
            f"SELECT 900L AS id, 7 AS k, 'new' AS v, DATE '{DAYS['A']}' AS date, 'eu-west' AS region, 1 AS n",
            replaceWhere="region IN ('eu-west', 'eu-east')",
        ),
    ),
    "optimize-in": ("optimize", sql(f"OPTIMIZE {T} WHERE region IN ('us')")),
    "append-us": _insert(_DAY, "'us'", "1"),
    "append-null": _insert("NULL", "NULL", "1"),
    "append-west": _insert(f"DATE '{DAYS['B']}'", "'eu-west'", "2"),
}

_ALTERED: Named = {
    "restore-across": ("restore", sql(f"RESTORE TABLE {T} TO VERSION AS OF 3")),
    "set-same": ("set-props", _alter("SET TBLPROPERTIES ('steward' = 'ops')")),
    "unset": ("set-props", _alter("UNSET TBLPROPERTIES ('steward')")),
    "unset-absent": ("set-props", _alter("UNSET TBLPROPERTIES IF EXISTS ('nobody')")),
}
_CONSTRAINED: Named = {
    "drop-constraint": ("drop-constr", _alter("DROP CONSTRAINT small")),
    "drop-absent-constraint": ("drop-constr", _alter("DROP CONSTRAINT IF EXISTS none")),
    "another-constraint": ("add-constr", _alter("ADD CONSTRAINT positive CHECK (k > 0)")),
}
_VECTORED: Named = {
    "enable-again": ("enable-feat", _alter("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")),
    "disable-vectors": ("set-props", _alter("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")),
    "merge-insert-only": ("merge", merge(new_row("A"), "false", INSERT_ROW)),
    "merge-update-only": ("merge", merge(new_row("A"), f"t.id = s.id AND t.date = {_DAY}", UPDATE_V)),
}
_CLUSTERED: Named = {
    "cluster-by": ("cluster-by", _alter("CLUSTER BY (k)")),
    "cluster-by-none": ("cluster-by", _alter("CLUSTER BY NONE")),
    "optimize-full": ("optimize", sql(f"OPTIMIZE {T} FULL")),
    "restore": ("restore", sql(f"RESTORE TABLE {T} TO VERSION AS OF 1")),
    "truncate": ("truncate", sql(f"TRUNCATE TABLE {T}")),
    "overwrite": ("overwrite", sql(f"INSERT OVERWRITE {T} {new_row('A')}")),
}
_DROPPING: Named = {
    "shallow-clone": (
        "clone",
        sql(f"CREATE OR REPLACE TABLE {T} SHALLOW CLONE delta.`{{source}}`"),
    ),
    "drop-feature": ("drop-feature", _alter("DROP FEATURE checkConstraints")),
    "rename-column": ("rename-column", _alter("RENAME COLUMN v TO w")),
}


_UNBOUND: Named = {
    "replace-where-false": ("repl-where", write("Overwrite", new_row("A"), replaceWhere="false")),
    "replace-where-false-sql": ("repl-where", sql(f"INSERT INTO {T} REPLACE WHERE false {new_row('A')}")),
    "replace-where-one-is-two-sql": (
        "repl-where",
        sql(f"INSERT INTO {T} REPLACE WHERE date = DATE '{DAYS['B']}' AND 1 = 2 {new_row('A')}"),
    ),
}
"""Conditions that Delta does not hold the new rows against: these land in another partition than they say."""


def _set(*settings: str) -> Spec:
    return _alter(f"SET TBLPROPERTIES ({', '.join(settings)})")


_FEATURES: Named = {
    "row-tracking": ("enable-feat", _set("'delta.enableRowTracking' = 'true'")),
    "column-mapping": ("enable-feat", _set("'delta.columnMapping.mode' = 'name'")),
    "unmap": ("set-props", _set("'delta.columnMapping.mode' = 'none'")),
    "checkpoint-v2": ("enable-feat", _set("'delta.checkpointPolicy' = 'v2'")),
    "checkpoint-classic": ("set-props", _set("'delta.checkpointPolicy' = 'classic'")),
    "commit-timestamps": ("enable-feat", _set("'delta.enableInCommitTimestamps' = 'true'")),
    "no-commit-timestamps": ("set-props", _set("'delta.enableInCommitTimestamps' = 'false'")),
    "timestamps-and-interval": (
        "enable-feat",
        _set("'delta.enableInCommitTimestamps' = 'true'", "'delta.checkpointInterval' = '20'"),
    ),
    "checkpoint-interval": ("set-props", _set("'delta.checkpointInterval' = '20'")),
    "rename-column": ("rename-column", _alter("RENAME COLUMN v TO w")),
    "drop-column": ("drop-column", _alter("DROP COLUMN v")),
}
_OF_COLUMNS: Named = {
    "comment-partition": ("comment", _alter("ALTER COLUMN date COMMENT 'day'")),
    "comment-partition-again": ("comment", _alter("CHANGE COLUMN date date DATE COMMENT 'day'")),
    "move-partition": ("comment", _alter("ALTER COLUMN date FIRST")),
    "comment-value": ("comment", _alter("ALTER COLUMN v COMMENT 'value'")),
    "map-columns": ("enable-feat", _set("'delta.columnMapping.mode' = 'name'")),
    "map-columns-and-more": ("enable-feat", _set("'delta.columnMapping.mode' = 'name'", "'team' = 'sales'")),
    "evolve": (
        "append",
        write(
            "Append",
            f"SELECT 900L AS id, 7 AS k, 'new' AS v, {_DAY} AS date, 1 AS extra",
            schemaEvolution=True,
        ),
    ),
}
"""Changes of a partition column's field, and of others beside them."""
_COMPACTS = ("optimize", "zorder", "optimize-all")
_RENAMING: Named = {"rename-partition": ("rename-column", _alter("RENAME COLUMN date TO day"))}
_REPLACING: Named = {
    "replace-with-vectors": (
        "repl-table",
        sql(
            f"CREATE OR REPLACE TABLE {T} USING delta PARTITIONED BY (date) "
            f"TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS {new_row('A')}"
        ),
    ),
    "vectors": ("enable-feat", _set("'delta.enableDeletionVectors' = 'true'")),
}
_COMPACTED: Named = {
    "append-compacted": (
        "append",
        {
            **sql(f"INSERT INTO {T} {new_row('A')}"),
            "runtime": {"sparkConf": {"spark.databricks.delta.autoCompact.minNumFiles": "2"}},
        },
    ),
}
"""Delta compacts after it: the other appends' partitions have too few files for that."""
_BY_FOLDER: Named = {
    "optimize-folder": ("optimize", sql(f"OPTIMIZE '{{table}}' WHERE date = {_DAY}")),
}
_CALLING: Named = {
    "append-udf": (
        "append",
        sql(f"INSERT INTO {T} VALUES (900L, 7, opaque('new'), {_DAY})"),
    ),
}
"""It may read the table as far as anybody knows, and reads nothing: none of these surely lets it fail."""
_RIVALS = ("delete", "delete-partition", "delete-all", "overwrite", "optimize", "update-all", "set-props")

_OLD = f"FROM {T} VERSION AS OF 2 WHERE date = DATE '{DAYS['E']}'"
_READING: Named = {
    "append-then-read-old": (
        "append",
        sql(f"INSERT INTO {T} {new_row('A')}; INSERT INTO {T} SELECT id + 800, k, v, date {_OLD}"),
    ),
    "append-elsewhere-then-read-old": (
        "append",
        sql(
            "INSERT INTO delta.`{source}` VALUES (902L, 3, 'new');"
            f" INSERT INTO delta.`{{source}}` SELECT id, k, v {_OLD}"
        ),
    ),
}
"""E's files are in no version but an old one: only VACUUM takes them away."""
_UNCHECKED = {"runtime": {"sparkConf": {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}}}
_VACUUMS: Named = {
    "vacuum-retain-0": ("vacuum", {**sql(f"VACUUM {T} RETAIN 0 HOURS"), **_UNCHECKED}),
    "vacuum-folder-retain-0": ("vacuum", {**sql("VACUUM '{table}' RETAIN 0 HOURS"), **_UNCHECKED}),
    "vacuum": ("vacuum", sql(f"VACUUM {T}")),
    "set-and-vacuum": (
        "vacuum",
        sql(
            f"ALTER TABLE {T} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 hours');"
            f" VACUUM {T}"
        ),
    ),
}
_VACUUMED: Named = {**_READING, **_VACUUMS}
_PROTOCOL_PAIRS = (
    ("replace-with-vectors", "vectors"),
    ("replace-with-vectors", "set-props"),
    ("replace-with-vectors", "append"),
    ("replace-with-vectors", "optimize"),
)
_FEATURE_PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "plain": (
        ("update", "column-mapping"),
        ("delete", "checkpoint-v2"),
        ("delete", "commit-timestamps"),
        ("delete", "timestamps-and-interval"),
        ("checkpoint-interval", "commit-timestamps"),
        ("commit-timestamps", "deletion-vectors"),
        ("commit-timestamps", "commit-timestamps"),
    ),
    "mapped": (
        ("delete", "unmap"),
        ("append", "rename-column"),
        ("optimize", "rename-column"),
        ("append", "drop-column"),
        ("rename-column", "drop-column"),
        ("delete", "append"),
    ),
    "checkpoint-v2": (("delete", "checkpoint-classic"), ("delete", "append")),
    "commit-timestamps": (
        ("delete", "no-commit-timestamps"),
        ("set-props", "add-column"),
        ("append", "append"),
        ("delete", "append"),
    ),
    "tracking-supported": (
        ("delete", "row-tracking"),
        ("append", "row-tracking"),
        ("merge-by-source", "row-tracking"),
        ("deletion-vectors", "row-tracking"),
        ("row-tracking", "row-tracking"),
    ),
}

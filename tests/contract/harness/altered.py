"""Rows of changes to a table beside jobs that start again by themselves, or that Delta may let commit after the change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from contract.harness.operations import T, catalogue, date, merge, new_row, sql, stream, write
from contract.harness.rows import Row, Spec
from contract.harness.special import Named, rows_of


def altered_rows() -> Iterator[Row]:
    daily = {name: (operation.kind, operation.spec) for name, operation in catalogue("A", "B").items()}
    daily |= {name: _enabling(name) for name in _FEATURES}
    daily |= {"-and-".join(names): _enabling(*names) for names in _TOGETHER}
    daily |= _CLUSTERING
    for layout, named, pairs in (
        ("typed", {**daily, **_TYPED, **_ON_TYPED}, ((one, "optimize") for one in _TYPED)),
        ("typed", {**daily, **_TYPED, **_ON_TYPED}, (("mapping", "append"), ("default-partition", "append"))),
        ("timestamps-off", daily, (("timestamps", one) for one in ("append", "delete", "optimize"))),
        ("tracking-off", daily, (("tracking", one) for one in ("append", "delete"))),
        ("features-off", daily, ((one, "delete") for one in _FEATURES)),
        ("nested", {**daily, **_ON_NESTED}, _NESTED_PAIRS),
        ("daily", daily, (("-and-".join(names), "delete") for names in _TOGETHER)),
        ("daily", daily, _BESIDE_OTHERS),
        ("identity", {**daily, **_IDENTITY}, _IDENTITY_PAIRS),
        ("clustered", daily, (("cluster-by", one) for one in _ON_CLUSTERED)),
        ("clustered", daily, [("mapping", "delete")]),
        ("plain", daily, (("cluster-by", one) for one in _ON_PLAIN)),
        ("purgeable", {**daily, **_OF_PARTITIONS}, ((one, "purge") for one in _BESIDE_PURGE)),
        (
            "mapped",
            {**daily, "drop-column": ("drop-column", _alter("DROP COLUMN v"))},
            [("drop-column", "optimize")],
        ),
    ):
        yield from rows_of(layout, named, pairs)
    for layout, feature in _ENABLED.items():
        yield from rows_of(layout, daily, ((feature, "delete"), ("set-own-props", "optimize")))


def _alter(text: str) -> Spec:
    return sql(f"ALTER TABLE {T} {text}")


_FEATURES: Mapping[str, str] = {
    "vectors": "'delta.enableDeletionVectors' = 'true'",
    "mapping": "'delta.columnMapping.mode' = 'name'",
    "tracking": "'delta.enableRowTracking' = 'true'",
    "timestamps": "'delta.enableInCommitTimestamps' = 'true'",
    "checkpoints": "'delta.checkpointPolicy' = 'v2'",
}
"""Later versions of Delta let others commit while one of these is enabled."""
_TOGETHER = (
    ("vectors", "mapping"),
    ("vectors", "tracking"),
    ("mapping", "tracking"),
    ("timestamps", "checkpoints"),
)
_ENABLED = {
    "mapped": "mapping",
    "row-tracking": "tracking",
    "checkpoint-v2": "checkpoints",
    "commit-timestamps": "timestamps",
}
"""Layouts whose feature is enabled once more."""


def _enabling(*names: str) -> tuple[str, Spec]:
    return "enable-feat", _alter(f"SET TBLPROPERTIES ({', '.join(_FEATURES[name] for name in names)})")


def _evolving(k: str, n: str) -> tuple[str, Spec]:
    row = f"SELECT 900L AS id, {k} AS k, 'new' AS v, 'us' AS region, {n} AS n"
    return "append-evolve", write("Append", row, schemaEvolution=True)


_TYPED: Named = {
    "default-partition": ("comment", _alter("ALTER COLUMN region SET DEFAULT 'eu'")),
    "default-value": ("comment", _alter("ALTER COLUMN v SET DEFAULT 'x'")),
    "widen-text-partition": ("comment", _alter("ALTER COLUMN region TYPE VARCHAR(16)")),
    "widen-text": ("comment", _alter("ALTER COLUMN v TYPE VARCHAR(16)")),
    "widen-partition": ("comment", _alter("ALTER COLUMN n TYPE BIGINT")),
    "widen-value": ("comment", _alter("ALTER COLUMN k TYPE BIGINT")),
    "evolve-value": _evolving("7L", "2"),
    "evolve-partition": _evolving("7", "2L"),
}
_ON_TYPED: Named = {
    "append": ("append", sql(f"INSERT INTO {T} VALUES (901L, 7, 'new', 'eu', 1)")),
    "optimize": ("optimize", sql(f"OPTIMIZE {T} WHERE region = 'eu'")),
}
_ON_NESTED: Named = {
    "append": ("append", sql(f"INSERT INTO {T} VALUES (900L, named_struct('x', 1, 'y', 2), 'real', 7)")),
    "delete": ("delete", sql(f"DELETE FROM {T} WHERE p = 'real' AND k = 1")),
}
_NESTED_PAIRS = (("mapping", "append"), ("mapping", "delete"), ("vectors", "append"))
_BESIDE_OTHERS = (
    *((one, "stream") for one in ("mapping", "tracking", "timestamps", "checkpoints")),
    *((one, "restore") for one in ("mapping", "timestamps")),
)
_OTHER_DAY = date("B")
_IDENTITY: Named = {
    "insert-generated": ("append", sql(f"INSERT INTO {T} (k, date) VALUES (7, {date('A')})")),
    "generate-then-enable": (
        "append",
        sql(
            f"INSERT INTO {T} (k, date) VALUES (7, {date('A')});"
            f" ALTER TABLE {T} SET TBLPROPERTIES ({_FEATURES['vectors']})"
        ),
    ),
    "update": ("update", sql(f"UPDATE {T} SET k = 9 WHERE date = {_OTHER_DAY} AND k = 1")),
    "merge-update": (
        "merge",
        merge(
            f"SELECT 1 AS k, {_OTHER_DAY} AS date",
            f"t.k = s.k AND t.date = {_OTHER_DAY}",
            "WHEN MATCHED THEN UPDATE SET k = 9",
        ),
    ),
    "stream": ("stream", stream(f"SELECT k, {_OTHER_DAY} AS date FROM source")),
}
_IDENTITY_PAIRS = (
    *(("insert-generated", one) for one in ("update", "merge-update", "vacuum", "stream")),
    ("mapping", "update"),
    ("generate-then-enable", "update"),
)
_CLUSTERING: Named = {
    "cluster-by": ("cluster-by", _alter("CLUSTER BY (k)")),
    "replace-clustered": (
        "repl-table",
        sql(f"CREATE OR REPLACE TABLE {T} USING delta CLUSTER BY (id) AS {new_row('A')}"),
    ),
}
_ON_CLUSTERED = (
    *("append-write", "dynamic-sql", "merge", "overwrite-write"),
    *("replace-clustered", "replace-where", "stream", "update"),
)
_ON_PLAIN = (
    *("append", "delete-file", "optimize-all", "overwrite-write"),
    *("replace-clustered", "restore", "stream", "vacuum"),
)
_OF_PARTITIONS: Named = {
    "comment-partition": ("comment", _alter("ALTER COLUMN date COMMENT 'day'")),
    "move-partition": ("comment", _alter("ALTER COLUMN date FIRST")),
}
_BESIDE_PURGE = (
    *_OF_PARTITIONS,
    *("set-props", "add-column", "comment-column", "add-constraint", "append-only"),
    *("column-mapping", "commit-timestamps", "enable-row-tracking", "type-widening"),
)

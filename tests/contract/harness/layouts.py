"""The tables on which operations meet: how each is made, and how it is told to `sluice explain --batch`.

A layout is built once and its folder copied for each race, so every race begins from the same versions, files and rows.
Days A to D have two files each (k 1 and 2, k 3 and 4): a compaction has something to do everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DAYS = {"A": "2026-11-18", "B": "2026-11-19", "C": "2026-11-20", "D": "2026-11-21", "E": "2026-11-30"}
"""E had rows once and has none now: a RESTORE can bring them back."""

DAILY_COLUMNS = (("id", "bigint"), ("k", "int"), ("v", "string"), ("date", "date"))
GRID_COLUMNS = (
    ("id", "bigint"),
    ("k", "int"),
    ("v", "string"),
    ("date", "date"),
    ("region", "string"),
    ("n", "int"),
)
GRID_DATES = ("2026-11-18", "2026-11-19", None)
GRID_REGIONS = ("eu-west", "us", None)
GRID_NUMBERS = (1, 2)

STREAM_SOURCE = (
    "CREATE TABLE delta.`{table}` (id BIGINT, k INT, v STRING) USING delta",
    "INSERT INTO delta.`{table}` VALUES (900L, 1, 'streamed'), (901L, 2, 'streamed')",
)


@dataclass(frozen=True)
class Layout:
    name: str
    columns: tuple[tuple[str, str], ...]
    build: tuple[str, ...]
    """Statements that make the table at {table}; none for a path where there is no table. Where columns are generated
    or count by themselves the table is there already: Delta 3.3 makes such columns by its own interface only."""
    partition_columns: tuple[str, ...] = ()
    clustering_columns: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    """What the table's log holds as configuration."""
    identity_columns: tuple[str, ...] = ()
    generated_columns: Mapping[str, str] = field(default_factory=dict)
    write_serializable: bool = False
    """Delta refuses to set this level, so it's written into the log, as other engines write it."""
    source: tuple[str, ...] = STREAM_SOURCE
    """Statements that make what stands at {source}."""
    versions: frozenset[str] = frozenset({"4.4.0", "3.3.3"})

    @property
    def is_made_by_interface(self) -> bool:
        return bool(self.generated_columns or self.identity_columns)

    @property
    def exists(self) -> bool:
        return bool(self.build)

    def described(self, version: str) -> dict[str, Any]:
        """The table as a line of `sluice explain --batch` gives it."""
        # What makes a feature supported stands in the protocol, not among the properties.
        properties = {
            key: value for key, value in self.properties.items() if not key.startswith("delta.feature.")
        }
        if self.write_serializable:
            properties["delta.isolationLevel"] = "WriteSerializable"
        return {
            "schema": [{"name": name, "type": type_} for name, type_ in self.columns],
            "partitionColumns": list(self.partition_columns),
            "clusteringColumns": list(self.clustering_columns),
            "properties": properties,
            "dialect": {"name": "oss", "version": version},
            "isolationLevel": "WriteSerializable" if self.write_serializable else "Serializable",
            "logStore": "safe",
            "identityColumns": list(self.identity_columns),
        }


def _columns(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {type_.upper()}" for name, type_ in columns)


def _properties(properties: Mapping[str, str]) -> str:
    if not properties:
        return ""
    return " TBLPROPERTIES (" + ", ".join(f"'{key}' = '{value}'" for key, value in properties.items()) + ")"


def _daily_rows(days: str, keys: Sequence[int]) -> str:
    rows = [
        f"({'ABCDE'.index(day) * 10 + k}L, {k}, 'base', DATE '{DAYS[day]}')" for day in days for k in keys
    ]
    return f"INSERT INTO delta.`{{table}}` VALUES {', '.join(rows)}"


def _daily(name: str, partitioned: str, properties: Mapping[str, str] | None = None, **more: Any) -> Layout:
    """Versions: 0 created, 1 the first files, 2 the second files and E, 3 without E."""
    stored = {**(properties or {})}
    return Layout(
        name=name,
        columns=DAILY_COLUMNS,
        build=(
            f"CREATE TABLE delta.`{{table}}` ({_columns(DAILY_COLUMNS)}) USING delta {partitioned}{_properties(stored)}",
            _daily_rows("ABCD", (1, 2)),
            _daily_rows("ABCDE", (3, 4)),
            f"DELETE FROM delta.`{{table}}` WHERE date = DATE '{DAYS['E']}'",
            *more.pop("then", ()),
        ),
        partition_columns=("date",) if "PARTITIONED" in partitioned else (),
        clustering_columns=("date",) if "CLUSTER" in partitioned else (),
        properties={**stored, **more.pop("also_stored", {})},
        **more,
    )


def _grid() -> Layout:
    def literal(value: object) -> str:
        return "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"

    rows: list[str] = []
    for date in GRID_DATES:
        for region in GRID_REGIONS:
            for n in GRID_NUMBERS:
                for k in (1, 2):
                    cell = f"CAST({literal(date)} AS DATE), {literal(region)}, CAST({literal(n)} AS INT)"
                    rows.append(f"({len(rows)}L, {k}, 'base', {cell})")
    return Layout(
        name="grid",
        columns=GRID_COLUMNS,
        build=(
            f"CREATE TABLE delta.`{{table}}` ({_columns(GRID_COLUMNS)}) USING delta PARTITIONED BY (date, region, n)",
            f"INSERT INTO delta.`{{table}}` VALUES {', '.join(rows)}",
        ),
        partition_columns=("date", "region", "n"),
    )


def _generated() -> Layout:
    columns = (("id", "bigint"), ("k", "int"), ("ts", "timestamp"), ("date", "date"))
    rows = ", ".join(
        f"({'ABCD'.index(day) * 10 + k}L, {k}, TIMESTAMP '{DAYS[day]} 0{k}:00:00')"
        for day in "ABCD"
        for k in (1, 2, 3, 4)
    )
    return Layout(
        name="generated",
        columns=columns,
        build=(f"INSERT INTO delta.`{{table}}` (id, k, ts) VALUES {rows}",),
        partition_columns=("date",),
        generated_columns={"date": "CAST(ts AS DATE)"},
    )


def _identity() -> Layout:
    return Layout(
        name="identity",
        columns=(("id", "bigint"), ("k", "int"), ("date", "date")),
        build=(
            "INSERT INTO delta.`{table}` (k, date) VALUES "
            + ", ".join(f"({k}, DATE '{DAYS[day]}')" for day in "ABCD" for k in (1, 2)),
        ),
        partition_columns=("date",),
        properties={"delta.feature.rowTracking": "supported"},
        identity_columns=("id",),
    )


def _labels() -> Layout:
    """Beside the partition column stand others of its type: a value that is read one place too far would be believed."""
    columns = (("id", "bigint"), ("p", "string"), ("q", "string"), ("v", "string"), ("k", "int"))
    rows = ", ".join(
        f"({place * 10 + k}L, {value}, 'q', 'base', {k})"
        for place, value in enumerate(("'real'", "'believed'", "'1'", "'01'", "'eu'", "NULL"))
        for k in (1, 2)
    )
    return Layout(
        name="labels",
        columns=columns,
        build=(
            f"CREATE TABLE delta.`{{table}}` ({_columns(columns)}) USING delta PARTITIONED BY (p)",
            f"INSERT INTO delta.`{{table}}` VALUES {rows}",
        ),
        partition_columns=("p",),
    )


def _large(name: str, source: tuple[str, ...]) -> Layout:
    columns = (("id", "bigint"), ("b", "bigint"), ("c", "bigint"), ("k", "int"))
    numbers = (1, 16777216, 16777217, 9007199254740992, 9007199254740993)
    rows = ", ".join(
        f"({place * 10 + k}L, {number}L, 0L, {k})" for place, number in enumerate(numbers) for k in (1, 2)
    )
    return Layout(
        name=name,
        columns=columns,
        build=(
            f"CREATE TABLE delta.`{{table}}` ({_columns(columns)}) USING delta PARTITIONED BY (b)",
            f"INSERT INTO delta.`{{table}}` VALUES {rows}",
        ),
        partition_columns=("b",),
        source=source,
    )


def _dashed() -> Layout:
    rows = ", ".join(
        f"({'ABCD'.index(day) * 10 + k}L, TIMESTAMP '{DAYS[day]} 0{k}:00:00', {k})"
        for day in "ABCD"
        for k in (1, 2)
    )
    return Layout(
        name="dashed",
        columns=(("id", "bigint"), ("my-ts", "timestamp"), ("k", "int"), ("date", "date")),
        build=(f"INSERT INTO delta.`{{table}}` (id, `my-ts`, k) VALUES {rows}",),
        partition_columns=("date",),
        generated_columns={"date": "CAST(`my-ts` AS DATE)"},
    )


def _nested() -> Layout:
    columns = (("id", "bigint"), ("s", "struct<x:int,y:int>"), ("p", "string"), ("k", "int"))
    rows = ", ".join(
        f"({place * 10 + k}L, named_struct('x', {k}, 'y', 0), '{value}', {k})"
        for place, value in enumerate(("real", "believed"))
        for k in (1, 2)
    )
    return Layout(
        name="nested",
        columns=columns,
        build=(
            f"CREATE TABLE delta.`{{table}}` ({_columns(columns)}) USING delta PARTITIONED BY (p)",
            f"INSERT INTO delta.`{{table}}` VALUES {rows}",
        ),
        partition_columns=("p",),
    )


def _typed() -> Layout:
    """Partition columns whose type can grow, in a table that may have defaults."""
    columns = (
        ("id", "bigint"),
        ("k", "int"),
        ("v", "varchar(8)"),
        ("region", "varchar(8)"),
        ("n", "int"),
    )
    properties = {"delta.enableTypeWidening": "true"}
    made = {**properties, "delta.feature.allowColumnDefaults": "supported"}
    inserts = (
        f"INSERT INTO delta.`{{table}}` VALUES ({k}L, {k}, 'base', 'eu', 1), ({10 + k}L, {k}, 'base', 'us', 2)"
        for k in (1, 2)
    )
    return Layout(
        name="typed",
        columns=columns,
        build=(
            f"CREATE TABLE delta.`{{table}}` ({_columns(columns)}) USING delta PARTITIONED BY (region, n){_properties(made)}",
            *inserts,
        ),
        partition_columns=("region", "n"),
        properties=properties,
    )


BY_DAY = "PARTITIONED BY (date)"
BY_CLUSTER = "CLUSTER BY (date)"
_DV = {"delta.enableDeletionVectors": "true"}

_ALL = (
    _daily("daily", BY_DAY),
    _daily("daily-dv", BY_DAY, _DV),
    _daily("plain", ""),
    _daily("plain-dv", "", _DV),
    _daily("clustered", BY_CLUSTER),
    _daily("clustered-dv", BY_CLUSTER, _DV),
    _daily("write-serializable", BY_DAY, write_serializable=True),
    _daily("auto-compact", BY_DAY, {"delta.autoOptimize.autoCompact": "true"}),
    _daily("change-feed", BY_DAY, {"delta.enableChangeDataFeed": "true"}),
    _daily("row-tracking", BY_DAY, {"delta.enableRowTracking": "true"}),
    _daily(
        "altered",
        BY_DAY,
        then=("ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('steward' = 'ops')",),
        also_stored={"steward": "ops"},
    ),
    _daily(
        "constrained",
        BY_DAY,
        then=("ALTER TABLE delta.`{table}` ADD CONSTRAINT small CHECK (k < 1000)",),
        also_stored={"delta.constraints.small": "k < 1000"},
    ),
    _daily("mapped", BY_DAY, {"delta.columnMapping.mode": "name"}),
    _daily("checkpoint-v2", BY_DAY, {"delta.checkpointPolicy": "v2"}),
    _daily("commit-timestamps", BY_DAY, {"delta.enableInCommitTimestamps": "true"}),
    # To enable a feature here changes properties that the table has already.
    _daily(
        "features-off",
        BY_DAY,
        {
            "delta.checkpointPolicy": "classic",
            "delta.columnMapping.mode": "none",
            "delta.enableDeletionVectors": "false",
            "delta.enableInCommitTimestamps": "false",
            "delta.enableRowTracking": "false",
        },
    ),
    _daily(
        "timestamps-off",
        BY_DAY,
        then=(
            "ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
            "ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false')",
        ),
        also_stored={
            "delta.enableInCommitTimestamps": "false",
            "delta.inCommitTimestampEnablementVersion": "4",
        },
    ),
    _daily(
        "tracking-off",
        BY_DAY,
        then=(
            "ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
            "ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')",
        ),
        also_stored={"delta.enableRowTracking": "false"},
    ),
    _typed(),
    _daily(
        "purgeable",
        BY_DAY,
        _DV,
        then=("DELETE FROM delta.`{table}` WHERE k = 1",),
    ),
    _daily("tracking-supported", "", {"delta.feature.rowTracking": "supported"}),
    _grid(),
    _generated(),
    _identity(),
    _labels(),
    _large(
        "large",
        source=(
            "CREATE TABLE delta.`{table}` (id BIGINT, b DOUBLE, f FLOAT, c BIGINT, k INT) USING delta",
            "INSERT INTO delta.`{table}` VALUES"
            " (900L, CAST(9007199254740992L AS DOUBLE), CAST(16777216 AS FLOAT), 0L, 7)",
        ),
    ),
    _large(
        "copied",
        source=(
            "CREATE TABLE delta.`{table}` (id BIGINT, b BIGINT, c BIGINT, k INT) USING delta",
            "INSERT INTO delta.`{table}` VALUES (900L, 9007199254740993L, 0L, 7)",
        ),
    ),
    _dashed(),
    _nested(),
    # Delta 4 reads no version of it that is older than that, vacuumed or not.
    _daily(
        "kept-shortly",
        BY_DAY,
        {"delta.deletedFileRetentionDuration": "interval 0 hours"},
        versions=frozenset({"3.3.3"}),
    ),
    Layout(name="absent", columns=(), build=()),
)

LAYOUTS: Mapping[str, Layout] = {layout.name: layout for layout in _ALL}

"""Pairs that real Delta aborts though their texts speak of different partitions: none of them may be told apart."""

from typing import Any

import pytest

from sluice.conflicts import Level, Pair, pair_of
from unit.conflicts.pairs import A, B, facts, job

Spec = str | dict[str, Any]

SOURCE = "delta.`/lake/source`"
DELETE_B = f"DELETE FROM {{t}} WHERE date = {B} AND k = 1"


def pair(first: Spec, second: Spec, conf: dict[str, str] | None = None, **more: Any) -> Pair:
    """`conf`: of the first."""
    known = facts(**more)
    return pair_of(job(first, known, **(conf or {})), job(second, known))


def _written(mode: str, day: str) -> Spec:
    write = {
        "table": {"path": "/lake/t"},
        "source": {"sql": f"SELECT 1 AS k, 'v' AS v, {day} AS date"},
        "mode": mode,
    }
    return {"write": write | ({"replaceWhere": f"date = {day}"} if mode == "Overwrite" else {})}


def merge(clauses: str, on: str = "t.id = s.id") -> str:
    return f"MERGE INTO {{t}} t USING {SOURCE} s ON {on} {clauses}"


def test_a_merge_that_also_inserts_writes_files_anew_whatever_its_clauses_conditions_say() -> None:
    first = merge(
        f"WHEN MATCHED AND t.date = {A} THEN UPDATE SET v = 'x' "
        f"WHEN NOT MATCHED THEN INSERT (id, k, v, date) VALUES (s.id, 1, 'n', {A})"
    )
    assert pair(first, DELETE_B).second_loses.level is Level.MAY
    pinned = merge(
        f"WHEN MATCHED AND t.k = 1 THEN UPDATE SET v = 'x' "
        f"WHEN NOT MATCHED THEN INSERT (id, k, v, date) VALUES (s.id, 1, 'n', {A})",
        on=f"t.id = s.id AND t.date = {A}",
    )
    assert pair(pinned, DELETE_B).together


def test_a_merge_by_source_writes_all_files_anew() -> None:
    first = merge(f"WHEN NOT MATCHED BY SOURCE AND t.date = {A} THEN DELETE", on=f"t.date = {A}")
    assert pair(first, DELETE_B).second_loses.level is Level.MAY


def test_a_merge_that_only_matches_spares_files_without_a_row_that_it_changes() -> None:
    first = merge(f"WHEN MATCHED AND t.date = {A} THEN UPDATE SET v = 'x'")
    assert pair(first, DELETE_B).together


def test_values_go_to_dynamic_partitions_by_their_place_not_by_their_names() -> None:
    misnamed = f"INSERT INTO {{t}} PARTITION (date) SELECT id, k, {A} AS date, day FROM {SOURCE}"
    assert pair(misnamed, DELETE_B).second_loses.level is Level.MAY
    bounded = f"INSERT INTO {{t}} PARTITION (date) SELECT id, k, v, {A} FROM {SOURCE}"
    assert pair(bounded, DELETE_B).together


def replaces(day: str, columns: str = "k, v, date") -> str:
    return f"INSERT INTO {{t}} ({columns}) REPLACE WHERE date = {day} SELECT {columns} FROM {SOURCE} WHERE date = {day}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (replaces(A), replaces(B)),
        (
            f"INSERT OVERWRITE {{t}} PARTITION (date = {A}) (k, v) SELECT k, v FROM {SOURCE}",
            f"INSERT OVERWRITE {{t}} PARTITION (date = {B}) (k, v) SELECT k, v FROM {SOURCE}",
        ),
        (_written("Overwrite", A), _written("Overwrite", B)),
        (_written("OverwritePartitions", A), _written("OverwritePartitions", B)),
    ],
)
def test_overwrites_that_both_generate_identities_change_the_same_mark(first: Spec, second: Spec) -> None:
    found = pair(first, second, identity_columns=frozenset({"id"}))
    for verdict in (found.first_loses, found.second_loses):
        assert verdict.level >= Level.MAY
        assert verdict.exception == "MetadataChangedException"


def test_overwrites_that_give_identities_themselves_leave_the_mark() -> None:
    given = "id, k, v, date"
    assert pair(replaces(A, given), replaces(B, given), identity_columns=frozenset({"id"})).together
    by_name = f"INSERT INTO {{t}} BY NAME VALUES (1, 1, 'v', {A}) AS s(id, k, v, date)"
    assert pair(by_name, by_name, identity_columns=frozenset({"id"})).together


AND_OF_ORS = f"(t.date = {A} OR t.date = DATE '2026-11-01') AND (t.date = {A} OR t.k = 1)"


@pytest.mark.parametrize(
    "first",
    [
        f"INSERT INTO {{t}} SELECT id, k, v, date FROM {{t}} TABLESAMPLE (10 PERCENT) WHERE date = {A}",
        f"INSERT INTO {{t}} SELECT a, k, v, day FROM {{t}} AS x(a, date, v, day) WHERE date = {A}",
        f"INSERT INTO {{t}} SELECT id, k, v, date FROM {{t}} AS t WHERE {AND_OF_ORS}",
        merge("WHEN MATCHED THEN UPDATE SET v = 'x'", on=f"{AND_OF_ORS} AND t.id = s.id"),
    ],
)
def test_a_condition_that_spark_does_not_bring_down_to_the_scan_pins_nothing(first: str) -> None:
    assert pair(first, f"INSERT INTO {{t}} VALUES (1, 1, 'v', {B})").first_loses.level is Level.MAY


@pytest.mark.parametrize(
    "first",
    [
        f"CREATE TEMP VIEW c AS SELECT * FROM {SOURCE} WHERE date = {A}; "
        f"INSERT INTO {{t}} WITH c AS (SELECT * FROM {SOURCE}) SELECT id, k, v, date FROM c",
        f"CREATE TEMP VIEW c AS SELECT id, {A} AS date, k, v FROM {SOURCE}; "
        f"INSERT INTO {{t}} BY NAME SELECT * FROM c AS c(id, k, date, v)",
        "INSERT INTO {t} SELECT * FROM {t} AS x(id, k, date, v) WHERE date = '2026-11-18'",
    ],
)
def test_rows_land_where_the_names_that_count_say(first: str) -> None:
    assert pair(first, DELETE_B).second_loses.level is Level.MAY


@pytest.mark.parametrize(
    ("first", "conf"),
    [
        (
            f"INSERT INTO {{t}} SELECT id, k, v, date FROM {{t}} WHERE date = {A}",
            {"spark.databricks.delta.stats.skipping": "false"},
        ),
        (
            f"INSERT OVERWRITE {{t}} VALUES (1, 1, 'v', {A})",
            {
                "spark.sql.sources.partitionOverwriteMode": "dynamic",
                "spark.databricks.delta.dynamicPartitionOverwrite.enabled": "false",
            },
        ),
        (
            merge(f"WHEN NOT MATCHED THEN INSERT (id, k, v, date) VALUES (1, 1, 'v', {A})"),
            {"spark.databricks.delta.merge.optimizeInsertOnlyMerge.enabled": "false"},
        ),
    ],
)
def test_settings_that_change_what_is_touched_leave_no_partition_out(
    first: str, conf: dict[str, str]
) -> None:
    found = pair(first, f"UPDATE {{t}} SET v = 'x' WHERE date = {B}", conf)
    assert found.first_loses.level is Level.MAY
    if "SELECT" not in first:
        assert found.second_loses.level is Level.MAY
    assert pair(f"INSERT INTO {{t}} VALUES (1, 1, 'v', {A})", DELETE_B, conf).together


@pytest.mark.parametrize(
    "before",
    [
        "SET spark.databricks.delta.autoCompact.enabled = true",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')",
    ],
)
def test_what_a_script_compacts_after_its_writes_may_be_what_others_compact(before: str) -> None:
    append = f"INSERT INTO {{t}} VALUES (1, 1, 'v', {A})"
    optimize = f"OPTIMIZE {{t}} WHERE date = {A}"
    found = pair(optimize, f"{before}; {append}")
    assert found.first_loses.exception == "ConcurrentDeleteReadException"
    assert pair(optimize, append).together


MANY = " OR ".join(f"k = {number}" for number in range(9000))


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        (
            f"INSERT OVERWRITE {{t}} SELECT * FROM {SOURCE} WHERE {MANY}",
            "ALTER TABLE {t} CLUSTER BY (k)",
            {"partitioned": False, "clustering_columns": ("id",)},
        ),
        (
            merge(f"WHEN NOT MATCHED AND {MANY} THEN INSERT *", on="false"),
            "INSERT INTO {t} (k) VALUES (1)",
            {"identity_columns": frozenset({"id"})},
        ),
    ],
)
def test_a_statement_too_large_to_be_read_does_all_that_its_kind_can(
    first: str, second: str, more: dict[str, Any]
) -> None:
    found = pair(first, second, **more)
    assert Level.NEVER not in (found.first_loses.level, found.second_loses.level)

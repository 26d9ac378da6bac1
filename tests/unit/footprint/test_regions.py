"""Which partitions a statement reads and writes, on a table of orders by day."""

import re
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, TableFootprint, footprint_of
from sluice.footprint.model import Metadata
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

FACTS = TableFacts(
    columns=Table.of({"id": "bigint", "v": "string", "date": "date", "region": "string"}, ["date", "region"]),
    log_store=LogStore.SAFE,
    dialect=oss("4.4.0"),
)
D, E = "DATE '2026-11-19'", "DATE '2026-11-20'"
ON_D, ON_E = f"date = {D}", f"date = {E}"
EU = "region = 'eu'"


def read(spec: str | dict[str, Any], **conf: str) -> tuple[TableFootprint, ...]:
    given = {"sql": spec.replace("{t}", "delta.`/lake/t`")} if isinstance(spec, str) else spec
    return footprint_of(
        DeltaWriteJobSpec.model_validate(given), conf, facts={key_of_path("/lake/t"): FACTS}
    ).tables


def one(spec: str | dict[str, Any], **conf: str) -> TableFootprint:
    (found,) = read(spec, **conf)
    return found


@pytest.mark.parametrize(
    ("sql", "lands"),
    [
        (f"INSERT INTO {{t}} VALUES (1, 'v', {D}, 'eu')", f"({ON_D}) AND ({EU})"),
        (f"INSERT INTO {{t}} (region, date, id) VALUES ('eu', {D}, 1)", f"({ON_D}) AND ({EU})"),
        (f"INSERT INTO {{t}} PARTITION (date = {D}) SELECT 1, 'v', 'eu'", f"({ON_D}) AND ({EU})"),
        (f"INSERT INTO {{t}} BY NAME SELECT 'eu' AS region, {D} AS date", f"({ON_D}) AND ({EU})"),
        ("INSERT INTO {t} SELECT 1, 'v', CAST('2026-11-19' AS DATE), 'eu'", f"({ON_D}) AND ({EU})"),
        (f"INSERT INTO {{t}} SELECT s.* FROM (SELECT 1, 'v', {D}, 'eu') s", f"({ON_D}) AND ({EU})"),
        (f"INSERT INTO {{t}} BY NAME SELECT * FROM delta.`/s` WHERE date = {D}", ON_D),
        (f"INSERT INTO {{t}} BY NAME SELECT * FROM delta.`/s` WHERE date > {D}", "true"),
        ("INSERT INTO {t} BY NAME SELECT * FROM delta.`/s` WHERE region = 'eu'", "true"),
        (
            f"INSERT INTO {{t}} BY NAME SELECT s.* FROM delta.`/s` s JOIN delta.`/u` u WHERE u.date = {D}",
            "true",
        ),
        (f"INSERT INTO {{t}} SELECT id, v, {D}, region FROM {{t}} VERSION AS OF 3", ON_D),
        (f"INSERT INTO {{t}} SELECT 1, 'v', {D}, 'eu' UNION ALL SELECT 2, 'v', {E}, 'eu'", None),
        ("INSERT INTO {t} SELECT 1, 'v', current_date(), 'eu'", EU),
        ("INSERT INTO {t} (id, region) VALUES (1, 'eu')", EU),
    ],
)
def test_rows_that_are_written_down_say_where_they_land(sql: str, lands: str | None) -> None:
    found = one(sql)
    assert found.is_blind
    expected = "region = 'eu' AND date IN (DATE '2026-11-19', DATE '2026-11-20')" if lands is None else lands
    assert sorted(_parts(found.writes_text)) == sorted(_parts(expected))


def _parts(text: str) -> list[str]:
    return [part.strip("()") if "IN" not in part else part for part in text.split(" AND ")]


def test_a_blank_text_lands_in_the_null_partition() -> None:
    found = one(f"INSERT INTO {{t}} VALUES (1, 'v', {D}, '')")
    assert "region IS NULL" in found.writes_text


@pytest.mark.parametrize(
    ("sql", "reads", "writes"),
    [
        (f"DELETE FROM {{t}} WHERE {ON_D} AND id = 1", ON_D, ON_D),
        (f"DELETE FROM {{t}} WHERE {ON_D}", ON_D, "false"),
        (f"DELETE FROM {{t}} AS x WHERE x.{ON_D} OR x.id = 1", "true", "true"),
        ("DELETE FROM {t}", "true", "false"),
        ("TRUNCATE TABLE {t}", "true", "false"),
        (f"UPDATE {{t}} SET v = 'x' WHERE {ON_D}", ON_D, ON_D),
        (f"UPDATE {{t}} SET {ON_E} WHERE {ON_D}", ON_D, f"{ON_D} OR {ON_E}"),
        (f"UPDATE {{t}} SET date = date_add(date, 1) WHERE {ON_D}", ON_D, "true"),
        (f"OPTIMIZE {{t}} WHERE {ON_D} ZORDER BY (id)", ON_D, ON_D),
        (f"INSERT INTO {{t}} REPLACE WHERE {ON_D} SELECT * FROM delta.`/s`", ON_D, ON_D),
        (f"INSERT OVERWRITE {{t}} PARTITION ({ON_D}) SELECT 1, 'v', 'eu'", ON_D, ON_D),
        (f"UPDATE {{t}} SET id = (SELECT max(id) FROM orders) WHERE {ON_D}", "true", ON_D),
        (f"UPDATE {{t}} SET id = (SELECT max(id) FROM delta.`/s`) WHERE {ON_D}", ON_D, ON_D),
    ],
)
def test_conditions_bound_what_is_read_and_written(sql: str, reads: str, writes: str) -> None:
    found = one(sql)
    assert (found.reads_text, found.writes_text) == (reads, writes)


MERGE = "MERGE INTO {t} t USING delta.`/s` s ON t.id = s.id AND t.{on} {clauses}"


@pytest.mark.parametrize(
    ("clauses", "writes"),
    [
        ("WHEN MATCHED THEN UPDATE SET v = s.v", ON_D),
        ("WHEN MATCHED THEN DELETE", ON_D),
        ("WHEN MATCHED THEN UPDATE SET *", "true"),
        ("WHEN NOT MATCHED THEN INSERT *", "true"),
        (f"WHEN NOT MATCHED AND s.{ON_D} THEN INSERT *", ON_D),
        (f"WHEN NOT MATCHED THEN INSERT (id, date) VALUES (s.id, {D})", ON_D),
        ("WHEN NOT MATCHED THEN INSERT (id, date) VALUES (s.id, s.date)", "true"),
    ],
)
def test_what_bounds_the_reads_of_a_merge_does_not_bound_its_writes(clauses: str, writes: str) -> None:
    found = one(MERGE.replace("{on}", ON_D).replace("{clauses}", clauses))
    assert found.reads_text == ON_D
    assert found.writes_text == writes


def test_a_write_that_may_add_columns_may_change_the_metadata() -> None:
    insert = f"INSERT INTO {{t}} VALUES (1, 'v', {D}, 'eu')"
    assert one(insert).metadata is Metadata.NONE
    assert one(insert.replace("INTO", "WITH SCHEMA EVOLUTION INTO")).metadata is Metadata.MAY_CHANGE
    evolving = one(insert, **{"spark.databricks.delta.schema.autoMerge.enabled": "true"})
    assert evolving.metadata is Metadata.MAY_CHANGE


def test_a_promise_bounds_no_rows_that_are_only_rewritten() -> None:
    update = {"sql": f"UPDATE delta.`/lake/t` SET date = {E} WHERE {ON_D}", "writes": [ON_E]}
    assert one(update).writes_text == f"{ON_D} OR {ON_E}"


def test_what_replaces_rows_unchecked_lands_where_its_query_says() -> None:
    replacing = f"INSERT INTO {{t}} REPLACE WHERE {ON_D} SELECT 1, 'v', {E}, 'eu'"
    unchecked = one(replacing, **{"spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false"})
    assert E in unchecked.writes_text
    assert E not in one(replacing).writes_text


def test_a_source_query_and_a_promise_bound_the_writes_of_a_merge() -> None:
    merge = MERGE.replace("{on}", ON_D).replace("{clauses}", "WHEN NOT MATCHED THEN INSERT *")
    bounded = merge.replace("delta.`/s`", f"(SELECT * FROM delta.`/s` WHERE {ON_D})")
    assert one(bounded).writes_text == ON_D
    assert one({"sql": merge.replace("{t}", "delta.`/lake/t`"), "writes": [ON_D]}).writes_text == ON_D


def test_not_matched_by_source_reads_everything() -> None:
    merge = MERGE.replace("{on}", ON_D).replace("{clauses}", "WHEN NOT MATCHED BY SOURCE THEN DELETE")
    assert one(merge).reads.is_everything


def test_settings_of_the_session_go_on_to_the_next_statement() -> None:
    overwrite = f"INSERT OVERWRITE {{t}} SELECT 1, 'v', {D}, 'eu'"
    assert one(overwrite).reads.is_everything
    dynamic = one(f"SET spark.sql.sources.partitionOverwriteMode = dynamic; {overwrite}")
    assert not dynamic.reads.is_everything
    assert dynamic.reads_files.is_empty
    assert one(overwrite, **{"spark.sql.sources.partitionOverwriteMode": "DYNAMIC"}) == one(
        overwrite, **{"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    )
    legacy = one(f"SET spark.sql.legacy.timeParserPolicy = LEGACY; DELETE FROM {{t}} WHERE {ON_D}")
    assert legacy.reads.is_everything


def test_after_a_change_of_metadata_the_jobs_later_statements_widen() -> None:
    _, delete, *_ = read(f"ALTER TABLE {{t}} ADD COLUMNS (x INT); DELETE FROM {{t}} WHERE {ON_D} AND x = 1")
    assert delete.reads.is_everything


def test_temporary_views_are_looked_through() -> None:
    view = "CREATE OR REPLACE TEMP VIEW fresh AS SELECT * FROM delta.`/s`; "
    assert one(view + "INSERT INTO {t} SELECT * FROM fresh").is_blind
    own = "CREATE TEMP VIEW fresh AS SELECT * FROM {t} WHERE " + ON_D + "; "
    assert one(own + "INSERT INTO {t} SELECT * FROM fresh").reads_text == ON_D
    with pytest.raises(NotUnderstoodError, match="itself"):
        read("CREATE TEMP VIEW a AS SELECT * FROM a; INSERT INTO {t} SELECT * FROM a")


def test_parameters_are_bound() -> None:
    spec = {
        "sql": "DELETE FROM delta.`/lake/t` WHERE date = :day AND id = 1",
        "parameters": {"day": {"date": "2026-11-19"}},
    }
    assert one(spec).reads_text == ON_D


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"sql": "DELETE FROM {t} WHERE dat = DATE '2026-11-19'"},
            "line 1, column .*there is no column dat: the table has",
        ),
        ({"sql": "DELETE FROM {t} WHERE date = 'banana'"}, "line 1"),
        ({"sql": "\nDELETE FROM {t} WHERE date = '{{ ds }}'"}, r"line 2.*\{\{ ds \}\} is an unrendered"),
        ({"sql": "DELETE FROM {t} WHERE date = :day"}, "no parameter day"),
        (
            {"sql": "DELETE FROM {t} WHERE id = 1", "parameters": {"day": {"date": "2026-11-19"}}},
            "day is not used",
        ),
        ({"sql": "INSERT INTO {t} (nope) VALUES (1)"}, "there is no column nope: the table has id"),
        ({"sql": "DELETE FROM {t};\nUPDATE {t} SET WHERE"}, "statement 2, line 2, column"),
        (
            {"sql": "INSERT INTO {t} VALUES (1, 'v', DATE '2026-11-19', 'eu')", "writes": [ON_E]},
            "one of them is wrong",
        ),
        (
            {"sql": "DELETE FROM {t};\nOPTIMIZE {t} WHERE dat = 1"},
            "statement 2, line 2, column 32: there is no column dat",
        ),
        ({"sql": "OPTIMIZE {t} WHERE date = = 1"}, "statement 1, line 1, column"),
        ({"sql": "OPTIMIZE {t} ZORDER BY (id, nope)"}, "there is no column nope: the table has id"),
        ({"sql": "ALTER TABLE {t} CLUSTER BY (id, nope.a)"}, "there is no column nope: the table has id"),
        (
            {"sql": "UPDATE {t} SET v = 'x'", "writes": ["nope = 1"]},
            r"^spec.writes, line 1, column 1: there is no column nope",
        ),
        (
            {"sql": "INSERT INTO {t} SELECT * FROM s", "writes": [ON_E, "id > 5 OR v = 'x'"]},
            r"spec.writes names id, v, which no commit tells: promise only what the partition columns say",
        ),
        ({"sql": "SET spark.sql.shuffle.partitions = 1"}, "no statement that writes"),
        (
            {"sql": "CREATE TEMP VIEW v AS SELECT id, d AS date FROM {t}; DELETE FROM v WHERE date = 1"},
            "v is a temporary view: name the table itself",
        ),
        ({"sql": "SET spark.databricks.delta.write.txnAppId = x; DELETE FROM {t}"}, "txnAppId"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_place(spec: dict[str, Any], why: str) -> None:
    given = spec | {"sql": spec["sql"].replace("{t}", "delta.`/lake/t`")}
    with pytest.raises(NotUnderstoodError, match=why):
        read(given)


def test_a_thousand_conditions_end_in_everything() -> None:
    condition = " OR ".join(f"(id = {k} AND v = '{k}')" for k in range(3000))
    assert one(f"DELETE FROM {{t}} WHERE {condition}").reads.is_everything


def test_auto_compaction_rewrites_what_was_written() -> None:
    append = f"INSERT INTO {{t}} VALUES (1, 'v', {D}, 'eu')"
    own, hook = read(append, **{"spark.databricks.delta.autoCompact.enabled": "true"})
    assert own.is_blind
    assert hook.hook
    assert hook.removes == own.adds


def test_a_stream_that_merges_holds_its_checkpoint() -> None:
    stream = {
        "source": {"format": "kafka"},
        "checkpoint": "/checkpoints/a/",
        "trigger": {"availableNow": True},
    }
    merge = f"MERGE INTO delta.`/lake/t` t USING batch s ON t.id = s.id AND t.{ON_D} WHEN MATCHED THEN DELETE"
    found = one({"stream": stream | {"sql": merge}})
    assert (found.checkpoint, found.reads_text) == ("file:/checkpoints/a", ON_D)
    append = one(
        {
            "stream": stream
            | {"query": f"SELECT id, v, {D} AS date, region FROM source", "table": {"path": "/lake/t"}}
        }
    )
    assert append.is_blind
    assert append.writes_text == ON_D


def test_a_column_that_partitions_are_generated_from_moves_rows() -> None:
    generated = TableFacts(
        columns=Table.of({"id": "bigint", "ts": "timestamp", "date": "date"}, ["date"]),
        generated_columns={"date": "CAST(ts AS DATE)"},
    )

    def writes(sql: str) -> str:
        spec = DeltaWriteJobSpec.model_validate({"sql": sql.replace("{t}", "delta.`/lake/t`")})
        (found,) = footprint_of(
            spec, {}, facts={key_of_path("/lake/t"): generated}, delta_version="4.4.0"
        ).tables
        return found.writes_text

    assert writes(f"UPDATE {{t}} SET id = 2 WHERE {ON_D}") == ON_D
    assert writes(f"UPDATE {{t}} SET ts = now() WHERE {ON_D}") == "true"
    merge = MERGE.replace("{on}", ON_D)
    assert writes(merge.replace("{clauses}", "WHEN MATCHED THEN UPDATE SET id = s.id")) == ON_D
    assert writes(merge.replace("{clauses}", "WHEN MATCHED THEN UPDATE SET ts = s.ts")) == "true"


def test_settings_that_bend_the_rules_leave_no_version_to_believe() -> None:
    name = "spark.databricks.delta.featureEnablement.conflictResolution.enabled"
    delete = "DELETE FROM delta.`/lake/t`"
    for sql, conf in (
        (delete, {name: "false"}),
        (f"SET {name} = false; {delete}", {}),
        (f"SET {name} = false; {delete}; RESET", {}),
    ):
        spec = DeltaWriteJobSpec.model_validate({"sql": sql})
        assert footprint_of(spec, conf, delta_version="4.4.0").dialect is None


def _views(number: int, width: int) -> str:
    """Views that each name the one before several times."""
    above = (
        f"CREATE TEMP VIEW v{k} AS " + " UNION ALL ".join([f"SELECT * FROM v{k - 1}"] * width)
        for k in range(1, number)
    )
    return "; ".join(["CREATE TEMP VIEW v0 AS SELECT * FROM {t} WHERE " + ON_D, *above])


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        (_views(5, 3) + "; INSERT INTO {t} SELECT * FROM v4", ON_D),
        (_views(40, 10) + "; INSERT INTO {t} SELECT * FROM v39", ON_D),
        (_views(100, 1) + "; INSERT INTO {t} SELECT * FROM v99", "true"),
        (
            "INSERT INTO {t} WITH c0 AS (SELECT * FROM delta.`/s`), "
            + ", ".join(
                f"c{k} AS (" + " UNION ALL ".join([f"SELECT * FROM c{k - 1}"] * 10) + ")"
                for k in range(1, 30)
            )
            + " SELECT * FROM c29",
            "false",
        ),
        (
            "MERGE INTO {t} t USING (VALUES "
            + ", ".join(f"({k}, DATE '2026-11-19')" for k in range(990))
            + f") AS s(id, date) ON t.id = s.id AND t.{ON_D} "
            + " ".join(f"WHEN NOT MATCHED AND s.id = {k} THEN INSERT *" for k in range(50)),
            ON_D,
        ),
    ],
)
def test_what_is_named_many_times_over_is_read_once(sql: str, reads: str) -> None:
    assert one(sql).reads_text == reads


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        ("date = current_date()", "current_date.* bind its value as a parameter, as in :d"),
        ("v = 'x'", None),
        (f"id = 1 AND {ON_D}", None),
    ],
)
def test_what_would_make_a_condition_understood_is_advised(condition: str, advice: str | None) -> None:
    found = one(f"DELETE FROM {{t}} WHERE {condition}").reads_advice
    assert found is None if advice is None else re.search(advice, found or "")


def test_a_table_that_is_there_is_not_created() -> None:
    create, delete = read(
        f"CREATE TABLE IF NOT EXISTS {{t}} (id INT) USING delta; DELETE FROM {{t}} WHERE {ON_D}"
    )
    assert not create.may_change_table
    assert create.adds.is_empty
    assert delete.reads_text == ON_D
    located, _ = read("CREATE TABLE IF NOT EXISTS x (id INT) USING delta LOCATION '/lake/t'; DELETE FROM {t}")
    assert located.may_change_table


def test_a_change_by_name_may_be_one_of_any_path() -> None:
    _, delete, *_ = read(f"ALTER TABLE lake.t RENAME COLUMN date TO day; DELETE FROM {{t}} WHERE {ON_D}")
    assert delete.reads.is_everything


def test_a_declared_vacuum_keeps_files_as_long_as_its_table_says() -> None:
    spec = {
        "application": {"engine": "kubeflow", "template": {"mainClass": "X"}},
        "footprint": [{"table": {"path": "/lake/t"}, "operation": "Vacuum"}],
    }
    assert one(spec).retention_hours == 168


WITH_STRUCT = TableFacts(
    columns=Table.of({"id": "bigint", "st": "struct<a: int, date: date>", "date": "date"}, ["date"])
)


@pytest.mark.parametrize("columns", ["(st.a)", "(id, `st`.`date`)", "(`st`.`a`, id)"])
def test_a_table_is_clustered_by_a_field_within_a_column(columns: str) -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": f"ALTER TABLE delta.`/lake/t` CLUSTER BY {columns}"})
    (found,) = footprint_of(spec, {}, facts={key_of_path("/lake/t"): WITH_STRUCT}).tables
    assert found.domains == {"delta.clustering"}


@pytest.mark.parametrize(
    ("change", "lands"),
    [
        ("UPDATE {t} SET st.a = 5 WHERE {on}", ON_D),
        ("UPDATE {t} x SET x.st.a = 5, st.date = NULL WHERE {on}", ON_D),
        (f"UPDATE {{t}} x SET x.date = {E}, x.st.a = 5 WHERE {{on}}", f"{ON_D} OR {ON_E}"),
        (f"UPDATE {{t}} st SET st.date = {E} WHERE {{on}}", f"{ON_D} OR {ON_E}"),
        ("MERGE INTO {t} t USING delta.`/s` s ON t.{on} WHEN MATCHED THEN UPDATE SET t.st.a = s.a", ON_D),
    ],
)
def test_setting_a_field_of_a_struct_moves_no_row(change: str, lands: str) -> None:
    sql = change.replace("{t}", "delta.`/lake/t`").replace("{on}", ON_D)
    spec = DeltaWriteJobSpec.model_validate({"sql": sql})
    (found,) = footprint_of(spec, {}, facts={key_of_path("/lake/t"): WITH_STRUCT}).tables
    assert found.writes_text == lands


@pytest.mark.parametrize(
    ("assignment", "why"),
    [
        ("nope.a = 5", "there is no column nope"),
        ("IDENTIFIER('date') = NULL", "with the column's name"),
        ("(date, id) = (NULL, 1)", "with the column's name"),
        ("date", "with the column's name"),
        ("date > 5", "with the column's name"),
    ],
)
def test_a_column_that_is_set_is_named(assignment: str, why: str) -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": f"UPDATE delta.`/lake/t` SET {assignment}"})
    with pytest.raises(NotUnderstoodError, match=why):
        footprint_of(spec, {}, facts={key_of_path("/lake/t"): WITH_STRUCT})


QUERY = "(SELECT id FROM delta.`/s`)"
ASKING = [
    f"DELETE FROM {{t}} WHERE id IN {QUERY}",
    f"DELETE FROM {{t}} WHERE {ON_D} AND NOT EXISTS {QUERY}",
    "DELETE FROM {t} WHERE id = (SELECT 7)",
    f"WITH x AS {QUERY} DELETE FROM {{t}} WHERE id IN (SELECT id FROM x)",
    f"UPDATE {{t}} SET v = 'x' WHERE id NOT IN {QUERY}",
    f"MERGE INTO {{t}} t USING delta.`/s` s ON t.id IN {QUERY} WHEN MATCHED THEN DELETE",
    f"MERGE INTO {{t}} t USING delta.`/s` s ON t.id = s.id WHEN MATCHED AND EXISTS {QUERY} THEN DELETE",
    "MERGE INTO {t} t USING delta.`/s` s ON t.id = s.id WHEN NOT MATCHED AND s.id = (SELECT 5) THEN INSERT *",
    "INSERT INTO {t} REPLACE WHERE id = (SELECT 1) SELECT * FROM delta.`/s`",
    "OPTIMIZE {t} WHERE date = (SELECT max(date) FROM delta.`/s`)",
]


@pytest.mark.parametrize("sql", ASKING)
def test_conditions_by_subquery_which_open_source_delta_refuses_are_refused(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match="Delta refuses a subquery"):
        one(sql)


@pytest.mark.parametrize("sql", ASKING)
def test_conditions_by_subquery_are_read_for_engines_that_may_have_them(sql: str) -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": sql.replace("{t}", "delta.`/lake/t`")})
    assert {found.table for found in footprint_of(spec, {}).tables} == {key_of_path("/lake/t")}

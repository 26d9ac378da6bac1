"""A spec becomes its footprint: writes, declarations, and settings that change what a statement means."""

import json
import re
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec, Operation
from sluice.footprint import EVERYTHING, JobFootprint, NotUnderstoodError, TableFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path


def footprint(spec: dict[str, Any], **conf: str) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec.model_validate(spec), conf)


def own(found: JobFootprint) -> list[TableFootprint]:
    """Returns the footprints without what Delta does by itself after a commit."""
    return [footprint for footprint in found.tables if not footprint.hook]


def write(**more: Any) -> dict[str, Any]:
    return {"write": {"table": {"path": "/lake/t"}, "source": {"sql": "SELECT 1"}} | more}


def test_each_statement_has_a_footprint_of_its_own() -> None:
    found = footprint(
        {"sql": "INSERT INTO delta.`/a` VALUES (1); DELETE FROM delta.`/b`; OPTIMIZE delta.`/a`"}
    )
    assert [(f.statement, f.operation) for f in own(found)] == [
        (1, Operation.APPEND),
        (2, Operation.DELETE),
        (3, Operation.OPTIMIZE),
    ]
    assert found.keys == (key_of_path("/a"), key_of_path("/b"))


@pytest.mark.parametrize(
    ("more", "operation", "reads"),
    [
        ({}, Operation.APPEND, "false"),
        ({"source": {"sql": "SELECT * FROM delta.`/lake/t`"}}, Operation.APPEND, "true"),
        ({"source": {"sql": "SELECT * FROM orders"}}, Operation.APPEND, "true"),
        ({"source": {"format": "parquet", "path": "/lake/x"}}, Operation.APPEND, "false"),
        ({"source": {"format": "jdbc"}}, Operation.APPEND, "false"),
        ({"source": {"format": "delta", "path": "/lake/x"}}, Operation.APPEND, "false"),
        ({"source": {"format": "delta", "path": "file:///lake//t"}}, Operation.APPEND, "true"),
        ({"source": {"format": "Delta", "options": {"path": "/lake/t"}}}, Operation.APPEND, "true"),
        (
            {"table": {"name": "orders"}, "source": {"format": "delta", "path": "/lake/x"}},
            Operation.APPEND,
            "true",
        ),
        ({"mode": "Overwrite"}, Operation.OVERWRITE, "true"),
        ({"mode": "Overwrite", "replaceWhere": "a = 1"}, Operation.OVERWRITE, "true"),
        ({"mode": "OverwritePartitions"}, Operation.OVERWRITE_PARTITIONS, "true"),
    ],
)
def test_a_write_is_read_by_its_mode_and_its_source(
    more: dict[str, Any], operation: Operation, reads: str
) -> None:
    (found,) = own(footprint(write(**more)))
    assert (found.operation, found.reads_text) == (operation, reads)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "SELECT 1; DELETE FROM orders",
        "WITH x AS (SELECT 1) INSERT INTO orders SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM orders",
        "WITH x AS (SELECT 1) MERGE INTO orders USING x ON true WHEN MATCHED THEN DELETE",
        "FROM x INSERT INTO orders SELECT *",
        "SET spark.x = 1",
        "CREATE TABLE orders AS SELECT 1",
        "SELECT '${spark.x}'",
        "-- nothing",
    ],
)
@pytest.mark.parametrize("mode", ["Append", "Overwrite", "OverwritePartitions"])
def test_a_source_that_is_more_than_a_query_is_refused(sql: str, mode: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"spec\.write\.source\.sql"):
        footprint(write(source={"sql": sql}, mode=mode))


def test_a_query_may_use_such_words_as_names_and_texts() -> None:
    sql = "WITH x AS (SELECT 'INSERT' AS `delete`) SELECT `delete` FROM x"
    (found,) = own(footprint(write(source={"sql": sql})))
    assert found.is_blind


def test_schema_evolution_is_never_blind() -> None:
    for found in (
        *footprint(write(schemaEvolution=True)).tables,
        *footprint(write(), **{"spark.databricks.delta.schema.autoMerge.enabled": "true"}).tables,
        *footprint(
            {"sql": "INSERT INTO delta.`/a` VALUES (1)"},
            **{"spark.databricks.delta.schema.autoMerge.enabled": "TRUE "},
        ).tables,
    ):
        assert found.changes_metadata
        assert not found.is_blind


@pytest.mark.parametrize(
    "name",
    [
        "spark.databricks.delta.write.txnAppId",
        "spark.databricks.delta.write.txnVersion",
        "spark.databricks.delta.write.txnappid",
        "spark.kubernetes.driver.pod.name",
        "spark.sql.parser.escapedStringLiterals",
        "spark.sql.parser.quotedRegexColumnNames",
        "spark.sql.ansi.doubleQuotedIdentifiers",
    ],
)
def test_settings_that_would_make_the_reading_wrong_are_refused_by_name(name: str) -> None:
    with pytest.raises(NotUnderstoodError, match=name):
        footprint(write(), **{name: "x"})


WITHOUT_SCHEME = [
    {"sql": "INSERT INTO delta.`/lake/t` VALUES (1)"},
    {"sql": "INSERT INTO delta.`s3://lake/t` SELECT * FROM delta.`/lake/s`"},
    {"sql": "CREATE TABLE sales.orders (id INT) USING delta LOCATION '/lake/t'"},
    {"sql": "CONVERT TO DELTA parquet.`/lake/t`"},
    write(),
    write(table={"path": "s3://lake/t"}, source={"format": "delta", "path": "/lake/s"}),
    {
        "application": {"engine": "kubeflow", "template": {"mainClass": "X"}},
        "footprint": [{"table": {"path": "/lake/t"}, "operation": "Append"}],
    },
    {
        "stream": {
            "source": {"format": "kafka"},
            "trigger": {"availableNow": True},
            "checkpoint": "/cp",
            "table": {"path": "s3://lake/t"},
        }
    },
    {
        "stream": {
            "source": {"format": "delta", "path": "/lake/s"},
            "trigger": {"availableNow": True},
            "checkpoint": "s3://lake/cp",
            "table": {"path": "s3://lake/t"},
        }
    },
]


@pytest.mark.parametrize("spec", WITHOUT_SCHEME)
@pytest.mark.parametrize("name", ["spark.hadoop.fs.defaultFS", "spark.hadoop.fs.default.name"])
def test_a_location_without_a_scheme_is_no_folder_under_another_default_file_system(
    spec: dict[str, Any], name: str
) -> None:
    with pytest.raises(NotUnderstoodError, match=rf"with {name} = hdfs://nn.*such as hdfs://nn/"):
        footprint(spec, **{name: "hdfs://nn"})
    for default in ("file:///", "FILE:/"):
        assert footprint(spec, **{name: default}).tables
    written_out = re.sub(r"(?<=[\"'`])/", "file:/", json.dumps(spec))
    assert footprint(json.loads(written_out), **{name: "hdfs://nn"}).tables


def test_a_declaration_replaces_what_is_read() -> None:
    spec = write() | {"footprint": [{"table": {"path": "/lake/u"}, "operation": "Delete"}]}
    (found,) = footprint(spec).tables
    assert (found.table, found.operation, found.reads) == (
        key_of_path("/lake/u"),
        Operation.DELETE,
        EVERYTHING,
    )


def declared(partition_by: list[str], **entry: Any) -> TableFootprint:
    given = {"table": {"path": "/lake/u"}, "operation": "Merge"} | entry
    spec = DeltaWriteJobSpec.model_validate(write() | {"footprint": [given]})
    columns = Table.of({"id": "long", "date": "date", "region": "string"}, partition_by)
    (found,) = footprint_of(spec, {}, facts={key_of_path("/lake/u"): TableFacts(columns=columns)}).tables
    return found


def test_who_declares_no_bound_is_told_where_one_would_help() -> None:
    if_less, on = "if that is less than all of the table: spec.footprint.0", "a condition on date and region"
    found = declared(["date", "region"])
    assert found.reads_advice == f"declare what it reads, {if_less}.reads, {on}"
    assert found.writes_advice == f"declare where it writes, {if_less}.writes, {on}"
    replacing = declared(["date", "region"], operation="OverwritePartitions")
    assert replacing.reads_advice == f"declare which partitions it replaces, {if_less}.writes, {on}"
    assert replacing.writes_advice is None


def test_no_bound_is_advised_that_is_there_or_would_not_help() -> None:
    bounded = declared(["date"], reads="date = DATE '2026-11-19'", writes="date = DATE '2026-11-19'")
    assert (bounded.reads_advice, bounded.writes_advice) == (None, None)
    for found in (declared([]), declared(["date"], operation="Restore")):
        assert (found.reads_advice, found.writes_advice) == (None, None)
    assert declared(["date"], operation="Append").reads_advice is None


def test_that_nobody_reads_its_log_is_advised_before_a_bound() -> None:
    spec = write() | {"footprint": [{"table": {"path": "/lake/u"}, "operation": "Merge"}]}
    assert "let the operator read the log" in (footprint(spec).tables[0].reads_advice or "")


@pytest.mark.parametrize("operation", [o for o in Operation if o not in (Operation.APPEND, Operation.STREAM)])
def test_what_takes_files_away_is_never_blind_whatever_is_declared(operation: Operation) -> None:
    spec = write() | {"footprint": [{"table": {"path": "/lake/u"}, "operation": operation, "reads": "false"}]}
    (found,) = footprint(spec).tables
    assert not found.is_blind


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (write(mode="Overwrite", replaceWhere="a ="), "spec.write"),
        ({"sql": "INSERT INTO delta.`/t` SELECT 1", "writes": ["a = 1", "a IN ("]}, "spec.writes"),
        ({"sql": "DELETE FROM delta.`/t`", "writes": ["a ="]}, "spec.writes"),
        (
            {
                "sql": "CALL procedure()",
                "footprint": [
                    {"table": {"path": "/s"}, "operation": "Append"},
                    {"table": {"path": "/t"}, "operation": "Update", "reads": "a ="},
                ],
            },
            "spec.footprint.1",
        ),
    ],
)
def test_a_broken_condition_is_refused_with_its_place_though_nothing_is_known_of_the_table(
    spec: dict[str, Any], place: str
) -> None:
    with pytest.raises(NotUnderstoodError, match=rf"^{place}, line 1, column \d+: this is not a condition"):
        footprint(spec)

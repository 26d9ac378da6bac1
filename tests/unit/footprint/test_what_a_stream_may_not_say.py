"""A stream's statements and its checkpoint: what could not be run again, or would be deleted, is refused before it runs."""

from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts.stores_and_runs import may_share_a_checkpoint
from sluice.footprint import JobFootprint, NotUnderstoodError, footprint_of
from sluice.footprint.queries.stream_queries import NEED_A_SCHEMA
from sluice.tables import Names, key_of_name, key_of_path
from sluice.tables.names import names_of
from unit.footprint.streamed_queries import REFUSED, RUN

TO_TABLE = {"table": {"path": "/lake/t"}}
DECLARED = [{"table": {"path": "/lake/t"}, "operation": "Merge"}]


def footprint(
    spec: dict[str, Any], names: Names | None = None, conf: dict[str, str] | None = None
) -> JobFootprint:
    return footprint_of(
        DeltaWriteJobSpec.model_validate(spec), conf or {}, names=names, delta_version="4.4.0"
    )


def stream(**more: Any) -> dict[str, Any]:
    given = {"source": {"format": "kafka"}, "checkpoint": "/checkpoints/t", "trigger": {"availableNow": True}}
    return {"stream": given | more}


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO delta.`/lake/t` SELECT * FROM batch",
        "INSERT INTO TABLE delta.`/lake/t` SELECT * FROM batch",
        "INSERT WITH SCHEMA EVOLUTION INTO delta.`/lake/t` SELECT * FROM batch",
        "INSERT OVERWRITE delta.`/lake/t` SELECT * FROM batch",
        "WITH b AS (SELECT * FROM batch) INSERT INTO delta.`/lake/t` SELECT * FROM b",
        "FROM batch INSERT INTO delta.`/lake/t` SELECT *",
        "MERGE INTO delta.`/lake/t` t USING batch b ON t.id = b.id WHEN NOT MATCHED THEN INSERT *",
        "MERGE WITH SCHEMA EVOLUTION INTO delta.`/lake/t` t USING batch b ON t.id = b.id WHEN MATCHED THEN DELETE",
        "UPDATE delta.`/lake/t` SET v = 1 WHERE id = 1",
        "DELETE FROM delta.`/lake/t` WHERE id = 1",
    ],
)
def test_a_batch_may_run_what_a_log_tells_is_done(sql: str) -> None:
    assert footprint(stream(sql=f"{sql}; {sql}")).keys == (key_of_path("/lake/t"),)


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        ("MERG INTO delta.`/lake/t` t USING batch b ON true", "if it should be MERGE, write that"),
        ("MERGE delta.`/lake/t` t USING batch b ON true", "in Spark MERGE is followed by INTO"),
        ("DELETE delta.`/lake/t` WHERE id = 1", "in Spark DELETE is followed by FROM"),
        ("DROP TABLE delta.`/lake/t`", "write CREATE OR REPLACE TABLE"),
        ("EXECUTE IMMEDIATE 'DELETE FROM delta.`/lake/t`'", "write the statement itself"),
        ("DECLARE day DATE", "give its value in spec.parameters"),
        ("SET VAR day = 1", "give its value in spec.parameters"),
        ("OPTIMIZE delta.`/lake/t`", "let a job of its own do it"),
        ("REORG TABLE delta.`/lake/t` APPLY (PURGE)", "let a job of its own do it"),
        ("VACUUM delta.`/lake/t`", "let a job of its own do it"),
        ("RESTORE delta.`/lake/t` TO VERSION AS OF 1", "let a job of its own do it"),
        ("ALTER TABLE delta.`/lake/t` ADD COLUMNS (x INT)", "let a job of its own do it"),
        ("COMMENT ON TABLE delta.`/lake/t` IS 'x'", "let a job of its own do it"),
        ("TRUNCATE TABLE delta.`/lake/t`", "write DELETE FROM"),
        ("CREATE TABLE delta.`/lake/u` (id INT) USING delta", "before the stream begins"),
        (
            "CREATE OR REPLACE TABLE delta.`/lake/u` USING delta AS SELECT * FROM batch",
            "before the stream begins",
        ),
        ("CONVERT TO DELTA parquet.`/lake/u`", "before the stream begins"),
        (
            "CREATE TABLE IF NOT EXISTS delta.`/lake/u` SHALLOW CLONE delta.`/lake/t`",
            "before the stream begins",
        ),
        ("CREATE OR REPLACE TEMP VIEW b AS SELECT * FROM batch", "with WITH"),
        ("CREATE VIEW b AS SELECT 1", "before the stream begins"),
        ("SET spark.sql.shuffle.partitions = 3", "under runtime.sparkConf"),
        ("RESET", "under runtime.sparkConf"),
        ("USE sales", "name the schema"),
        ("SELECT * FROM batch", "remove it"),
        ("WITH b AS (SELECT * FROM batch) SELECT * FROM b", "remove it"),
        ("FROM batch SELECT *", "remove it"),
        ("(SELECT 1)", "remove it"),
        ("DESCRIBE HISTORY delta.`/lake/t`", "remove it"),
        ("CACHE TABLE b AS SELECT * FROM batch", "remove it"),
        ("REFRESH TABLE delta.`/lake/t`", "remove it"),
        (
            "FROM batch INSERT INTO delta.`/lake/t` SELECT * INSERT INTO delta.`/lake/u` SELECT *",
            "write each INSERT as a statement of its own",
        ),
    ],
)
@pytest.mark.parametrize("declared", [{}, {"footprint": DECLARED}])
def test_whatever_else_is_refused_with_its_place_and_what_to_do_instead(
    sql: str, instead: str, declared: dict[str, Any]
) -> None:
    text = f"DELETE FROM delta.`/lake/t` WHERE id = 1;\n{sql}"
    with pytest.raises(NotUnderstoodError, match=r"^spec\.stream\.sql, statement 2, line 2: ") as refused:
        footprint(stream(sql=text) | declared)
    assert instead in str(refused.value)
    assert footprint({"sql": "DELETE FROM delta.`/lake/t`"} | declared).tables


@pytest.mark.parametrize(
    "checkpoint",
    [
        "/lake/t",
        "file:///lake//t/",
        "/lake/t/checkpoint",
        "/lake/t/date=2026-11-19/_checkpoint",
        "/lake/t/_date=2026-11-19/checkpoint",
        "/lake/t/_delta_log",
        "/lake/t/_delta_log/_checkpoints/s",
        "/lake/t/_checkpoints/_delta_log/s",
        "/lake/t/_change_data/s",
    ],
)
def test_a_checkpoint_among_a_tables_own_files_is_refused(checkpoint: str) -> None:
    append = {"table": {"path": "/lake/t"}}
    reads = {"source": {"format": "delta", "path": "/lake/t"}, "table": {"path": "/lake/u"}}
    looks = {"readsTables": [{"path": "/lake/t"}], "table": {"path": "/lake/u"}}
    merges = {
        "sql": "MERGE INTO delta.`/lake/t` t USING batch b ON t.id = b.id WHEN NOT MATCHED THEN INSERT *"
    }
    joins = {
        "sql": "INSERT INTO delta.`/lake/u` SELECT b.* FROM batch b JOIN delta.`/lake/t` t ON t.id = b.id"
    }
    for what in (append, reads, looks, merges, joins):
        with pytest.raises(
            NotUnderstoodError, match=r"^spec\.stream\.checkpoint: .* of file:/lake/t: put it elsewhere"
        ):
            footprint(stream(**what, checkpoint=checkpoint))
    application = {
        "application": {"engine": "kubeflow", "template": {"mainClass": "X"}},
        "footprint": [{"table": {"path": "/lake/t"}, "operation": "Stream", "checkpoint": checkpoint}],
    }
    with pytest.raises(NotUnderstoodError, match=r"^spec\.footprint\[0\]\.checkpoint: "):
        footprint(application)


@pytest.mark.parametrize(
    "checkpoint",
    [
        "/lake/t/_checkpoints/s",
        "/lake/t/.checkpoints/s",
        "/lake/t/_checkpoint",
        "/lake/t2",
        "/lake/checkpoints/t",
        "/lake",
    ],
)
def test_a_checkpoint_that_vacuum_passes_over_is_none_of_its_files(checkpoint: str) -> None:
    assert footprint(stream(table={"path": "/lake/t"}, checkpoint=checkpoint)).tables


def test_a_name_s_folder_counts_as_well() -> None:
    names = names_of([(key_of_name("sales.orders"), key_of_path("/lake/t"))])
    with pytest.raises(NotUnderstoodError, match="lies where VACUUM would delete its files"):
        footprint(stream(table={"name": "sales.orders"}, checkpoint="/lake/t/checkpoint"), names)


FROM_A_SECRET = {"option": "Path", "secretKeyRef": {"name": "lake", "key": "raw"}}


@pytest.mark.parametrize("hidden", [{}, {"optionsFrom": [FROM_A_SECRET]}])
def test_a_stream_that_hides_which_delta_table_it_reads_is_refused(hidden: dict[str, Any]) -> None:
    source = {"format": "delta"} | hidden
    with pytest.raises(NotUnderstoodError, match=r"^spec\.stream\.source does not say which Delta table"):
        footprint(stream(source=source, table={"path": "/lake/u"}))
    told = footprint(stream(source=source, table={"path": "/lake/u"}, readsTables=[{"path": "/lake/t"}]))
    assert told.streams_from == (key_of_path("/lake/t"),)


def test_the_table_that_it_reads_may_stand_among_the_options() -> None:
    source = {"format": "delta", "options": {"Path": "/lake/t"}}
    assert footprint(stream(source=source, table={"path": "/lake/u"})).streams_from == (
        key_of_path("/lake/t"),
    )


@pytest.mark.parametrize("declared", [{}, {"checkpoint": "/checkpoints/another"}])
def test_a_stream_holds_its_checkpoint_whatever_is_declared_of_it(declared: dict[str, Any]) -> None:
    """Where its job is gone and its driver isn't, only its leases keep another one from that checkpoint."""
    spec = stream(table={"path": "/lake/t"}) | {
        "footprint": [DECLARED[0] | {"operation": "Append"} | declared]
    }
    found = footprint(spec).tables[0]
    assert found.checkpoint == key_of_path("/checkpoints/t").text
    assert may_share_a_checkpoint(found, footprint(stream(table={"path": "/lake/t"})).tables[0])


@pytest.mark.parametrize("query", RUN)
def test_a_query_that_spark_streams_is_understood(query: str) -> None:
    assert footprint(stream(query=query, **TO_TABLE)).keys == (key_of_path("/lake/t"),)


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_that_spark_never_streams_is_refused_before_it_runs(query: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"spec\.stream\.query: Spark refuses .+ in a stream: \w+"):
        footprint(stream(query=query, **TO_TABLE))


def test_a_query_is_left_to_spark_where_spark_is_told_not_to_look_or_where_its_footprint_is_declared() -> (
    None
):
    """Who says so takes it on himself."""
    sorted_rows = stream(query="SELECT id FROM source ORDER BY id", **TO_TABLE)
    assert footprint(sorted_rows, conf={"spark.sql.streaming.unsupportedOperationCheck": "false"}).keys
    assert footprint(sorted_rows | {"footprint": DECLARED}).keys


@pytest.mark.parametrize("kind", sorted(NEED_A_SCHEMA))
def test_files_whose_columns_spark_is_not_told_are_refused(kind: str) -> None:
    files = {"format": kind.upper(), "path": "/lake/raw"}
    with pytest.raises(NotUnderstoodError, match=r"spec\.stream\.source: .+ give source\.schema"):
        footprint(stream(source=files, **TO_TABLE))
    assert footprint(stream(source=files | {"schema": "id INT"}, **TO_TABLE)).keys
    inferring = {"spark.sql.streaming.schemaInference": "true"}
    assert footprint(stream(source=files, **TO_TABLE), conf=inferring).keys


def test_where_case_counts_nothing_is_said_of_a_name_that_may_be_another() -> None:
    given = stream(query="SELECT id FROM SOURCE ORDER BY id", **TO_TABLE)
    assert footprint(given, conf={"spark.sql.caseSensitive": "true"}).keys

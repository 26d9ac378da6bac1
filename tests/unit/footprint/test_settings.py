"""Settings count as Spark takes them: by their spelling, with values that it accepts, and unknown ones may change anything."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import JobFootprint, NotUnderstoodError, TableFootprint, footprint_of
from sluice.footprint.sql.known import VERSIONS, settings_of
from sluice.footprint.sql.setting_effects import SettingEffect, meaning_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

FACTS = TableFacts(
    columns=Table.of({"id": "bigint", "ts": "timestamp", "date": "date"}, ["date"]),
    log_store=LogStore.SAFE,
    dialect=oss("4.4.0"),
)
DAY = "date = DATE '2026-11-19'"
DELETE = f"DELETE FROM delta.`/lake/t` WHERE {DAY}"
OVERWRITE = "INSERT OVERWRITE delta.`/lake/t` SELECT 1, now(), DATE '2026-11-19'"
APPEND = "INSERT INTO delta.`/lake/t` VALUES (1, now(), DATE '2026-11-19')"


def job(sql: str, spark: str | None = None, **conf: str) -> JobFootprint:
    runtime: dict[str, Any] = {} if spark is None else {"runtime": {"sparkVersion": spark}}
    spec = DeltaWriteJobSpec.model_validate({"sql": sql, **runtime})
    return footprint_of(spec, conf, facts={key_of_path("/lake/t"): FACTS}, delta_version="4.4.0")


def reads(sql: str, **conf: str) -> str:
    return job(sql, **conf).tables[0].reads_text


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.adaptive.coalescePartitions.enabled",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.parquet.compression.codec",
        "spark.sql.shuffle.partitions",
        "spark.sql.catalog.prod",
        "spark.databricks.delta.autoCompact.minNumFiles",
        "spark.databricks.delta.optimize.maxFileSize",
        "spark.databricks.delta.optimizeWrite.enabled",
        "spark.databricks.delta.retentionDurationCheck.enabled",
        "spark.executor.memory",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.dynamicAllocation.enabled",
    ],
)
def test_settings_of_how_the_work_is_done_leave_the_footprint_alone(key: str) -> None:
    plain = job(DELETE)
    assert job(DELETE, **{key: "7"}) == plain
    if key.startswith(("spark.sql.adaptive", "spark.sql.shuffle", "spark.databricks")):
        assert job(f"SET {key} = 7; {DELETE}").tables[0].reads_text == DAY


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.no.such.setting", "1"),
        ("spark.SQL.no.such.setting", "1"),
        ("spark.sql.adaptive.noSuchSetting", "1"),
        ("spark.databricks.delta.noSuchSetting", "1"),
        ("spark.sql.optimizer.noSuchSetting", "1"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("spark.sql.extensions", "com.example.Rules"),
        ("spark.sql.catalog.spark_catalog", "com.example.Catalog"),
        ("spark.hadoop.fs.s3a.impl", "com.example.FileSystem"),
        ("spark.hadoop.no.such.setting", "1"),
        ("spark.databricks.delta.schema.typeCheck.enabled", "false"),
    ],
)
def test_what_is_not_known_may_change_anything(key: str, value: str) -> None:
    for sql in (DELETE, APPEND):
        found = job(sql, **{key: value})
        assert found.dialect is None
        (table,) = found.tables
        assert table.reads.is_everything
        assert table.adds.is_everything
        assert table.removes.is_everything
        assert not table.is_blind
        assert not table.certain
        assert any(key in why for why in table.widened)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.hadoop.fs.s3.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem"),
        ("spark.hadoop.fs.AbstractFileSystem.s3.impl", "org.apache.hadoop.fs.s3a.S3A"),
        ("spark.hadoop.fs.gs.impl", "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem"),
        ("spark.hadoop.fs.gs.impl", "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"),
        ("spark.hadoop.fs.AbstractFileSystem.gs.impl", "org.apache.hadoop.fs.gs.Gs"),
    ],
)
def test_a_profile_may_spell_out_the_file_systems_that_the_image_has(key: str, value: str) -> None:
    assert job(DELETE, **{key: value}) == job(DELETE)


def test_an_unknown_setting_of_a_script_counts_though_it_is_reset_before_the_end() -> None:
    key = "spark.sql.no.such.setting"
    found = job(f"SET {key} = 1; {DELETE}; SET {key} = 2; RESET {key}; {DELETE}")
    assert found.dialect is None
    assert all(table.reads.is_everything for table in found.tables)


def test_a_setting_that_says_what_holds_anyway_changes_nothing() -> None:
    key = "spark.sql.legacy.timeParserPolicy"
    assert {settings_of(version)[key].default for version in VERSIONS} == {"CORRECTED", "EXCEPTION"}
    assert job(DELETE, "4.2.0", **{key: "CORRECTED"}).tables[0].reads_text == DAY
    assert job(DELETE, "3.5.9", **{key: "CORRECTED"}).tables[0].reads.is_everything
    assert job(DELETE, **{key: "CORRECTED"}).tables[0].reads.is_everything
    assert reads(DELETE, **{"spark.sql.crossJoin.enabled": "TRUE"}) == DAY


@pytest.mark.parametrize(
    ("key", "spelled"),
    [
        ("spark.sql.sources.partitionoverwritemode", "spark.sql.sources.partitionOverwriteMode"),
        ("spark.SQL.shuffle.partitions", "spark.sql.shuffle.partitions"),
        (
            "spark.databricks.delta.optimizewrite.enabled",
            "spark.databricks.delta.optimizeWrite.enabled",
        ),
        ("spark.delta.logstore.file.impl", "spark.delta.logStore"),
        ("spark.delta.logStore.S3A.impl", "spark.delta.logStore"),
    ],
)
def test_a_known_setting_in_another_case_is_refused_with_the_right_spelling(key: str, spelled: str) -> None:
    with pytest.raises(NotUnderstoodError, match=spelled):
        job(OVERWRITE, **{key: "dynamic"})
    with pytest.raises(NotUnderstoodError, match=rf"statement 1, .*{spelled}"):
        job(f"SET {key} = dynamic; {OVERWRITE}")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("SET spark.delta.logStore.file.impl = dev.sluice.delta.LinkLogStore", "runtime.sparkConf"),
        ("SET spark.io.delta.storage.S3DynamoDBLogStore.ddb.tableName = x", "runtime.sparkConf"),
        ("SET spark.sql.extensions = x", "runtime.sparkConf"),
        ("SET spark.sql.warehouse.dir = /x", "runtime.sparkConf"),
        ("SET spark.hadoop.fs.defaultFS = hdfs://x", "runtime.sparkConf"),
        ("SET spark.executor.memory = 4g", "runtime.sparkConf"),
        ("SET fs.defaultFS = hdfs://x", "runtime.sparkConf"),
        ("SET spark.sql.ansi.enabled = yes", "true"),
        ("SET spark.sql.ansi.enabled = 'true'", "true"),
        ("SET spark.sql.ansi.enabled =", "true"),
        ("SET spark.sql.sources.partitionOverwriteMode = 'dynamic'", "dynamic or static"),
        ("SET spark.sql.sources.partitionOverwriteMode = dynamic -- by\nday", "comment"),
        ("SET spark.sql.storeAssignmentPolicy = loose", "ansi or legacy or strict"),
        ("SET spark.databricks.delta.autoCompact.enabled = yes", "true"),
        ("SET spark.sql.ansi.enabled false", "is not the name of a setting"),
        ("SET /* on */ spark.sql.ansi.enabled = true", "is not the name of a setting"),
        ("SET spark . sql . ansi . enabled = true", "is not the name of a setting"),
        ("SET VAR x = 1", r"in spec\.parameters: \{x: \{integer: 1\}\}"),
        ("SET day = 5", "use spec.parameters"),
        ("SET hivevar:day = 5", "use spec.parameters"),
        ("SET = 1", "name before"),
        ("SET TIME ZONE", "TIME ZONE"),
        ("SET TIME ZONE 'Asia' 'Tokyo'", "TIME ZONE"),
        ("RESET spark.sql.ansi.enabled now", "is not the name of a setting"),
        ("USE a b", "USE schema"),
        ("USE 'a'", "USE schema"),
    ],
)
def test_what_spark_would_not_take_or_pass_over_is_refused(statement: str, why: str) -> None:
    with pytest.raises(NotUnderstoodError, match=why):
        job(f"{statement}; {DELETE}")


@pytest.mark.parametrize(
    "statement",
    [
        "SET spark.sql.sources.partitionOverwriteMode = dynamic",
        "SET spark.sql.sources.partitionOverwriteMode=DYNAMIC",
        "SET `spark.sql.sources.partitionOverwriteMode`=`dynamic`",
    ],
)
def test_values_are_taken_as_spark_takes_them(statement: str) -> None:
    assert job(f"{statement}; {OVERWRITE}").tables[0].reads_files.is_empty
    assert job(f"{statement}; RESET; {OVERWRITE}").tables[0].reads_files.is_everything
    assert (
        job(f"{statement}; RESET spark.sql.sources.partitionOverwriteMode; {OVERWRITE}")
        .tables[0]
        .reads_files.is_everything
    )


@pytest.mark.parametrize("statement", ["SET", "SET -v", "SET spark.sql.shuffle.partitions"])
def test_what_only_shows_settings_touches_nothing(statement: str) -> None:
    assert job(f"{statement}; {DELETE}") == job(f"SET TIME ZONE LOCAL; {DELETE}")


def test_defaults_of_new_tables_leave_those_alone_that_are_there() -> None:
    conf = {"spark.databricks.delta.properties.defaults.enableDeletionVectors": "true"}
    for sql in (DELETE, APPEND):
        assert job(sql, **conf) == job(sql)
        assert job(sql, **conf).dialect == oss("4.4.0")
    for sql in (
        "CREATE OR REPLACE TABLE delta.`/lake/t` (id BIGINT) USING delta",
        f"{DELETE}; CREATE TABLE IF NOT EXISTS delta.`/lake/new` (id BIGINT) USING delta",
        "INSERT INTO delta.`/lake/unknown` VALUES (1)",
    ):
        assert job(sql, **conf).dialect is None
        assert job(sql).dialect is not None


def test_reset_goes_back_to_what_the_session_began_with() -> None:
    mode = "spark.sql.sources.partitionOverwriteMode"
    assert job(f"SET {mode} = static; RESET; {OVERWRITE}", **{mode: "dynamic"}).tables[0].reads_files.is_empty


def test_options_of_the_drivers_java_set_no_settings_unseen() -> None:
    with pytest.raises(NotUnderstoodError, match=r"driver\.extraJavaOptions.*sparkConf"):
        job(DELETE, **{"spark.driver.extraJavaOptions": "-Xss4m -Dspark.sql.ansi.enabled=false"})
    assert reads(DELETE, **{"spark.driver.extraJavaOptions": "-Duser.timezone=UTC"}) == DAY
    for key, value in {
        "spark.driver.extraJavaOptions": "-D'spark.sql.ansi.enabled'=false",
        "spark.driver.defaultJavaOptions": "-Xss4m @/opt/options",
        "spark.kubernetes.driverEnv.JAVA_TOOL_OPTIONS": "-Dspark.sql.ansi.enabled=false",
        "spark.kubernetes.driverEnv.JDK_JAVA_OPTIONS": "-XX:VMOptionsFile=/opt/options",
        "spark.kubernetes.driverEnv.SPARK_CONF_DIR": "/opt/conf",
    }.items():
        with pytest.raises(NotUnderstoodError, match="settings from there that Sluice does not see"):
            job(DELETE, **{key: value})
    assert reads(DELETE, **{"spark.kubernetes.driverEnv.JAVA_TOOL_OPTIONS": "-Xss4m"}) == DAY


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.hadoop.fs.s3a.bucket.lake.accesspoint.arn", "arn:aws:s3:eu-west-1:1:accesspoint/other"),
        ("spark.hadoop.fs.s3a.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"),
        ("spark.hadoop.fs.AbstractFileSystem.hdfs.impl", "org.apache.hadoop.fs.viewfs.ViewFs"),
    ],
)
def test_no_setting_leads_a_location_to_another_store(key: str, value: str) -> None:
    with pytest.raises(NotUnderstoodError, match="lead elsewhere than they say"):
        job(DELETE, **{key: value})


def test_mounts_have_a_scheme_of_their_own() -> None:
    assert (
        reads(DELETE, **{"spark.hadoop.fs.viewfs.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystem"}) == DAY
    )


def test_who_brings_delta_along_commits_by_rules_that_nobody_knows() -> None:
    for key, value in {
        "spark.jars.packages": "io.delta:delta-spark_2.13:3.3.0",
        "spark.jars": "/opt/delta-core_2.12-2.4.0.jar",
    }.items():
        assert job(DELETE, **{key: value}).dialect is None
    assert job(DELETE, **{"spark.jars.packages": "org.postgresql:postgresql:42.7.3"}).dialect == oss("4.4.0")


def test_auto_compaction_of_other_partitions_may_rewrite_all() -> None:
    compacts = {"spark.databricks.delta.autoCompact.enabled": "true"}
    _, hook = job(APPEND, **compacts).tables
    assert not hook.removes.is_everything
    _, hook = job(
        APPEND, **compacts, **{"spark.databricks.delta.autoCompact.modifiedPartitionsOnly.enabled": "false"}
    ).tables
    assert hook.removes.is_everything


def test_names_mean_other_tables_after_a_catalog_was_declared_anew() -> None:
    named = "DELETE FROM prod.sales.orders WHERE date = DATE '2026-11-19'"
    spec = DeltaWriteJobSpec.model_validate({"sql": named})
    facts = dict.fromkeys(footprint_of(spec, {}).keys, FACTS)
    assert footprint_of(spec, {}, facts=facts).tables[0].reads_text == DAY
    moved = DeltaWriteJobSpec.model_validate({"sql": f"SET spark.sql.catalog.prod = x; {named}"})
    assert footprint_of(moved, {}, facts=facts).tables[0].reads.is_everything


BY_HOUR = replace(FACTS, columns=Table.of({"id": "bigint", "ts": "timestamp"}, ["ts"]))
VIEW = "CREATE TEMP VIEW v AS SELECT * FROM delta.`/lake/t` WHERE ts = TIMESTAMP '2026-11-19 09:00:00'"
FROM_VIEW = "INSERT INTO delta.`/lake/t` SELECT * FROM v"


def test_a_temporary_view_keeps_the_settings_that_it_was_made_under() -> None:
    def read(*statements: str) -> TableFootprint:
        spec = DeltaWriteJobSpec.model_validate({"sql": "; ".join(statements)})
        (found,) = footprint_of(spec, {}, facts={key_of_path("/lake/t"): BY_HOUR}).tables
        return found

    utc, tokyo = "SET TIME ZONE 'UTC'", "SET TIME ZONE 'Asia/Tokyo'"
    made = read(utc, VIEW, FROM_VIEW)
    assert read(utc, VIEW, tokyo, FROM_VIEW).reads == made.reads
    assert read(tokyo, VIEW, utc, FROM_VIEW).reads == read(tokyo, VIEW, FROM_VIEW).reads != made.reads
    assert not made.adds.is_everything
    assert read(utc, VIEW, tokyo, FROM_VIEW).adds.is_everything


def test_every_known_setting_is_sorted() -> None:
    """The settings that people use most are among the harmless: a list that widens all would be sound, but useless."""
    listed = {key for version in VERSIONS for key in settings_of(version)}
    sorted_ = [meaning_of(key, "\0", None) for key in listed]
    assert len(listed) > 1100
    assert 400 < sorted_.count(SettingEffect.HARMLESS) < 600
    assert sorted_.count(SettingEffect.ANYTHING) > 400

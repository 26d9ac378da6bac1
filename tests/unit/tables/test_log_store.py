"""Which log stores let two writers lose data: a fact of each job, by the location's scheme and the job's settings."""

import pytest

from sluice.tables import LogStore, key_of_name, key_of_path, lock_table_of, log_store_for, log_store_of

LINK = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
OWN = {"spark.delta.logStore.class": "com.example.Own"}
SINGLE_DRIVER = {"spark.delta.logStore.class": "io.delta.storage.S3SingleDriverLogStore"}
ORACLES = {"spark.delta.logStore.oci.impl": "io.delta.storage.OracleCloudLogStore"}
IBMS = {"spark.delta.logStore.cos.impl": "io.delta.storage.IBMCOSLogStore"}
CONDITIONAL = {"spark.delta.logStore.s3a.impl": "dev.sluice.delta.S3ConditionalLogStore"}
DYNAMODB = {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3DynamoDBLogStore"}


@pytest.mark.parametrize(
    ("path", "conf", "store"),
    [
        ("/lake/t", {}, LogStore.RENAME),
        ("/lake/t", LINK, LogStore.LINK),
        ("s3a://lake/t", {}, LogStore.UNKNOWN),
        ("s3a://lake/t", SINGLE_DRIVER, LogStore.S3_SINGLE_DRIVER),
        ("s3a://lake/t", SINGLE_DRIVER | DYNAMODB, LogStore.UNKNOWN),
        ("s3a://lake/t", {"spark.delta.logStore.class": "com.example.Own"}, LogStore.UNKNOWN),
        ("s3a://lake/t", DYNAMODB, LogStore.S3_DYNAMODB),
        ("S3A://lake/t", DYNAMODB, LogStore.S3_DYNAMODB),
        ("s3a://lake/t", CONDITIONAL, LogStore.S3_CONDITIONAL),
        ("s3://lake/t", CONDITIONAL, LogStore.UNKNOWN),
        (
            "/lake/t",
            {"spark.delta.logStore.file.impl": CONDITIONAL["spark.delta.logStore.s3a.impl"]},
            LogStore.RENAME,
        ),
        ("s3://lake/t", DYNAMODB, LogStore.UNKNOWN),
        ("s3n://lake/t", DYNAMODB, LogStore.UNKNOWN),
        ("abfss://c@account.dfs.core.windows.net/t", {}, LogStore.SAFE),
        ("gs://lake/t", {}, LogStore.SAFE),
        ("gs://lake/t", {"spark.delta.logStore.gs.impl": "com.example.Own"}, LogStore.UNKNOWN),
        ("oci://lake@space/t", {}, LogStore.UNKNOWN),
        ("oci://lake@space/t", ORACLES, LogStore.CONDITIONAL),
        ("cos://lake.one/t", {}, LogStore.UNKNOWN),
        ("cos://lake.one/t", ORACLES, LogStore.UNKNOWN),
        ("cos://lake.one/t", IBMS, LogStore.CONDITIONAL),
        ("hdfs://lake/t", {"spark.delta.logStore.class": "com.example.Own"}, LogStore.UNKNOWN),
    ],
)
def test_the_store_follows_from_the_scheme_and_the_settings(
    path: str, conf: dict[str, str], store: LogStore
) -> None:
    assert log_store_of(key_of_path(path), conf) is store


def test_where_a_name_leads_is_not_known() -> None:
    assert log_store_of(key_of_name("sales.orders"), LINK) is LogStore.UNKNOWN


@pytest.mark.parametrize(
    ("conf", "declared", "from_files", "known_whole"),
    [
        ({}, None, LogStore.UNKNOWN, LogStore.S3_SINGLE_DRIVER),
        (OWN, None, LogStore.UNKNOWN, LogStore.UNKNOWN),
        ({}, LogStore.SAFE, LogStore.SAFE, LogStore.SAFE),
        ({}, LogStore.S3_CONDITIONAL, LogStore.S3_CONDITIONAL, LogStore.S3_SINGLE_DRIVER),
        ({}, LogStore.S3_DYNAMODB, LogStore.S3_DYNAMODB, LogStore.S3_SINGLE_DRIVER),
        (CONDITIONAL, LogStore.S3_DYNAMODB, LogStore.S3_CONDITIONAL, LogStore.S3_CONDITIONAL),
        (DYNAMODB, LogStore.S3_CONDITIONAL, LogStore.S3_DYNAMODB, LogStore.S3_DYNAMODB),
        (SINGLE_DRIVER, LogStore.S3_CONDITIONAL, LogStore.S3_SINGLE_DRIVER, LogStore.S3_SINGLE_DRIVER),
        (SINGLE_DRIVER, LogStore.SAFE, LogStore.S3_SINGLE_DRIVER, LogStore.S3_SINGLE_DRIVER),
        (OWN, LogStore.SAFE, LogStore.SAFE, LogStore.SAFE),
        (OWN, LogStore.S3_CONDITIONAL, LogStore.S3_SINGLE_DRIVER, LogStore.S3_SINGLE_DRIVER),
    ],
)
def test_a_job_whose_settings_are_all_known_is_not_believed_to_take_a_store_that_they_do_not_name(
    conf: dict[str, str], declared: LogStore | None, from_files: LogStore, known_whole: LogStore
) -> None:
    table = key_of_path("s3a://lake/t")
    assert log_store_for(table, conf, declared, all_settings=False) is from_files
    assert log_store_for(table, conf, declared, all_settings=True) is known_whole


@pytest.mark.parametrize(
    "store",
    [LogStore.SAFE, LogStore.LINK, LogStore.S3_DYNAMODB, LogStore.S3_CONDITIONAL, LogStore.CONDITIONAL],
)
def test_two_writers_through_one_store_are_safe(store: LogStore) -> None:
    assert not store.loses_beside(store)


@pytest.mark.parametrize("other", list(LogStore))
def test_some_stores_are_safe_beside_nobody(other: LogStore) -> None:
    for alone in (LogStore.RENAME, LogStore.S3_SINGLE_DRIVER):
        assert alone.loses_beside(other)
        assert other.loses_beside(alone)


@pytest.mark.parametrize("other", list(LogStore))
def test_a_store_that_nobody_knows_is_safe_only_where_every_store_is(other: LogStore) -> None:
    assert LogStore.UNKNOWN.loses_beside(other) is (other is not LogStore.SAFE)
    assert other.loses_beside(LogStore.UNKNOWN) is (other is not LogStore.SAFE)


def test_two_stores_do_not_see_each_other() -> None:
    assert LogStore.LINK.loses_beside(LogStore.SAFE)
    assert LogStore.S3_DYNAMODB.loses_beside(LogStore.LINK)
    assert LogStore.S3_CONDITIONAL.loses_beside(LogStore.S3_DYNAMODB)
    assert LogStore.S3_CONDITIONAL.loses_beside(LogStore.SAFE)


def test_settings_that_say_what_holds_anyway_name_the_same_lock_table() -> None:
    own = "io.delta.storage.S3DynamoDBLogStore.ddb"
    plain = lock_table_of({})
    assert lock_table_of({f"spark.{own}.region": "us-east-1"}) == plain
    assert lock_table_of({f"spark.{own}.tableName": "delta_log"}) == plain
    for prefix in ("spark", "spark.hadoop"):
        for name in ("region", "tableName"):
            assert lock_table_of({f"{prefix}.{own}.{name}": "other"}) != plain
    assert lock_table_of({f"spark.{own}.region": "a/b"}) != lock_table_of({f"spark.{own}.region": "a"})

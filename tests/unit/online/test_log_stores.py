"""What `sluice doctor` says of a profile's log stores."""

from sluice.engines import RuntimeProfile
from sluice.online.doctor.findings import FindingLevel
from sluice.online.doctor.runtime_checks import log_stores

LINK = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
DYNAMO = {
    f"spark.delta.logStore.{scheme}.impl": "io.delta.storage.S3DynamoDBLogStore" for scheme in ("s3", "s3a")
}
OURS = dict.fromkeys(DYNAMO, "dev.sluice.delta.S3ConditionalLogStore")


def _levels(conf: dict[str, str], spark: str = "4.2.0") -> list[FindingLevel]:
    """Of file:, s3: and s3a:."""
    profile = RuntimeProfile(spark_version=spark, spark_conf=conf)
    return [one.level for one in log_stores("default", profile)]


def test_settings_that_keep_commits_apart_are_well_and_others_are_told_with_the_setting() -> None:
    assert _levels(LINK | DYNAMO) == [FindingLevel.OK] * 3
    assert _levels(LINK | OURS) == [FindingLevel.OK] * 3
    assert _levels(LINK) == [FindingLevel.OK, FindingLevel.WARN, FindingLevel.WARN]
    assert _levels({}) == [FindingLevel.WARN] * 3
    file, _, s3a = log_stores("nightly", RuntimeProfile(spark_version="4.2.0"))
    assert (
        "runtimes.nightly.sparkConf: spark.delta.logStore.file.impl: dev.sluice.delta.LinkLogStore"
        in file.cure
    )
    assert (
        "runtimes.nightly.sparkConf: spark.delta.logStore.s3a.impl: dev.sluice.delta.S3ConditionalLogStore"
        in s3a.cure
    )


def test_a_class_that_is_not_known_is_named() -> None:
    conf = LINK | OURS | {"spark.delta.logStore.s3.impl": "dev.sluice.S3ConditionalLogStore"}
    _, s3, _ = log_stores("default", RuntimeProfile(spark_version="4.2.0", spark_conf=conf))
    assert (s3.level, s3.subject) == (FindingLevel.WARN, "default, s3")
    assert (
        "dev.sluice.S3ConditionalLogStore is not known to keep the commits of two drivers apart" in s3.message
    )


def test_each_spelling_of_s3_needs_its_own_setting() -> None:
    for name, ours in OURS.items():
        assert sorted(_levels(LINK | {name: ours})) == sorted(
            [FindingLevel.OK, FindingLevel.OK, FindingLevel.WARN]
        )


def test_a_spark_without_conditional_writes_fails_with_a_log_store_that_needs_them() -> None:
    for spark in ("3.5.9", "4.0.1"):
        assert _levels(LINK | OURS, spark) == [FindingLevel.OK, FindingLevel.FAIL, FindingLevel.FAIL]
    assert _levels(LINK | OURS, "4.1.0") == [FindingLevel.OK] * 3

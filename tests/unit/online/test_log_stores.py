"""What `sluice doctor` says of a profile's log stores."""

from sluice.engines import RuntimeProfile
from sluice.online.findings import Level
from sluice.online.runtime_checks import log_stores

LINK = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
DYNAMO = {
    f"spark.delta.logStore.{scheme}.impl": "io.delta.storage.S3DynamoDBLogStore"
    for scheme in ("s3", "s3a", "s3n")
}


def _levels(conf: dict[str, str]) -> list[Level]:
    profile = RuntimeProfile(spark_version="4.2.0", spark_conf=conf)
    return [one.level for one in log_stores("default", profile)]


def test_settings_that_keep_commits_apart_are_well_and_others_are_told_with_the_setting() -> None:
    assert _levels(LINK | DYNAMO) == [Level.OK, Level.OK]
    assert _levels(LINK) == [Level.OK, Level.WARN]
    assert _levels({}) == [Level.WARN, Level.WARN]
    file, s3 = log_stores("nightly", RuntimeProfile(spark_version="4.2.0"))
    assert (
        "runtimes.nightly.sparkConf: spark.delta.logStore.file.impl: dev.sluice.delta.LinkLogStore"
        in file.cure
    )
    assert "logStore" in s3.cure

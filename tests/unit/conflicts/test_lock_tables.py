"""Two writers through S3DynamoDBLogStore are safe beside each other only where they share the entries it locks by."""

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Level, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.tables import LogStore, key_of_path
from unit.conflicts.pairs import facts

STORE = {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3DynamoDBLogStore"}
LOCKS = "spark.io.delta.storage.S3DynamoDBLogStore.ddb"
PATH = "s3a://lake/t"


def append(conf: dict[str, str] | None = None, *, declared: LogStore | None = None) -> JobFootprint:
    sql = f"INSERT INTO delta.`{PATH}` VALUES (1, 1, 'v', DATE '2026-11-19')"
    spec = DeltaWriteJobSpec.model_validate({"sql": sql})
    known = facts(log_store=declared)
    return footprint_of(spec, STORE | (conf or {}), facts={key_of_path(PATH): known}, delta_version="4.4.0")


def test_writers_that_lock_by_different_entries_lose_commits() -> None:
    there = {f"{LOCKS}.region": "eu-central-1", f"{LOCKS}.tableName": "commits"}
    assert pair_of(append(), append()).together
    assert pair_of(append(there), append(there)).together
    for other in (
        {},
        {**there, f"{LOCKS}.region": "us-east-1"},
        {**there, f"{LOCKS}.tableName": "delta_log"},
    ):
        verdict = pair_of(append(there), append(other)).first_loses
        assert (verdict.level, verdict.rule) == (Level.UNSAFE, "lost-commits")
        assert "commits" in verdict.reason
        assert "ddb.region" in str(verdict.advice)


def test_who_says_himself_that_he_does_not_lock_is_believed_whatever_is_declared_of_all_writers() -> None:
    alone = {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3SingleDriverLogStore"}
    locked = append(declared=LogStore.S3_DYNAMODB)
    assert pair_of(locked, append(declared=LogStore.S3_DYNAMODB)).together
    verdict = pair_of(locked, append(alone, declared=LogStore.S3_DYNAMODB)).first_loses
    assert (verdict.level, verdict.rule) == (Level.UNSAFE, "lost-commits")
    called_safe = append(alone, declared=LogStore.SAFE)
    assert pair_of(called_safe, called_safe).first_loses.level is Level.UNSAFE

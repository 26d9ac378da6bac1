"""Jobs of one table on S3 run beside one another, and none loses a commit: on the whole stack, with versitygw as the store."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devenv.s3_server import REGION, S3Server
from integration.pipeline.conftest import SPARK_CONF, Pipeline, Place, profile, running_pipeline
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(900)

TABLE = "delta.`s3a://lake/orders`"
OURS = {
    f"spark.delta.logStore.{scheme}.impl": "dev.sluice.delta.S3ConditionalLogStore"
    for scheme in ("s3", "s3a")
}
STATEMENTS = 3


@dataclass(frozen=True)
class OnS3:
    pipeline: Pipeline
    bucket: Path


@pytest.fixture(scope="module")
def on_s3(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnS3]:
    with S3Server(tmp_path_factory.mktemp("s3"), Path(os.environ["SLUICE_S3_SERVER"])) as server:
        keys = {
            "AWS_ACCESS_KEY_ID": server.account.access_key,
            "AWS_SECRET_ACCESS_KEY": server.account.secret_key,
        }
        by_conditions = profile(keys) | {
            "sparkConf": SPARK_CONF
            | OURS
            | {
                "spark.hadoop.fs.s3a.endpoint": server.endpoint,
                "spark.hadoop.fs.s3a.endpoint.region": REGION,
                "spark.hadoop.fs.s3a.path.style.access": "true",
            },
        }
        alone: Json = {
            **by_conditions,
            "sparkConf": {key: value for key, value in by_conditions["sparkConf"].items() if key not in OURS},
        }
        with running_pipeline(
            place,
            {"default": by_conditions, "deltas-own": alone},
            jars=[os.environ["SLUICE_AWS_JARS"]],
            environment={
                **keys,
                "AWS_REGION": REGION,
                "AWS_ENDPOINT_URL": server.endpoint,
                "AWS_ALLOW_HTTP": "true",
            },
        ) as running:
            yield OnS3(running, server.bucket("lake"))


def test_two_jobs_append_to_one_table_on_s3_at_once_and_all_their_commits_are_there(on_s3: OnS3) -> None:
    pipeline = on_s3.pipeline
    created = f"CREATE TABLE {TABLE} (id BIGINT, date DATE) USING delta PARTITIONED BY (date)"
    pipeline.apply("make", {"sql": created})
    pipeline.until("make", "Succeeded")
    with pipeline.warm.held():
        for number in (1, 2):
            insert = f"INSERT INTO {TABLE} SELECT id, DATE '2026-11-2{number}' FROM range(5)"
            pipeline.apply(f"append-{number}", {"sql": ";\n".join([insert] * STATEMENTS)})
            pipeline.until(f"append-{number}", "Running")
    ended = [pipeline.until(f"append-{number}", "Succeeded") for number in (1, 2)]
    told = [commit["version"] for status in ended for commit in status["attempts"][-1]["commits"]]
    assert sorted(told) == list(range(1, 1 + 2 * STATEMENTS))
    assert sorted(operations(on_s3.bucket)) == ["CREATE TABLE", *["WRITE"] * (2 * STATEMENTS)]


def test_a_job_that_would_commit_by_deltas_own_log_store_waits_for_the_others(on_s3: OnS3) -> None:
    """Whatever a policy says of the table: the operator knows the job's settings."""
    pipeline = on_s3.pipeline
    policy = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaTablePolicy",
        "metadata": {"name": "orders", "namespace": pipeline.namespace},
        "spec": {"table": {"path": "s3a://lake/orders"}, "logStore": "S3Conditional"},
    }
    done = pipeline.kubectl("apply", "-f", "-", stdin=json.dumps(policy))
    assert done.returncode == 0, done.stderr
    insert = f"INSERT INTO {TABLE} SELECT id, DATE '2026-11-2{{}}' FROM range(5)"
    with pipeline.warm.held():
        pipeline.apply("first", {"sql": insert.format(1)})
        pipeline.until("first", "Running")
        pipeline.apply("by-deltas-own", {"sql": insert.format(2), "runtimeRef": "deltas-own"})
        waiting = pipeline.until("by-deltas-own", "Waiting")
    assert waiting["blockedBy"][0]["rule"] == "lost-commits"
    assert "S3ConditionalLogStore" in waiting["blockedBy"][0]["advice"]
    for name in ("first", "by-deltas-own"):
        pipeline.until(name, "Succeeded")


def operations(bucket: Path) -> list[str]:
    """Of all commits in the table's log."""
    commits = (bucket / "orders" / "_delta_log").glob("0*.json")
    actions = (
        json.loads(line) for commit in commits for line in commit.read_text(encoding="utf-8").splitlines()
    )
    return [action["commitInfo"]["operation"] for action in actions if "commitInfo" in action]

"""An operator whose tables are on S3, with the credentials of its own environment, as a Secret gives them to its pod."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devenv.s3_server import REGION, S3Server
from integration.operator.conftest import StartOperator
from integration.operator.played import Played
from integration.operator.process import OperatorProcess, sluice
from sluice.api.base import Json
from unit.tables.lake import orders

ORDERS = "s3://lake/orders"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3"), Path(os.environ["SLUICE_S3_SERVER"])) as server:
        orders(server.bucket("lake") / "orders")
        yield server


def credentials(s3: S3Server, **other: str) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": s3.account.access_key,
        "AWS_SECRET_ACCESS_KEY": s3.account.secret_key,
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": s3.endpoint,
        "AWS_ALLOW_HTTP": "true",
        **other,
    }


def on(day: str) -> Json:
    sql = f"DELETE FROM delta.`s3a://lake/orders` WHERE date = DATE '{day}'"
    conf = {
        f"spark.delta.logStore.{scheme}.impl": "io.delta.storage.S3DynamoDBLogStore"
        for scheme in ("s3", "s3a", "s3n")
    }
    return {"sql": sql, "runtime": {"sparkConf": conf}}


def doctors_tables(operator: OperatorProcess) -> list[dict[str, str]]:
    configured = ("--config", str(operator.folder / f"{operator.name}.yaml"))
    done = sluice(operator.kubeconfig, "doctor", *configured, "-o", "json")
    return [one for one in json.loads(done.stdout)["checks"] if one["check"] == "table"]


def test_jobs_on_other_partitions_of_a_table_on_s3_run_together(
    cluster: Played, operators: StartOperator, s3: S3Server
) -> None:
    operator = operators(environment=credentials(s3))
    for name, day in (("on-19", "2026-11-19"), ("on-20", "2026-11-20")):
        cluster.apply(name, on(day))
        driver = cluster.start(name)
        (understood,) = cluster.reaches(name, "Running")["footprint"]
        assert understood["table"] == ORDERS
        assert understood["reads"] == f"date = DATE '{day}'"
        assert driver is not None
    (told,) = doctors_tables(operator)
    assert told["level"] == "ok"


def test_a_secret_that_is_wrong_is_told_by_the_job_and_by_the_doctor(
    cluster: Played, operators: StartOperator, s3: S3Server
) -> None:
    operator = operators(environment=credentials(s3, AWS_SECRET_ACCESS_KEY="retired"))
    cluster.apply("on-19", on("2026-11-19"))
    cluster.start("on-19")
    (understood,) = cluster.reaches("on-19", "Running")["footprint"]
    assert understood["reads"] == "true"
    assert any("CredentialsRefused: the store does not take" in why for why in understood["widened"])
    (told,) = doctors_tables(operator)
    assert (told["level"], told["subject"]) == ("warn", ORDERS)
    assert told["message"].startswith("its log cannot be read: CredentialsRefused: ")

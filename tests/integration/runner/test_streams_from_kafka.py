"""Streams from a real Kafka, whose login only a Secret tells: each record counts once, whatever ends the driver, and nobody who
reads what the driver wrote can log in."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devenv.kafka import KafkaBroker
from integration.runner.jobs import TELLING_ALL, Document, Driver, place, submit
from integration.runner.kafka_topics import Topics
from integration.runner.streaming import DRIVER_SETTINGS, ONCE, driver_held_at_its_commit, ids, stream_of
from spark_jars import class_path

pytestmark = pytest.mark.long(minutes=2)
LOGIN = "SECRET_KAFKA_LOGIN"
CLICKS = "SELECT CAST(CAST(value AS STRING) AS BIGINT) AS id, timestamp FROM source"


def connector() -> list[str]:
    return os.environ["SLUICE_KAFKA_CONNECTOR"].split(",")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), os.environ["SLUICE_KAFKA_BROKER"]) as running:
        yield running


@pytest.fixture(scope="module")
def topics(spark: SparkSession, broker: KafkaBroker) -> Topics:
    return Topics(spark, broker, connector())


@pytest.fixture
def settings(broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Of a driver that can log in, as its environment has it."""
    monkeypatch.setenv(LOGIN, broker.account.login())
    return {**DRIVER_SETTINGS, "spark.driver.extraClassPath": ":".join([class_path(), *connector()])}


def clicks(broker: KafkaBroker, folder: Path, trigger: Document, run_key: str) -> Document:
    source: Document = {
        "format": "kafka",
        "options": {
            "kafka.bootstrap.servers": broker.address,
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "subscribe": "clicks",
            "startingOffsets": "earliest",
        },
        "optionsFromEnv": {"kafka.sasl.jaas.config": LOGIN},
    }
    target: Document = {"path": place(folder / "clicks")}
    return stream_of(
        folder,
        folder / "checkpoint",
        source=source,
        query=CLICKS,
        table=target,
        trigger=trigger,
        run_key=run_key,
    )


def in_a_new_folder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def ended(driver: Driver) -> tuple[Document, str]:
    """Its result, and all that it wrote."""
    stdout, _ = driver.process.communicate(timeout=500)
    return driver.result(), stdout


def test_each_record_counts_once_though_a_driver_is_killed(
    spark: SparkSession, topics: Topics, settings: dict[str, str], tmp_path: Path, freezes: Path
) -> None:
    topics.add("clicks", 1, 2)
    document = clicks(topics.broker, tmp_path, {"processingTime": "1 second"}, "killed-clicks")
    folder = in_a_new_folder(tmp_path, "killed")
    with driver_held_at_its_commit(folder, freezes, document, settings) as (driver, freeze):
        os.killpg(driver.process.pid, signal.SIGKILL)
        driver.process.communicate()
        freeze.lift()
    assert (tmp_path / "checkpoint" / "offsets" / "0").exists()
    assert not (tmp_path / "clicks" / "_delta_log" / f"{0:020}.json").exists()
    topics.add("clicks", 3)
    document = clicks(topics.broker, tmp_path, ONCE, "next-clicks")
    result, _ = ended(submit(in_a_new_folder(tmp_path, "next"), document, settings))
    told = result["stream"]
    assert (result["outcome"], told["batches"], told["lag"]) == ("Succeeded", 2, {"rows": 0}), result
    assert ids(spark, tmp_path / "clicks") == [1, 2, 3]


def test_a_login_that_is_refused_ends_the_attempt_and_is_written_nowhere(
    broker: KafkaBroker, settings: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOGIN, broker.account.login("s3cr3t-of-somebody-else"))
    events = in_a_new_folder(tmp_path, "events")
    settings |= {**TELLING_ALL, "spark.eventLog.dir": str(events)}
    folder = in_a_new_folder(tmp_path, "refused")
    result, stdout = ended(submit(folder, clicks(broker, tmp_path, ONCE, "refused-clicks"), settings))
    (folder / "stdout").write_text(stdout)
    assert result["outcome"] == "Failed", result
    assert "Authentication failed" in json.dumps(result), result
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.is_relative_to(events) for file in written)
    for file in written:
        assert "s3cr3t" not in file.read_text(errors="replace"), file
    assert not (tmp_path / "clicks").exists()

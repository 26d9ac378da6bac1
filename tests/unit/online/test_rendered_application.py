"""What is printed of the application that a job would become."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluice.api import names
from sluice.api.base import Json
from sluice.engines import RuntimeProfile
from sluice.engines.attempt import application_name
from sluice.online.access.errors import OnlineError
from sluice.online.jobs.rendered_application import NotRenderedError, application_of, rendered

PROFILES = {
    "default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0", image="registry.example/spark:1")
}
CONFIG = "runtimes: {default: {sparkVersion: 4.2.0, deltaVersion: 4.4.0, image: registry.example/spark:1}}"
OWN: Json = {
    "application": {
        "engine": "kubeflow",
        "template": {"type": "Python", "driver": {"cores": 1, "env": [{"name": "A", "value": "1"}]}},
    },
    "footprint": [{"table": {"path": "s3://lake/t"}, "operation": "Append"}],
}
SQL: Json = {"sql": "DELETE FROM delta.`s3://lake/t` WHERE id = 1"}


def job(spec: Json, **status: Any) -> Json:
    metadata = {"name": "score", "namespace": "etl", "uid": "uid-1", "generation": 1}
    return {"metadata": metadata, "spec": spec, "status": status}


def write(path: Path, *specs: Json) -> str:
    manifests = [
        {
            "apiVersion": names.API_VERSION,
            "kind": names.JOB_KIND,
            "metadata": {"name": f"job.{number}"},
            "spec": spec,
        }
        for number, spec in enumerate(specs)
    ]
    path.write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


async def test_a_file_is_rendered_without_a_cluster_with_words_for_what_a_grant_tells(tmp_path: Path) -> None:
    config = tmp_path / "sluice.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    sql, own = await rendered(write(tmp_path / "jobs.yaml", SQL, OWN), config, "etl")
    assert [one["metadata"]["name"] for one in (sql, own)] == ["job-0-<uid>-1", "job-1-<uid>-1"]
    for made in (sql, own):
        annotations = made["metadata"]["annotations"]
        assert made["metadata"]["namespace"] == "etl"
        assert annotations[names.ANNOTATION_TOKEN] == "<token>"
        assert annotations[names.ANNOTATION_LEASE] == "<lease>"
        assert annotations[names.ANNOTATION_WRITER_EPOCH] == "<epoch>"
        assert made["spec"]["driver"]["podName"] == f"{made['metadata']['name']}-driver"
    assert sql["spec"]["arguments"] == ["--plan=<plan>"]
    assert sql["spec"]["image"] == "registry.example/spark:1"
    variables = own["spec"]["driver"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "SLUICE_PLAN", "value": "<plan>"} in variables
    assert own["spec"]["driver"]["env"] == [{"name": "A", "value": "1"}]
    assert "arguments" not in own["spec"]


async def test_an_application_needs_no_runtime_profile_and_so_neither_cluster_nor_configuration(
    tmp_path: Path,
) -> None:
    (made,) = await rendered(write(tmp_path / "own.yaml", OWN), None, None)
    assert made["metadata"]["namespace"] == "default"


async def test_where_no_profile_is_known_the_cluster_is_asked_and_its_trouble_told(tmp_path: Path) -> None:
    with pytest.raises(
        OnlineError, match=r"KUBECONFIG.*; or name the file with the runtime profiles by --config"
    ):
        await rendered(write(tmp_path / "sql.yaml", SQL), None, "etl")


async def test_what_the_operator_would_refuse_is_refused_with_its_words(tmp_path: Path) -> None:
    fights = json.loads(json.dumps(OWN))
    fights["application"]["template"]["mode"] = "client"
    with pytest.raises(NotRenderedError, match=r"etl/job\.0: .*spec\.application\.template\.mode: "):
        await rendered(write(tmp_path / "fights.yaml", fights), None, "etl")


def test_of_a_job_that_was_granted_the_name_and_the_token_are_those_of_its_attempt() -> None:
    name = application_name("score", "uid-1", 2)
    granted = {
        "number": 2,
        "token": 77,
        "hash": "h",
        "application": name,
        "grantedAt": "2026-11-19T10:00:00Z",
    }
    made = application_of(job(OWN, attempts=[granted], attempt=2, phase="Running"), {})
    assert made["metadata"]["name"] == name
    assert made["metadata"]["labels"][names.LABEL_ATTEMPT] == "2"
    assert made["metadata"]["annotations"][names.ANNOTATION_TOKEN] == "77"
    assert made["metadata"]["annotations"][names.ANNOTATION_LEASE] == "<lease>"


def test_of_a_job_that_waits_the_first_attempt_is_shown() -> None:
    made = application_of(job(SQL, phase="Waiting"), PROFILES)
    assert made["metadata"]["name"] == application_name("score", "uid-1", 1)
    assert made["metadata"]["annotations"][names.ANNOTATION_TOKEN] == "<token>"


async def test_a_stream_reads_its_secrets_from_variables_and_its_work_from_the_plan(tmp_path: Path) -> None:
    config = tmp_path / "sluice.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    secret = {"option": "kafka.sasl.jaas.config", "secretKeyRef": {"name": "kafka", "key": "jaas"}}
    stream: Json = {
        "source": {"format": "kafka", "options": {"subscribe": "clicks"}, "optionsFrom": [secret]},
        "table": {"path": "s3://lake/clicks"},
        "checkpoint": "s3://lake/_checkpoints/clicks",
        "trigger": {"processingTime": "1 minute"},
    }
    (made,) = await rendered(write(tmp_path / "jobs.yaml", {"stream": stream}), config, "etl")
    assert made["spec"]["arguments"] == ["--plan=<plan>"]
    [given] = [
        one
        for one in made["spec"]["driver"]["template"]["spec"]["containers"][0]["env"]
        if "valueFrom" in one
    ]
    assert given["valueFrom"] == {"secretKeyRef": {"name": "kafka", "key": "jaas"}}

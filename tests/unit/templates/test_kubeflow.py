"""What is refused in a user's own application for kubeflow's operator, with its place and what to do."""

import json
import tracemalloc
from typing import Any

import pytest

from sluice.api.job import Application
from sluice.templates import problems_in
from sluice.templates.shared_rules import DEEPEST, LARGEST

PLAIN: dict[str, Any] = {
    "type": "Scala",
    "mode": "cluster",
    "image": "registry.example/etl:7",
    "mainClass": "com.example.Settle",
    "mainApplicationFile": "local:///app/settle.jar",
    "sparkVersion": "4.2.0",
    "driver": {"cores": 1, "memory": "512m", "serviceAccount": "spark"},
    "executor": {"instances": 2, "cores": 1, "memory": "512m"},
}


def problems_of(template: dict[str, Any]) -> list[str]:
    return problems_in(Application.model_validate({"engine": "kubeflow", "template": template}))


def driver(**fields: Any) -> dict[str, Any]:
    return {"driver": fields}


def pod(**spec: Any) -> dict[str, Any]:
    return driver(template={"spec": spec})


def conf(name: str, value: str = "x") -> dict[str, Any]:
    return {"sparkConf": {name: value}}


OWN = {"name": "spark-kubernetes-driver"}
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"mode": "client"}, "mode", "a pod of its own"),
    ({"restartPolicy": {"type": "OnFailure"}}, "restartPolicy.type", "set spec.retry"),
    ({"restartPolicy": {"type": "Always"}}, "restartPolicy.type", "set spec.retry"),
    ({"sparkVersion": "2.4.8"}, "sparkVersion", "3.0.0"),
    (driver(podName="mine"), "driver.podName", "whose name it fixes"),
    (driver(labels={"sluice.dev/job-uid": "x"}), "driver.labels.sluice.dev/job-uid", "remove it"),
    (driver(labels={"spark-role": "executor"}), "driver.labels.spark-role", "remove it"),
    (driver(annotations={"sluice.dev/lease": "x"}), "driver.annotations.sluice.dev/lease", "remove it"),
    (driver(env=[{"name": "SLUICE_PLAN", "value": "x"}]), "driver.env[0].name", "another name"),
    (driver(envVars={"SLUICE_APPLICATION": "x"}), "driver.envVars.SLUICE_APPLICATION", "another name"),
    (
        driver(envSecretKeyRefs={"SLUICE_PLAN": {"name": "s", "key": "k"}}),
        "driver.envSecretKeyRefs.SLUICE_PLAN",
        "another name",
    ),
    (
        driver(template={"metadata": {"finalizers": ["sluice.dev/lease"]}}),
        "driver.template.metadata.finalizers[0]",
        "remove it",
    ),
    (
        driver(template={"metadata": {"annotations": {"sluice.dev/token": "1"}}}),
        "driver.template.metadata.annotations.sluice.dev/token",
        "remove it",
    ),
    (driver(template={"metadata": {"name": "mine"}}), "driver.template.metadata.name", "remove it"),
    (
        driver(template={"metadata": {"ownerReferences": []}}),
        "driver.template.metadata.ownerReferences",
        "remove it",
    ),
    (pod(restartPolicy="OnFailure"), "driver.template.spec.restartPolicy", "Never"),
    (
        pod(schedulingGates=[{"name": "sluice.dev/never-starts"}]),
        "driver.template.spec.schedulingGates[0].name",
        "remove it",
    ),
    (pod(containers=[{"name": "main", "image": "x"}]), "driver.template.spec.containers", "give this name"),
    (
        pod(containers=[OWN | {"env": [{"name": "SLUICE_PLAN"}]}]),
        "driver.template.spec.containers[0].env[0].name",
        "another name",
    ),
    (
        pod(containers=[OWN | {"restartPolicy": "Always"}]),
        "driver.template.spec.containers[0].restartPolicy",
        "once",
    ),
    ({"executor": {"labels": {"spark-role": "driver"}}}, "executor.labels.spark-role", "remove it"),
    (
        {"executor": {"template": {"metadata": {"labels": {"sluice.dev/attempt": "1"}}}}},
        "executor.template.metadata.labels.sluice.dev/attempt",
        "remove it",
    ),
    (conf("spark.kubernetes.namespace"), "sparkConf.spark.kubernetes.namespace", "remove it"),
    (conf("spark.kubernetes.driver.pod.name"), "sparkConf.spark.kubernetes.driver.pod.name", "remove it"),
    (
        conf("spark.kubernetes.driver.podTemplateFile"),
        "sparkConf.spark.kubernetes.driver.podTemplateFile",
        "remove it",
    ),
    (
        conf("spark.kubernetes.driver.podTemplateContainerName"),
        "sparkConf.spark.kubernetes.driver.podTemplateContainerName",
        "remove it",
    ),
    (
        conf("spark.kubernetes.driver.pod.excludedFeatureSteps"),
        "sparkConf.spark.kubernetes.driver.pod.excludedFeatureSteps",
        "remove it",
    ),
    (
        conf("spark.kubernetes.driver.pod.featureSteps", "com.example.Step"),
        "sparkConf.spark.kubernetes.driver.pod.featureSteps",
        "remove it",
    ),
    (conf("spark.submit.deployMode", "client"), "sparkConf.spark.submit.deployMode", "remove it"),
    (conf("spark.master", "local[2]"), "sparkConf.spark.master", "remove it"),
    (conf("spark.remote", "sc://x"), "sparkConf.spark.remote", "remove it"),
    (
        conf("spark.kubernetes.driver.label.sluice.dev/job-uid"),
        "sparkConf.spark.kubernetes.driver.label.sluice.dev/job-uid",
        "remove it",
    ),
    (
        conf("spark.kubernetes.driverEnv.SLUICE_PLAN"),
        "sparkConf.spark.kubernetes.driverEnv.SLUICE_PLAN",
        "another name",
    ),
    (
        conf("spark.kubernetes.driver.secretKeyRef.SLUICE_PLAN", "s:k"),
        "sparkConf.spark.kubernetes.driver.secretKeyRef.SLUICE_PLAN",
        "another name",
    ),
    (conf("spark.kubernetes.later", "x"), "sparkConf.spark.kubernetes.later", "does not know"),
    (
        conf("spark.kubernetes.namespace=other", "x"),
        "sparkConf.spark.kubernetes.namespace=other",
        "another name and value",
    ),
    (
        {"hadoopConf": {"fs.s3a.bucket.lake.accesspoint.arn": "arn:x"}},
        "hadoopConf.fs.s3a.bucket.lake.accesspoint.arn",
        "remove it",
    ),
    (
        {
            "mainApplicationFile": "--conf",
            "arguments": ["spark.kubernetes.driver.pod.name=mine", "local:///app/settle.jar"],
        },
        "mainApplicationFile",
        "write the file",
    ),
    (driver(template=[]), "driver.template", "mapping"),
    ({"driver": "big"}, "driver", "mapping"),
    ({"sparkConf": {"spark.x": 1}}, "sparkConf.spark.x", "in quotes"),
]


@pytest.mark.parametrize(("changed", "place", "advice"), REFUSED, ids=[place for _, place, _ in REFUSED])
def test_a_template_that_fights_the_protocol_is_refused_with_its_place_and_what_to_do(
    changed: dict[str, Any], place: str, advice: str
) -> None:
    (why,) = problems_of(PLAIN | changed)
    assert why.startswith(f"spec.application.template.{place}: ")
    assert advice in why


def test_a_template_that_is_too_large_is_refused_with_its_size() -> None:
    room = LARGEST - len(json.dumps(PLAIN | {"arguments": [""]}))
    assert problems_of(PLAIN | {"arguments": ["x" * room]}) == []
    (why,) = problems_of(PLAIN | {"arguments": ["x" * (room + 1)]})
    assert f"has {LARGEST + 1} bytes as JSON" in why


@pytest.mark.parametrize("levels", [DEEPEST, 400, 5000])
def test_a_template_that_is_nested_too_deeply_is_refused(levels: int) -> None:
    deep: Any = "x"
    for at in range(levels - 1):
        deep = [deep] if at % 2 else {"a": deep}
    assert (problems_of(PLAIN | {"later": deep}) == []) == (levels == DEEPEST)
    (why,) = problems_of(PLAIN | {"later": {"a": deep}})
    assert f"is nested more than {DEEPEST} levels deep" in why


@pytest.mark.parametrize(("wide", "deep"), [(9, 20), (1000, 3), (100_000, 2)])
def test_billions_of_values_that_are_a_few_in_a_file_are_too_large_and_not_written_out(
    wide: int, deep: int
) -> None:
    shared: Any = ["x"] * wide
    for _ in range(deep - 1):
        shared = [shared] * wide
    tracemalloc.start()
    try:
        (why,) = problems_of(PLAIN | {"arguments": shared})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "has more than 4194304 bytes as JSON" in why
    assert peak < 256 * 1024**2


def test_a_long_name_that_stands_in_many_places_makes_a_template_too_large() -> None:
    (why,) = problems_of(PLAIN | {"arguments": [{"x" * 100_000: 1}] * 1000})
    assert "has more than 4194304 bytes as JSON" in why

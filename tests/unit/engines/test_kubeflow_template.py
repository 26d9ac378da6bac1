"""A user's own application: what the manifest changes of it, and what of it is refused."""

import json
from copy import deepcopy
from typing import Any

import pytest
from kubeflow_spark_api.models import SparkV1beta2SparkApplication

from sluice.api import names
from sluice.engines import AttemptRun
from sluice.engines.attempt import driver_pod_name
from sluice.engines.kubeflow import Kubeflow
from sluice.engines.kubeflow_template import profile_of, why_refused
from sluice.engines.own_template import DEEPEST, LARGEST
from sluice.engines.stamp import USER_METADATA, stamping

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
RICH: dict[str, Any] = PLAIN | {
    "arguments": ["--day", "$(date)", ""],
    "suspend": False,
    "timeToLiveSeconds": 600,
    "batchScheduler": "volcano",
    "batchSchedulerOptions": {"queue": "etl", "priorityClassName": "routine"},
    "dynamicAllocation": {"enabled": True, "minExecutors": 1, "maxExecutors": 5},
    "monitoring": {"exposeDriverMetrics": True, "prometheus": {"jmxExporterJar": "/jmx.jar", "port": 8090}},
    "deps": {"packages": ["org.example:lib:1.0"], "jars": ["local:///app/more.jar"]},
    "hadoopConf": {"fs.s3a.endpoint": "http://minio:9000"},
    "sparkConf": {
        "spark.kubernetes.driver.annotation.prometheus.io/scrape": "true",
        "spark.kubernetes.container.image": "registry.example/etl:7",
        "spark.metrics.conf.*.sink.prometheusServlet.class": "org.example.Sink",
        "spark.sql.session.timeZone": "UTC",
    },
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "restartPolicy": {"type": "Never", "onSubmissionFailureRetries": 3},
    "aFieldOfALaterVersion": {"deep": [1, None, "x"]},
    "driver": {
        "coreRequest": "500m",
        "labels": {"version": "4.2.0"},
        "annotations": {"owner": "etl"},
        "env": [{"name": "LEVEL", "value": "info"}],
        "envVars": {"A": "1"},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "sidecars": [{"name": "shipper", "image": "x"}],
        "securityContext": {"runAsUser": 185},
        "template": {
            "metadata": {
                "labels": {"spark.apache.org/version": "4.2.0"},
                "annotations": {"team": "etl"},
                "finalizers": ["example.com/kept"],
            },
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "serviceAccountName": "spark",
                "containers": [
                    {"name": "proxy", "image": "registry.example/proxy:1"},
                    {
                        "name": "spark-kubernetes-driver",
                        "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                        "envFrom": [{"configMapRef": {"name": "c"}}],
                        "resources": {"limits": {"cpu": 1}},
                    },
                ],
            },
        },
    },
    "executor": {
        "instances": 1,
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{}]}},
    },
}
PLAN = {
    "job": {"namespace": "etl", "name": "settle", "uid": "u-1"},
    "runKey": "settle/2026-11-19",
    "specHash": "h",
    "attempt": 2,
    "token": 7,
}
OWN_ENV = {"name": "SLUICE_PLAN", "value": "packed"}


def manifest(template: dict[str, Any]) -> dict[str, Any]:
    run = AttemptRun(
        namespace="etl",
        job="settle",
        job_uid="u-1",
        number=2,
        token=7,
        writer_epoch=1,
        lease='{"uid":"u-1"}',
        profile=profile_of(template, None),
        arguments=(),
        environment=(OWN_ENV,),
        template=template,
        settings=stamping(PLAN),
    )
    return Kubeflow().manifest(run)


def without_what_is_added(made: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The spec with everything taken out that docs/applications.md says is added."""
    spec = deepcopy(made)
    assert spec["restartPolicy"].pop("type") == "Never"
    if "restartPolicy" in given:
        spec["restartPolicy"]["type"] = given["restartPolicy"]["type"]
    else:
        assert spec.pop("restartPolicy") == {}
    assert json.loads(spec["sparkConf"].pop(USER_METADATA))["sluice"]["uid"] == "u-1"
    if "sparkConf" not in given:
        assert spec.pop("sparkConf") == {}
    driver = spec["driver"]
    assert driver.pop("podName").endswith("-driver")
    template = driver["template"]
    container = template["spec"]["containers"][0]
    assert container.pop("terminationMessagePolicy") == "FallbackToLogsOnError"
    assert container["env"].pop() == OWN_ENV
    template["metadata"]["finalizers"].remove(names.FINALIZER_LEASE)
    for keyed in (driver["labels"], template["metadata"]["labels"], template["metadata"]["annotations"]):
        for key in [key for key in keyed if key.startswith("sluice.dev/")]:
            del keyed[key]
    if "labels" not in given["driver"]:
        assert driver.pop("labels") == {}
    if "template" not in given["driver"]:
        assert driver.pop("template") == {
            "metadata": {"labels": {}, "annotations": {}, "finalizers": []},
            "spec": {"containers": [{"name": "spark-kubernetes-driver", "env": []}]},
        }
    else:
        template["spec"]["containers"].sort(key=lambda one: one["name"])
    return spec


@pytest.mark.parametrize("template", [PLAIN, RICH], ids=["plain", "rich"])
def test_a_template_passes_through_but_for_what_is_documented(template: dict[str, Any]) -> None:
    before = json.dumps(template)
    assert why_refused(template) is None
    made = manifest(template)["spec"]
    assert without_what_is_added(made, template) == template
    assert json.dumps(template) == before


@pytest.mark.parametrize("template", [PLAIN, RICH], ids=["plain", "rich"])
def test_it_is_still_a_spark_application_by_its_own_models(template: dict[str, Any]) -> None:
    model = SparkV1beta2SparkApplication.from_dict(manifest(template))
    assert model is not None
    assert model.to_dict()["spec"]["mainClass"] == template["mainClass"]


def test_the_lease_can_be_told_from_the_application_and_from_its_driver() -> None:
    made = manifest(RICH)
    template = made["spec"]["driver"]["template"]["metadata"]
    for metadata in (made["metadata"], template):
        assert names.FINALIZER_LEASE in metadata["finalizers"]
        assert metadata["annotations"][names.ANNOTATION_LEASE] == '{"uid":"u-1"}'
        assert metadata["annotations"][names.ANNOTATION_TOKEN] == "7"
        assert metadata["labels"][names.LABEL_JOB_UID] == "u-1"
    assert template["finalizers"] == ["example.com/kept", names.FINALIZER_LEASE]
    assert made["spec"]["driver"]["podName"] == driver_pod_name(made["metadata"]["name"])


def test_its_own_user_metadata_wins_over_the_stamp() -> None:
    own = PLAIN | {"sparkConf": {USER_METADATA: "nightly"}}
    assert manifest(own)["spec"]["sparkConf"] == {USER_METADATA: "nightly"}


def test_a_stamp_says_whose_commit_it_is_and_no_statement() -> None:
    stamp = json.loads(manifest(PLAIN)["spec"]["sparkConf"][USER_METADATA])["sluice"]
    assert stamp == {
        "runKey": "settle/2026-11-19",
        "specHash": "h",
        "job": "etl/settle",
        "uid": "u-1",
        "attempt": 2,
        "token": 7,
    }


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
    (driver(env=[{"name": "SLUICE_PLAN", "value": "x"}]), "driver.env.0.name", "another name"),
    (driver(envVars={"SLUICE_APPLICATION": "x"}), "driver.envVars.SLUICE_APPLICATION", "another name"),
    (
        driver(envSecretKeyRefs={"SLUICE_PLAN": {"name": "s", "key": "k"}}),
        "driver.envSecretKeyRefs.SLUICE_PLAN",
        "another name",
    ),
    (
        driver(template={"metadata": {"finalizers": ["sluice.dev/lease"]}}),
        "driver.template.metadata.finalizers.0",
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
        "driver.template.spec.schedulingGates.0.name",
        "remove it",
    ),
    (pod(containers=[{"name": "main", "image": "x"}]), "driver.template.spec.containers", "give this name"),
    (
        pod(containers=[OWN | {"env": [{"name": "SLUICE_PLAN"}]}]),
        "driver.template.spec.containers.0.env.0.name",
        "another name",
    ),
    (
        pod(containers=[OWN | {"restartPolicy": "Always"}]),
        "driver.template.spec.containers.0.restartPolicy",
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
    why = why_refused(PLAIN | changed)
    assert why is not None
    assert why.startswith(f"spec.application.template.{place}: ")
    assert advice in why


def test_a_template_that_is_too_large_is_refused_with_its_size() -> None:
    room = LARGEST - len(json.dumps(PLAIN | {"arguments": [""]}))
    assert why_refused(PLAIN | {"arguments": ["x" * room]}) is None
    why = why_refused(PLAIN | {"arguments": ["x" * (room + 1)]})
    assert why is not None
    assert f"has {LARGEST + 1} bytes as JSON" in why


@pytest.mark.parametrize("levels", [DEEPEST, 400, 5000])
def test_a_template_that_is_nested_too_deeply_is_refused(levels: int) -> None:
    deep: Any = "x"
    for at in range(levels - 1):
        deep = [deep] if at % 2 else {"a": deep}
    assert (why_refused(PLAIN | {"later": deep}) is None) == (levels == DEEPEST)
    why = why_refused(PLAIN | {"later": {"a": deep}})
    assert why is not None
    assert f"is nested more than {DEEPEST} levels deep" in why


def test_nulls_are_what_the_api_server_drops() -> None:
    nulls = PLAIN | {
        "mode": None,
        "restartPolicy": None,
        "sparkConf": None,
        "driver": {"labels": None, "template": {"metadata": None, "spec": {"containers": None}}},
    }
    assert why_refused(nulls) is None
    made = manifest(nulls)["spec"]["driver"]
    assert made["template"]["spec"]["containers"][0]["name"] == "spark-kubernetes-driver"


def test_what_it_runs_on_is_what_its_template_says() -> None:
    profile = profile_of(RICH | {"driver": PLAIN["driver"]}, "4.4.0")
    assert (profile.spark_version, profile.delta_version, profile.service_account) == (
        "4.2.0",
        "4.4.0",
        "spark",
    )
    assert profile.spark_conf["spark.sql.session.timeZone"] == "UTC"
    assert profile.spark_conf["spark.hadoop.fs.s3a.endpoint"] == "http://minio:9000"
    assert "spark.kubernetes.container.image" not in profile.spark_conf

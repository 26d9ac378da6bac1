"""A user's own application: what the manifest changes of it."""

import json
from copy import deepcopy
from typing import Any

import pytest
from kubeflow_spark_api.models import SparkV1beta2SparkApplication

from sluice.api import names
from sluice.engines import AttemptRun
from sluice.engines.attempt import driver_pod_name, executor_names
from sluice.engines.kubeflow import Kubeflow
from sluice.engines.kubeflow_template import profile_of
from sluice.engines.stamp import USER_METADATA, stamping
from unit.templates.test_kubeflow import PLAIN, problems_of

(EXECUTORS,) = executor_names("a")

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
    assert spec["sparkConf"].pop(EXECUTORS) == made["driver"]["podName"].removesuffix("-driver")
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
    assert problems_of(template) == []
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
    assert manifest(own)["spec"]["sparkConf"][USER_METADATA] == "nightly"


def test_no_template_names_executors_as_another_applications() -> None:
    made = manifest(PLAIN | {"sparkConf": {EXECUTORS: "theirs"}})
    assert made["spec"]["sparkConf"][EXECUTORS] == made["metadata"]["name"]


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


def test_nulls_are_what_the_api_server_drops() -> None:
    nulls = PLAIN | {
        "mode": None,
        "restartPolicy": None,
        "sparkConf": None,
        "driver": {"labels": None, "template": {"metadata": None, "spec": {"containers": None}}},
    }
    assert problems_of(nulls) == []
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

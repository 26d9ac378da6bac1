"""The SparkApplication as the API server and Apache's Spark operator will take it."""

import pytest
from pydantic import ValidationError

from sluice.api import names
from sluice.api.engine_kind import EngineKind
from sluice.api.runtime import Runtime
from sluice.engines import RuntimeProfile, engine_for, placeholder
from unit.engines.test_manifest import run

APACHE = engine_for(EngineKind.APACHE)
PLAIN = RuntimeProfile(engine=EngineKind.APACHE, spark_version="4.2.0", image="registry.example/spark:1")
FULL = RuntimeProfile.model_validate(
    {
        "engine": "apache",
        "image": "registry.example/spark:1",
        "imagePullPolicy": "Always",
        "sparkVersion": "4.2.0",
        "serviceAccount": "spark",
        "driver": {"cores": 2, "memory": "4g"},
        "executor": {"instances": 3, "cores": 4, "memory": "8g"},
        "sparkConf": {"spark.x": "1"},
        "driverPod": {
            "metadata": {"labels": {"team": "etl"}, "annotations": {"a": "b"}, "finalizers": ["other/one"]},
            "spec": {
                "serviceAccountName": "spark",
                "tolerations": [{"key": "spot"}],
                "containers": [
                    {"name": "sidecar", "image": "x"},
                    {"name": "spark-kubernetes-driver", "env": [{"name": "A", "value": "1"}]},
                ],
            },
        },
        "executorPod": {"spec": {"tolerations": [{"key": "spot"}]}},
    }
)


def test_what_others_have_fields_for_it_takes_as_settings() -> None:
    spec = APACHE.manifest(run(FULL))["spec"]
    name = run().application
    assert spec["sparkConf"] == {
        "spark.x": "1",
        "spark.app.name": name,
        "spark.kubernetes.driver.pod.name": f"{name}-driver",
        "spark.kubernetes.driver.podTemplateContainerName": "spark-kubernetes-driver",
        "spark.kubernetes.executor.podNamePrefix": name,
        "spark.kubernetes.executor.podTemplateContainerName": "spark-kubernetes-executor",
        "spark.kubernetes.container.image": "registry.example/spark:1",
        "spark.kubernetes.container.image.pullPolicy": "Always",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.driver.cores": "2",
        "spark.driver.memory": "4g",
        "spark.executor.instances": "3",
        "spark.executor.cores": "4",
        "spark.executor.memory": "8g",
    }
    assert spec["runtimeVersions"] == {"sparkVersion": "4.2.0"}
    assert spec["mainClass"] == "org.apache.spark.deploy.PythonRunner"
    assert spec["pyFiles"] == "local:///opt/sluice/run.py"
    assert spec["driverArgs"] == ["--plan=abc"]


def test_what_a_profile_leaves_open_is_left_to_spark() -> None:
    spec = APACHE.manifest(run(PLAIN.model_copy(update={"image": None})))["spec"]
    assert "executorSpec" not in spec
    assert not [name for name in spec["sparkConf"] if "image" in name or "serviceAccount" in name]


def test_the_placeholder_bears_the_name_that_the_driver_would_have() -> None:
    """The operator takes the name of the driver's pod from this setting."""
    body = APACHE.manifest(run(PLAIN))
    pod = placeholder("etl", body["metadata"]["name"], {})
    assert pod["metadata"]["name"] == body["spec"]["sparkConf"]["spark.kubernetes.driver.pod.name"]


def test_the_lease_can_be_told_from_the_application_and_from_the_driver() -> None:
    manifest = APACHE.manifest(run(FULL))
    template = manifest["spec"]["driverSpec"]["podTemplateSpec"]["metadata"]
    for metadata in (manifest["metadata"], template):
        assert names.FINALIZER_LEASE in metadata["finalizers"]
        assert metadata["annotations"][names.ANNOTATION_LEASE] == '{"uid":"1c5e"}'
        assert metadata["annotations"][names.ANNOTATION_TOKEN] == "4294967297"
        for label in (names.LABEL_JOB, names.LABEL_JOB_UID, names.LABEL_ATTEMPT):
            assert label in metadata["labels"]
    assert manifest["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] == "1"
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == run().job_uid


def test_the_operator_neither_starts_a_second_driver_nor_removes_the_pod_of_the_first() -> None:
    tolerations = APACHE.manifest(run(PLAIN))["spec"]["applicationTolerations"]
    assert tolerations["restartConfig"] == {"restartPolicy": "Never"}
    assert tolerations["resourceRetainPolicy"] == "Always"
    assert tolerations["resourceRetainDurationMillis"] < 0
    assert tolerations["ttlAfterStopMillis"] < 0


def test_the_operator_calls_no_driver_over_that_only_starts_slowly() -> None:
    """It would leave the pod as it is, which could start all the same."""
    timeouts = APACHE.manifest(run(PLAIN))["spec"]["applicationTolerations"]["applicationTimeoutConfig"]
    assert timeouts == dict.fromkeys(
        ("driverStartTimeoutMillis", "driverReadyTimeoutMillis", "executorStartTimeoutMillis"), 0
    )


def test_the_profiles_own_pod_templates_are_kept() -> None:
    secret = {"name": "SLUICE_SOURCE_OPTION_0", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    spec = APACHE.manifest(run(FULL, environment=(secret,)))["spec"]
    template = spec["driverSpec"]["podTemplateSpec"]
    assert template["metadata"]["labels"]["team"] == "etl"
    assert template["metadata"]["annotations"]["a"] == "b"
    assert template["metadata"]["finalizers"] == ["other/one", names.FINALIZER_LEASE]
    assert template["spec"]["tolerations"] == [{"key": "spot"}]
    assert "serviceAccountName" not in template["spec"]
    driver, sidecar = template["spec"]["containers"]
    assert driver["env"] == [{"name": "A", "value": "1"}, secret]
    assert (driver["name"], driver["terminationMessagePolicy"]) == (
        "spark-kubernetes-driver",
        "FallbackToLogsOnError",
    )
    assert sidecar["name"] == "sidecar"
    executor = spec["executorSpec"]["podTemplateSpec"]["spec"]
    assert executor["tolerations"] == [{"key": "spot"}]
    assert executor["containers"] == [{"name": "spark-kubernetes-executor"}]


@pytest.mark.parametrize("version", ["3.5.7", "3.5"])
def test_a_profile_of_an_older_spark_is_refused(version: str) -> None:
    with pytest.raises(
        ValidationError, match=r"engine apache runs Spark 4\.0 and later, and sparkVersion is 3\.5"
    ):
        RuntimeProfile.model_validate({"engine": "apache", "sparkVersion": version})
    assert RuntimeProfile.model_validate({"sparkVersion": version}).engine is EngineKind.KUBEFLOW


def test_a_job_cannot_set_an_older_spark_over_its_profile() -> None:
    over = PLAIN.with_overrides(Runtime.model_validate({"sparkVersion": "3.5.7"}))
    assert over.why_unfit is not None
    assert PLAIN.with_overrides(Runtime.model_validate({"sparkVersion": "4.0.0"})).why_unfit is None


def test_a_file_that_would_be_taken_for_a_list_is_refused() -> None:
    with pytest.raises(ValidationError, match="takes mainApplicationFile for a list where it has a comma"):
        RuntimeProfile.model_validate(
            {"engine": "apache", "sparkVersion": "4.2.0", "mainApplicationFile": "local:///a,b.py"}
        )

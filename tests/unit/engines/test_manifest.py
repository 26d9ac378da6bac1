"""The SparkApplication as the API server and the Spark operator will take it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubeflow_spark_api.models import SparkV1beta2SparkApplication

from sluice.api import names
from sluice.api.engine_kind import EngineKind
from sluice.api.runtime import Runtime
from sluice.engines import AttemptRun, RuntimeProfile, engine_for, placeholder
from sluice.engines.attempt import application_name, driver_pod_name, executor_names
from sluice.engines.placeholder import asking_for, is_placeholder, least_named_in

KUBEFLOW = engine_for(EngineKind.KUBEFLOW)
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
JOB_NAME = st.from_regex(
    r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?){0,2}", fullmatch=True
)


def run(profile: RuntimeProfile | None = None, **more: Any) -> AttemptRun:
    given_fields: dict[str, Any] = {
        "namespace": "etl",
        "job": "daily-merge",
        "job_uid": "1c5e2a3e-0000-4000-8000-000000000001",
        "number": 1,
        "token": 4294967297,
        "writer_epoch": 1,
        "lease": '{"uid":"1c5e"}',
        "profile": profile or RuntimeProfile(spark_version="4.2.0", image="registry.example/spark:1"),
        "arguments": ("--plan=abc",),
    }
    return AttemptRun(**given_fields | more)


@given(JOB_NAME.filter(lambda name: len(name) <= 63), st.integers(1, 10**6))
def test_names_are_dns_1035_and_leave_room_for_the_drivers(job: str, number: int) -> None:
    name = application_name(job, "1c5e2a3e-0000-4000-8000-000000000001", number)
    for object_name in (name, driver_pod_name(name)):
        assert DNS_1035.fullmatch(object_name)
        assert len(object_name) <= 63
    labels = KUBEFLOW.manifest(run(job=job, number=number))["metadata"]["labels"]
    for value in labels.values():
        assert LABEL_VALUE.fullmatch(value)
        assert len(value) <= 63


def test_names_differ_by_job_by_uid_and_by_attempt() -> None:
    long = "a" * 62
    found = {
        application_name(name, uid, number)
        for name in ("a", long + "b", long + "c")
        for uid in ("one", "two")
        for number in (1, 2)
    }
    assert len(found) == 12 - 4  # both long names begin alike, and no two objects of one uid have two names
    assert application_name("a", "one", 1) == application_name("a", "one", 1)


@given(JOB_NAME, JOB_NAME, st.integers(1, 10**6))
def test_the_names_of_executors_begin_as_no_other_jobs_do(job: str, other: str, number: int) -> None:
    """But for a job that is named after another one's executors. And Spark takes them: 47 characters, as labels of DNS."""
    first, second = (
        "".join(executor_names(application_name(name, uid, number)).values()) + "-exec-"
        for name, uid in ((job, "one"), (other, "two"))
    )
    assert DNS_1035.fullmatch(first.removesuffix("-exec-"))
    assert len(first) <= 47 + len("-exec-")
    assert not first.startswith(second)
    assert not second.startswith(first)


FULL = RuntimeProfile.model_validate(
    {
        "image": "registry.example/spark:1",
        "imagePullPolicy": "IfNotPresent",
        "sparkVersion": "4.2.0",
        "serviceAccount": "spark",
        "driver": {"cores": 2, "memory": "2g"},
        "executor": {"instances": 3, "cores": 2, "memory": "4g"},
        "sparkConf": {"spark.x": "1"},
        "driverPod": {
            "metadata": {"labels": {"team": "etl"}, "annotations": {"a": "b"}, "finalizers": ["other/one"]},
            "spec": {
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


@pytest.mark.parametrize("profile", [RuntimeProfile(spark_version="4.2.0"), FULL])
def test_the_manifest_is_a_spark_application_by_its_own_models(profile: RuntimeProfile) -> None:
    manifest = KUBEFLOW.manifest(run(profile))
    model = SparkV1beta2SparkApplication.from_dict(manifest)
    assert model is not None
    written = model.to_dict()
    for field in ("type", "mode", "sparkVersion", "mainApplicationFile", "arguments", "restartPolicy"):
        assert written["spec"][field] == manifest["spec"][field]
    assert manifest["spec"]["restartPolicy"] == {"type": "Never"}


def test_the_lease_can_be_told_from_the_application_and_from_the_driver() -> None:
    manifest = KUBEFLOW.manifest(run(FULL))
    template = manifest["spec"]["driver"]["template"]["metadata"]
    for metadata in (manifest["metadata"], template):
        assert names.FINALIZER_LEASE in metadata["finalizers"]
        assert metadata["annotations"][names.ANNOTATION_LEASE] == '{"uid":"1c5e"}'
        assert metadata["annotations"][names.ANNOTATION_TOKEN] == "4294967297"
        for label in (names.LABEL_JOB, names.LABEL_JOB_UID, names.LABEL_ATTEMPT):
            assert label in metadata["labels"]
    assert manifest["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] == "1"
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == run().job_uid


def test_a_template_whose_parts_are_null_is_one_without_them() -> None:
    empty = {"metadata": None, "spec": {"containers": None, "priorityClassName": "low"}}
    for template in (empty, {"metadata": {"labels": None, "finalizers": None}, "spec": empty["spec"]}):
        profile = RuntimeProfile.model_validate(
            {"sparkVersion": "4.2.0", "driverPod": template, "executorPod": template}
        )
        spec = KUBEFLOW.manifest(run(profile))["spec"]
        for part in ("driver", "executor"):
            given = spec[part]["template"]["spec"]
            assert given["priorityClassName"] == "low"
            assert [one["name"] for one in given["containers"]] == [f"spark-kubernetes-{part}"]


def test_the_profiles_own_pod_template_is_kept() -> None:
    secret = {"name": "SLUICE_SOURCE_OPTION_0", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    template = KUBEFLOW.manifest(run(FULL, environment=(secret,)))["spec"]["driver"]["template"]
    assert template["metadata"]["labels"]["team"] == "etl"
    assert template["metadata"]["annotations"]["a"] == "b"
    assert template["metadata"]["finalizers"] == ["other/one", names.FINALIZER_LEASE]
    assert template["spec"]["tolerations"] == [{"key": "spot"}]
    driver, sidecar = template["spec"]["containers"]
    assert driver["env"] == [{"name": "A", "value": "1"}, secret]
    assert driver["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert sidecar["name"] == "sidecar"


@pytest.mark.parametrize("part", ["driver", "executor"])
def test_sparks_own_container_comes_first_whatever_runs_beside_it(part: str) -> None:
    own, beside = f"spark-kubernetes-{part}", {"name": "shipper", "image": "x"}
    env = [{"name": "A", "value": "1"}]
    for containers, own_env in (([beside], None), ([beside, {"name": own, "env": env}], env)):
        profile = RuntimeProfile.model_validate(
            {"sparkVersion": "4.2.0", f"{part}Pod": {"spec": {"containers": containers}}}
        )
        first, second = KUBEFLOW.manifest(run(profile))["spec"][part]["template"]["spec"]["containers"]
        assert (first["name"], first.get("env"), second) == (own, own_env, beside)


def test_a_jobs_own_service_account_is_not_contradicted_by_the_template() -> None:
    profile = RuntimeProfile.model_validate(
        {
            "sparkVersion": "4.2.0",
            "serviceAccount": "spark",
            "driverPod": {"spec": {"serviceAccountName": "spark", "priorityClassName": "low"}},
        }
    ).with_overrides(Runtime.model_validate({"serviceAccount": "mine"}))
    driver = KUBEFLOW.manifest(run(profile))["spec"]["driver"]
    assert driver["serviceAccount"] == "mine"
    assert set(driver["template"]["spec"]) == {"priorityClassName", "containers"}


def test_a_jobs_own_runtime_goes_over_its_profile() -> None:
    runtime = Runtime.model_validate(
        {"image": "mine:1", "driver": {"memory": "8g"}, "sparkConf": {"spark.x": "2", "spark.y": "3"}}
    )
    profile = FULL.with_overrides(runtime)
    assert (profile.image, profile.driver.cores, profile.driver.memory) == ("mine:1", 2, "8g")
    assert profile.spark_conf == {"spark.x": "2", "spark.y": "3"}
    assert profile.executor == FULL.executor
    assert FULL.spark_conf == {"spark.x": "1"}


def test_whatever_a_job_may_say_of_its_runtime_a_profile_can_say_as_well() -> None:
    """Else it would be put over a profile that has no place for it, and get lost."""
    assert set(Runtime.model_fields) <= set(RuntimeProfile.model_fields)


def test_the_placeholder_can_never_start() -> None:
    application = KUBEFLOW.manifest(run())
    pod = placeholder("etl", application["metadata"]["name"], {"a": "b"})
    assert (pod["metadata"]["namespace"], pod["metadata"]["labels"]["a"]) == ("etl", "b")
    assert pod["metadata"]["name"] == application["spec"]["driver"]["podName"]
    assert pod["spec"]["schedulingGates"]
    assert pod["metadata"]["finalizers"] == [names.FINALIZER_PLACEHOLDER], "its name stays taken"
    assert "ownerReferences" not in pod["metadata"]  # it outlives its application
    assert all("resources" not in container for container in pod["spec"]["containers"])


def test_a_placeholder_says_that_it_needs_nothing_where_a_quota_wants_to_know() -> None:
    pod = placeholder("etl", "a-1", {})
    asked = asking_for(pod, {})
    nothing = {"cpu": "0", "memory": "0", "ephemeral-storage": "0"}
    [container] = asked["spec"]["containers"]
    assert container["resources"] == {"requests": nothing, "limits": nothing}
    assert is_placeholder(asked)
    assert asked["metadata"] == pod["metadata"]


def test_a_placeholder_asks_for_the_least_that_a_namespace_wants() -> None:
    refusal = (
        'pods "a-1-driver" is forbidden: [minimum memory usage per Pod is 128Mi.  No request is specified, minimum cpu usage per '
        "Container is 100m, but request is 0, minimum memory usage per Container is 64Mi, but limit is 0]"
    )
    [container] = asking_for(placeholder("etl", "a-1", {}), least_named_in(refusal))["spec"]["containers"]
    amounts = {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "0"}
    assert container["resources"] == {"requests": amounts, "limits": amounts}


def _named(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.lower().endswith(name):
                yield inner
            yield from _named(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, name)


def test_all_that_a_run_uses_is_of_the_namespace_of_its_job() -> None:
    """What names no namespace is of the pod's own: its account, Secrets, ConfigMaps and claims."""
    volumes = [
        {"name": "a", "secret": {"secretName": "s"}},
        {"name": "b", "configMap": {"name": "c"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "p"}},
    ]
    profile = RuntimeProfile(
        spark_version="4.2.0",
        image="registry.example/spark:1",
        service_account="spark",
        driver_pod={"spec": {"volumes": volumes}},
    )
    secret = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    asked = run(profile, namespace="team", environment=({"name": "SLUICE_SOURCE_OPTION_0", **secret},))
    body = KUBEFLOW.manifest(asked)
    assert list(_named(body, "namespace")) == ["team"]
    assert list(_named(body, "serviceaccount")) == ["spark"]
    assert list(_named(placeholder("team", "a-1", {}), "namespace")) == ["team"]

"""A user's own application for Apache's operator: it passes through, but for what proves its driver's end."""

from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.api.job import Application
from sluice.api.runtime import Runtime
from sluice.engines import engine_for
from sluice.engines.own_application import profile_of, why_refused
from unit.engines.test_manifest import run

APACHE = engine_for(EngineKind.APACHE)
PLAIN: Json = {
    "mainClass": "example.Main",
    "jars": "local:///opt/app.jar",
    "runtimeVersions": {"sparkVersion": "4.0.1", "scalaVersion": "2.13"},
    "sparkConf": {
        "spark.executor.instances": "3",
        "spark.executor.cores": "2",
        "spark.kubernetes.container.image": "registry.example/app:1",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "writer",
    },
}


def given(template: Json) -> Application:
    return Application.model_validate({"engine": "apache", "template": template})


def made(template: Json, **more: Any) -> Json:
    assert why_refused(given(template)) is None
    body: Json = APACHE.manifest(run(arguments=(), template=template, **more))["spec"]
    return body


def test_a_template_passes_through_but_for_what_proves_its_drivers_end() -> None:
    spec = made(PLAIN, environment=({"name": "SLUICE_PLAN", "value": "x"},), settings={"spark.mark": "1"})
    name = run().application
    for field in ("mainClass", "jars", "runtimeVersions"):
        assert spec.pop(field) == PLAIN[field]
    assert spec.pop("sparkConf") == {
        **PLAIN["sparkConf"],
        "spark.mark": "1",
        "spark.app.name": name,
        "spark.kubernetes.driver.pod.name": f"{name}-driver",
        "spark.kubernetes.driver.podTemplateContainerName": "spark-kubernetes-driver",
    }
    template = spec.pop("driverSpec")["podTemplateSpec"]
    assert template["metadata"]["finalizers"] == [names.FINALIZER_LEASE]
    assert template["metadata"]["annotations"][names.ANNOTATION_TOKEN] == "4294967297"
    (driver,) = template["spec"]["containers"]
    assert driver == {
        "name": "spark-kubernetes-driver",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": [{"name": "SLUICE_PLAN", "value": "x"}],
    }
    assert spec.pop("applicationTolerations")["restartConfig"] == {"restartPolicy": "Never"}
    assert spec == {}


def test_what_the_template_sets_itself_wins_over_a_setting_that_is_only_offered() -> None:
    own = PLAIN | {"sparkConf": {"spark.mark": "own"}}
    assert made(own, settings={"spark.mark": "1"})["sparkConf"]["spark.mark"] == "own"


def test_tolerations_that_would_hide_the_drivers_end_are_replaced_and_others_kept() -> None:
    own = {
        "resourceRetainPolicy": "Never",
        "ttlAfterStopMillis": 5,
        "restartConfig": {"restartPolicy": "Never", "maxRestartAttempts": 1},
        "applicationTimeoutConfig": {"driverStartTimeoutMillis": 5, "forceTerminationGracePeriodMillis": 7},
        "instanceConfig": {"initExecutors": 1},
    }
    tolerations = made(PLAIN | {"applicationTolerations": own})["applicationTolerations"]
    assert (tolerations["resourceRetainPolicy"], tolerations["ttlAfterStopMillis"]) == ("Always", -1)
    assert tolerations["restartConfig"] == own["restartConfig"]
    timeouts = tolerations["applicationTimeoutConfig"]
    assert (timeouts["driverStartTimeoutMillis"], timeouts["forceTerminationGracePeriodMillis"]) == (0, 7)
    assert tolerations["instanceConfig"] == {"initExecutors": 1}


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"deploymentMode": "ClientMode"}, "deploymentMode"),
        ({"runtimeVersions": {"sparkVersion": "3.5.7"}}, "runtimeVersions.sparkVersion"),
        (
            {"applicationTolerations": {"restartConfig": {"restartPolicy": "Always"}}},
            "applicationTolerations.restartConfig.restartPolicy",
        ),
        (
            {"applicationTolerations": {"applicationTimeoutConfig": "none"}},
            "applicationTolerations.applicationTimeoutConfig",
        ),
        (
            {"sparkConf": {"spark.kubernetes.driver.pod.name": "x"}},
            "sparkConf.spark.kubernetes.driver.pod.name",
        ),
        ({"sparkConf": {"spark.app.id": "x"}}, "sparkConf.spark.app.id"),
        (
            {"driverSpec": {"podTemplateSpec": {"metadata": {"name": "x"}}}},
            "driverSpec.podTemplateSpec.metadata.name",
        ),
        (
            {"driverSpec": {"podTemplateSpec": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}},
            "driverSpec.podTemplateSpec.spec.containers",
        ),
        (
            {"executorSpec": {"podTemplateSpec": {"metadata": {"labels": {"sluice.dev/job-uid": "x"}}}}},
            "executorSpec.podTemplateSpec.metadata.labels",
        ),
    ],
)
def test_what_would_hide_the_drivers_end_is_refused_with_its_place(changed: Json, place: str) -> None:
    why = why_refused(given(PLAIN | changed))
    assert why is not None
    assert why.startswith(f"spec.application.template.{place}")


def test_what_it_runs_on_is_read_from_its_settings() -> None:
    profile = profile_of(given(PLAIN), Runtime.model_validate({"deltaVersion": "4.0.0"}))
    assert (profile.spark_version, profile.delta_version, profile.service_account) == (
        "4.0.1",
        "4.0.0",
        "writer",
    )
    assert (profile.driver.cores, profile.executor.instances, profile.executor.cores) == (1, 3, 2)

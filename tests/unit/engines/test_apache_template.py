"""A user's own application for Apache's operator: it passes through, but for what proves its driver's end."""

from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.engines import engine_for
from unit.engines.test_manifest import run
from unit.templates.test_apache import PLAIN, problems_of

APACHE = engine_for(EngineKind.APACHE)


def made(template: Json, **more: Any) -> Json:
    assert problems_of(template) == []
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
        "spark.kubernetes.executor.podNamePrefix": name,
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


def test_what_it_runs_on_is_read_from_its_settings() -> None:
    profile = APACHE.profile_of(PLAIN, "4.0.0")
    assert (profile.spark_version, profile.delta_version, profile.service_account) == (
        "4.0.1",
        "4.0.0",
        "writer",
    )
    assert (profile.driver.cores, profile.executor.instances, profile.executor.cores) == (1, 3, 2)

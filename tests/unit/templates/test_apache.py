"""What is refused in a user's own application for Apache's operator, with its place."""

import pytest

from sluice.api.base import Json
from sluice.api.job import Application
from sluice.templates import problems_in

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


def problems_of(template: Json) -> list[str]:
    return problems_in(Application.model_validate({"engine": "apache", "template": template}))


REFUSED: list[tuple[Json, str]] = [
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
]


@pytest.mark.parametrize(("changed", "place"), REFUSED, ids=[place for _, place in REFUSED])
def test_what_would_hide_the_drivers_end_is_refused_with_its_place(changed: Json, place: str) -> None:
    (why,) = problems_of(PLAIN | changed)
    assert why.startswith(f"spec.application.template.{place}")


def test_all_that_is_wrong_is_told() -> None:
    changed = {"deploymentMode": "ClientMode", "sparkConf": {"spark.app.id": "x", "spark.master": "x"}}
    told = problems_of(PLAIN | changed)
    places = ("sparkConf.spark.app.id", "sparkConf.spark.master", "deploymentMode")
    assert [why.split(": ")[0] for why in told] == [f"spec.application.template.{place}" for place in places]

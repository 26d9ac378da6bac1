"""SparkApplication manifests for Apache's own Spark operator (spark.apache.org/v1)."""

from collections.abc import Mapping
from typing import Any

from sluice.api.engine_kind import EngineKind
from sluice.engines import apache_template
from sluice.engines.apache_settings import TOLERATIONS, identity_of
from sluice.engines.apache_states import kept_of, progress_in
from sluice.engines.attempt import AttemptRun
from sluice.engines.driver_pod import containers, with_proof
from sluice.engines.engine import ApplicationState
from sluice.engines.profile import RuntimeProfile
from sluice.engines.stamped_metadata import labels_of, lease_of, metadata_of
from sluice.templates.pod import ACCOUNT_FIELDS, EXECUTOR_CONTAINER

GROUP = "spark.apache.org"
VERSION = "v1"
PLURAL = "sparkapplications"

_PYTHON = "org.apache.spark.deploy.PythonRunner"
"""The class that runs a Python file; the operator takes the first of pyFiles for it."""


class Apache:
    kind = EngineKind.APACHE
    api = f"/apis/{GROUP}/{VERSION}"
    plural = PLURAL
    named = f"sparkapplication.{GROUP}"
    operators_labels = (
        "app.kubernetes.io/name=spark-kubernetes-operator,app.kubernetes.io/component=operator-deployment"
    )
    cure = (
        "install Apache's Spark operator (https://github.com/apache/spark-kubernetes-operator) with its custom resource "
        "definitions; jobs go on by themselves once it is there"
    )

    def profile_of(self, template: Mapping[str, Any], delta_version: str | None) -> RuntimeProfile:
        return apache_template.profile_of(template, delta_version)

    def manifest(self, run: AttemptRun) -> dict[str, Any]:
        return {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "SparkApplication",
            "metadata": metadata_of(run),
            "spec": _of_profile(run) if run.template is None else apache_template.spec_of(run, run.template),
        }

    def progress(self, application: dict[str, Any]) -> ApplicationState:
        return progress_in(application.get("status") or {})

    def kept(self, status: dict[str, Any]) -> dict[str, Any]:
        return kept_of(status)


def _of_profile(run: AttemptRun) -> dict[str, Any]:
    """The spec of an application that runs Sluice's own runner, as the profile says."""
    profile = run.profile
    driver = with_proof(
        _without_account(profile.driver_pod),
        labels=labels_of(run),
        annotations=lease_of(run),
        environment=run.environment,
    )
    return {
        "runtimeVersions": {"sparkVersion": profile.spark_version},
        "mainClass": _PYTHON,
        "pyFiles": profile.main_application_file,
        "driverArgs": list(run.arguments),
        "sparkConf": profile.spark_conf | _settings(run),
        "applicationTolerations": TOLERATIONS,
        "driverSpec": {"podTemplateSpec": driver},
        **(
            {"executorSpec": {"podTemplateSpec": _executor(profile.executor_pod)}}
            if profile.executor_pod
            else {}
        ),
    }


def _settings(run: AttemptRun) -> dict[str, str]:
    """What Apache's operator takes as settings of Spark, where others have fields."""
    profile = run.profile
    given = {
        **identity_of(run),
        "spark.kubernetes.executor.podTemplateContainerName": EXECUTOR_CONTAINER
        if profile.executor_pod
        else None,
        "spark.kubernetes.container.image": profile.image,
        "spark.kubernetes.container.image.pullPolicy": profile.image_pull_policy,
        "spark.kubernetes.authenticate.driver.serviceAccountName": profile.service_account,
        "spark.driver.cores": profile.driver.cores,
        "spark.driver.memory": profile.driver.memory,
        "spark.executor.instances": profile.executor.instances,
        "spark.executor.cores": profile.executor.cores,
        "spark.executor.memory": profile.executor.memory,
    }
    executors = {f"spark.kubernetes.executor.label.{name}": text for name, text in run.labels.items()} | {
        f"spark.kubernetes.executor.annotation.{name}": text for name, text in run.annotations.items()
    }
    return {name: str(value) for name, value in given.items() if value is not None} | executors


def _without_account(template: dict[str, Any]) -> dict[str, Any]:
    """A setting says which account the driver has."""
    spec = template.get("spec", {})
    return template | {"spec": {field: spec[field] for field in spec if field not in ACCOUNT_FIELDS}}


def _executor(template: dict[str, Any]) -> dict[str, Any]:
    spec = template.get("spec", {})
    own, beside = containers(spec, EXECUTOR_CONTAINER)
    return template | {"spec": spec | {"containers": [own, *beside]}}

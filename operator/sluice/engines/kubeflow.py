"""SparkApplication manifests for kubeflow's spark-operator (sparkoperator.k8s.io/v1beta2)."""

from typing import Any

from sluice.api import names
from sluice.engines.attempt import AttemptRun, driver_pod_name
from sluice.engines.engine import Progress
from sluice.engines.pod_template import ACCOUNT_FIELDS, DRIVER_CONTAINER, EXECUTOR_CONTAINER

GROUP = "sparkoperator.k8s.io"
VERSION = "v1beta2"
PLURAL = "sparkapplications"


_TERMINAL = frozenset({"COMPLETED", "FAILED"})
_DRIVER_WAS_SEEN = frozenset({"RUNNING", "SUCCEEDING", "COMPLETED"})
"""FAILING and FAILED are not among them: the spark-operator also says that of a driver that it has not found yet. Whether there
was one, the driver's id tells, which it takes from the driver's pod and keeps."""


class Kubeflow:
    api = f"/apis/{GROUP}/{VERSION}"
    plural = PLURAL
    cure = (
        "install kubeflow's Spark operator (https://github.com/kubeflow/spark-operator) with its custom resource definitions; "
        "jobs go on by themselves once it is there"
    )

    def manifest(self, run: AttemptRun) -> dict[str, Any]:
        return _application(run)

    def progress(self, application: dict[str, Any]) -> Progress:
        status = application.get("status") or {}
        said = status.get("applicationState") or {}
        state = str(said.get("state", ""))
        driver_was_seen = state in _DRIVER_WAS_SEEN or bool(status.get("sparkApplicationId"))
        return Progress(state in _TERMINAL, driver_was_seen, str(said.get("errorMessage") or state))


def _application(run: AttemptRun) -> dict[str, Any]:
    profile = run.profile
    labels = {
        names.LABEL_JOB: run.job[:63].rstrip("-."),
        names.LABEL_JOB_UID: run.job_uid,
        names.LABEL_ATTEMPT: str(run.number),
    }
    lease = {names.ANNOTATION_TOKEN: str(run.token), names.ANNOTATION_LEASE: run.lease}
    spec = {
        "type": "Python",
        "mode": "cluster",
        "image": profile.image,
        "imagePullPolicy": profile.image_pull_policy,
        "sparkVersion": profile.spark_version,
        "mainApplicationFile": profile.main_application_file,
        "arguments": list(run.arguments),
        "sparkConf": profile.spark_conf,
        "restartPolicy": {"type": "Never"},
        "driver": {
            "cores": profile.driver.cores,
            "memory": profile.driver.memory,
            "serviceAccount": profile.service_account,
            "podName": driver_pod_name(run.application),
            "labels": labels,
            "template": _driver_template(run, labels, lease),
        },
        "executor": {
            "instances": profile.executor.instances,
            "cores": profile.executor.cores,
            "memory": profile.executor.memory,
            "template": _executor_template(profile.executor_pod) if profile.executor_pod else None,
        },
    }
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "SparkApplication",
        "metadata": {
            "name": run.application,
            "namespace": run.namespace,
            "labels": labels,
            "annotations": lease | {names.ANNOTATION_WRITER_EPOCH: str(run.writer_epoch)},
            "finalizers": [names.FINALIZER_LEASE],
            "ownerReferences": [
                {
                    "apiVersion": names.API_VERSION,
                    "kind": names.JOB_KIND,
                    "name": run.job,
                    "uid": run.job_uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": _without_nones(spec),
    }


def _driver_template(run: AttemptRun, labels: dict[str, str], lease: dict[str, str]) -> dict[str, Any]:
    """The profile's own template, with what proves the driver's end added: our finalizer keeps the pod until its termination
    message is read, and the pod tells the lease even when the application is gone."""
    template = run.profile.driver_pod
    metadata = template.get("metadata", {})
    spec = {field: given for field, given in template.get("spec", {}).items() if field not in ACCOUNT_FIELDS}
    given, others = _containers(spec, DRIVER_CONTAINER)
    driver: dict[str, Any] = given | {"terminationMessagePolicy": "FallbackToLogsOnError"}
    if run.environment:
        driver["env"] = [*driver.get("env", []), *run.environment]
    return template | {
        "metadata": metadata
        | {
            "labels": metadata.get("labels", {}) | labels,
            "annotations": metadata.get("annotations", {}) | lease,
            "finalizers": [*metadata.get("finalizers", []), names.FINALIZER_LEASE],
        },
        "spec": spec | {"containers": [driver, *others]},
    }


def _executor_template(template: dict[str, Any]) -> dict[str, Any]:
    """The profile's own template. Spark takes the first container for the executor where none has the executor's name."""
    spec = template.get("spec", {})
    executor, others = _containers(spec, EXECUTOR_CONTAINER)
    return template | {"spec": spec | {"containers": [executor, *others]}}


def _containers(spec: dict[str, Any], own: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Spark's own container, as the template has it, and those that run beside it."""
    given = spec.get("containers", [])
    others = [container for container in given if container["name"] != own]
    return next((container for container in given if container["name"] == own), {"name": own}), others


def _without_nones(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nones(inner) for key, inner in value.items() if inner is not None}
    return value

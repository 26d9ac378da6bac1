"""SparkApplication manifests for kubeflow's spark-operator (sparkoperator.k8s.io/v1beta2)."""

from collections.abc import Mapping
from typing import Any

from sluice.api.engine_kind import EngineKind
from sluice.engines import kubeflow_template
from sluice.engines.attempt import AttemptRun, driver_pod_name, executor_names
from sluice.engines.driver_pod import containers, with_proof
from sluice.engines.engine import ApplicationState
from sluice.engines.profile import RuntimeProfile
from sluice.engines.served_namespaces import LABELS
from sluice.engines.stamped_metadata import labels_of, lease_of, metadata_of
from sluice.templates.pod import ACCOUNT_FIELDS, EXECUTOR_CONTAINER

GROUP = "sparkoperator.k8s.io"
VERSION = "v1beta2"
PLURAL = "sparkapplications"


_TERMINAL = frozenset({"COMPLETED", "FAILED"})
_DRIVER_WAS_SEEN = frozenset({"RUNNING", "SUCCEEDING", "COMPLETED"})
"""FAILING and FAILED are not among them: the spark-operator also says that of a driver that it has not found yet. Whether there
was one, the driver's id tells, which it takes from the driver's pod and keeps."""
_HELD_BACK = frozenset({"SUSPENDING", "SUSPENDED", "RESUMING"})
"""It begins to suspend only once it has seen that it should, and forgets its driver's id once it has."""


class Kubeflow:
    kind = EngineKind.KUBEFLOW
    api = f"/apis/{GROUP}/{VERSION}"
    plural = PLURAL
    named = f"sparkapplication.{GROUP}"
    operators_labels = LABELS
    cure = (
        "install kubeflow's Spark operator (https://github.com/kubeflow/spark-operator) with its custom resource definitions; "
        "jobs go on by themselves once it is there"
    )

    def profile_of(self, template: Mapping[str, Any], delta_version: str | None) -> RuntimeProfile:
        return kubeflow_template.profile_of(template, delta_version)

    def manifest(self, run: AttemptRun) -> dict[str, Any]:
        return _application(run)

    def progress(self, application: dict[str, Any]) -> ApplicationState:
        status = application.get("status") or {}
        said = status.get("applicationState") or {}
        state = str(said.get("state", ""))
        driver_was_seen = state in _DRIVER_WAS_SEEN or bool(status.get("sparkApplicationId"))
        is_over = state in _TERMINAL
        is_suspended = not is_over and (
            state in _HELD_BACK or (application.get("spec") or {}).get("suspend") is True
        )
        return ApplicationState(
            is_over, driver_was_seen, str(said.get("errorMessage") or state), is_suspended
        )

    def kept(self, status: dict[str, Any]) -> dict[str, Any]:
        return {
            field: status[field] for field in ("applicationState", "sparkApplicationId") if field in status
        }


def _application(run: AttemptRun) -> dict[str, Any]:
    labels, lease = labels_of(run), lease_of(run)
    if run.template is None:
        spec = _without_nones(_of_profile(run, labels, lease))
    else:
        spec = kubeflow_template.spec_of(run, run.template, labels, lease)
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "SparkApplication",
        "metadata": metadata_of(run),
        "spec": spec,
    }


def _of_profile(run: AttemptRun, labels: dict[str, str], lease: dict[str, str]) -> dict[str, Any]:
    """The spec of an application that runs Sluice's own runner, as the profile says."""
    profile = run.profile
    return {
        "type": "Python",
        "mode": "cluster",
        "image": profile.image,
        "imagePullPolicy": profile.image_pull_policy,
        "sparkVersion": profile.spark_version,
        "mainApplicationFile": profile.main_application_file,
        "arguments": list(run.arguments),
        "sparkConf": profile.spark_conf | executor_names(run.application),
        "restartPolicy": {"type": "Never"},
        "batchScheduler": profile.batch_scheduler,
        "batchSchedulerOptions": profile.batch_scheduler_options.model_dump(by_alias=True, exclude_none=True)
        if profile.batch_scheduler_options is not None
        else None,
        "driver": {
            "cores": profile.driver.cores,
            "memory": profile.driver.memory,
            "serviceAccount": profile.service_account,
            "podName": driver_pod_name(run.application),
            "labels": labels,
            "template": with_proof(
                _profiles_driver(run), labels=labels, annotations=lease, environment=run.environment
            ),
        },
        "executor": {
            "instances": profile.executor.instances,
            "cores": profile.executor.cores,
            "memory": profile.executor.memory,
            "labels": dict(run.labels) or None,
            "annotations": dict(run.annotations) or None,
            "template": _executor_template(profile.executor_pod) if profile.executor_pod else None,
        },
    }


def _profiles_driver(run: AttemptRun) -> dict[str, Any]:
    """The profile's own template, without what the application says of its own: the account."""
    template = run.profile.driver_pod
    spec = template.get("spec", {})
    return template | {"spec": {field: spec[field] for field in spec if field not in ACCOUNT_FIELDS}}


def _executor_template(template: dict[str, Any]) -> dict[str, Any]:
    """The profile's own template. Spark takes the first container for the executor where none has the executor's name."""
    spec = template.get("spec", {})
    executor, others = containers(spec, EXECUTOR_CONTAINER)
    return template | {"spec": spec | {"containers": [executor, *others]}}


def _without_nones(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nones(inner) for key, inner in value.items() if inner is not None}
    return value

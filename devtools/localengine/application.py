"""Reads a SparkApplication the way the spark-operator does, and says what this engine won't do.

The real operator ignores fields that its webhook would handle when that webhook is off; a run that silently lacks a volume or a
variable is worse than a refusal, so everything outside of the lists below is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.api.base import Json

API_VERSION = "sparkoperator.k8s.io/v1beta2"
KIND = "SparkApplication"
DRIVER_CONTAINER = "spark-kubernetes-driver"
EXECUTOR_CONTAINER = "spark-kubernetes-executor"

LABEL_APP_NAME = "sparkoperator.k8s.io/app-name"
LABEL_LAUNCHED = "sparkoperator.k8s.io/launched-by-spark-operator"
LABEL_SUBMISSION = "sparkoperator.k8s.io/submission-id"
LABEL_ROLE = "spark-role"
LABEL_SELECTOR = "spark-app-selector"

_SPEC_FIELDS = {
    "arguments", "deps", "driver", "executor", "hadoopConf", "image", "imagePullPolicy", "imagePullSecrets",
    "mainApplicationFile", "mainClass", "mode", "pythonVersion", "restartPolicy", "sparkConf", "sparkVersion",
    "suspend", "timeToLiveSeconds", "type",
}  # fmt: skip
_POD_FIELDS = {
    "annotations", "coreLimit", "coreRequest", "cores", "image", "javaOptions", "labels", "memory",
    "memoryOverhead", "serviceAccount", "template",
}  # fmt: skip
_DRIVER_FIELDS = _POD_FIELDS | {"envVars", "kubernetesMaster", "podName"}
_EXECUTOR_FIELDS = _POD_FIELDS | {"deleteOnTermination", "instances"}
_DEPS_FIELDS = {"files", "jars", "pyFiles"}


@dataclass(frozen=True)
class Application:
    """One SparkApplication as the API server holds it."""

    body: Json

    @property
    def metadata(self) -> Json:
        return dict(self.body["metadata"])

    @property
    def namespace(self) -> str:
        return str(self.metadata["namespace"])

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def is_to_be_suspended(self) -> bool:
        return self.spec.get("suspend") is True

    @property
    def uid(self) -> str:
        return str(self.metadata["uid"])

    @property
    def spec(self) -> Json:
        return dict(self.body["spec"])

    @property
    def status(self) -> Json:
        return dict(self.body.get("status") or {})

    @property
    def deleted(self) -> bool:
        return "deletionTimestamp" in self.metadata

    @property
    def driver(self) -> Json:
        return dict(self.spec["driver"])

    @property
    def executor(self) -> Json:
        return dict(self.spec["executor"])

    @property
    def spark_conf(self) -> dict[str, str]:
        return dict(self.spec.get("sparkConf") or {})

    @property
    def driver_pod_name(self) -> str:
        named = self.driver.get("podName") or self.spark_conf.get("spark.kubernetes.driver.pod.name")
        return str(named or f"{self.name}-driver")

    def labels_for_pods(self, submission_id: str) -> dict[str, str]:
        inherited = {
            key: value
            for key, value in (self.metadata.get("labels") or {}).items()
            if not key.startswith("kueue.x-k8s.io/")
        }
        return {
            **inherited,
            LABEL_APP_NAME: self.name,
            LABEL_LAUNCHED: "true",
            LABEL_SUBMISSION: submission_id,
        }

    def owner_reference(self, *, controller: bool = True) -> Json:
        reference: Json = {"apiVersion": API_VERSION, "kind": KIND, "name": self.name, "uid": self.uid}
        return {**reference, "controller": True, "blockOwnerDeletion": True} if controller else reference

    def owns(self, pod: Json) -> bool:
        return any(owner["uid"] == self.uid for owner in pod["metadata"].get("ownerReferences") or [])


def refusal(application: Application) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Why this engine can't run the application at all, or None."""
    spec = application.spec
    unknown = (
        [f"spec.{name}" for name in sorted(spec.keys() - _SPEC_FIELDS)]
        + [f"spec.driver.{name}" for name in sorted(application.driver.keys() - _DRIVER_FIELDS)]
        + [f"spec.executor.{name}" for name in sorted(application.executor.keys() - _EXECUTOR_FIELDS)]
        + [f"spec.deps.{name}" for name in sorted((spec.get("deps") or {}).keys() - _DEPS_FIELDS)]
    )
    policy = (spec.get("restartPolicy") or {}).get("type", "Never")
    if unknown:
        return f"the local engine does not support {', '.join(unknown)}: remove it, or use a Spark operator"
    if policy != "Never":
        return f"the local engine supports restartPolicy Never only, not {policy}: retries belong to whoever made the application"
    if spec.get("mode", "cluster") != "cluster":
        return f"the local engine supports mode cluster only, not {spec['mode']}"
    if spec["type"] == "R":
        return "the local engine does not support type R"
    if spec["type"] != "Python" and not spec.get("mainClass"):
        return f"an application of type {spec['type']} needs spec.mainClass"
    for role in ("driver", "executor"):
        if why := _malformed(spec[role].get("template") or {}, f"spec.{role}.template"):
            return why
    return None


def _malformed(template: Json, place: str) -> str | None:
    """Says what is malformed. The CRD, like the real one, takes any object as a template: what is read of it here is checked
    here."""
    for part in ("metadata", "spec"):
        if not isinstance(template.get(part) or {}, dict):
            return f"{place}.{part} is not an object"
    spec = template.get("spec") or {}
    for part in ("containers", "initContainers", "volumes"):
        listed = spec.get(part) or []
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            return f"{place}.spec.{part} is not a list of objects"
    for part in ("labels", "annotations"):
        if not isinstance((template.get("metadata") or {}).get(part) or {}, dict):
            return f"{place}.metadata.{part} is not an object"
    return None

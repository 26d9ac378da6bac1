"""What is refused in the spec of a user's own SparkApplication for Apache's operator."""

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from sluice.api.base import Json
from sluice.templates.pod import Part
from sluice.templates.shared_rules import CLUSTER, RETRIES, ExecutorTemplate, OwnDriverPod, OwnTemplate, only

OLDEST_SPARK = 4

_TOO_OLD = (
    f"Apache's Spark operator runs Spark {OLDEST_SPARK}.0 and later: use a later one, or engine: kubeflow"
)


def _not_too_old(version: str) -> str:
    major = version.strip().partition(".")[0]
    if major.isdecimal() and int(major) < OLDEST_SPARK:
        raise PydanticCustomError("rule", "{why}", {"why": _TOO_OLD})
    return version


class _Versions(Part):
    spark_version: Annotated[str, AfterValidator(_not_too_old)] | None = None


class _RestartConfig(Part):
    restart_policy: Annotated[str, only("Never", RETRIES)] | None = None


class _Tolerations(Part):
    restart_config: _RestartConfig | None = None
    application_timeout_config: Json | None = None


class _DriverSpec(Part):
    pod_template_spec: OwnDriverPod | None = None


class _ExecutorSpec(Part):
    pod_template_spec: ExecutorTemplate | None = None


class ApacheTemplate(OwnTemplate):
    deployment_mode: Annotated[str, only("ClusterMode", CLUSTER.format("ClusterMode"))] | None = None
    runtime_versions: _Versions = _Versions()
    application_tolerations: _Tolerations | None = None
    driver_spec: _DriverSpec = _DriverSpec()
    executor_spec: _ExecutorSpec = _ExecutorSpec()

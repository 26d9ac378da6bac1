"""The spec of a user's own SparkApplication, for Apache's operator: what would hide the end of its driver is refused, and what the
protocol needs is added. All else passes through as it is, known here or not."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sluice.api.base import Json
from sluice.api.runtime import Driver, Executor
from sluice.engines import own_template
from sluice.engines.apache_settings import OLDEST_SPARK, TOLERATIONS, identity_of
from sluice.engines.attempt import AttemptRun
from sluice.engines.driver_pod import with_proof
from sluice.engines.own_template import (
    CLUSTER,
    NOT_OURS_TO_REFUSE,
    RETRIES,
    ExecutorTemplate,
    OwnDriverPod,
    SparkConf,
    count_in,
    only,
)
from sluice.engines.pod_template import Part
from sluice.engines.profile import RuntimeProfile
from sluice.engines.stamped_metadata import labels_of, lease_of

_TOO_OLD = (
    f"Apache's Spark operator runs Spark {OLDEST_SPARK}.0 and later: use a later one, or engine: kubeflow"
)
_ACCOUNT = "spark.kubernetes.authenticate.driver.serviceAccountName"


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


class _Spec(Part):
    deployment_mode: Annotated[str, only("ClusterMode", CLUSTER.format("ClusterMode"))] | None = None
    runtime_versions: _Versions = _Versions()
    spark_conf: SparkConf = Field(default_factory=dict)
    application_tolerations: _Tolerations | None = None
    driver_spec: _DriverSpec = _DriverSpec()
    executor_spec: _ExecutorSpec = _ExecutorSpec()


def why_refused(template: Mapping[str, Any]) -> str | None:
    """What of the template cannot be run, with its place and what to do."""
    return own_template.why_refused(template, _Spec)


def profile_of(template: Mapping[str, Any], delta_version: str | None) -> RuntimeProfile:
    """What the application runs on, of a template that isn't refused: for the judgement of its writes, for its account, and for
    what it takes of the cluster. Which Delta is in its image, the template can't tell."""
    spec = _Spec.as_stored(template)
    conf = spec.spark_conf
    pod = (spec.driver_spec.pod_template_spec or {}).get("spec") or {}
    return RuntimeProfile.model_construct(
        spark_version=spec.runtime_versions.spark_version or "",
        delta_version=delta_version,
        service_account=conf.get(_ACCOUNT) or pod.get("serviceAccountName") or None,
        driver=Driver.model_construct(cores=_number_in(conf, "spark.driver.cores")),
        executor=Executor.model_construct(
            instances=_number_in(conf, "spark.executor.instances"),
            cores=_number_in(conf, "spark.executor.cores"),
        ),
        spark_conf={name: value for name, value in conf.items() if name not in NOT_OURS_TO_REFUSE},
    )


def _number_in(conf: Mapping[str, str], name: str) -> int:
    given = conf.get(name, "").strip()
    return count_in(int(given) if given.isdecimal() and len(given) < 6 else None)


def spec_of(run: AttemptRun, template: Mapping[str, Any]) -> dict[str, Any]:
    """The template with what the protocol needs: docs/applications.md lists it."""
    pod = _Spec.as_stored(template).driver_spec.pod_template_spec or {}
    given = template.get("applicationTolerations") or {}
    merged = {
        name: (given.get(name) or {}) | ours if isinstance(ours, dict) else ours
        for name, ours in TOLERATIONS.items()
    }
    return {
        **template,
        "sparkConf": {**run.settings, **(template.get("sparkConf") or {}), **identity_of(run)},
        "applicationTolerations": given | merged,
        "driverSpec": (template.get("driverSpec") or {})
        | {
            "podTemplateSpec": with_proof(
                pod, labels=labels_of(run), annotations=lease_of(run), environment=run.environment
            )
        },
    }

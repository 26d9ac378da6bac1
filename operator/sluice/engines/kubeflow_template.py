"""The spec of a user's own SparkApplication, for kubeflow's operator: what would hide the end of its driver is refused, and what
the protocol needs is added. All else passes through as it is, known here or not."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sluice.api.base import Json
from sluice.api.runtime import Driver, Executor
from sluice.engines import own_template
from sluice.engines.attempt import AttemptRun, driver_pod_name
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
    own_names,
    own_variables,
    refused_in,
)
from sluice.engines.pod_template import Keyed, Part, all_well, problems_at, refused
from sluice.engines.profile import RuntimeProfile

OLDEST_SPARK = 3

_NAMED = "Sluice proves the end of a run by its driver's pod, whose name it fixes itself: remove it"
_TOO_OLD = "Spark has pod templates, without which Sluice cannot prove the end of a driver, since version 3.0.0: use a later one"
_AN_OPTION = (
    "spark-submit would take it, and then the arguments, for options of its own, by which they could give the driver's pod another "
    "name: write the file that Spark is to run"
)
_HADOOP = "spark.hadoop."


def _none_of_hadoop_is_refused(conf: dict[str, str]) -> dict[str, str]:
    as_sparks = {f"{_HADOOP}{name}": value for name, value in conf.items()}
    found = [((name.removeprefix(_HADOOP),), why, as_sparks[name]) for name, why in refused_in(as_sparks)]
    if found:
        raise problems_at("hadoopConf", found)
    return conf


def _not_too_old(version: str) -> str:
    major = version.strip().removeprefix("v").partition(".")[0]
    if major.isdecimal() and int(major) < OLDEST_SPARK:
        raise PydanticCustomError("rule", "{why}", {"why": _TOO_OLD})
    return version


def _no_option(file: str) -> str:
    if file.startswith("-"):
        raise PydanticCustomError("rule", "{why}", {"why": _AN_OPTION})
    return file


_Variables = Annotated[dict[str, Any], all_well("variables", own_names)]


class _RestartPolicy(Part):
    type: Annotated[str, only("Never", RETRIES)] | None = None


class _Driver(Part):
    pod_name: Annotated[None, refused(_NAMED)] = None
    labels: Keyed | None = None
    annotations: Keyed | None = None
    env: Annotated[list[Json], all_well("env", own_variables)] | None = None
    env_vars: _Variables | None = None
    env_secret_key_refs: _Variables | None = None
    template: OwnDriverPod | None = None


class _Executor(Part):
    labels: Keyed | None = None
    annotations: Keyed | None = None
    template: ExecutorTemplate | None = None


class _Spec(Part):
    mode: Annotated[str, only("cluster", CLUSTER.format("cluster"))] | None = None
    spark_version: Annotated[str, AfterValidator(_not_too_old)] | None = None
    main_application_file: Annotated[str, AfterValidator(_no_option)] | None = None
    restart_policy: _RestartPolicy | None = None
    spark_conf: SparkConf = Field(default_factory=dict)
    hadoop_conf: Annotated[dict[str, str], AfterValidator(_none_of_hadoop_is_refused)] = Field(
        default_factory=dict
    )
    driver: _Driver = _Driver()
    executor: _Executor = _Executor()


def why_refused(template: Mapping[str, Any]) -> str | None:
    """What of the template cannot be run, with its place and what to do."""
    return own_template.why_refused(template, _Spec)


def profile_of(template: Mapping[str, Any], delta_version: str | None) -> RuntimeProfile:
    """What the application runs on, of a template that isn't refused: for the judgement of its writes, for its account, and for
    what it takes of the cluster. Which Delta is in its image, the template can't tell."""
    spec = _Spec.as_stored(template)
    settings = {f"{_HADOOP}{name}": value for name, value in spec.hadoop_conf.items()} | spec.spark_conf
    driver, executor = (template.get(part) or {} for part in ("driver", "executor"))
    return RuntimeProfile.model_construct(
        spark_version=spec.spark_version or "",
        delta_version=delta_version,
        service_account=_account(driver),
        driver=Driver.model_construct(cores=count_in(driver.get("cores"))),
        executor=Executor.model_construct(
            instances=count_in(executor.get("instances")), cores=count_in(executor.get("cores"))
        ),
        spark_conf={name: value for name, value in settings.items() if name not in NOT_OURS_TO_REFUSE},
    )


def _account(driver: Mapping[str, Any]) -> str | None:
    account = driver.get("serviceAccount")
    return account if isinstance(account, str) and account else None


def spec_of(
    run: AttemptRun, template: Mapping[str, Any], labels: dict[str, str], lease: dict[str, str]
) -> dict[str, Any]:
    """The template with what the protocol needs: docs/applications.md lists it."""
    driver = template.get("driver") or {}
    pod = _Spec.as_stored(template).driver.template or {}
    return {
        **template,
        "sparkConf": {**run.settings, **(template.get("sparkConf") or {})},
        "restartPolicy": (template.get("restartPolicy") or {}) | {"type": "Never"},
        "driver": driver
        | {
            "podName": driver_pod_name(run.application),
            "labels": (driver.get("labels") or {}) | labels,
            "template": with_proof(pod, labels=labels, annotations=lease, environment=run.environment),
        },
    }

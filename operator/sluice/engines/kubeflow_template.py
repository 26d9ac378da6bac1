"""The spec of a user's own SparkApplication, for kubeflow's operator: what would hide the end of its driver is refused, and what
the protocol needs is added. All else passes through as it is, known here or not."""

from collections.abc import Iterator, Mapping
from json import dumps
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from sluice.api.base import Json
from sluice.api.problems import problems_of
from sluice.api.runtime import Driver, Executor
from sluice.engines.attempt import AttemptRun, driver_pod_name
from sluice.engines.driver_pod import with_proof
from sluice.engines.pod_template import (
    DRIVER_CONTAINER,
    DriverPod,
    Keyed,
    Part,
    Place,
    all_well,
    problems_at,
    refused,
)
from sluice.engines.profile import RuntimeProfile
from sluice.footprint import refused_settings

PLACE = "spec.application.template"
LARGEST = 256 * 1024
"""Bytes of a template as JSON. The API server keeps objects of up to 1.5 MB, and the application has the lease and the plan beside
it."""
OWN_VARIABLES = "SLUICE_"
"""How the names of the environment variables begin that Sluice sets."""
OLDEST_SPARK = 3

_NAMED = "Sluice proves the end of a run by its driver's pod, whose name it fixes itself: remove it"
_CLUSTER = "Sluice sees the end of a driver only if that is a pod of its own: remove it, or write cluster"
_RETRIES = "Sluice itself retries, under fresh leases: remove it, or write Never, and set spec.retry"
_VARIABLE = "Sluice sets it: give yours another name"
_TOO_OLD = "Spark has pod templates, without which Sluice cannot prove the end of a driver, since version 3.0.0: use a later one"
_WHICH = (
    f"none of the containers is called {DRIVER_CONTAINER}: give this name to the one that Spark is to run in, or add one that has "
    "no more than this name"
)

_NOT_OURS_TO_REFUSE = frozenset(
    {
        "spark.databricks.delta.write.txnAppId",
        "spark.databricks.delta.write.txnVersion",
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraJavaOptions",
        "spark.kubernetes.authenticate.driver.serviceAccountName",
        "spark.kubernetes.container.image",
        "spark.kubernetes.driver.container.image",
        "spark.kubernetes.driver.resourceNamePrefix",
        "spark.kubernetes.driver.secretKeyRef.JAVA_TOOL_OPTIONS",
        "spark.kubernetes.driver.secretKeyRef.JDK_JAVA_OPTIONS",
        "spark.kubernetes.driver.secretKeyRef._JAVA_OPTIONS",
        "spark.kubernetes.driverEnv.HADOOP_CONF_DIR",
        "spark.kubernetes.driverEnv.JAVA_TOOL_OPTIONS",
        "spark.kubernetes.driverEnv.JDK_JAVA_OPTIONS",
        "spark.kubernetes.driverEnv.SPARK_CONF_DIR",
        "spark.kubernetes.driverEnv._JAVA_OPTIONS",
        "spark.kubernetes.executor.podNamePrefix",
        "spark.kubernetes.executor.podTemplateContainerName",
        "spark.kubernetes.executor.podTemplateFile",
        "spark.kubernetes.file.upload.path",
        "spark.kubernetes.hadoop.configMapName",
        "spark.kubernetes.kerberos.krb5.path",
        "spark.kubernetes.submission.waitAppCompletion",
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "spark.sql.parser.escapedStringLiterals",
        "spark.sql.parser.quotedRegexColumnNames",
    }
)
"""Settings that Sluice refuses where it makes the application and reads the SQL itself, and that neither move the driver nor
lead a location elsewhere."""
_HADOOP = "spark.hadoop."
_ENVIRONMENTS = ("spark.kubernetes.driverEnv.", "spark.kubernetes.driver.secretKeyRef.")


def _refused_here(conf: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from ((name, why) for name, why in refused_settings(conf) if name not in _NOT_OURS_TO_REFUSE)
    for name in conf:
        if any(name.startswith(f"{prefix}{OWN_VARIABLES}") for prefix in _ENVIRONMENTS):
            yield name, _VARIABLE


def _none_is_refused(conf: dict[str, str]) -> dict[str, str]:
    found = [((name,), why, conf[name]) for name, why in _refused_here(conf)]
    if found:
        raise problems_at("sparkConf", found)
    return conf


def _none_of_hadoop_is_refused(conf: dict[str, str]) -> dict[str, str]:
    as_sparks = {f"{_HADOOP}{name}": value for name, value in conf.items()}
    found = [((name.removeprefix(_HADOOP),), why, as_sparks[name]) for name, why in _refused_here(as_sparks)]
    if found:
        raise problems_at("hadoopConf", found)
    return conf


def _not_too_old(version: str) -> str:
    major = version.strip().removeprefix("v").partition(".")[0]
    if major.isdecimal() and int(major) < OLDEST_SPARK:
        raise PydanticCustomError("rule", "{why}", {"why": _TOO_OLD})
    return version


def _own_names(given: Mapping[str, Any]) -> Iterator[tuple[Place, str, Any]]:
    return (((name,), _VARIABLE, value) for name, value in given.items() if name.startswith(OWN_VARIABLES))


def _own_variables(given: list[Json]) -> Iterator[tuple[Place, str, Any]]:
    for at, variable in enumerate(given):
        if str(variable.get("name", "")).startswith(OWN_VARIABLES):
            yield (at, "name"), _VARIABLE, variable


def _wrong_in_pod(pod: Json) -> Iterator[tuple[Place, str, Any]]:
    containers = (pod.get("spec") or {}).get("containers") or []
    if containers and all(container.get("name") != DRIVER_CONTAINER for container in containers):
        yield ("spec", "containers"), _WHICH, containers
    for at, container in enumerate(containers):
        for place, why, given in _own_variables(container.get("env") or []):
            yield ("spec", "containers", at, "env", *place), why, given


_Variables = Annotated[dict[str, Any], all_well("variables", _own_names)]


def _only(allowed: str, why: str) -> BeforeValidator:
    def check(given: Any) -> Any:
        if given not in (None, "", allowed):
            raise PydanticCustomError("rule", "{why}", {"why": why})
        return given

    return BeforeValidator(check)


class _RestartPolicy(Part):
    type: Annotated[str, _only("Never", _RETRIES)] | None = None


class _Driver(Part):
    pod_name: Annotated[None, refused(_NAMED)] = None
    labels: Keyed | None = None
    annotations: Keyed | None = None
    env: Annotated[list[Json], all_well("env", _own_variables)] | None = None
    env_vars: _Variables | None = None
    env_secret_key_refs: _Variables | None = None
    template: Annotated[DriverPod, all_well("template", _wrong_in_pod)] | None = None


class _ExecutorMetadata(Part):
    labels: Keyed | None = None
    annotations: Keyed | None = None


class _ExecutorTemplate(Part):
    metadata: _ExecutorMetadata | None = None


class _Executor(Part):
    labels: Keyed | None = None
    annotations: Keyed | None = None
    template: _ExecutorTemplate | None = None


class _Spec(Part):
    mode: Annotated[str, _only("cluster", _CLUSTER)] | None = None
    spark_version: Annotated[str, AfterValidator(_not_too_old)] | None = None
    restart_policy: _RestartPolicy | None = None
    spark_conf: Annotated[dict[str, str], AfterValidator(_none_is_refused)] = Field(default_factory=dict)
    hadoop_conf: Annotated[dict[str, str], AfterValidator(_none_of_hadoop_is_refused)] = Field(
        default_factory=dict
    )
    driver: _Driver = _Driver()
    executor: _Executor = _Executor()


def why_refused(template: Mapping[str, Any]) -> str | None:
    """What of the template cannot be run, with its place and what to do."""
    size = len(dumps(template, ensure_ascii=False).encode("utf-8", "replace"))
    if size > LARGEST:
        return f"{PLACE}: has {size} bytes as JSON, and takes at most {LARGEST}: put what is large into a ConfigMap or the image"
    try:
        _Spec.as_stored(template)
    except ValidationError as error:
        return problems_of(error, PLACE, most=1)
    return None


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
        driver=Driver.model_construct(cores=_count(driver.get("cores"))),
        executor=Executor.model_construct(
            instances=_count(executor.get("instances")), cores=_count(executor.get("cores"))
        ),
        spark_conf={name: value for name, value in settings.items() if name not in _NOT_OURS_TO_REFUSE},
    )


def _count(given: Any) -> int:
    return given if type(given) is int and given > 0 else 1


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

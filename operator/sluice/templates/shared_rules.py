"""What the templates of users' own applications have in common, whichever Spark operator runs them: what would hide the end of a
driver is refused."""

from collections.abc import Iterable, Iterator, Mapping
from json import dumps
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from sluice.api.base import Json
from sluice.footprint import refused_settings
from sluice.predicates.limits import MAX_CONF
from sluice.templates.pod import (
    DRIVER_CONTAINER,
    DriverPod,
    Keyed,
    Part,
    Place,
    all_well,
    problems_at,
)

PLACE = "spec.application.template"
LARGEST = 256 * 1024
"""Bytes of a template as JSON. The API server keeps objects of up to 1.5 MB, and the application has the lease and the plan beside
it."""
_NO_OBJECT = 16 * LARGEST
"""Bytes: more than the API server takes of any object."""
DEEPEST = 64
"""Levels of objects and lists in a template. A pod's own fields have some 15."""
OWN_VARIABLES = "SLUICE_"
"""How the names of the environment variables begin that Sluice sets."""

CLUSTER = "Sluice sees the end of a driver only if that is a pod of its own: remove it, or write {}"
RETRIES = "Sluice itself retries, under fresh leases: remove it, or write Never, and set spec.retry"
_VARIABLE = "Sluice sets it: give yours another name"
_WHICH = (
    f"none of the containers is called {DRIVER_CONTAINER}: give this name to the one that Spark is to run in, or add one that has "
    "no more than this name"
)

NOT_OURS_TO_REFUSE = frozenset(
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
_ENVIRONMENTS = ("spark.kubernetes.driverEnv.", "spark.kubernetes.driver.secretKeyRef.")


def refused_in(conf: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from ((name, why) for name, why in refused_settings(conf) if name not in NOT_OURS_TO_REFUSE)
    for name in conf:
        if any(name.startswith(f"{prefix}{OWN_VARIABLES}") for prefix in _ENVIRONMENTS):
            yield name, _VARIABLE


def not_too_many(conf: dict[str, str]) -> dict[str, str]:
    if len(conf) > MAX_CONF:
        why = (
            f"has {len(conf)} settings, and takes at most {MAX_CONF}: put what all jobs share into the image"
        )
        raise PydanticCustomError("rule", "{why}", {"why": why})
    return conf


def _none_is_refused(conf: dict[str, str]) -> dict[str, str]:
    found = [((name,), why, conf[name]) for name, why in refused_in(conf)]
    if found:
        raise problems_at("sparkConf", found)
    return conf


def own_names(given: Mapping[str, Any]) -> Iterator[tuple[Place, str, Any]]:
    return (((name,), _VARIABLE, value) for name, value in given.items() if name.startswith(OWN_VARIABLES))


def own_variables(given: list[Json]) -> Iterator[tuple[Place, str, Any]]:
    for at, variable in enumerate(given):
        if str(variable.get("name", "")).startswith(OWN_VARIABLES):
            yield (at, "name"), _VARIABLE, variable


def _wrong_in_pod(pod: Json) -> Iterator[tuple[Place, str, Any]]:
    containers = (pod.get("spec") or {}).get("containers") or []
    if containers and all(container.get("name") != DRIVER_CONTAINER for container in containers):
        yield ("spec", "containers"), _WHICH, containers
    for at, container in enumerate(containers):
        for place, why, given in own_variables(container.get("env") or []):
            yield ("spec", "containers", at, "env", *place), why, given


SparkConf = Annotated[dict[str, str], AfterValidator(not_too_many), AfterValidator(_none_is_refused)]
OwnDriverPod = Annotated[DriverPod, all_well("template", _wrong_in_pod)]


def only(allowed: str, why: str) -> BeforeValidator:
    def check(given: Any) -> Any:
        if given not in (None, "", allowed):
            raise PydanticCustomError("rule", "{why}", {"why": why})
        return given

    return BeforeValidator(check)


class _ExecutorMetadata(Part):
    labels: Keyed | None = None
    annotations: Keyed | None = None


class ExecutorTemplate(Part):
    metadata: _ExecutorMetadata | None = None


class OwnTemplate(Part):
    """What is checked of a template; of each Spark operator's there is more."""

    spark_conf: SparkConf = Field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """Spark's settings by which its writes are judged."""
        return {name: value for name, value in self.spark_conf.items() if name not in NOT_OURS_TO_REFUSE}


def why_too_large(template: Mapping[str, Any]) -> str | None:
    """A file may hold more than any object: by YAML's aliases a few lines are billions of values, which nobody may write out."""
    least = 0
    level: list[Any] = [template]
    for depth in range(DEEPEST + 1):
        least += sum(map(_least_size, level))
        if least > _NO_OBJECT:  # asked before the next level is made, which may have as many values
            return _is_larger(f"more than {_NO_OBJECT}")
        if depth < DEEPEST:
            level = [inner for one in level for inner in _within(one)]
    if any(isinstance(one, dict | list) for one in level):
        return f"{PLACE}: is nested more than {DEEPEST} levels deep, and no Spark operator has such fields: correct it"
    size = len(dumps(template, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    return _is_larger(str(size)) if size > LARGEST else None


def _least_size(given: Any) -> int:
    """Bytes that it takes at least, what is within its values aside."""
    if isinstance(given, dict):
        return sum(1 + len(str(name)) for name in given)
    return len(given) if isinstance(given, list | str) else 0


def _within(given: Any) -> Iterable[Any]:
    if isinstance(given, dict):
        return given.values()
    return given if isinstance(given, list) else ()


def _is_larger(size: str) -> str:
    return f"{PLACE}: has {size} bytes as JSON, and takes at most {LARGEST}: put what is large into a ConfigMap or the image"

"""What is refused in the spec of a user's own SparkApplication for kubeflow's operator."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sluice.api.base import Json
from sluice.templates.pod import Keyed, Part, all_well, problems_at, refused
from sluice.templates.shared_rules import (
    CLUSTER,
    RETRIES,
    ExecutorTemplate,
    OwnDriverPod,
    OwnTemplate,
    not_too_many,
    only,
    own_names,
    own_variables,
    refused_in,
)

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


class KubeflowTemplate(OwnTemplate):
    mode: Annotated[str, only("cluster", CLUSTER.format("cluster"))] | None = None
    spark_version: Annotated[str, AfterValidator(_not_too_old)] | None = None
    main_application_file: Annotated[str, AfterValidator(_no_option)] | None = None
    restart_policy: _RestartPolicy | None = None
    hadoop_conf: Annotated[
        dict[str, str], AfterValidator(not_too_many), AfterValidator(_none_of_hadoop_is_refused)
    ] = Field(default_factory=dict)
    driver: _Driver = _Driver()
    executor: _Executor = _Executor()

    @property
    def settings(self) -> dict[str, str]:
        return {f"{_HADOOP}{name}": value for name, value in self.hadoop_conf.items()} | super().settings

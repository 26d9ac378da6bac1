"""The variables that commands and test sections run with, by what they need.

A need is installed when it is first asked for; several are installed side by side.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from devenv import kubernetes_binaries, python_env
from devenv.cache import Cache
from devenv.cluster_tools import ensure_cluster_tools, ensure_container_programs
from devenv.errors import DevError
from devenv.images import ensure_images
from devenv.jars import SPARK35
from devenv.kafka import ensure_kafka_broker
from devenv.kubernetes_binaries import HELM, KUBECTL
from devenv.local_stack import LocalStack
from devenv.processes import stop_everything
from devenv.project import IMPORT_ROOTS, PROGRAMS, TESTS
from devenv.s3_server import ensure_s3_server
from devenv.toolchain import (
    ensure_aws_jars,
    ensure_control_plane_tools,
    ensure_held_commits_jar,
    ensure_jvm_options,
    ensure_kafka_connector,
    ensure_spark,
    ensure_spark35,
    ensure_stack_tools,
)

Variables = dict[str, str]

# An API server with little to hold spends a quarter of its time on collecting garbage, with so much more memory it doesn't.
SERVERS_GOGC = "400"


def python_variables(cache: Cache) -> Variables:
    """Our packages, the programs among the tests, and what they import."""
    values = python_env.activated(python_env.ensure_environment(cache, "main"))
    values["PATH"] = os.pathsep.join([str(PROGRAMS), values["PATH"]])
    values["PYTHONPATH"] = os.pathsep.join(map(str, (*IMPORT_ROOTS, TESTS)))
    values["SLUICE_CACHE"] = str(cache.folder)
    # Hundreds of Pythons that tests start would each compile our modules anew if none kept what it compiled; the checkout
    # stays as it is.
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    values["PYTHONPYCACHEPREFIX"] = str(cache.folder / "bytecode")
    # What a stack of `./dev up` says about itself is for people, not for tests: those bring their own.
    for name in ("KUBECONFIG", "SLUICE_REDIS_URL"):
        values.pop(name, None)
    return values


def _spark_variables(cache: Cache) -> Variables:
    tools = ensure_spark(cache)
    return {
        "JAVA_HOME": str(tools.java.home),
        "SLUICE_SPARK_JARS": tools.classpath,
        "SLUICE_JVM_OPTIONS": ensure_jvm_options(cache, tools),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SLUICE_LOGSTORE_JAR": str(tools.logstore),
    }


def _spark35_variables(cache: Cache) -> Variables:
    tools = ensure_spark35(cache)
    return {"SLUICE_SPARK35_PYTHON": str(tools.python), "SLUICE_SPARK35_JARS": tools.classpath}


def _held_commits_variables(cache: Cache) -> Variables:
    return {"SLUICE_HELD_COMMITS_JAR": str(ensure_held_commits_jar(cache))}


def _s3_variables(cache: Cache) -> Variables:
    return {
        "SLUICE_AWS_JARS": ",".join(map(str, ensure_aws_jars(cache))),
        "SLUICE_S3_SERVER": str(ensure_s3_server(cache)),
    }


def _kafka_variables(cache: Cache) -> Variables:
    return {
        "SLUICE_KAFKA_CONNECTOR": ",".join(map(str, ensure_kafka_connector(cache))),
        "SLUICE_KAFKA_BROKER": ensure_kafka_broker(cache),
    }


def _control_plane_variables(cache: Cache) -> Variables:
    ensure_control_plane_tools(cache)
    return {}


def _stack_variables(cache: Cache) -> Variables:
    ensure_stack_tools(cache)
    kubernetes_binaries.ensure(cache, HELM)  # the chart is rendered beside the stack, and judged by it
    return {"GOGC": SERVERS_GOGC}


def _cluster_variables(cache: Cache) -> Variables:
    return {"SLUICE_CLUSTER_PATH": ensure_cluster_tools(cache).path}


def _image_variables(cache: Cache) -> Variables:
    ensure_container_programs(cache)
    ensure_images(cache)
    return {}


NEEDS: Mapping[str, Callable[[Cache], Variables]] = {
    "python": python_variables,
    "spark": _spark_variables,
    "spark35": _spark35_variables,
    "held-commits": _held_commits_variables,
    "s3": _s3_variables,
    "kafka": _kafka_variables,
    "control-plane": _control_plane_variables,
    "stack": _stack_variables,
    "cluster": _cluster_variables,
    "image": _image_variables,
}


class Prepared:
    """What the needs of a run came to: variables, or the reason why something couldn't be had."""

    def __init__(self, cache: Cache, needs: Sequence[str]) -> None:
        self._cache = cache
        self._variables: dict[str, Variables] = {}
        self._failures: dict[str, DevError] = {}
        for need, work in _side_by_side(cache, dict.fromkeys(["python", *needs])).items():
            error = work.exception()
            if isinstance(error, DevError):
                self._failures[need] = error
            else:
                self._variables[need] = work.result()

    def variables(self, *needs: str) -> Variables:
        """The variables for these needs; raises if one of them couldn't be had."""
        merged: Variables = {}
        for need in ("python", *needs):
            if need in self._failures:
                raise self._failures[need]
            merged |= self._variables[need]
        return _with_path(self._cache, merged)


def _side_by_side(cache: Cache, needs: Iterable[str]) -> Mapping[str, Future[Variables]]:
    with ThreadPoolExecutor(max_workers=len(NEEDS)) as pool:
        works = {need: pool.submit(NEEDS[need], cache) for need in needs}
        try:
            wait(works.values())
        except BaseException:
            stop_everything()
            raise
    return works


def for_people(cache: Cache) -> Variables:
    """The environment of `./dev run`: Python and Spark, and whatever else is installed or running."""
    needs = ["spark", "held-commits"]
    if cache.find(f"env-{SPARK35.environment}", python_env.key(SPARK35.environment)) is not None:
        needs.append("spark35")
    values = Prepared(cache, needs).variables(*needs)
    local = LocalStack.of_this_shell(cache)
    if local.running():
        values["KUBECONFIG"] = str(local.kubeconfig)
        values["SLUICE_REDIS_URL"] = local.redis_url
    return values


def _with_path(cache: Cache, values: Variables) -> Variables:
    folders = [values["PATH"]]
    if "JAVA_HOME" in values:
        folders.insert(0, os.path.join(values["JAVA_HOME"], "bin"))  # noqa: PTH118 - a PATH is text
    kubectl = kubernetes_binaries.find(cache, KUBECTL)
    if kubectl is not None:
        folders.insert(0, str(kubectl))
    return {**values, "PATH": os.pathsep.join(folders)}

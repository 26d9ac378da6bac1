"""What each kind of work needs, put together."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from devenv import class_archive, kubernetes_binaries
from devenv.cache import Cache
from devenv.errors import DevError
from devenv.jars import AWS, KAFKA, SPARK35, SPARK42, SparkPair, ensure_jars
from devenv.java import Java, ensure_java
from devenv.kubernetes_binaries import APISERVER, CONTROLLERS, ETCD, KUBECTL, Build
from devenv.logstore import ensure_held_commits, ensure_logstore
from devenv.project import cache_folder
from devenv.python_env import ensure_environment
from devenv.redis import ensure_redis_server
from devenv.stack import ControlPlaneTools, StackTools

NAME_ANOTHER = "Name another one in SLUICE_CACHE."


def cache() -> Cache:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DevError(
            f"The cache folder {folder} can't be made: {error.strerror}. {NAME_ANOTHER}"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DevError(f"The cache folder {folder} can't be written to. {NAME_ANOTHER}")
    return Cache(folder)


def ensure_control_plane_tools(store: Cache) -> ControlPlaneTools:
    """The programs of a Kubernetes API without controllers: what the demo waits for, so no other is compiled for it."""
    with ThreadPoolExecutor(max_workers=1) as beside:
        redis_server = beside.submit(ensure_redis_server, store)
        etcd, kube_apiserver = _compiled(store, ETCD), _compiled(store, APISERVER)
        return ControlPlaneTools(etcd, kube_apiserver, redis_server.result())


def ensure_stack_tools(store: Cache) -> StackTools:
    """The programs of the local stack."""
    plane = ensure_control_plane_tools(store)
    return StackTools(
        plane.etcd,
        plane.kube_apiserver,
        plane.redis_server,
        kube_controller_manager=_compiled(store, CONTROLLERS),
        kubectl=_compiled(store, KUBECTL),
    )


def _compiled(store: Cache, build: Build) -> Path:
    return kubernetes_binaries.ensure(store, build) / build.name


@dataclass(frozen=True)
class SparkTools:
    """What a session of one Spark pair runs with, offline."""

    environment: Path
    java: Java
    jars: tuple[Path, ...]
    logstore: Path

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"

    @property
    def all_jars(self) -> tuple[Path, ...]:
        return (*self.jars, self.logstore)

    @property
    def classpath(self) -> str:
        """The value for `spark.jars`; with colons for commas, that for `spark.driver.extraClassPath`."""
        return ",".join(map(str, self.all_jars))


def ensure_spark(store: Cache) -> SparkTools:
    """Spark 4.2 with Delta and our LogStore."""
    return _spark(store, SPARK42)


def ensure_spark35(store: Cache) -> SparkTools:
    """The second pair, in its own Python environment."""
    return _spark(store, SPARK35)


def ensure_held_commits_jar(store: Cache) -> Path:
    """The LogStores of the tests, for both pairs."""
    return ensure_held_commits(store, ensure_java(store), SPARK42)


def ensure_aws_jars(store: Cache) -> tuple[Path, ...]:
    """What Spark 4.2 needs beside its other jars for `s3a:`."""
    return ensure_jars(store, AWS, ensure_java(store))


def ensure_kafka_connector(store: Cache) -> tuple[Path, ...]:
    """What Spark 4.2 needs beside its other jars to read Kafka."""
    return ensure_jars(store, KAFKA, ensure_java(store))


def ensure_jvm_options(store: Cache, spark: SparkTools) -> str:
    """What a driver's JVM that lives for a minute is started with."""
    return class_archive.ensure_jvm_options(store, spark.java, spark.environment, spark.all_jars)


def _spark(store: Cache, pair: SparkPair) -> SparkTools:
    java = ensure_java(store)
    environment = ensure_environment(store, pair.environment)
    jars = ensure_jars(store, pair.delta, java)
    return SparkTools(environment, java, jars, ensure_logstore(store, java, pair))

"""One real cluster for all of these tests, with a Spark image, and whatever runs SparkApplications on it.

That is the local engine in its cluster mode or, where SPARK_OPERATOR_BIN names its binary, the real spark-operator: the tests
are the same. Everything runs inside of the cluster's network namespace.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from deltalake import DeltaTable
from deltalake.schema import Field, PrimitiveType, Schema

from cluster.cluster import Cluster
from cluster.layout import API_ADDRESS, API_PORT
from devenv.errors import NotOnThisMachineError
from devenv.images import ENGINE, OPERATOR, REDIS, SPARK, Image, ensure_image, ensure_images
from devenv.project import ROOT
from devenv.toolchain import cache
from integration import evidence
from integration.objects import NoSuchObjectError, Objects, RefusedRequestError, Server
from integration.waiting import eventually
from sluice.api.base import Json
from sluice.engines.account import driver_role

Answer = TypeVar("Answer")

REAL_OPERATOR = "SPARK_OPERATOR_BIN"
CRDS = (ROOT / "crds", ROOT / "devtools" / "localengine" / "crds")
_GRANT = "rbac.authorization.k8s.io/v1"
GRANTS: tuple[Json, ...] = (
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "spark"}},
    driver_role("spark"),
    {
        "apiVersion": _GRANT,
        "kind": "RoleBinding",
        "metadata": {"name": "spark"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "spark"},
        "subjects": [{"kind": "ServiceAccount", "name": "spark", "namespace": "default"}],
    },
)
"""An account with the rights of a driver, and no others."""
SPARK_USER = 185
"""As whom the Spark image runs."""
BUSY = (500, 502, 503, 504)
# JVMs that live for a minute: compiled quickly rather than well, with room for all that is compiled.
BRIEF_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
SPARK_CONF = {
    "spark.kubernetes.executor.deleteOnTermination": "false",
    # Two drivers that each ask for a core would leave none for their executors on a machine of two.
    "spark.kubernetes.driver.request.cores": "100m",
    "spark.kubernetes.executor.request.cores": "100m",
    "spark.driver.extraJavaOptions": BRIEF_JVM,
    "spark.executor.extraJavaOptions": BRIEF_JVM,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.ui.enabled": "false",
}


@dataclass(frozen=True)
class Kubernetes:
    """The cluster as the tests talk to it: by the real kubectl, and by its proxy where they look again and again."""

    cluster: Cluster
    objects: Objects

    def apply(self, manifest: str | Json) -> None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        done = self.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
        assert done.returncode == 0, done.stderr

    def get(self, kind: str, name: str) -> Json | None:
        return _patiently(lambda: self.objects.get(kind, name))

    def pods(self, selector: str) -> list[Json]:
        return _patiently(lambda: self.objects.every("pod", labelSelector=selector))

    def release(self, kind: str, name: str) -> None:
        """Takes all finalizers off, if the object is still there."""
        if self.get(kind, name) is not None:
            with suppress(NoSuchObjectError):
                self.objects.patch(kind, name, {"metadata": {"finalizers": None}})

    def delete(self, kind: str, name: str) -> None:
        self.objects.delete(kind, name)

    def evict(self, pod: str) -> None:
        """As a drained node does."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        path = f"/api/v1/namespaces/default/pods/{pod}/eviction"
        done = self.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
        assert done.returncode == 0, done.stderr

    def evidence(self) -> Iterator[evidence.Part]:
        yield from evidence.resources(self.objects)
        yield from ((log.name, evidence.end_of(log)) for log in sorted(self.cluster.logs.iterdir()))
        for log in sorted((self.cluster.logs.parent / "pod-logs").glob("default_*/**/*.log")):
            yield str(log.relative_to(self.cluster.logs.parent)), evidence.end_of(log)


def _patiently(ask: Callable[[], Answer]) -> Answer:
    """Asked again where the API server, busy with starting pods, does not answer in time."""
    for pause in (2, 5, 10):
        try:
            return ask()
        except RefusedRequestError as refusal:
            if refusal.status not in BUSY:
                raise
        except (OSError, HTTPException):
            pass
        time.sleep(pause)
    return ask()


@dataclass(frozen=True)
class Program:
    """A program that is to run as long as its test."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def must_run(self) -> None:
        assert self.process.poll() is None, f"{self.name} ended by itself:\n{self.told()}"

    def told(self) -> str:
        return self.log.read_text()[-6000:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    evidence.write(item, report)
    return report


@pytest.fixture(scope="session")
def image() -> Image:
    return ensure_image(cache(), SPARK)


@pytest.fixture(scope="session")
def cluster(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    except NotOnThisMachineError as reason:
        pytest.skip(str(reason))
    with cluster:
        cluster.up(image)
        yield cluster


@pytest.fixture(scope="session")
def images(cluster: Cluster, image: Image) -> dict[str, Image]:
    """What each run needs, loaded."""
    others = ensure_images(cache(), (OPERATOR, REDIS, ENGINE))
    for other in others.values():
        cluster.load(other.archive)
    return {SPARK.name: image, **others}


@pytest.fixture(scope="session")
def kubernetes(
    cluster: Cluster, in_cluster: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubernetes]:
    """The cluster's Kubernetes, which serves the CRDs and has an account that drivers may make executors with."""
    socket = tmp_path_factory.mktemp("api") / "proxy"
    proxy = [str(cluster.program("kubectl")), "proxy", f"--unix-socket={socket}"]
    with in_cluster("kubectl-proxy", proxy):
        eventually(socket.exists, "kubectl proxy listens on its socket")
        yield _prepared(Kubernetes(cluster, Objects(Server.behind(socket), "default")))


def _prepared(kubernetes: Kubernetes) -> Kubernetes:
    for folder in CRDS:
        for file in sorted(folder.glob("*.yaml")):
            kubernetes.apply(file.read_text())
    if REAL_OPERATOR in os.environ:
        for kind in ("ScheduledSparkApplication/v1beta2", "SparkConnect/v1alpha1"):
            kubernetes.apply(_loose_crd(*kind.split("/")))
    done = kubernetes.cluster.kubectl("wait", "--for=condition=Established", "--timeout=300s", "crd", "--all")
    assert done.returncode == 0, done.stderr
    for grant in GRANTS:
        kubernetes.apply(grant)
    return kubernetes


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that drivers and executors mount under its own path, and own."""
    folder = tmp_path_factory.mktemp("lake")
    _give_to_spark(folder)
    return folder


@pytest.fixture(scope="session")
def in_cluster(cluster: Cluster) -> Callable[..., Any]:
    """Runs a long-running program inside; the test fails if it ends before its time."""

    @contextmanager
    def running(
        name: str, command: list[str], environment: dict[str, str] | None = None
    ) -> Iterator[Program]:
        log = cluster.logs / name
        # spark-submit would hand this machine's Python on to the drivers.
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
        variables = {**ours, "KUBECONFIG": str(cluster.kubeconfig), "SPARK_SUBMIT_OPTS": BRIEF_JVM}
        variables |= environment or {}
        process = cluster.popen(command, log, variables)
        program = Program(name, process, log)
        try:
            yield program
            program.must_run()
        finally:
            # nsenter waits for the program inside and doesn't pass signals on: the program itself is asked to end.
            if process.poll() is None:
                with suppress(FileNotFoundError, ProcessLookupError):  # it may end by itself just now
                    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                    for child in children:
                        os.kill(int(child), signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                raise

    return running


@pytest.fixture(scope="session")
def spark_operator(
    kubernetes: Kubernetes, in_cluster: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Whoever runs SparkApplications: `local engine` or `spark-operator`."""
    spark_submit = shutil.which("spark-submit")
    assert spark_submit is not None
    real = os.environ.get(REAL_OPERATOR)
    if real is None:
        work = tmp_path_factory.mktemp("engine")
        command = [sys.executable, "-m", "localengine", "--mode", "cluster", "--work", str(work)]
        with in_cluster("local-engine", command):
            yield "local engine"
        return
    command = [
        *(
            real,
            "controller",
            "start",
            "--namespaces=default,team",
            "--enable-ui-service=false",
            "--enable-metrics=false",
        ),
        "--health-probe-bind-address=127.0.0.1:18081",
    ]
    environment = {
        "SPARK_HOME": str(_spark_home()),
        "KUBERNETES_SERVICE_HOST": API_ADDRESS,
        "KUBERNETES_SERVICE_PORT": str(API_PORT),
    }
    with in_cluster("spark-operator", command, environment):
        yield "spark-operator"


@pytest.fixture(scope="session")
def spark_conf() -> dict[str, str]:
    return SPARK_CONF


@pytest.fixture(scope="session")
def volumes(data: Path) -> Callable[[str], Json]:
    """The pod template's part that mounts the data folder into a container."""

    def template(container: str) -> Json:
        mount = {"name": "lake", "mountPath": str(data)}
        return {
            "containers": [{"name": container, "volumeMounts": [mount]}],
            "volumes": [{"name": "lake", "hostPath": {"path": str(data)}}],
        }

    return template


@pytest.fixture(scope="session")
def table(data: Path) -> Callable[[str], Path]:
    """Makes an empty Delta table (id bigint, day date), partitioned by day; its version is 0."""

    def create(name: str) -> Path:
        path = data / name
        fields = [Field("id", PrimitiveType("long")), Field("day", PrimitiveType("date"))]
        DeltaTable.create(str(path), Schema(fields), partition_by=["day"])
        _give_to_spark(path)
        return path

    return create


@pytest.fixture
def comes_true() -> Callable[..., None]:
    def check(look: Callable[[], object], what: str, show: Callable[[], object]) -> None:
        eventually(look, what, seconds=600, pause=0.2, show=show)

    return check


def _give_to_spark(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, SPARK_USER, 0)


def _loose_crd(kind: str, version: str) -> str:
    """The real operator wants to watch these kinds, too; nobody makes one here."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.sparkoperator.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, only to be watched"},
        },
        "spec": {
            "group": "sparkoperator.k8s.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{**served, "subresources": {"status": {}}}],
        },
    }
    return yaml.safe_dump(body)


def _spark_home() -> Path:
    import pyspark  # noqa: PLC0415

    assert pyspark.__file__ is not None
    return Path(pyspark.__file__).parent

"""All real parts at once: API server, Redis, operator, local engine, runner, Spark, Delta."""

import json
import os
import signal
import sys
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

import psutil
import pytest
import yaml

from devenv.processes import wait_until
from devenv.redis import ensure_redis_server
from devenv.stack import Stack
from devenv.toolchain import cache
from integration import evidence
from integration.conftest import Kubectl
from integration.forking import Forked
from integration.leases.redis_process import RedisProcess, running_redis
from integration.localengine.forked_engines import FORKED_ENGINES
from integration.objects import Objects, Server
from integration.operator.process import OperatorProcess, configuration
from integration.warm_drivers import submit
from integration.warm_drivers.server import WarmDrivers
from jvm_options import java_options
from sluice.api.base import Json
from sluice.engines.account import driver_role
from spark_jars import spark_jars

ROOT = Path(__file__).parents[3]
ENDED = frozenset({"Succeeded", "Skipped", "Failed"})
PATIENCE_SECONDS = 240.0

SPARK_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
    "spark.sql.shuffle.partitions": "1",
    # JVMs that live for a minute: compiled quickly rather than well.
    "spark.driver.extraJavaOptions": java_options(
        "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC"
    ),
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    # Checks and descriptions of plans, and figures for a page that is off.
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.debug.maxToStringFields": "1",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.ui.liveUpdate.period": "-1",
    # For a handful of rows compiling a query takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # VACUUM would list a folder in 10,000 tasks.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.ui.enabled": "false",
}


@dataclass
class Pipeline:
    kubectl: Kubectl
    namespace: str
    operator: OperatorProcess
    redis: RedisProcess
    engine: Forked
    lake: Path
    warm: WarmDrivers
    accounts: dict[str, Path] = field(default_factory=dict)
    """Folders of service accounts, as a pod has one, by the runtimes whose drivers have them."""
    applied_at: dict[str, float] = field(default_factory=dict)

    def apply(self, name: str, spec: Json) -> None:
        manifest = {
            "apiVersion": "sluice.dev/v1alpha1",
            "kind": "DeltaWriteJob",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }
        self.applied_at[name] = time.time()
        done = self.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
        assert done.returncode == 0, done.stderr

    def status(self, name: str) -> Json:
        """Asked of the API server itself, because who waits for a driver asks a hundred times."""
        job = self._objects.get("deltawritejob", name)
        assert job is not None, f"there is no job {name}"
        status: Json = job.get("status", {})
        return status

    def until(self, name: str, *phases: str) -> Json:
        """The job's status once it is in one of these phases, or has ended."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            status = self.status(name)
            if status.get("phase") in (phases or ENDED):
                return status
            assert status.get("phase") not in ENDED, f"{name} ended: {status}"
            assert self.operator.running, f"the operator ended:\n{self.operator.told()[-3000:]}"
            assert time.monotonic() < deadline, f"{name} is still {status}\n{self.operator.told()[-3000:]}"
            time.sleep(0.3)

    def evidence(self) -> Iterator[evidence.Part]:
        """What a failed test leaves to be read, the drivers' logs among it."""
        yield from evidence.resources(self._objects)
        yield from evidence.redis_keys(self.redis.url)
        yield from evidence.logs_below(self.lake.parent)
        yield from evidence.logs_below(self.warm.folder)

    def driver(self, name: str) -> psutil.Process:
        """The JVM of the job's driver."""
        application = self.status(name)["attempts"][-1]["application"]
        warm = self.warm.pid_of(application)
        if warm is not None:
            return psutil.Process(warm)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for process in psutil.process_iter(["name", "environ"]):
                log = (process.info["environ"] or {}).get("SLUICE_TERMINATION_LOG", "")
                command = " ".join(_command(process))
                if process.info["name"] == "java" and str(self.lake.parent) in log and application in command:
                    return process
            time.sleep(0.2)
        raise AssertionError(f"no driver process of {application}")

    @cached_property
    def _objects(self) -> Objects:
        return Objects(Server.of(self.kubectl.kubeconfig), self.namespace)

    def table(self, name: str) -> str:
        return f"delta.`{self.lake / name}`"

    def applications(self) -> list[Json]:
        return self._objects.every("sparkapplication")


def _command(process: psutil.Process) -> list[str]:
    try:
        words: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return words


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmDrivers]:
    with WarmDrivers(tmp_path_factory.mktemp("warm")) as drivers:
        yield drivers


@dataclass(frozen=True)
class Place:
    """Where the pipeline of a module works, and by what."""

    stack: Stack
    kubectl: Kubectl
    warm: WarmDrivers
    namespace: str
    folder: Path


@pytest.fixture(scope="module")
def place(
    stack: Stack,
    kubectl: Kubectl,
    warm: WarmDrivers,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Place:
    module = request.path.stem.removeprefix("test_").replace("_", "-")
    return Place(stack, kubectl, warm, f"pipeline-{module}", tmp_path_factory.mktemp("pipeline"))


@pytest.fixture(scope="module")
def pipeline(place: Place) -> Iterator[Pipeline]:
    accounts = {name: place.folder / "accounts" / name for name in ("may", "may-not")}
    variables = {name: in_cluster(at, place.stack.kubeconfig) for name, at in accounts.items()}
    runtimes = {
        "default": PROFILE,
        "own-jvm": profile(OWN_JVM),
        **{name: profile(found) for name, found in variables.items()},
    }
    with running_pipeline(place, runtimes) as running:
        running.accounts.update(accounts)
        yield running


@pytest.fixture(scope="module")
def streaming(place: Place) -> Iterator[Pipeline]:
    """With drivers that may ask for their pods, as streams have to."""
    account = place.folder / "account"
    runtimes = {"default": profile(in_cluster(account, place.stack.kubeconfig))}
    with running_pipeline(place, runtimes, drivers=4) as running:
        let_drivers_report(running, "streams", account)
        yield running


@pytest.fixture(scope="module")
def accounts(pipeline: Pipeline) -> None:
    """An account that has the driver's Role, and one that has no rights: their files are where their drivers look."""
    let_drivers_report(pipeline, "may", pipeline.accounts["may"])
    make_account(pipeline, "may-not", pipeline.accounts["may-not"])


def let_drivers_report(pipeline: Pipeline, account: str, folder: Path) -> None:
    make_account(pipeline, account, folder)
    n = ("-n", pipeline.namespace)
    role = json.dumps(driver_role(account))
    assert pipeline.kubectl("create", *n, "-f", "-", stdin=role).returncode == 0
    bound = (f"--role={account}", f"--serviceaccount={pipeline.namespace}:{account}")
    assert pipeline.kubectl("create", "rolebinding", account, *n, *bound).returncode == 0


def make_account(pipeline: Pipeline, account: str, folder: Path) -> None:
    cluster = yaml.safe_load(Path(pipeline.kubectl.kubeconfig).read_text(encoding="utf-8"))["clusters"][0]
    authority = cluster["cluster"]["certificate-authority-data"]
    n = ("-n", pipeline.namespace)
    assert pipeline.kubectl("create", "serviceaccount", account, *n).returncode == 0
    token = pipeline.kubectl(
        "create", "token", account, "--duration=24h", *n
    )  # nobody renews it, as a kubelet does
    assert token.returncode == 0, token.stderr
    folder.mkdir(parents=True)
    (folder / "token").write_text(token.stdout)
    (folder / "ca.crt").write_bytes(b64decode(authority))


@contextmanager
def running_pipeline(
    place: Place,
    runtimes: Json,
    *,
    jars: Sequence[str] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
    settings: Mapping[str, str] = MappingProxyType({}),
    drivers: int = 2,
) -> Iterator[Pipeline]:
    """`jars`: what drivers need beside Delta and our LogStores. `environment`: the operator's. `settings`: of its configuration.
    `drivers`: how many may run at once."""
    kubectl, namespace, folder = place.kubectl, place.namespace, place.folder
    lake = folder / "lake"
    lake.mkdir()
    created = kubectl("create", "namespace", namespace)
    assert created.returncode == 0, created.stderr
    assert wait_until(
        lambda: kubectl("get", "serviceaccount", "default", "-n", namespace).returncode == 0, 90
    )
    with running_redis(ensure_redis_server(cache()), folder / "redis") as redis:
        config = configuration([namespace], redis.url, runtimes=runtimes, **settings)
        operator = OperatorProcess(place.stack.kubeconfig, config, folder, environment=dict(environment))
        operator.start()
        engine = _engine(place, jars, drivers)
        try:
            yield Pipeline(kubectl, namespace, operator, redis, engine, lake, place.warm)
        finally:
            operator.kill()
            engine.send_signal(signal.SIGTERM)
            engine.wait(60)
            kubectl("delete", "namespace", namespace, "--wait=false")


PROFILE: Json = {
    "sparkVersion": "4.2.0",
    "deltaVersion": "4.4.0",
    "mainApplicationFile": f"local://{ROOT / 'spark-images' / 'runner' / 'run.py'}",
    "driver": {"cores": 1, "memory": "1g"},
    "sparkConf": SPARK_CONF,
}


OWN_JVM = {submit.OWN_JVM: "1"}
"""The variables of drivers whose start or end is what is tested: spark-submit itself starts them."""


def profile(variables: Mapping[str, str]) -> Json:
    """Of drivers that have these variables."""
    env = [{"name": name, "value": text} for name, text in variables.items()]
    return PROFILE | {
        "driverPod": {"spec": {"containers": [{"name": "spark-kubernetes-driver", "env": env}]}}
    }


def in_cluster(account: Path, kubeconfig: Path) -> dict[str, str]:
    """What Kubernetes gives a container, for a process: the API server's address, and a folder with its account."""
    server = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    address = urlsplit(server)
    return {
        "KUBERNETES_SERVICE_HOST": str(address.hostname),
        "KUBERNETES_SERVICE_PORT": str(address.port),
        "SLUICE_SERVICE_ACCOUNT": str(account),
    }


def _engine(place: Place, jars: Sequence[str], drivers: int) -> Forked:
    all_jars = ",".join([spark_jars(), *jars])
    arguments = [
        *("localengine", "--namespace", place.namespace, "--stop-drivers"),
        *("--kubeconfig", str(place.stack.kubeconfig), "--work", str(place.folder / "engine")),
        *("--drivers", str(drivers), f"--jars={all_jars}"),
        *("--spark-submit", str(place.warm.spark_submit)),
        *("--driver-env", f"PYSPARK_PYTHON={sys.executable}"),
    ]
    with (place.folder / "engine.log").open("ab") as log:
        return FORKED_ENGINES.start(arguments, os.environ, log, log)

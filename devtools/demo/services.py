"""What the demo starts beside the API server: Redis where there is none, the local engine, the operator; and what jobs run on."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from demo.cluster import Cluster
from devenv.ports import accepts, free_ports
from devenv.project import ROOT
from devenv.service import Service
from sluice.api.base import Json

DEPLOYMENT = "sluice-demo"
LEAST_DRIVERS = 4
# For 400 rows: by default Spark and Delta cut them into hundreds of tasks, report each of them, and compile each query.
FOR_SMALL_TABLES = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def services(folder: Path, cluster: Cluster, redis_url: str | None, redis_server: str) -> list[Service]:
    """With no `redis_url` the cluster is somebody's own, whose token is given to no driver."""
    account = {} if redis_url is None else cluster.account(folder / "account")
    for name in ("engine", "lake"):
        (folder / name).mkdir()
    config = folder / "operator.yaml"
    started = []
    if redis_url is None:
        port = free_ports(1)[0]
        redis_url = f"redis://127.0.0.1:{port}/0"
        redis = [
            redis_server,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(folder),
        ]
        started.append(Service("redis", redis, folder / "redis.log", lambda: accepts(port)))
    config.write_text(yaml.safe_dump(_operator_config(cluster, redis_url, account)), encoding="utf-8")
    os.environ["KUBECONFIG"] = str(cluster.kubeconfig)
    operator = [sys.executable, "-m", "sluice.controller", "--config", str(config)]
    engine = [
        *(sys.executable, "-m", "localengine", "--namespace", cluster.namespace),
        *("--work", str(folder / "engine"), "--stop-drivers", "--drivers", str(_drivers())),
    ]
    return [
        *started,
        Service("local engine", engine, folder / "engine.log", lambda: True),
        Service(
            "operator", operator, folder / "operator.log", lambda: cluster.has_leader(DEPLOYMENT), pause=0.2
        ),
    ]


def _drivers() -> int:
    """How many run at once, either way: on two cores too, jobs that would meet in a cluster meet here."""
    return max(LEAST_DRIVERS, os.cpu_count() or 1)


def _operator_config(cluster: Cluster, redis_url: str, account: Mapping[str, str]) -> Json:
    """`account`: by these variables drivers tell their progress, and a stream is asked to stop."""
    env = [{"name": name, "value": value} for name, value in account.items()]
    driver: Json = {"spec": {"containers": [{"name": "spark-kubernetes-driver", "env": env}]}} if env else {}
    runner = f"local://{ROOT / 'spark-images' / 'runner' / 'run.py'}"
    return {
        "deployment": DEPLOYMENT,
        "namespace": cluster.namespace,
        "watchNamespaces": [cluster.namespace],
        "redisUrl": redis_url,
        "httpAddress": "off",
        "ageAfter": "0s",  # first come, first served: what a job comes to must not depend on who is quicker
        "runtimes": {"default": runtime() | {"mainApplicationFile": runner, "driverPod": driver}},
    }


def runtime() -> Json:
    """What the jobs run on, with Sluice and without."""
    return {
        "sparkVersion": "4.2.0",
        "deltaVersion": "4.4.0",
        "driver": {"cores": 1, "memory": "1g"},
        "sparkConf": {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
            **FOR_SMALL_TABLES,
            # The JVMs live for half a minute.
            "spark.driver.extraJavaOptions": os.environ.get("SLUICE_JVM_OPTIONS", ""),
        },
    }

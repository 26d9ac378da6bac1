"""`python -m demo`, started by `./dev demo` with everything set up."""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from deltalake import DeltaTable
from rich.console import Console

from demo.cluster import Cluster, DemoError, kubeconfig_of
from demo.scenario import DemoJob, Scenario, scenario
from demo.view import View, outcomes
from devenv.errors import DevError
from devenv.ports import accepts, free_ports
from devenv.project import ROOT
from devenv.service import Service
from devenv.temporary import OUTER

Json = dict[str, Any]

ENDED = frozenset({"Succeeded", "Skipped", "Failed"})
PATIENCE_SECONDS = 420.0
PIPE_WIDTH = 200
# For 400 rows: by their defaults Spark and Delta cut them into hundreds of tasks, and tell about each of them.
FOR_SMALL_TABLES = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main() -> int:
    options = _options()
    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    folder = Path(
        tempfile.mkdtemp(prefix="sluice-demo-", dir=os.environ.get(OUTER) if options.keep else None)
    )
    with ExitStack() as stack:
        if not options.keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            kubeconfig = options.kubeconfig or kubeconfig_of(options.context, folder)
            return _run(console, Cluster(kubeconfig, options.namespace), folder, options, stack)
        except (DemoError, DevError) as error:
            console.print(f"[red]demo: {error}[/]")
            console.print(
                f"logs: {folder}" if options.keep else "run it with --keep to have the logs left there"
            )
            return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--context", help="use this cluster of your kubeconfig instead of a local one")
    parser.add_argument("--redis-url", help=argparse.SUPPRESS)
    parser.add_argument("--redis-server", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--namespace", default="default", help="namespace to work in")
    parser.add_argument("--jobs", type=int, default=0, help="how many more jobs to apply")
    parser.add_argument("--keep", action="store_true", help="leave all of it running until Ctrl-C")
    return parser.parse_args()


def _run(
    console: Console, cluster: Cluster, folder: Path, options: argparse.Namespace, stack: ExitStack
) -> int:
    plan = scenario(folder / "lake", options.jobs)
    if options.context:  # a stack of ./dev has them
        cluster.install_crds()
    for service in _services(folder, cluster, options):
        stack.callback(service.stop)
        service.start()
    console.print(f"operator and local engine run; tables in {folder / 'lake'}")
    applied = _apply(cluster, [plan.setup])
    with View(console) as view:
        _follow(cluster, view, [plan.setup])
    applied |= _apply(cluster, list(plan.jobs))
    console.print(f"applied {len(plan.jobs)} jobs at once")
    everything = [plan.setup, *plan.jobs]
    with View(console) as view:
        _follow(cluster, view, list(plan.jobs))
    jobs = cluster.jobs()
    problems = _problems(jobs, everything)
    outcomes(console, jobs, everything, problems)
    _times(console, jobs, applied)
    rows = _rows(plan)
    if rows != plan.rows:
        problems["orders"] = f"the table holds {rows} rows, not {plan.rows}"
        console.print(f"[red]{problems['orders']}[/]")
    else:
        console.print(f"the table holds the {rows} rows that it should: nothing lost, nothing twice")
    if options.keep:
        _keep(console, cluster)
    return 1 if problems else 0


def _services(folder: Path, cluster: Cluster, options: argparse.Namespace) -> list[Service]:
    for name in ("engine", "lake"):
        (folder / name).mkdir()
    config = folder / "operator.yaml"
    services = []
    redis_url = options.redis_url
    if redis_url is None:
        port = free_ports(1)[0]
        redis_url = f"redis://127.0.0.1:{port}/0"
        redis = [
            options.redis_server,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(folder),
        ]
        services.append(Service("redis", redis, folder / "redis.log", lambda: accepts(port)))
    config.write_text(yaml.safe_dump(_operator_config(cluster, redis_url)), encoding="utf-8")
    os.environ["KUBECONFIG"] = str(cluster.kubeconfig)
    operator = [sys.executable, "-m", "sluice.controller", "--config", str(config)]
    engine = [
        *(sys.executable, "-m", "localengine", "--namespace", cluster.namespace),
        *("--work", str(folder / "engine"), "--stop-drivers"),
    ]
    return [
        *services,
        Service("local engine", engine, folder / "engine.log", lambda: True),
        Service("operator", operator, folder / "operator.log", lambda: True),
    ]


def _operator_config(cluster: Cluster, redis_url: str) -> Json:
    return {
        "deployment": "sluice-demo",
        "namespace": cluster.namespace,
        "watchNamespaces": [cluster.namespace],
        "redisUrl": redis_url,
        "httpAddress": "off",
        "runtimes": {
            "default": {
                "sparkVersion": "4.2.0",
                "deltaVersion": "4.4.0",
                "mainApplicationFile": f"local://{ROOT / 'spark-images' / 'runner' / 'run.py'}",
                "driver": {"cores": 1, "memory": "1g"},
                "sparkConf": {
                    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
                    "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
                    **FOR_SMALL_TABLES,
                    # JVMs that live for half a minute.
                    "spark.driver.extraJavaOptions": os.environ.get("SLUICE_JVM_OPTIONS", ""),
                },
            }
        },
    }


def _apply(cluster: Cluster, jobs: list[DemoJob]) -> dict[str, float]:
    now = time.time()
    cluster.apply([job.manifest(cluster.namespace) for job in jobs])
    return {job.name: now for job in jobs}


def _follow(cluster: Cluster, view: View, expected: list[DemoJob]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS + 20.0 * len(expected)
    while True:
        jobs = cluster.jobs()
        view.show(jobs, expected)
        if all(jobs.get(job.name, {}).get("status", {}).get("phase") in ENDED for job in expected):
            return
        if time.monotonic() > deadline:
            raise DemoError("not every job has ended in time")
        time.sleep(0.5)


def _problems(jobs: dict[str, Json], expected: list[DemoJob]) -> dict[str, str]:
    problems = {}
    for job in expected:
        status = jobs[job.name]["status"]
        if (status["phase"], status["reason"]) != (job.phase, job.reason):
            problems[job.name] = f"should be {job.phase}/{job.reason}: {status.get('message', '')}"
    return problems


def _times(console: Console, jobs: dict[str, Json], applied: dict[str, float]) -> None:
    """From being applied on; jobs that had to wait are left out of the first figure."""
    to_grant, to_end = [], []
    for name, job in jobs.items():
        status = job["status"]
        if name in applied and status["phase"] == "Succeeded":
            attempt = status["attempts"][-1]
            to_grant.append(_seconds(attempt["grantedAt"]) - applied[name])
            to_end.append(_seconds(attempt["endedAt"]) - _seconds(attempt["grantedAt"]))
    console.print(
        f"applied -> leases granted and SparkApplication created: {min(to_grant):.2f} s at best "
        f"(the others waited for their turn); granted -> ended: {statistics.median(to_end):.1f} s in the median"
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _rows(plan: Scenario) -> int:
    return int(DeltaTable(str(plan.orders)).count())


def _keep(console: Console, cluster: Cluster) -> None:
    console.print(
        "all of it runs on until Ctrl-C; look around: "
        f"./dev run kubectl --kubeconfig {cluster.kubeconfig} -n {cluster.namespace} get deltawritejobs"
    )
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        console.print("stopping")


if __name__ == "__main__":
    sys.exit(main())

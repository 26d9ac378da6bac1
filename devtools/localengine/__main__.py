"""`python -m localengine`: the command line, and the wiring of the engine's parts."""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import logging
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TextIO

from localengine.clustersubmit import ClusterSubmitter
from localengine.controller import Faults
from localengine.driverpod import Runtime
from localengine.engine import Engine, Settings
from sluice.kube.client import Kube

_log = logging.getLogger("localengine")

_INHERITED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "JAVA_HOME", "TZ")


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m localengine", description="Runs SparkApplications where no Spark operator does."
    )
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "-n", "--namespace", default="default", help="the namespace to work in (default: default)"
    )
    scope.add_argument("-A", "--all-namespaces", action="store_true", help="work in all namespaces")
    parser.add_argument("--mode", choices=("process", "cluster"), default="process")
    parser.add_argument(
        "--work", type=Path, help="where drivers' folders lie; keep it from one start to the next"
    )
    parser.add_argument("--kubeconfig", help="default: $KUBECONFIG, then ~/.kube/config")
    parser.add_argument("--context", help="the kubeconfig's context to use")
    parser.add_argument(
        "--spark-submit", default=os.environ.get("SLUICE_SPARK_SUBMIT"), help="default: the one on PATH"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="submit-delay=SECONDS, lose-status",
    )
    process = parser.add_argument_group("process mode")
    process.add_argument(
        "--drivers", type=int, default=os.cpu_count() or 1, help="how many may run at once (default: cores)"
    )
    process.add_argument(
        "--jars",
        default=os.environ.get("SLUICE_SPARK_JARS", ""),
        help="on every driver's class path, by commas",
    )
    process.add_argument(
        "--driver-env", action="append", default=[], metavar="NAME=VALUE", help="what an image would set"
    )
    process.add_argument(
        "--node", default="local-engine", help="the Node object that stands for this machine"
    )
    process.add_argument(
        "--stop-drivers", action="store_true", help="end all drivers when the engine is ended"
    )
    return parser


def faults(asked: list[str]) -> Faults:
    delay, lose = 0.0, False
    for fault in asked:
        name, _, value = fault.partition("=")
        if name == "submit-delay":
            delay = float(value)
        elif name == "lose-status":
            lose = True
        else:
            raise SystemExit(f"unknown fault {name}: there are submit-delay=SECONDS and lose-status")
    return Faults(delay, lose)


def runtime(options: argparse.Namespace) -> Runtime:
    program = (
        options.spark_submit
        or shutil.which("spark-submit")
        or str(Path(sys.executable).parent / "spark-submit")
    )
    if not Path(program).is_file():
        raise SystemExit(f"no spark-submit at {program}: install pyspark, or name one with --spark-submit")
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    named = dict(variable.split("=", 1) for variable in options.driver_env)
    return Runtime(
        spark_submit=program,
        jars=tuple(filter(None, options.jars.split(","))),
        environment={"PYSPARK_PYTHON": str(Path(program).parent / "python3"), **inherited, **named},
    )


def only_engine(work: Path) -> TextIO:
    """Two engines on one folder would end each other's drivers."""
    work.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = (work / "engine.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(
            f"another local engine works in {work}: end it, or name another folder with --work"
        ) from None
    return lock


async def run(options: argparse.Namespace) -> None:
    namespace = None if options.all_namespaces else options.namespace
    root = (
        options.work
        or Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state")) / "sluice" / "localengine"
    )
    # The scope is part of the folder: an engine of another scope doesn't see these drivers' pods and would end them.
    work = root / (namespace or "all-namespaces")
    settings = Settings(
        namespace=namespace,
        work=work,
        node=options.node,
        limit=options.drivers,
        runtime=runtime(options),
        faults=faults(options.fault),
        stop_drivers=options.stop_drivers,
    )
    with only_engine(work):
        kube = await Kube.connect(options.kubeconfig, options.context)
        try:
            stop = asyncio.Event()
            for asked in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(asked, stop.set)
            where = f"namespace {namespace}" if namespace else "all namespaces"
            _log.info("%s mode, %s of %s, folder %s", options.mode, where, kube.address, work)
            cluster = (
                ClusterSubmitter(kube.address, settings.runtime.spark_submit, work)
                if options.mode == "cluster"
                else None
            )
            await Engine(kube, settings, cluster).run(stop)
        finally:
            await kube.close()


def main() -> None:
    options = arguments().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s localengine: %(message)s", datefmt="%H:%M:%S")
    asyncio.run(run(options))


if __name__ == "__main__":
    main()

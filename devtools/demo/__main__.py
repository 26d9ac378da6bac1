"""`python -m demo`, started by `./dev demo` with everything set up."""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from deltalake import DeltaTable
from rich.console import Console
from rich.markup import escape

from demo.cluster import Cluster, DemoError, kubeconfig_of
from demo.comparison import Run, Way, document, with_sluice
from demo.dangers import dangers
from demo.plain import PlainJob, PlainState
from demo.scenario import DemoJob, Scenario, create_tables, scenario
from demo.services import runtime, services
from demo.view import View, comparison
from devenv.errors import DevError
from devenv.temporary import OUTER
from sluice.api.base import Json
from sluice.cli.outputs import shown

ENDED = frozenset({"Succeeded", "Skipped", "Failed"})
PATIENCE_SECONDS = 420.0
PIPE_WIDTH = 200
HOW_TO_SEE_IT = (
    "What the jobs risk without Sluice is the oracle's word, not a measurement: "
    "./dev demo --plain runs them without it as well, and measures."
)
PLAIN_WAS_RUN = (
    "Without Sluice: one plain SparkApplication a job, created in the same order, all at once; the same statements, Spark "
    "settings, engine and copied tables, without admission and without retries. Compute: seconds that the driver ran. "
    "Measured on this machine, just now."
)


def main() -> int:
    options = _options()
    console = _console(to_stderr=options.output == "json")
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
            console.print(f"[red]demo: {escape(shown(str(error)))}[/]")
            console.print(
                f"logs: {folder}" if options.keep else "run it with --keep to have the logs left there"
            )
            return 1


def _console(to_stderr: bool) -> Console:
    """Where the story is told: standard output, unless that is to hold nothing but JSON."""
    stream = sys.stderr if to_stderr else sys.stdout
    return Console(stderr=to_stderr) if stream.isatty() else Console(stderr=to_stderr, width=PIPE_WIDTH)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--context", help="use this cluster of your kubeconfig instead of a local one")
    parser.add_argument("--redis-url", help=argparse.SUPPRESS)
    parser.add_argument("--redis-server", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--namespace", default="default", help="namespace to work in")
    parser.add_argument("--jobs", type=int, default=0, help="how many more jobs to apply")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="run the same jobs as plain SparkApplications first, all at once, and show both beside each other",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="json: the closing table alone on standard output, the rest on standard error",
    )
    parser.add_argument("--keep", action="store_true", help="leave all of it running until Ctrl-C")
    return parser.parse_args()


def _run(
    console: Console, cluster: Cluster, folder: Path, options: argparse.Namespace, stack: ExitStack
) -> int:
    plan = scenario(folder / "lake", options.jobs)
    if options.context:  # a stack of ./dev has them
        cluster.install_crds()
    started = services(folder, cluster, options.redis_url, options.redis_server)
    for service in started:
        stack.callback(service.stop)
        service.launch()
    create_tables(plan)
    for service in started:
        service.wait_ready()
    console.print(f"operator and local engine run; tables in {folder / 'lake'}")
    plain = _without_sluice(console, cluster, folder, options) if options.plain else None
    applied = time.time()
    sluice = _with_sluice(console, cluster, plan)
    statuses = {name: job["status"] for name, job in cluster.jobs().items()}
    problems = _problems(statuses, plan.jobs)
    if sluice.rows != plan.rows:
        problems["orders"] = f"the table holds {sluice.rows} rows, not {plan.rows}"
    in_danger = dangers(plan)
    comparison(console, plain, in_danger, sluice, problems)
    _times(console, [statuses[job.name] for job in plan.jobs], applied)
    if "orders" not in problems:
        console.print(
            f"the table holds the {sluice.rows} rows that it should: nothing lost, nothing twice",
            highlight=False,
        )
    console.print(PLAIN_WAS_RUN if plain else HOW_TO_SEE_IT, highlight=False)
    if options.output == "json":
        json.dump(document(plain, in_danger, sluice, problems), sys.stdout, indent=2)
        sys.stdout.write("\n")
        sys.stdout.flush()
    if options.keep:
        _keep(console, cluster)
    return 1 if problems else 0


def _with_sluice(console: Console, cluster: Cluster, plan: Scenario) -> Way:
    began = time.monotonic()
    _apply(cluster, list(plan.jobs))
    console.print(f"applied {len(plan.jobs)} jobs at once")
    with View(console) as view:
        _follow(cluster, view, list(plan.jobs))
    makespan = time.monotonic() - began
    jobs = cluster.jobs()
    return _way(plan, {job.name: with_sluice(jobs[job.name]["status"]) for job in plan.jobs}, makespan)


def _without_sluice(console: Console, cluster: Cluster, folder: Path, options: argparse.Namespace) -> Way:
    """Runs the jobs on a copy of the tables, with nothing between them but Delta itself."""
    shutil.copytree(folder / "lake", folder / "plain")
    plan = scenario(folder / "plain", options.jobs)
    suffix = token_hex(3)
    jobs = [PlainJob(job, f"{job.name}-plain-{suffix}") for job in plan.jobs]
    began = time.monotonic()
    cluster.create_applications([job.manifest(cluster.namespace, runtime()) for job in jobs])
    console.print(
        f"created {len(jobs)} plain SparkApplications at once, without Sluice, on a copy of the tables"
    )
    try:
        with View(console) as view:
            states = _follow_plain(cluster, view, jobs)
        makespan = time.monotonic() - began
    finally:
        if not options.keep:
            cluster.delete_applications([job.application for job in jobs])
    return _way(plan, {job.job.name: states[job.application].run() for job in jobs}, makespan)


def _way(plan: Scenario, runs: dict[str, Run], makespan: float) -> Way:
    succeeded = {name for name, run in runs.items() if run.succeeded}
    return Way(runs, makespan, _rows(plan), plan.rows_after(succeeded))


def _apply(cluster: Cluster, jobs: list[DemoJob]) -> None:
    cluster.apply([job.manifest(cluster.namespace) for job in jobs])


def _follow(cluster: Cluster, view: View, expected: list[DemoJob]) -> None:
    deadline = _deadline(len(expected))
    while True:
        jobs = cluster.jobs()
        view.show(jobs, expected)
        if all(jobs.get(job.name, {}).get("status", {}).get("phase") in ENDED for job in expected):
            return
        _wait_until(deadline)


def _follow_plain(cluster: Cluster, view: View, expected: list[PlainJob]) -> dict[str, PlainState]:
    deadline = _deadline(len(expected))
    while True:
        states = cluster.applications()
        found = {job.job.name: states[job.application] for job in expected if job.application in states}
        view.show(
            {name: {"status": state.status} for name, state in found.items()}, [job.job for job in expected]
        )
        if len(found) == len(expected) and all(state.ended for state in found.values()):
            return states
        _wait_until(deadline)


def _deadline(jobs: int) -> float:
    return time.monotonic() + PATIENCE_SECONDS + 20.0 * jobs


def _wait_until(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise DemoError("not every job has ended in time")
    time.sleep(0.5)


def _problems(statuses: Mapping[str, Json], expected: Iterable[DemoJob]) -> dict[str, str]:
    problems = {}
    for job in expected:
        status = statuses[job.name]
        if (status["phase"], status["reason"]) != (job.phase, job.reason):
            problems[job.name] = f"should be {job.phase}/{job.reason}: {status.get('message', '')}"
    return problems


def _times(console: Console, statuses: list[Json], applied: float) -> None:
    """Times from when the jobs were applied; jobs that had to wait are left out of the first figure."""
    to_grant, to_end = [], []
    for status in statuses:
        if status["phase"] == "Succeeded":
            attempt = status["attempts"][-1]
            to_grant.append(_seconds(attempt["grantedAt"]) - applied)
            to_end.append(_seconds(attempt["endedAt"]) - _seconds(attempt["grantedAt"]))
    if to_grant:
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
        "all of it runs on until Ctrl-C; look around, or apply jobs of your own: "
        f"./dev run env KUBECONFIG={cluster.kubeconfig} bash, and there kubectl -n {cluster.namespace} get deltawritejobs, "
        f"sluice queue -n {cluster.namespace}"
    )
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        console.print("stopping")


if __name__ == "__main__":
    sys.exit(main())

"""All scenarios by name, and how one of them is run: on an API server, etcd and Redis of its own."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path

from bench.admission import bad_input, scenarios, streams
from bench.admission.cluster import BenchError, Cluster
from bench.admission.drivers import Drivers
from bench.admission.etcd import Etcd
from bench.admission.figures import Measured
from bench.admission.stage import Bench, Options
from bench.admission.workload import Tables

from devenv.stack import ControlPlane, ControlPlaneTools
from sluice.kube.client import ApiError

Scenario = Callable[[Bench], Coroutine[None, None, None]]

GROWTH: dict[str, Scenario] = {
    "admit": scenarios.admit,
    "ceiling": scenarios.ceiling,
    "finish": scenarios.finish,
    "beside": scenarios.beside,
    "release": scenarios.release,
    "release-beside": scenarios.release_beside,
    "hot": scenarios.hot,
    "unbound": scenarios.unbound,
    "takeover": scenarios.takeover,
    "memory": scenarios.memory,
    "streams": streams.streams,
}
BAD_INPUT: dict[str, Scenario] = {
    "throttled": bad_input.throttled,
    "slow": bad_input.slow,
    "hung-store": bad_input.hung_store,
    "poisoned-texts": bad_input.poisoned_texts,
    "poisoned-statuses": bad_input.poisoned_statuses,
    "poisoned-names": bad_input.poisoned_names,
}
SCENARIOS = GROWTH | BAD_INPUT


def measure(scenario: str, jobs: int, options: Options, tools: ControlPlaneTools) -> Measured:
    """Returns what the scenario found, even if it could not be completed."""
    found = Measured(scenario, jobs)
    play(SCENARIOS[scenario], options, tools, found)
    return found


def play(scenario: Scenario, options: Options, tools: ControlPlaneTools, found: Measured) -> None:
    """Plays it on servers of its own, which end with it."""
    with tempfile.TemporaryDirectory(prefix="admission-") as name:
        folder = Path(name)
        with ControlPlane(folder, tools) as plane:
            asyncio.run(_measured(scenario, plane, folder, options, found))


async def _measured(
    scenario: Scenario, plane: ControlPlane, folder: Path, options: Options, found: Measured
) -> None:
    with ExitStack() as operators:
        async with Cluster(plane) as cluster, Etcd(plane.ports.etcd) as etcd:
            drivers = Drivers(cluster)
            cluster.on_application = drivers.heed
            tables = Tables(folder / "lake", exist=options.tables_exist)
            bench = Bench(plane, folder, cluster, etcd, drivers, tables, options, found, operators)
            try:
                await scenario(bench)
            except (ApiError, BenchError) as error:
                found.note = f"{type(error).__name__} after {cluster.seen_in_words()}: {error}"

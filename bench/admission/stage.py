"""What scenarios are played on: servers of their own, operators, and the clock."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from bench.admission import profiles, workload
from bench.admission.cluster import BenchError, Cluster
from bench.admission.drivers import Drivers
from bench.admission.etcd import Etcd
from bench.admission.figures import Measured
from bench.admission.meter import Meter
from bench.admission.operator_process import LEADS, Operator, configuration
from bench.admission.workload import Tables

from devenv.stack import ControlPlane
from sluice.kube.resources import JOBS

READY_SECONDS = 120.0
REST_LOOKS = 60
REST_PAUSE = 0.05
REST_BUSY = 6
"""An operator that has something to compute in so few of so many consecutive looks has done what there was to do. A wait for a
core counts as computing, so that this can also be told on a busy machine."""


@dataclass(frozen=True)
class Options:
    limit: float = 240.0
    """Seconds for the preparation, and as many for what is measured."""
    samples: int = 50
    """How many jobs are measured one at a time, and how many releases."""
    good: int = 100
    """How many jobs are timed alone and beside bad input."""
    finished: int = 0
    """Jobs that have finished long before, beside everything else."""
    suspended: bool = False
    """Whether waiting jobs are suspended ones beside a running operator; else it is started when they are there."""
    tables_exist: bool = True
    profile: bool = False


@dataclass
class Bench:
    """One scenario with one number of jobs, on servers of its own."""

    plane: ControlPlane
    folder: Path
    cluster: Cluster
    etcd: Etcd
    drivers: Drivers
    tables: Tables
    options: Options
    found: Measured
    operators: ExitStack
    reached_by: Path | None = None
    """The kubeconfig of operators, if it isn't the API server's own."""
    environment: dict[str, str] = field(default_factory=dict)
    """The operators of this bench."""
    watched_beside: tuple[str, ...] = ()
    """Other namespaces that the operators watch."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What else is in the configuration of the operators."""

    @property
    def jobs(self) -> int:
        return self.found.jobs

    @property
    def limit(self) -> float:
        return self.options.limit

    async def create(self, name: str, table: str = "", *, suspended: bool = False) -> None:
        """Creates a job on a table of its own, unless one is named."""
        location = self.tables.location(table or name)
        await self.cluster.create(JOBS, workload.job(name, location, suspended=suspended))

    async def create_all(self, jobs: Sequence[str]) -> None:
        await self.cluster.all_of([self.create(name) for name in jobs])

    def start(self, name: str = "operator") -> Operator:
        wrapped: tuple[str, ...] = ()
        if self.options.profile and profiles.Sampler.program() is None:
            wrapped = ("-m", "cProfile", "-o", str(self._counted))
        made = Operator(
            self.folder,
            self.reached_by or self.plane.kubeconfig,
            configuration(self.plane.redis_url, *self.watched_beside) | self.settings,
            name=name,
            environment=self.environment,
            wrapped=wrapped,
        )
        return self.operators.enter_context(made)

    async def leader(self, name: str = "operator") -> Operator:
        operator = self.start(name)
        if not await operator.says(LEADS, READY_SECONDS):
            raise BenchError(f"the operator does not lead after {READY_SECONDS:.0f} s: {operator.log}")
        return operator

    async def rested_leader(self, name: str = "operator") -> Operator | None:
        """Returns an operator that admits jobs and has done all that there was to do; None if it admits none, which is noted."""
        operator = await self.leader(name)
        probe = f"probe-of-{name}"
        await self.create(probe)
        if not await self.prepared(
            "jobs admitted", lambda: int(probe in self.cluster.applied_at), 1, operator
        ):
            return None
        self.found.figures["started until at rest, s"] = await self.rest_of(operator)
        return operator

    async def rest_of(self, operator: Operator) -> float:
        """Seconds until it came to rest; infinity if it never did within the limit."""
        looks: deque[tuple[float, bool]] = deque(maxlen=REST_LOOKS)
        begun = monotonic()
        while len(looks) < REST_LOOKS or sum(computes for _, computes in looks) > REST_BUSY:
            if monotonic() - begun > self.limit:
                return math.inf
            looks.append((monotonic(), operator.computes))
            await asyncio.sleep(REST_PAUSE)
        return looks[0][0] - begun

    async def until(self, reached: Callable[[], bool], operator: Operator, seconds: float) -> bool:
        def looked() -> bool:
            operator.must_run()
            return reached()

        return await self.cluster.until(looked, seconds)

    async def prepared(self, what: str, reached: Callable[[], int], wanted: int, operator: Operator) -> bool:
        """Returns whether all are where the measurement begins; if not, that is noted as what was found."""
        if await self.until(lambda: reached() >= wanted, operator, self.limit):
            return True
        self.found.wanted = wanted
        self.found.note = (
            f"only {reached():,} of {wanted:,} {what} within {self.limit:.0f} s: nothing was measured"
        )
        self.found.figures["leadership lost, times"] = operator.times_lost
        return False

    @asynccontextmanager
    async def measured(self, operators: Sequence[Operator], *, profiled: bool = True) -> AsyncIterator[Meter]:
        meter = await Meter(self.plane, self.cluster, operators).begin()
        program = profiles.Sampler.program() if self.options.profile and profiled else None
        sampler = (
            None if program is None else profiles.Sampler(program, operators[0].process.pid, self.folder)
        )
        try:
            yield meter
        finally:
            if sampler is not None:
                self.found.profile = await asyncio.to_thread(sampler.end)
            elif self.options.profile and profiled:
                await operators[0].stop()
                self.found.profile = profiles.top_of_calls(self._counted)

    @property
    def _counted(self) -> Path:
        return self.folder / "calls.profile"


def numbered(what: str, count: int) -> list[str]:
    """Names of equal length."""
    return [f"{what}-{number:06}" for number in range(count)]

"""What is measured: each scenario on an API server, etcd and Redis of its own."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from bench.admission import profiles, workload
from bench.admission.cluster import NAMESPACE, BenchError, Cluster
from bench.admission.drivers import Drivers, Play
from bench.admission.figures import Measured, latencies
from bench.admission.meter import Meter
from bench.admission.operator_process import LEADS, Operator, configuration
from bench.admission.workload import Tables, Whole

from devenv.stack import ControlPlane, ControlPlaneTools
from sluice.controller.config import OperatorConfig
from sluice.kube.client import ApiError, Json
from sluice.kube.resources import APPLICATIONS, JOBS

READY_SECONDS = 120.0
IDLE_SECONDS = 12.0
"""Two sweeps of the operator and more."""
WAITS_LONGEST = "waiting until it lets go"


@dataclass(frozen=True)
class Options:
    limit: float = 240.0
    """Seconds for the preparation, and again for what is measured."""
    samples: int = 20
    """Of jobs one at a time, and of releases."""
    suspended: bool = False
    """Whether waiting jobs are suspended ones beside an operator that runs; else it is started when they are there."""
    tables_exist: bool = True
    profile: bool = False


@dataclass
class Bench:
    """One scenario with one number of jobs, on servers of its own."""

    plane: ControlPlane
    folder: Path
    cluster: Cluster
    drivers: Drivers
    tables: Tables
    options: Options
    found: Measured
    operators: ExitStack

    @property
    def jobs(self) -> int:
        return self.found.jobs

    @property
    def limit(self) -> float:
        return self.options.limit

    async def create(self, name: str, table: str = "", *, suspended: bool = False) -> None:
        """On a table of its own, unless one is named."""
        location = self.tables.location(table or name)
        await self.cluster.create(JOBS, workload.job(name, location, suspended=suspended))

    async def create_all(self, jobs: Sequence[str]) -> None:
        await self.cluster.all_of([self.create(name) for name in jobs])

    def start(self, name: str = "operator") -> Operator:
        wrapped: tuple[str, ...] = ()
        if self.options.profile and profiles.Sampler.program() is None:
            wrapped = ("-m", "cProfile", "-o", str(self._counted))
        made = Operator(self.folder, self.plane.kubeconfig, self.plane.redis_url, name=name, wrapped=wrapped)
        return self.operators.enter_context(made)

    async def leader(self, name: str = "operator") -> Operator:
        operator = self.start(name)
        if not await operator.says(LEADS, READY_SECONDS):
            raise BenchError(f"the operator does not lead after {READY_SECONDS:.0f} s: {operator.log}")
        return operator

    async def until(self, reached: Callable[[], bool], operator: Operator, seconds: float) -> bool:
        def looked() -> bool:
            operator.must_run()
            return reached()

        return await self.cluster.until(looked, seconds)

    async def prepared(self, what: str, reached: Callable[[], int], wanted: int, operator: Operator) -> bool:
        """Whether all are where the measurement begins; if not, that is what it found."""
        begun = monotonic()
        if await self.until(lambda: reached() >= wanted, operator, self.limit):
            self.found.figures["prepared in, s"] = monotonic() - begun
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

    async def whole(self, name: str, play: Play, phase: str) -> Whole:
        """A job that an operator of its own has brought so far."""
        operator = await self.leader(f"operator-of-{name}")
        self.drivers.play = play
        await self.create(name)
        if not await self.until(lambda: (name, phase) in self.cluster.phase_at, operator, READY_SECONDS):
            raise BenchError(f"{name} is not {phase} after {READY_SECONDS:.0f} s: {operator.log}")
        if play is Play.RUNS:
            await self.until(lambda: bool(self.drivers.running), operator, READY_SECONDS)
        else:
            await self._let_go(name, operator)
        self.drivers.play = Play.NOTHING
        await operator.stop()
        application = await self._application(name)
        runtimes = OperatorConfig.model_validate(configuration(self.plane.redis_url)).runtimes
        return Whole(await self.cluster.kube.get(JOBS, NAMESPACE, name), application, runtimes)

    async def copies(self, whole: Whole, names: Sequence[str], *, ended: bool, first: int) -> None:
        """Jobs that are as far as that one; the operator must not run."""

        async def copy(number: int, name: str) -> None:
            self.tables.location(name)
            created = await self.cluster.create(JOBS, whole.job_named(name))
            status = {"status": whole.status_of(created, number)}
            await self.cluster.patch(JOBS, name, status, sub="status")
            body = whole.application_of(created, number)
            application = await self.cluster.create(APPLICATIONS, body)
            await (self.drivers.leave_behind if ended else self.drivers.start)(application)

        await self.cluster.all_of([copy(first + number, name) for number, name in enumerate(names)])

    async def _let_go(self, name: str, operator: Operator) -> None:
        """Until the operator has taken its finalizer off."""
        end = monotonic() + READY_SECONDS
        while (await self._application(name))["metadata"].get("finalizers"):
            operator.must_run()
            if monotonic() > end:
                raise BenchError(f"the SparkApplication of {name} keeps its finalizer: {operator.log}")
            await asyncio.sleep(0.1)

    async def _application(self, job: str) -> Json:
        name = self.cluster.applications[job]["metadata"]["name"]
        return await self.cluster.kube.get(APPLICATIONS, NAMESPACE, name)

    @property
    def _counted(self) -> Path:
        return self.folder / "calls.profile"


Scenario = Callable[[Bench], Coroutine[None, None, None]]


async def admit(bench: Bench) -> None:
    """Compatible jobs that wait, released at once: until all have their SparkApplication; no driver is played."""
    found, cluster = bench.found, bench.cluster
    waiting = names("wait", bench.jobs)
    found.wanted = bench.jobs
    if bench.options.suspended:
        operator = await bench.leader()
        await cluster.all_of([bench.create(name, suspended=True) for name in waiting])
        if not await bench.prepared("suspended", lambda: cluster.been["Suspended"], bench.jobs, operator):
            return
    else:
        await bench.create_all(waiting)
        operator = await bench.leader()
    async with bench.measured([operator]) as meter:
        if bench.options.suspended:
            release = {"spec": {"admission": {"suspend": False}}}
            await cluster.all_of([cluster.patch(JOBS, name, release) for name in waiting])
        await bench.until(lambda: len(cluster.applied_at) >= bench.jobs, operator, bench.limit)
        found.reached = len(cluster.applied_at)
        last = max(cluster.applied_at.values(), default=None) if found.reached == bench.jobs else None
        await meter.end(found, units=found.reached, at=last)
    found.figures = {"admissions/s": found.reached / found.figures["seconds"]} | found.figures


async def finish(bench: Bench) -> None:
    """Compatible jobs from created to finished, with drivers that end at once."""
    found, cluster = bench.found, bench.cluster
    ending = names("end", bench.jobs)
    found.wanted = bench.jobs
    operator = await bench.leader()
    bench.drivers.play = Play.ENDS
    async with bench.measured([operator]) as meter:
        cluster.soon(bench.create_all(ending))
        await bench.until(lambda: cluster.been["Succeeded"] >= bench.jobs, operator, bench.limit)
        found.reached = cluster.been["Succeeded"]
        ended = [at for (_, phase), at in cluster.phase_at.items() if phase == "Succeeded"]
        whole = found.reached == bench.jobs
        await meter.end(found, units=found.reached, at=max(ended) if whole else None)
    found.figures = {"jobs/s": found.reached / found.figures["seconds"]} | found.figures


async def beside(bench: Bench) -> None:
    """One new job at a time beside finished ones: created to its SparkApplication."""
    found, cluster = bench.found, bench.cluster
    finished = await bench.whole("template-ends", Play.ENDS, "Succeeded")
    await bench.copies(finished, names("finished", bench.jobs), ended=True, first=1)
    operator = await bench.leader()
    found.wanted = bench.options.samples
    bench.drivers.play = Play.ENDS
    warming = monotonic()
    await bench.create("first")
    if not await bench.prepared(
        "jobs finished", lambda: int(("first", "Succeeded") in cluster.phase_at), 1, operator
    ):
        return
    found.figures["started until one job has finished, s"] = monotonic() - warming
    quiet = await Meter(bench.plane, cluster, [operator]).begin()
    await asyncio.sleep(IDLE_SECONDS)
    found.figures["operator idle, cores"] = quiet.operator_seconds / quiet.seconds
    took: list[float] = []
    async with bench.measured([operator]) as meter:
        for name in names("new", bench.options.samples):
            created = monotonic()
            await bench.create(name)
            left = bench.limit - meter.seconds
            if not await bench.until(cluster.has_application(name), operator, left):
                break
            took.append(cluster.applied_at[name] - created)
            left = bench.limit - meter.seconds
            if not await bench.until(cluster.has_been(name, "Succeeded"), operator, left):
                break
        found.reached = len(took)
        await meter.end(found, units=found.reached)
    found.figures = latencies("created to SparkApplication", took) | found.figures


async def release(bench: Bench) -> None:
    """Jobs that wait on a tenth as many tables beside a holder each: a driver's end to the next SparkApplication."""
    await _released(bench, max(1, bench.jobs // 10))


async def hot(bench: Bench) -> None:
    """Jobs that wait on one table beside its holder: a driver's end to the next SparkApplication."""
    await _released(bench, 1)


async def _released(bench: Bench, tables: int) -> None:
    found, cluster, drivers = bench.found, bench.cluster, bench.drivers
    lake = names("table", tables)
    holders, waiting = names("hold", tables), names("wait", bench.jobs)
    operator = await bench.leader()
    drivers.play = Play.RUNS
    begun = monotonic()
    await cluster.all_of([bench.create(name, lake[number]) for number, name in enumerate(holders)])
    if not await bench.prepared("holders run", lambda: len(drivers.running), tables, operator):
        return
    await cluster.all_of([bench.create(name, lake[number % tables]) for number, name in enumerate(waiting)])
    if not await bench.prepared("wait", lambda: cluster.been["Waiting"], bench.jobs, operator):
        return
    found.figures["prepared in, s"] = monotonic() - begun
    found.wanted = min(bench.options.samples, bench.jobs)
    holding = dict(enumerate(holders))
    took: list[float] = []
    async with bench.measured([operator]) as meter:
        for number in range(found.wanted):
            application = cluster.applications[holding[number % tables]]
            known = set(cluster.applied_at)
            ended = monotonic()
            await drivers.end(application)
            left = bench.limit - meter.seconds
            if not await bench.until(cluster.has_more_applications(len(known)), operator, left):
                break
            (follower,) = set(cluster.applied_at) - known
            took.append(cluster.applied_at[follower] - ended)
            holding[number % tables] = follower
            name = cluster.applications[follower]["metadata"]["name"]
            left = bench.limit - meter.seconds
            if not await bench.until(drivers.runs(name), operator, left):
                break
        found.reached = len(took)
        await meter.end(found, units=found.reached)
    found.figures = latencies("driver's end to SparkApplication", took) | found.figures


async def takeover(bench: Bench) -> None:
    """The leader is killed beside jobs of which half run and half have finished: until another one admits a job."""
    found, cluster = bench.found, bench.cluster
    running = await bench.whole("template-runs", Play.RUNS, "Running")
    finished = await bench.whole("template-ends", Play.ENDS, "Succeeded")
    half = bench.jobs // 2
    await bench.copies(running, names("running", half), ended=False, first=1)
    await bench.copies(finished, names("finished", bench.jobs - half), ended=True, first=1 + half)
    leader = await bench.leader("leader")
    await bench.create("before")
    if not await bench.prepared("jobs admitted", lambda: int("before" in cluster.applied_at), 1, leader):
        return
    standby = bench.start("standby")
    if not await standby.says(WAITS_LONGEST, READY_SECONDS):
        raise BenchError(f"the second operator does not wait for the first: {standby.log}")
    found.wanted = 1
    async with bench.measured([standby]) as meter:
        leader.kill()
        killed = monotonic()
        await bench.create("after")
        leads = None
        if await standby.says(LEADS, bench.limit):
            leads = monotonic() - killed
            await bench.until(lambda: "after" in cluster.applied_at, standby, bench.limit - leads)
        found.reached = int("after" in cluster.applied_at)
        await meter.end(found, units=1)
    figures = {} if leads is None else {"kill to the next leader, s": leads}
    if found.reached:
        figures["kill to the next SparkApplication, s"] = cluster.applied_at["after"] - killed
    found.figures = figures | found.figures


SCENARIOS: dict[str, Scenario] = {
    "admit": admit,
    "finish": finish,
    "beside": beside,
    "release": release,
    "hot": hot,
    "takeover": takeover,
}


def names(what: str, count: int) -> list[str]:
    return [f"{what}-{number:06}" for number in range(count)]


def measure(scenario: str, jobs: int, options: Options, tools: ControlPlaneTools) -> Measured:
    """What it found, also where it couldn't be carried through."""
    found = Measured(scenario, jobs)
    with tempfile.TemporaryDirectory(prefix="admission-") as name:
        folder = Path(name)
        with ControlPlane(folder, tools) as plane:
            asyncio.run(_measured(SCENARIOS[scenario], plane, folder, options, found))
    return found


async def _measured(
    scenario: Scenario, plane: ControlPlane, folder: Path, options: Options, found: Measured
) -> None:
    with ExitStack() as operators:
        async with Cluster(plane) as cluster:
            drivers = Drivers(cluster)
            cluster.on_application = drivers.heed
            tables = Tables(folder / "lake", exist=options.tables_exist)
            try:
                await scenario(Bench(plane, folder, cluster, drivers, tables, options, found, operators))
            except (ApiError, BenchError) as error:
                found.note = f"{type(error).__name__} after {cluster.seen_in_words()}: {error}"

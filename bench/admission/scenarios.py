"""How the operator grows: what is measured with each number of jobs."""

import asyncio
from time import monotonic

from bench.admission.cluster import NAMESPACE, BenchError
from bench.admission.drivers import Play
from bench.admission.figures import latencies
from bench.admission.meter import Meter
from bench.admission.operator_process import LEADS
from bench.admission.stage import READY_SECONDS, Bench, numbered
from bench.admission.standing import Standing, holder_names, new_names, stand

from sluice.api.base import Json
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS

IDLE_SECONDS = 12.0
"""Seconds: more than two of the operator's rounds."""
WAITS_LONGEST = "waiting until it lets go"
A_TABLE = 10
"""Jobs that wait on each table, except for the one hot table."""
UNBOUND = 500


async def admit(bench: Bench) -> None:
    """Compatible jobs that wait, released at once: until all have their SparkApplication; no driver is played."""
    found, cluster = bench.found, bench.cluster
    found.wanted = bench.jobs
    suspended = bench.options.suspended
    standing = Standing(new=0 if suspended else bench.jobs, finished=bench.options.finished)
    await stand(bench, standing)
    waiting = numbered("wait", bench.jobs) if suspended else new_names(standing)
    before = len(cluster.applied_at)
    operator = await bench.leader()
    if suspended:
        await cluster.all_of([bench.create(name, suspended=True) for name in waiting])
        if not await bench.prepared("suspended", lambda: cluster.been["Suspended"], bench.jobs, operator):
            return
    async with bench.measured([operator]) as meter:
        if suspended:
            release = {"spec": {"admission": {"suspend": False}}}
            await cluster.all_of([cluster.patch(JOBS, name, release) for name in waiting])
        await bench.until(cluster.has_more_applications(before + bench.jobs - 1), operator, bench.limit)
        admitted = cluster.applied_after(before)
        found.reached = len(admitted)
        last = cluster.applied_at[admitted[-1]] if found.reached == bench.jobs else None
        await meter.end(found, units=found.reached, at=last)
    found.figures = {"admissions/s": found.reached / found.figures["seconds"]} | found.figures


async def ceiling(bench: Bench) -> None:
    """The writes of admit, as fast as the API server takes them from the bench alone: no operator can do better."""
    found, cluster = bench.found, bench.cluster
    operator = await bench.leader()
    await bench.create("sample")
    if not await bench.until(cluster.has_application("sample"), operator, bench.limit):
        raise BenchError(f"the sample has no SparkApplication: {operator.log}")
    await operator.stop()
    application = cluster.applications["sample"]
    status = (await cluster.kube.get(JOBS, NAMESPACE, "sample"))["status"]
    standing = Standing(new=bench.jobs)
    await stand(bench, standing)
    began = monotonic()
    await cluster.all_of([_written_as(bench, name, status, application) for name in new_names(standing)])
    found.wanted = found.reached = bench.jobs
    found.figures["admissions/s"] = bench.jobs / (monotonic() - began)


async def _written_as(bench: Bench, name: str, status: Json, application: Json) -> None:
    await bench.cluster.patch(JOBS, name, {"status": status}, sub="status")
    sample = application["metadata"]
    metadata = {part: sample[part] for part in ("labels", "annotations", "finalizers")} | {
        "name": f"{name}-by-hand",
        "ownerReferences": [sample["ownerReferences"][0] | {"name": name}],
    }
    body = {part: application[part] for part in ("apiVersion", "kind", "spec")} | {"metadata": metadata}
    await bench.cluster.create(KUBEFLOW_APPLICATIONS, body)


async def finish(bench: Bench) -> None:
    """Compatible jobs from created to finished, with drivers that end at once."""
    found, cluster = bench.found, bench.cluster
    ending = numbered("end", bench.jobs)
    found.wanted = bench.jobs
    await stand(bench, Standing(finished=bench.options.finished))
    operator = await bench.leader()
    bench.drivers.play = Play.ENDS
    before = cluster.been["Succeeded"]
    async with bench.measured([operator]) as meter:
        cluster.soon(bench.create_all(ending))
        await bench.until(lambda: cluster.been["Succeeded"] - before >= bench.jobs, operator, bench.limit)
        ended = [at for name in ending if (at := cluster.phase_at.get((name, "Succeeded"))) is not None]
        found.reached = len(ended)
        await meter.end(found, units=found.reached, at=max(ended) if found.reached == bench.jobs else None)
    found.figures = {"jobs/s": found.reached / found.figures["seconds"]} | found.figures


async def beside(bench: Bench) -> None:
    """One new job at a time beside finished ones: from created to its SparkApplication."""
    found, cluster = bench.found, bench.cluster
    await stand(bench, Standing(finished=bench.jobs))
    bench.drivers.play = Play.ENDS
    operator = await bench.rested_leader()
    if operator is None:
        return
    found.wanted = bench.options.samples
    quiet = await Meter(bench.plane, cluster, [operator]).begin()
    await asyncio.sleep(IDLE_SECONDS)
    found.figures["operator idle, cores"] = quiet.operator_seconds / quiet.seconds
    took: list[float] = []
    async with bench.measured([operator]) as meter:
        for name in numbered("one", bench.options.samples):
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
    """Jobs that wait on a tenth as many tables, beside a holder each: from a driver's end to the next SparkApplication."""
    await _released(bench, tables=max(1, bench.jobs // A_TABLE), finished=bench.options.finished)


async def release_beside(bench: Bench) -> None:
    """The same as release, beside as many jobs that have finished."""
    await _released(bench, tables=max(1, bench.jobs // A_TABLE), finished=bench.jobs)


async def hot(bench: Bench) -> None:
    """Jobs that wait on one table, beside its holder: from a driver's end to the next SparkApplication."""
    await _released(bench, tables=1, finished=bench.options.finished)


async def unbound(bench: Bench) -> None:
    """Plays the release with up to 500 jobs behind it that name tables that no policy binds: each may meet everybody."""
    tables = max(1, bench.jobs // A_TABLE)
    await _released(bench, tables=tables, finished=bench.options.finished, behind=min(UNBOUND, bench.jobs))


async def _released(bench: Bench, *, tables: int, finished: int, behind: int = 0) -> None:
    found, cluster, drivers = bench.found, bench.cluster, bench.drivers
    standing = Standing(finished=finished, holders=tables, waiting=bench.jobs, unbound=behind)
    await stand(bench, standing)
    drivers.play = Play.RUNS
    operator = await bench.rested_leader()
    if operator is None:
        return
    found.wanted = min(bench.options.samples, bench.jobs)
    holding = dict(enumerate(holder_names(standing)))
    took: list[float] = []
    async with bench.measured([operator]) as meter:
        for number in range(found.wanted):
            known = len(cluster.applied_at)
            ended = monotonic()
            await drivers.end(cluster.applications[holding[number % tables]])
            left = bench.limit - meter.seconds
            if not await bench.until(cluster.has_more_applications(known), operator, left):
                break
            followers = cluster.applied_after(known)
            if len(followers) > 1:
                raise BenchError(f"one driver ended, and more than one job follows: {', '.join(followers)}")
            took.append(cluster.applied_at[followers[0]] - ended)
            holding[number % tables] = followers[0]
            name = cluster.applications[followers[0]]["metadata"]["name"]
            left = bench.limit - meter.seconds
            if not await bench.until(drivers.runs(name), operator, left):
                break
        found.reached = len(took)
        await meter.end(found, units=found.reached)
    found.figures = latencies("driver's end to SparkApplication", took) | found.figures


async def takeover(bench: Bench) -> None:
    """The leader is killed beside jobs half of which run and half have finished: until another one admits a job."""
    found, cluster = bench.found, bench.cluster
    half = bench.jobs // 2
    await stand(bench, Standing(holders=half, finished=bench.jobs - half + bench.options.finished))
    leader = await bench.rested_leader("leader")
    if leader is None:
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
            await bench.until(cluster.has_application("after"), standby, bench.limit - leads)
        found.reached = int("after" in cluster.applied_at)
        await meter.end(found, units=1)
    figures = {} if leads is None else {"kill to the next leader, s": leads}
    if found.reached:
        figures["kill to the next SparkApplication, s"] = cluster.applied_at["after"] - killed
    found.figures = figures | found.figures


async def memory(bench: Bench) -> None:
    """Jobs that wait on a tenth as many tables, beside as many that have finished: what the operator needs at rest."""
    found = bench.found
    tables = max(1, bench.jobs // A_TABLE)
    await stand(bench, Standing(finished=bench.jobs, holders=tables, waiting=bench.jobs))
    operator = await bench.rested_leader()
    if operator is None:
        return
    found.wanted = found.reached = 1
    async with bench.measured([operator]) as meter:
        await asyncio.sleep(IDLE_SECONDS)
        await meter.end(found, units=1)

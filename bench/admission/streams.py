"""What running streams cost the operator, and how long a job waits that has many of them pause."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

from bench.admission import workload
from bench.admission.cluster import BenchError
from bench.admission.drivers import Play
from bench.admission.meter import Meter
from bench.admission.operator_process import Operator
from bench.admission.stage import Bench
from bench.admission.standing import READERS, Standing, source_of, stand, stream_names

from sluice.api import names
from sluice.api.base import Json
from sluice.engines.attempt import driver_pod_name
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS, PODS

ROUND = 60.0
"""Seconds in which each stream tells once how far it is, as its driver does."""
IDLE_SECONDS = 12.0
HOLDERS = 100
ALTER = "alter-000000"


async def streams(bench: Bench) -> None:
    """Running streams, each of which tells once a minute how far it is; then a change of what up to 100 of them read has these
    pause. Beside --finished jobs that have finished, and as many that wait."""
    found, beside = bench.found, bench.options.finished
    standing = Standing(finished=beside, holders=min(HOLDERS, beside), waiting=beside, streams=bench.jobs)
    await stand(bench, standing)
    bench.drivers.play = Play.RUNS
    running = stream_names(standing)
    seen = Seen(bench)
    operator = await bench.rested_leader()
    if operator is None:
        return
    quiet = await Meter(bench.plane, bench.cluster, [operator]).begin()
    await asyncio.sleep(IDLE_SECONDS)
    found.figures["operator at rest, ms/s"] = 1000 * quiet.operator_seconds / quiet.seconds
    found.wanted = len(running)
    async with bench.measured([operator]) as meter:
        found.reached = await _told_by_all(bench, running)
        found.figures["operator while all tell, ms/s"] = 1000 * meter.operator_seconds / meter.seconds
        await meter.end(found, units=found.reached)
    if not operator.runs:
        return  # without py-spy it was ended for its profile
    found.figures |= await _pause(bench, seen, running[:READERS], operator, source_of(0))


class Seen:
    """What has come of streams, since the beginning."""

    def __init__(self, bench: Bench) -> None:
        self.asked: set[str] = set()
        """Drivers' pods that were asked to stop."""
        self.applications: set[str] = set()
        bench.cluster.soon(bench.cluster.watch(PODS, self._pod))
        bench.cluster.soon(bench.cluster.watch(KUBEFLOW_APPLICATIONS, self._application))

    def _pod(self, body: Json) -> None:
        if names.ANNOTATION_STOP in (body["metadata"].get("annotations") or {}):
            self.asked.add(body["metadata"]["name"])

    def _application(self, body: Json) -> None:
        self.applications.add(body["metadata"]["name"])


async def _told_by_all(bench: Bench, streams: list[str]) -> int:
    """Has each stream tell once, spread over the round."""
    began = monotonic()
    for number, name in enumerate(streams):
        await asyncio.sleep(max(0.0, began + ROUND * number / len(streams) - monotonic()))
        pod = driver_pod_name(bench.cluster.applications[name]["metadata"]["name"])
        told = {"metadata": {"annotations": {names.ANNOTATION_PROGRESS: json.dumps(progress(1))}}}
        await bench.cluster.patch(PODS, pod, told)
    await asyncio.sleep(max(0.0, began + ROUND - monotonic()))
    return len(streams)


async def _pause(
    bench: Bench, seen: Seen, streams: list[str], operator: Operator, source: str
) -> dict[str, float]:
    """From a change of the streams' source to its SparkApplication, and from its end to the streams' next ones."""
    cluster, drivers = bench.cluster, bench.drivers
    applications = [cluster.applications[name]["metadata"]["name"] for name in streams]
    pods = {driver_pod_name(one) for one in applications}
    meter = await Meter(bench.plane, cluster, [operator]).begin()
    created = monotonic()
    await cluster.create(JOBS, workload.alter(ALTER, bench.tables.location(source)))
    await _until(bench, operator, "asked", lambda: pods <= seen.asked)
    asked = monotonic()
    await cluster.all_of([drivers.pause(cluster.applications[name], progress(1)) for name in streams])
    stopped = monotonic()
    await _until(bench, operator, "granted", cluster.has_application(ALTER))
    granted = cluster.applied_at[ALTER]
    alter = cluster.applications[ALTER]
    await _until(bench, operator, "running", drivers.runs(alter["metadata"]["name"]))
    ended = monotonic()
    await drivers.end(alter)
    following = {f"{one.rpartition('-')[0]}-2" for one in applications}
    await _until(bench, operator, "going on", lambda: following <= seen.applications)
    went_on = monotonic()
    return {
        "streams that pause": len(streams),
        "change created to all asked, s": asked - created,
        "all stopped to the change's SparkApplication, s": granted - stopped,
        "change's end to all streams' SparkApplications, s": went_on - ended,
        "operator CPU for a pause, ms a stream": 1000 * meter.operator_seconds / len(streams),
    }


async def _until(bench: Bench, operator: Operator, what: str, reached: Callable[[], bool]) -> None:
    if not await bench.until(reached, operator, bench.limit):
        raise BenchError(f"not all {what} within {bench.limit:.0f} s: {operator.log}")


def progress(batches: int) -> Json:
    """As the runner of a stream says it."""
    now = datetime.now(UTC).isoformat()
    return {
        "statement": 1,
        "of": 1,
        "since": now,
        "stream": {
            "queryId": "b0a9d0a7-0b0e-4a3d-9f4c-2f8f1f6f2a11",
            "batch": batches - 1,
            "batches": batches,
            "rows": 1_000,
            "batchAt": now,
            "batchSeconds": 2,
            "lag": {"files": 3, "bytes": 1_000_000},
        },
    }

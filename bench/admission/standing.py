"""What exists in the cluster before anything is measured: an operator makes one job of each kind, and the rest are copies."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

from bench.admission import workload
from bench.admission.cluster import NAMESPACE, BenchError
from bench.admission.copies import Place, Template
from bench.admission.drivers import Play
from bench.admission.etcd import Stored, key_of
from bench.admission.operator_process import Operator, configuration
from bench.admission.stage import READY_SECONDS, Bench, numbered

from sluice.api import names
from sluice.controller.process.configuration import OperatorConfig
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS, PODS, Resource

BACK = -1
"""The priority of jobs that wait behind everybody else."""

READERS = 100

_BROUGHT = ("finished", "hold", "wait", "unbound", "stream")
"""Each beside those before it."""
_SPARK_GROUP = KUBEFLOW_APPLICATIONS.api.split("/")[2]


@dataclass(frozen=True)
class Standing:
    """How many jobs of each kind."""

    new: int = 0
    """Jobs on tables of their own, which no operator has seen yet."""
    finished: int = 0
    """Finished jobs, with what they left."""
    holders: int = 0
    """Jobs whose driver runs, each on a table of its own."""
    waiting: int = 0
    """Jobs that wait behind the holders, on their tables in turn."""
    unbound: int = 0
    """Jobs by names of tables that may be any, behind everybody else."""
    streams: int = 0
    """Streams whose driver runs, each on a table of its own; up to 100 of them read one source."""


def new_names(standing: Standing) -> list[str]:
    return numbered("new", standing.new)


def holder_names(standing: Standing) -> list[str]:
    return numbered("hold", standing.holders)


def stream_names(standing: Standing) -> list[str]:
    return numbered("stream", standing.streams)


def source_of(number: int) -> str:
    """What the stream of this number reads."""
    return f"source-{number // READERS:06}"


def table_names(standing: Standing) -> list[str]:
    return numbered("table", standing.holders)


async def stand(bench: Bench, standing: Standing) -> None:
    begun = monotonic()
    templates = await _templates(bench, standing)
    bench.drivers.play = Play.NOTHING
    await bench.etcd.put_all(_copies(bench, standing, templates))
    attempts = standing.finished + standing.holders + standing.streams
    if not await bench.cluster.until(lambda: len(bench.cluster.applied_at) >= attempts, bench.limit):
        raise BenchError(
            f"the bench sees {len(bench.cluster.applied_at):,} of {attempts:,} SparkApplications"
        )
    for name in holder_names(standing):
        bench.drivers.running.add(bench.cluster.applications[name]["metadata"]["name"])
    bench.found.figures["set up in, s"] = monotonic() - begun


async def _templates(bench: Bench, standing: Standing) -> dict[str, Template]:
    wanted = (standing.finished, standing.holders, standing.waiting, standing.unbound, standing.streams)
    kinds = [kind for kind, count in zip(_BROUGHT, wanted, strict=True) if count]
    found: dict[str, Template] = {}
    if kinds:
        operator = await bench.leader("operator-of-templates")
        for kind in kinds:
            await _bring(bench, kind, operator)
        await operator.stop()
    for kind in kinds:
        found[kind] = await _template(bench, kind, found)
    if standing.new:
        await bench.create("new-000000")
        found["new"] = await template_of(bench, "new-000000")
    return found


async def _bring(bench: Bench, kind: str, operator: Operator) -> None:
    name = f"{kind}-000000"
    match kind:
        case "finished":
            bench.drivers.play = Play.ENDS
            await bench.create(name)
            await _reaches(bench, name, "Succeeded", operator)
            await _let_go(bench, name, operator)
        case "hold":
            bench.drivers.play = Play.RUNS
            await bench.create(name, "table-000000")
            await _reaches(bench, name, "Running", operator)
        case "wait":
            await bench.create(name, "table-000000")
            await _reaches(bench, name, "Waiting", operator)
        case "stream":
            bench.drivers.play = Play.RUNS
            places = (bench.tables.location(one) for one in (source_of(0), name))
            await bench.cluster.create(JOBS, workload.stream(name, *places))
            await _reaches(bench, name, "Running", operator)
        case _:
            await bench.cluster.create(JOBS, workload.job_by_name(name, name, priority=BACK))
            await _reaches(bench, name, "Waiting", operator)


async def _reaches(bench: Bench, name: str, phase: str, operator: Operator) -> None:
    if not await bench.until(bench.cluster.has_been(name, phase), operator, READY_SECONDS):
        raise BenchError(f"{name} is not {phase} after {READY_SECONDS:.0f} s: {operator.log}")


async def _let_go(bench: Bench, job: str, operator: Operator) -> None:
    """Waits until the operator has taken its finalizers off."""
    end = monotonic() + READY_SECONDS
    application = bench.cluster.applications[job]["metadata"]["name"]
    pod = bench.cluster.applications[job]["spec"]["driver"]["podName"]
    for resource, name in ((KUBEFLOW_APPLICATIONS, application), (PODS, pod)):
        while (await bench.cluster.kube.get(resource, NAMESPACE, name))["metadata"].get("finalizers"):
            operator.must_run()
            if monotonic() > end:
                raise BenchError(f"{resource.plural} {name} keeps its finalizer: {operator.log}")
            await asyncio.sleep(0.1)


async def _template(bench: Bench, kind: str, found: dict[str, Template]) -> Template:
    name = f"{kind}-000000"
    match kind:
        case "finished":
            return await template_of(bench, name, has_attempt=True)
        case "hold":
            return await template_of(bench, name, "table-000000", has_attempt=True)
        case "wait":
            return await template_of(bench, name, "table-000000", found["hold"].place)
        case "stream":
            return await template_of(bench, name, source_of(0), has_attempt=True)
        case _:
            return await template_of(bench, name)


async def template_of(
    bench: Bench,
    name: str,
    table: str = "",
    holder: Place | None = None,
    *,
    namespace: str = NAMESPACE,
    has_attempt: bool = False,
) -> Template:
    """The template made of a job as it is now."""
    job = await bench.cluster.kube.get(JOBS, namespace, name)
    place = Place.of(job, table, holder)
    objects = [await bench.etcd.get(stored_at(JOBS, namespace, name))]
    if not has_attempt:
        return Template(place, tuple(objects))
    ids = []
    application = bench.cluster.applications[name]["metadata"]["name"]
    pod = bench.cluster.applications[name]["spec"]["driver"]["podName"]
    for resource, of in ((KUBEFLOW_APPLICATIONS, application), (PODS, pod)):
        body = await bench.cluster.kube.get(resource, namespace, of)
        ids.append(str(body["metadata"]["uid"]))
        objects.append(await bench.etcd.get(stored_at(resource, namespace, of)))
    profiles = OperatorConfig.model_validate(configuration(bench.plane.redis_url)).runtimes
    return Template(place, tuple(objects), tuple(ids), profiles)


def stored_at(resource: Resource, namespace: str, name: str) -> str:
    groups = {JOBS: names.GROUP, KUBEFLOW_APPLICATIONS: _SPARK_GROUP}
    return key_of(resource.plural, groups.get(resource, ""), namespace, name)


def _copies(bench: Bench, standing: Standing, templates: dict[str, Template]) -> Iterator[Stored]:
    """Copies; the first of each kind is its template."""
    for number, name in _others(new_names(standing)):
        yield from _copied(bench, templates["new"], Place.new(name), number)
    for number, name in _others(numbered("finished", standing.finished)):
        yield from _copied(bench, templates["finished"], Place.new(name), number)
    holders = []
    for number, name in enumerate(holder_names(standing)):
        template = templates["hold"]
        holder = Place.new(name, table_names(standing)[number]) if number else template.place
        holders.append(holder)
        if number:
            yield from _copied(bench, template, holder, standing.finished + number)
    for number, name in _others(numbered("wait", standing.waiting)):
        holder = holders[number % len(holders)]
        yield from _copied(bench, templates["wait"], Place.new(name, holder.table, holder), number)
    for number, name in _others(stream_names(standing)):
        bench.tables.location(name)
        reads = Place.new(name, source_of(number))
        yield from _copied(bench, templates["stream"], reads, standing.finished + standing.holders + number)
    for number, name in _others(numbered("unbound", standing.unbound)):
        yield from _copied(bench, templates["unbound"], Place.new(name), number)


def _copied(bench: Bench, template: Template, to: Place, number: int) -> Iterator[Stored]:
    bench.tables.location(to.table)
    return template.copy(to, number)


def _others(made: Sequence[str]) -> Iterator[tuple[int, str]]:
    return iter(list(enumerate(made))[1:])

"""What others must not notice: good jobs alone, and beside a server in trouble or jobs that nobody should have written."""

import json
from collections.abc import Callable, Iterator
from time import monotonic

from bench.admission import workload
from bench.admission.copies import Place, Template
from bench.admission.drivers import Play
from bench.admission.etcd import Stored
from bench.admission.hung_store import HungStore
from bench.admission.operator_process import Operator
from bench.admission.proxy import Proxy
from bench.admission.stage import Bench, numbered
from bench.admission.standing import stored_at, template_of

from sluice.api.base import Json
from sluice.engines.attempt import application_name
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS, NAMESPACES

ELSEWHERE = "poisoned"
"""The namespace of the jobs that poison."""
REFUSED = 0.2
"""The share of requests that a throttling API server refuses."""
LATE_SECONDS = 5.0


async def throttled(bench: Bench) -> None:
    """Good jobs from created to finished, first with a healthy API server, then with one that answers a fifth of all requests
    with 429."""

    def begins(proxy: Proxy) -> None:
        proxy.refuses = REFUSED

    await _in_trouble(bench, begins)


async def slow(bench: Bench) -> None:
    """Good jobs from created to finished, first with a healthy API server, then with one whose answers take 5 s."""

    def begins(proxy: Proxy) -> None:
        proxy.seconds = LATE_SECONDS

    await _in_trouble(bench, begins)


async def _in_trouble(bench: Bench, begins: Callable[[Proxy], None]) -> None:
    found = bench.found
    async with Proxy(bench.plane, bench.folder) as proxy:
        bench.reached_by = proxy.kubeconfig
        operator = await bench.leader()
        alone = await _all_finish(bench, "well", bench.jobs, operator)
        begins(proxy)
        asked = proxy.asked
        found.wanted = bench.jobs
        async with bench.measured([operator]) as meter:
            beside = await _all_finish(bench, "late", bench.jobs, operator)
            found.reached = _finished(bench, "late", bench.jobs)
            await meter.end(found, units=found.reached)
        figures = {
            "jobs/s by a healthy one": bench.jobs / alone,
            "jobs/s in trouble": found.reached / beside,
            "requests in trouble": float(proxy.asked - asked),
            "refused with 429": float(proxy.refused),
        }
        found.figures = figures | found.figures
        await operator.stop()


async def hung_store(bench: Bench) -> None:
    """Jobs on tables of a store that never answers, while good jobs on others go from created to finished."""
    async with HungStore() as store:
        bench.environment = store.environment
        operator = await bench.leader()

        def hung() -> Iterator[Stored]:
            return _copies(template, "hung", bench.jobs)

        alone = await _all_finish(bench, "alone", bench.options.good, operator)
        body = workload.job("hung-000000", "s3a://hung/hung-000000")
        await bench.cluster.create(JOBS, body)
        template = await template_of(bench, "hung-000000")
        await _beside(bench, operator, alone, hung)
        bench.found.figures["connections to the store"] = float(store.connections)
        operator.kill()


async def poisoned_texts(bench: Bench) -> None:
    """Jobs of another namespace whose texts nobody understands, while good jobs go from created to finished."""
    await _poisoned(bench, workload.job_not_understood, lambda stored: stored)


async def poisoned_statuses(bench: Bench) -> None:
    """Jobs of another namespace whose statuses can't be read, while good jobs go from created to finished."""

    def rewound(stored: Stored) -> Stored:
        body = json.loads(stored.value) | {"status": {"phase": "Rewinding"}}
        return Stored(stored.key, json.dumps(body).encode())

    await _poisoned(bench, _elsewhere, rewound)


async def poisoned_names(bench: Bench) -> None:
    """Jobs of another namespace whose SparkApplications' names are taken, while good jobs go from created to finished."""
    await _poisoned(bench, _elsewhere, lambda stored: stored, names_taken=True)


def _elsewhere(name: str) -> Json:
    return workload.job(name, f"file:/nowhere/{name}")


async def _poisoned(
    bench: Bench,
    body: Callable[[str], Json],
    changed: Callable[[Stored], Stored],
    *,
    names_taken: bool = False,
) -> None:
    cluster = bench.cluster
    await cluster.create(NAMESPACES, {"metadata": {"name": ELSEWHERE}}, namespace=None)
    bench.watched_beside = (ELSEWHERE,)
    first = "poison-000000"
    await cluster.create(JOBS, body(first), namespace=ELSEWHERE)
    template = await template_of(bench, first, namespace=ELSEWHERE)
    if names_taken:
        taken = _somebodys_own(application_name(first, template.place.uid, 1))
        created = await cluster.create(KUBEFLOW_APPLICATIONS, taken, namespace=ELSEWHERE)
        stored = await bench.etcd.get(stored_at(KUBEFLOW_APPLICATIONS, ELSEWHERE, taken["metadata"]["name"]))
        # Made before the job, so that the name is taken when the job comes.
        objects = (stored, *template.objects)
        template = Template(template.place, objects, (created["metadata"]["uid"],))
    operator = await bench.leader()
    alone = await _all_finish(bench, "alone", bench.options.good, operator)

    def poison() -> Iterator[Stored]:
        return map(changed, _copies(template, "poison", bench.jobs))

    await _beside(bench, operator, alone, poison)
    listed = await cluster.kube.list(JOBS, ELSEWHERE)
    told = sum("reason" in (one.get("status") or {}) for one in listed["items"])
    bench.found.figures["poisoned ones told at the end"] = float(told)


async def _beside(
    bench: Bench, operator: Operator, alone: float, others: Callable[[], Iterator[Stored]]
) -> None:
    """Measures good jobs while the others come, and once more when they are there."""
    found, good = bench.found, bench.options.good
    found.wanted = 2 * good
    async with bench.measured([operator]) as meter:
        bench.cluster.soon(bench.etcd.put_all(others()))
        as_they_come = await _all_finish(bench, "while", good, operator)
        beside = await _all_finish(bench, "beside", good, operator)
        found.reached = _finished(bench, "while", good) + _finished(bench, "beside", good)
        await meter.end(found, units=found.reached)
    figures = {
        f"{good} good jobs alone, s": alone,
        f"{good} good jobs while the others come, s": as_they_come,
        f"{good} good jobs beside them, s": beside,
        "beside them, times as long": beside / alone,
    }
    found.figures = figures | found.figures


async def _all_finish(bench: Bench, kind: str, count: int, operator: Operator) -> float:
    """Seconds from created to finished, with drivers that end at once; or the limit's seconds."""
    bench.drivers.play = Play.ENDS
    begun = monotonic()
    bench.cluster.soon(bench.create_all(numbered(kind, count)))
    await bench.until(lambda: _finished(bench, kind, count) == count, operator, bench.limit)
    return monotonic() - begun


def _finished(bench: Bench, kind: str, count: int) -> int:
    return sum((name, "Succeeded") in bench.cluster.phase_at for name in numbered(kind, count))


def _copies(template: Template, kind: str, count: int) -> Iterator[Stored]:
    """Copies; the first one is the template."""
    for number, name in enumerate(numbered(kind, count)):
        if number:
            yield from template.copy(Place.new(name), number)


def _somebodys_own(name: str) -> Json:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": name},
        "spec": {
            "type": "Python",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": "local:///x.py",
            "driver": {},
            "executor": {},
        },
    }

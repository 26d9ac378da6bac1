"""What there is of a job in its namespace: the job, its applications and pods, their Events and logs, its report, its tables'
policies and queues."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.engines import DRIVER_CONTAINER, ENGINES
from sluice.engines.attempt import EXECUTOR_ROLE, LABEL_ROLE, LABEL_SPARK
from sluice.kube.client import ApiError, KindMissingError, NotFoundError
from sluice.kube.resources import CONFIG_MAPS, EVENTS, JOBS, PODS, POLICIES, Resource
from sluice.online.access.job_names import JobName
from sluice.online.access.job_objects import attempts_of, object_in, objects_in, status_in
from sluice.online.bundle.collection import Collection
from sluice.online.bundle.logs import end_of_log
from sluice.online.queue.queue_objects import FORBIDDEN, every, queues
from sluice.online.queue.table_queues import Policies
from sluice.tables import TableKey, keys_of

_MOST_EXECUTORS = 20
_MOST_WITH_EVENTS = 60


@dataclass
class JobParts:
    """What was found, by which more is found."""

    job: JobName
    body: Json | None = None
    applications: list[Json] = field(default_factory=list)
    pods: list[Json] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)

    @property
    def is_there(self) -> bool:
        return any((self.body, self.applications, self.pods, self.events))

    @property
    def uid(self) -> str | None:
        return None if self.body is None else str(self.body["metadata"]["uid"])

    @property
    def selector(self) -> str:
        """Its objects, by its uid; those of all jobs that had its name where it isn't known."""
        by_name = f"{names.LABEL_JOB}={self.job.name[:63].rstrip('-.')}"
        return by_name if self.uid is None else f"{names.LABEL_JOB_UID}={self.uid}"

    @property
    def words(self) -> set[str]:
        """By which a line of a log is known to be about it."""
        bodies = (*self.applications, *self.pods)
        found = {str(self.job), *(str(one["metadata"]["name"]) for one in bodies)}
        return found | ({self.uid} if self.uid else set())

    @property
    def attempts(self) -> list[Json]:
        return [] if self.body is None else attempts_of(self.body)

    @property
    def tables(self) -> list[str]:
        footprint = objects_in(status_in(self.body or {}).get("footprint"))
        return list(dict.fromkeys(str(one.get("table")) for one in footprint))


async def collect_job(collecting: Collection, found: JobParts) -> None:
    """Raises ApiError where nothing can be asked at all."""
    job, bundle = found.job, collecting.bundle
    try:
        found.body = await collecting.kube.get(JOBS, job.namespace, job.name)
        bundle.add("job.json", "the job", found.body)
    except ApiError as error:
        if not error.status or error.status == 401:
            raise
        bundle.lacks("the job", str(error))
    for resource in _application_kinds():
        await _collect_applications(collecting, found, resource)
    await _collect_pods(collecting, found)
    await _collect_events(collecting, found)


async def collect_around_job(collecting: Collection, found: JobParts) -> None:
    await _collect_reports(collecting, found)
    await collect_policies(collecting, found)
    await _collect_queue(collecting, found)
    await _collect_driver_logs(collecting, found)


def _application_kinds() -> Iterator[Resource]:
    for kind in EngineKind:
        engine = ENGINES.get(kind)
        if engine is not None:
            yield Resource(engine.api, engine.plural)


async def _collect_applications(collecting: Collection, found: JobParts, resource: Resource) -> None:
    what = f"its applications of {resource.api_version}"
    async with collecting.part(what):
        try:
            applications = await collecting.some(resource, found.job.namespace, found.selector)
        except (KindMissingError, NotFoundError):
            collecting.bundle.lacks(what, "the API server serves none")
            return
        for one in applications:
            found.applications.append(one)
            name = one["metadata"]["name"]
            collecting.bundle.add(f"applications/{name}.json", f"{what.removeprefix('its ')}: {name}", one)


async def _collect_pods(collecting: Collection, found: JobParts) -> None:
    async with collecting.part("its pods"):
        found.pods += await collecting.some(PODS, found.job.namespace, found.selector)
        ids = sorted(_spark_ids(found))
        if ids:
            selector = f"{LABEL_SPARK} in ({','.join(ids)}),{LABEL_ROLE}={EXECUTOR_ROLE}"
            executors = await collecting.some(PODS, found.job.namespace, selector)
            executors.sort(key=lambda pod: status_in(pod).get("phase") in ("Running", "Succeeded"))
            found.pods += executors[:_MOST_EXECUTORS]
            if len(executors) > _MOST_EXECUTORS:
                why = f"the first {_MOST_EXECUTORS} are there, and those that neither run nor succeeded come first"
                collecting.bundle.lacks("all executors' pods", why)
        for pod in found.pods:
            name = pod["metadata"]["name"]
            collecting.bundle.add(f"pods/{name}.json", f"pod {name}", pod)


def _spark_ids(found: JobParts) -> set[str]:
    of_pods = {object_in(pod["metadata"].get("labels")).get(LABEL_SPARK) for pod in found.pods}
    of_status = {object_in(one.get("driver")).get("sparkApplication") for one in found.attempts}
    return {str(one) for one in of_pods | of_status if one}


async def _collect_events(collecting: Collection, found: JobParts) -> None:
    job = found.job
    async with collecting.part("Events"):
        if found.body is None:
            fields = [f"involvedObject.name={job.name},involvedObject.kind={names.JOB_KIND}"]
        else:
            fields = [f"involvedObject.uid={found.uid}"]
        others = [*found.applications, *found.pods]
        fields += [f"involvedObject.uid={one['metadata']['uid']}" for one in others[:_MOST_WITH_EVENTS]]
        for one in fields:
            found.events += await collecting.some(EVENTS, job.namespace, fields=one)
        found.events.sort(key=lambda event: (_last_seen(event), event["metadata"]["name"]))
        what = "Events of the job, its applications and pods, oldest first"
        collecting.bundle.add("events.json", what, found.events)


def _last_seen(event: Json) -> str:
    told = (event.get("lastTimestamp"), event.get("eventTime"), event["metadata"].get("creationTimestamp"))
    return str(next((one for one in told if one), ""))


async def _collect_reports(collecting: Collection, found: JobParts) -> None:
    for attempt in found.attempts:
        name = object_in(attempt.get("report")).get("configMap")
        if not name:
            continue
        what = f"the report of attempt {attempt.get('number')}"
        async with collecting.part(what):
            body = await collecting.kube.get(CONFIG_MAPS, found.job.namespace, str(name))
            collecting.bundle.add(f"reports/{name}.json", what, body)


async def collect_policies(collecting: Collection, found: JobParts) -> None:
    async with collecting.part("policies of its tables"):
        policies = await _policies(collecting, found.job.namespace)
        known = Policies(policies)
        tables = {known.one_key(TableKey.parse(one)) for one in found.tables}
        for body in policies:
            if tables.intersection(known.one_key(key) for key in _keys_of(body)):
                metadata = body["metadata"]
                name = f"{metadata['namespace']}.{metadata['name']}"
                collecting.bundle.add(f"policies/{name}.json", f"policy {name}", body)


def _keys_of(policy: Json) -> Iterable[TableKey]:
    table = object_in(object_in(policy.get("spec")).get("table"))
    return [key for key in keys_of(table.get("name"), table.get("path")) if key is not None]


async def _policies(collecting: Collection, namespace: str) -> Sequence[Json]:
    """Lists all policies, however many there are: any of them may declare a table of the job."""
    try:
        return await every(collecting.kube, POLICIES, None)
    except ApiError as error:
        if error.status != FORBIDDEN:
            raise
        collecting.bundle.lacks("policies of its tables in other namespaces", str(error))
    return await every(collecting.kube, POLICIES, namespace)


async def _collect_queue(collecting: Collection, found: JobParts) -> None:
    async with collecting.part("the queues of its tables"):
        answer = await queues(found.job.namespace, None)
        own = [
            table
            for table in answer["tables"]
            if any(
                one["job"] == str(found.job)
                for one in (*table["holders"], *table["waiters"], *table["aside"])
            )
        ]
        content = answer | {"tables": own}
        collecting.bundle.add("queue.json", "what `sluice queue` says of its tables", content)


async def _collect_driver_logs(collecting: Collection, found: JobParts) -> None:
    for pod in found.pods:
        metadata = pod["metadata"]
        if object_in(metadata.get("labels")).get(LABEL_ROLE) != "driver" or not _has_begun(pod):
            continue
        what = f"the log of driver {metadata['name']}"
        async with collecting.part(what):
            log = await end_of_log(collecting.kube, metadata["namespace"], metadata["name"], DRIVER_CONTAINER)
            collecting.bundle.add(f"logs/{metadata['name']}.log", what, log.text, log.note)


def _has_begun(pod: Json) -> bool:
    for one in objects_in(status_in(pod).get("containerStatuses")):
        if one.get("name") == DRIVER_CONTAINER:
            state = object_in(one.get("state"))
            return "running" in state or "terminated" in state
    return False

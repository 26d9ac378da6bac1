"""The log of a job's driver, as its pod has it; and where else to look once the pod is gone."""

import asyncio
from collections.abc import AsyncIterator, Callable

from sluice.api.base import Json
from sluice.api.job_status import OVER
from sluice.engines import DRIVER_CONTAINER
from sluice.engines.attempt import driver_pod_name
from sluice.kube.client import ApiError, Kube, NotFoundError
from sluice.kube.resources import JOBS, PODS
from sluice.online.access.errors import OnlineError
from sluice.online.access.job_names import JobName
from sluice.online.access.job_objects import attempts_of, object_in, objects_in, phase_of, status_in

PAUSE = 2.0
"""Seconds between two looks at what is waited for."""

Say = Callable[[str], None]


async def driver_log(
    kube: Kube, job: JobName, *, attempt: int | None, follow: bool, say: Say
) -> AsyncIterator[bytes]:
    """Yields the lines of the latest attempt's driver, or of that attempt's. With `follow` it waits for the driver to start, and
    ends with it. Raises OnlineError if there is no log to be had."""
    told = ""
    while True:
        body = await _job(kube, job)
        record = _record(job, body, attempt)
        if record is not None and await _has_log(kube, job, record):
            break
        why = _why_not_yet(job, body, record, attempt)
        if not follow or _is_over(body, record):
            raise OnlineError(why)
        if why != told:
            told = why
            say(why)
        await asyncio.sleep(PAUSE)
    async for line in _lines_of(kube, job, record, follow=follow, say=say):
        yield line


async def _job(kube: Kube, job: JobName) -> Json:
    try:
        return await kube.get(JOBS, job.namespace, job.name)
    except NotFoundError as error:
        raise OnlineError(
            f"there is no job {job}: see `kubectl get deltawritejobs -n {job.namespace}`"
        ) from error


def _record(job: JobName, body: Json, number: int | None) -> Json | None:
    """What the job's status keeps of the attempt; None: there is none yet."""
    attempts = attempts_of(body)
    if number is None:
        return attempts[-1] if attempts else None
    found = next((one for one in attempts if one.get("number") == number), None)
    if found is None and attempts and number < int(attempts[0].get("number", 1)):
        raise OnlineError(
            f"the status of {job} keeps its latest attempts only, and attempt {number} is older"
        )
    return found


def _is_over(body: Json, record: Json | None) -> bool:
    """Whether no driver can start any more."""
    return phase_of(body) in OVER or (record is not None and record.get("endedAt") is not None)


async def _has_log(kube: Kube, job: JobName, record: Json) -> bool:
    """Whether the container of this very driver has begun."""
    state = await _state(kube, job, record)
    return "running" in state or "terminated" in state


async def _runs(kube: Kube, job: JobName, record: Json) -> bool:
    return "running" in await _state(kube, job, record)


async def _state(kube: Kube, job: JobName, record: Json) -> Json:
    """The state of the driver's container; empty where there is no such pod."""
    try:
        pod = await kube.get(PODS, job.namespace, _pod_of(record))
    except NotFoundError:
        return {}
    own = object_in(record.get("driver")).get("podUid")
    if own is not None and own != pod["metadata"]["uid"]:
        return {}
    containers = objects_in(status_in(pod).get("containerStatuses"))
    return next(
        (object_in(one.get("state")) for one in containers if one.get("name") == DRIVER_CONTAINER), {}
    )


def _pod_of(record: Json) -> str:
    return str(object_in(record.get("driver")).get("pod") or driver_pod_name(str(record.get("application"))))


def _why_not_yet(job: JobName, body: Json, record: Json | None, number: int | None) -> str:
    told = ": ".join(str(one) for one in (phase_of(body), status_in(body).get("message")) if one)
    if record is None:
        what = "no attempt" if number is None else f"no attempt {number}"
        return f"{job} has {what}{'' if phase_of(body) in OVER else ' yet'}, and so no driver: {told}"
    driver = f"the driver of {job}, attempt {record.get('number')},"
    if not _is_over(body, record):
        return f"{driver} has not started yet: {told}"
    return f"{driver} is gone, and its log with it: {_elsewhere(job, record)}"


def _elsewhere(job: JobName, record: Json) -> str:
    """What is left of a driver whose pod is gone."""
    report, history = object_in(record.get("report")), object_in(record.get("driver")).get("history")
    found = []
    if record.get("outcome"):
        found.append(
            f"it ended as {record['outcome']}" + (f" ({record['message']})" if record.get("message") else "")
        )
    if record.get("exception"):
        found.append(
            f"its exception is in the status: `kubectl get deltawritejob {job.name} -n {job.namespace} -o yaml`"
        )
    if report.get("configMap"):
        found.append(f"its report is in ConfigMap {job.namespace}/{report['configMap']}")
    if history:
        found.append(f"Spark's history server has it at {history}")
    return " ".join("; ".join(found).split()) or "nothing is left of it but the job's status"


async def _lines_of(
    kube: Kube, job: JobName, record: Json, *, follow: bool, say: Say
) -> AsyncIterator[bytes]:
    query = {"container": DRIVER_CONTAINER, "timestamps": "true"} | ({"follow": "true"} if follow else {})
    place = _Place()
    while True:
        try:
            rest = b""
            async for piece in kube.log(job.namespace, _pod_of(record), query | place.since):
                *lines, rest = (rest + piece).split(b"\n")
                for line in filter(None, lines):
                    if place.is_new(line):
                        yield line.partition(b" ")[2]
            if not follow or not await _runs(kube, job, record):
                if rest and place.is_new(rest):
                    yield rest.partition(b" ")[2]
                return
        except NotFoundError:
            say(f"the pod of {job} was deleted: this is the end of what there is of its log")
            return
        except ApiError as error:
            if not follow or error.is_definite:
                raise
            say(f"the log is lost for now, and is taken up where it ended: {error}")
        await asyncio.sleep(PAUSE)
        place.begin_again()


class _Place:
    """How far a log was read. Every line begins with its time, by which one whose connection was lost is taken up where it
    ended: the kubelet begins at that second, and what was read of it is left out."""

    def __init__(self) -> None:
        self._last = b""
        self._order = (b"", b"")
        self._at_last = 0
        """Lines of that time which were read."""
        self._again = 0
        """How many of them are still to come again."""

    @property
    def since(self) -> dict[str, str]:
        return {"sinceTime": self._last.decode("ascii", "replace")} if self._last else {}

    def begin_again(self) -> None:
        self._again = self._at_last

    def is_new(self, line: bytes) -> bool:
        stamp = line.partition(b" ")[0]
        order = _order(stamp)
        if order < self._order:
            return False
        if order == self._order:
            if self._again:
                self._again -= 1
                return False
            self._at_last += 1
            return True
        self._last, self._order, self._at_last, self._again = stamp, order, 1, 0
        return True


def _order(stamp: bytes) -> tuple[bytes, bytes]:
    """Times are written without the zeros at their end."""
    seconds, _, part = stamp.removesuffix(b"Z").partition(b".")
    return seconds, part.ljust(9, b"0")

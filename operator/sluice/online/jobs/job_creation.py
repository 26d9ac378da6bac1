"""Creates jobs, each at most once, however often it is asked for and whatever becomes of the answers."""

import asyncio
import time
from collections.abc import Sequence

from sluice.api.base import Json
from sluice.api.job_status import OVER
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.resources import JOBS
from sluice.online.access.errors import OnlineError
from sluice.online.access.job_objects import phase_of
from sluice.online.jobs.job_files import JobManifest
from sluice.online.jobs.job_follower import Say
from sluice.online.jobs.job_progress import JobProgress

MANAGER = "sluice-run"
PATIENCE = 60.0
"""Seconds for which a job is sent again to an API server that doesn't answer."""
PAUSE = 1.0


async def check(kube: Kube, works: Sequence[JobManifest]) -> None:
    """Has the API server judge all of them, before any is created. Raises OnlineError if one would be refused, or is there with
    another spec."""
    for work in works:
        try:
            await _create(kube, work, only_try=True)
        except ConflictError:
            await _there_already(kube, work)


async def create(kube: Kube, works: Sequence[JobManifest], courses: list[JobProgress], say: Say) -> None:
    """Creates them, in this order, and adds each to the courses as soon as it may be there."""
    for work in works:
        creating = asyncio.ensure_future(_created(kube, work, say))
        try:
            courses.append(await asyncio.shield(creating))
        except asyncio.CancelledError:
            courses.append(await creating)  # else nobody would know that it is there
            raise


async def _created(kube: Kube, work: JobManifest, say: Say) -> JobProgress:
    until = time.monotonic() + PATIENCE
    perhaps_there = False
    while True:
        try:
            body = await _create(kube, work)
        except ConflictError:
            if work.is_named_here and not perhaps_there:
                work = work.renamed()
                continue
            there = await _there_already(kube, work)
            if perhaps_there:
                say(work.job, "created; the API server's answer was lost")
                return JobProgress(work.job, there["metadata"]["uid"])
            return _found(work, there, say)
        except ApiError as error:
            if error.is_definite or time.monotonic() > until:
                raise
            perhaps_there = True
            await asyncio.sleep(PAUSE)
        else:
            say(work.job, "created")
            return JobProgress(work.job, body["metadata"]["uid"], body)


async def _create(kube: Kube, work: JobManifest, *, only_try: bool = False) -> Json:
    try:
        return await kube.create(
            JOBS, work.job.namespace, work.manifest, only_try=only_try, as_manager=MANAGER
        )
    except ConflictError:
        raise
    except ApiError as error:
        if not error.is_definite or error.status == 401:
            raise
        raise OnlineError(f"{work.place}: {work.job} is refused by the cluster: {error}") from error


async def _there_already(kube: Kube, work: JobManifest) -> Json:
    """The job of this name; raises OnlineError unless it is the same work, and stays."""
    try:
        there = await kube.get(JOBS, work.job.namespace, work.job.name)
    except NotFoundError as error:
        raise OnlineError(f"{work.job} was deleted at this moment: run it again") from error
    phase = phase_of(there)
    if there["spec"] != await _as_stored(kube, work):
        raise OnlineError(
            f"{work.place}: {work.job} is there with another spec ({phase}): give this one a name of its own, or "
            f"metadata.generateName; or delete that one first: {work.job.kubectl_delete}"
        )
    if there["metadata"].get("deletionTimestamp") and phase not in OVER:
        raise OnlineError(f"{work.job} is there and is being deleted ({phase}): run it again once it is gone")
    return there


async def _as_stored(kube: Kube, work: JobManifest) -> Json:
    """The spec as the API server would keep it, with its defaults: under a name of its own, as the job's is taken."""
    metadata = {key: value for key, value in work.manifest["metadata"].items() if key != "name"}
    body = work.manifest | {"metadata": metadata | {"generateName": f"{work.job.name[:50]}-"}}
    tried = await kube.create(JOBS, work.job.namespace, body, only_try=True, as_manager=MANAGER)
    spec: Json = tried["spec"]
    return spec


def _found(work: JobManifest, there: Json, say: Say) -> JobProgress:
    course = JobProgress(work.job, there["metadata"]["uid"])
    phase = phase_of(there)
    if phase in OVER:
        say(
            work.job,
            f"is there already with this spec and has ended ({phase}): nothing was started. To run it again, delete it first "
            f"({work.job.kubectl_delete}), or give it metadata.generateName",
        )
    else:
        say(work.job, f"is there already with this spec ({phase}): nothing was created")
    return course

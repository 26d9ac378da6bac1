"""Changes to jobs that people ask for: each is decided on a job as it is, and made only if the job still is so."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sluice.api.base import Json
from sluice.api.job_status import OVER
from sluice.kube.client import UNAUTHORIZED, ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.resources import JOBS
from sluice.online.access.job_names import JobName
from sluice.online.access.job_objects import key_of, phase_of

TRIES = 10
"""How often a job is looked at again that changes while it is being changed: the operator writes its status a few times a run."""


class Result(StrEnum):
    CHANGED = "Changed"
    UNCHANGED = "Unchanged"
    """It is so already, or it makes no difference any more."""
    REFUSED = "Refused"
    """What the job is doing does not allow it."""
    FAILED = "Failed"
    """The job isn't there, or the cluster refuses."""


@dataclass(frozen=True)
class ChangeDecision:
    result: Result
    message: str
    patch: Json | None = None
    """A merge patch; None: nothing is to be changed."""


@dataclass(frozen=True)
class ChangeReport:
    """What became of the wish for one job."""

    job: JobName
    result: Result
    message: str
    body: Json | None = None
    """The job on which it was decided; None: it was not seen."""

    def as_json(self) -> Json:
        return {
            "job": str(self.job),
            "result": self.result.value,
            "phase": None if self.body is None else phase_of(self.body),
            "message": self.message,
        }


Decide = Callable[[JobName, Json], ChangeDecision]


async def changed(kube: Kube, job: JobName, decide: Decide, manager: str) -> ChangeReport:
    """Raises ApiError only where each other job would be answered alike: by nothing, or because it isn't known who asks."""
    try:
        return await _changed(kube, job, decide, manager)
    except NotFoundError:
        message = f"there is no such job: see `kubectl get deltawritejobs -n {job.namespace}`"
        return ChangeReport(job, Result.FAILED, message)
    except ApiError as error:
        if not error.status or error.status == UNAUTHORIZED:
            raise
        return ChangeReport(job, Result.FAILED, f"the cluster refuses: {error}")


async def _changed(kube: Kube, job: JobName, decide: Decide, manager: str) -> ChangeReport:
    for _ in range(TRIES):
        body = await kube.get(JOBS, job.namespace, job.name)
        decision = decide(job, body)
        if decision.patch is not None:
            metadata = body["metadata"]
            version = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            patch = decision.patch | {"metadata": decision.patch.get("metadata", {}) | version}
            try:
                await kube.patch(JOBS, job.namespace, job.name, patch, as_manager=manager)
            except ConflictError:
                continue
        return ChangeReport(job, decision.result, decision.message, body)
    return ChangeReport(
        job, Result.FAILED, f"it was not changed: it changed {TRIES} times meanwhile by itself: try again"
    )


async def jobs_that_go_on(kube: Kube, namespace: str, selector: str) -> AsyncIterator[JobName]:
    async for page in kube.pages(JOBS, namespace, selector):
        for body in page["items"]:
            if phase_of(body) not in OVER:
                yield JobName(*key_of(body).split("/", 1))


def worst(told: Sequence[ChangeReport]) -> Result:
    order = (Result.FAILED, Result.REFUSED)
    return next((one for one in order if any(each.result is one for each in told)), Result.CHANGED)

"""Asks the operator for one more attempt of a job that has failed."""

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import OVER, Phase
from sluice.kube.client import Kube
from sluice.online.access.job_names import JobName
from sluice.online.access.job_objects import attempts_of, object_in, phase_of, status_in, whole_number
from sluice.online.jobs.job_changes import ChangeDecision, ChangeReport, Result, changed
from sluice.online.jobs.job_progress import JobProgress, OldEnd

MANAGER = "sluice-retry"
_MOST_DIGITS = 10


async def ask_for_another(kube: Kube, job: JobName) -> ChangeReport:
    return await changed(kube, job, _decide, MANAGER)


def course_of(told: ChangeReport) -> JobProgress | None:
    """The way of the job from the request on; None if there is nothing to follow."""
    if told.body is None or told.result not in (Result.CHANGED, Result.UNCHANGED):
        return None
    number = _last_attempt(told.body)
    course = JobProgress(
        told.job,
        told.body["metadata"]["uid"],
        old_end=OldEnd(status_in(told.body).get("finishedAt"), _word(told.body, number)),
    )
    course.sees(told.body)
    return course


def _decide(job: JobName, body: Json) -> ChangeDecision:
    number = _last_attempt(body)
    why = _why_not(job, body, number)
    if why is not None:
        return ChangeDecision(Result.REFUSED, why)
    asked, word = f"another attempt after number {number} is asked for", _word(body, number)
    if object_in(body["metadata"].get("annotations")).get(names.ANNOTATION_RETRY) == word:
        return ChangeDecision(Result.UNCHANGED, f"{asked} already; the operator has not answered yet")
    message = f"{asked}: it queues again, with its age, or an Event (NotRetried) says why not"
    return ChangeDecision(
        Result.CHANGED, message, {"metadata": {"annotations": {names.ANNOTATION_RETRY: word}}}
    )


def _why_not(job: JobName, body: Json, number: int | None) -> str | None:
    phase = phase_of(body)
    again = f"create it again, under another name or once this one is deleted: {job.kubectl_delete}"
    if body["metadata"].get("deletionTimestamp"):
        return "is being deleted: create it again once it is gone"
    if phase not in OVER:
        return f"has not ended ({phase}): only a job that has failed is tried again: sluice wait {job}"
    if phase != Phase.FAILED.value:
        return f"has ended well ({phase}): for another run {again}"
    if number is None:
        return f"has failed without an attempt, so that there is none to repeat: {again}"
    return None


def _word(body: Json, number: int | None) -> str:
    """The word that the operator hasn't heeded yet: it heeds each once, and what it was asked for may have failed before there was
    another attempt."""
    heeded, _, count = str(status_in(body).get("retryAsked")).partition(".")
    if heeded != str(number):
        return str(number)
    return f"{number}.{int(count) + 1 if count.isascii() and count.isdecimal() and len(count) < _MOST_DIGITS else 2}"


def _last_attempt(body: Json) -> int | None:
    attempts = attempts_of(body)
    return whole_number(attempts[-1].get("number")) if attempts else None

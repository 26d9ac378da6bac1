"""What the commands about single jobs do, from the first question to the last."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sluice.api.job_status import Phase
from sluice.kube.client import ConflictError, Kube, NotFoundError
from sluice.kube.resources import JOBS
from sluice.online.access.connection import cluster
from sluice.online.access.job_names import job_names, namespace_or_usual
from sluice.online.jobs.driver_log import driver_log
from sluice.online.jobs.job_changes import ChangeReport
from sluice.online.jobs.job_creation import check, create
from sluice.online.jobs.job_files import works_in
from sluice.online.jobs.job_follower import Say, follow, stopped_by_signals
from sluice.online.jobs.job_progress import JobProgress
from sluice.online.jobs.retry_requests import ask_for_another, course_of


@dataclass(frozen=True)
class JobRun:
    files: tuple[Path, ...]
    namespace: str | None
    follow: bool = True
    deletes_when_stopped: bool = False


@dataclass
class Ended:
    courses: list[JobProgress] = field(default_factory=list)
    stopped_by: int | None = None
    """The signal by which somebody stopped the command."""


async def run_jobs(request: JobRun, say: Say, seconds: float | None) -> Ended:
    works = works_in(request.files, request.namespace, namespace_or_usual(request.namespace))
    ended = Ended()
    async with cluster() as kube:
        async with stopped_by_signals() as stop:
            await check(kube, works)
            await create(kube, works, ended.courses, say)
            if request.follow:
                await follow(kube, ended.courses, say, seconds=seconds)
                _tell_of_those_left(ended.courses, say)
        if stop.by is not None:
            ended.stopped_by = stop.by
            await _leave(kube, ended.courses, say, deletes=request.deletes_when_stopped)
    return ended


async def wait_for(
    texts: Sequence[str], namespace: str | None, say: Say, until: Phase | None, seconds: float | None
) -> Ended:
    ended = Ended([JobProgress(job) for job in job_names(texts, namespace)])
    async with cluster() as kube:
        async with stopped_by_signals() as stop:
            await follow(kube, ended.courses, say, until=until, seconds=seconds)
            if until is None:
                _tell_of_those_left(ended.courses, say)
        ended.stopped_by = stop.by
    return ended


async def retry(texts: Sequence[str], namespace: str | None) -> list[ChangeReport]:
    named = job_names(texts, namespace)
    async with cluster() as kube:
        return [await ask_for_another(kube, job) for job in named]


async def retry_and_wait(
    texts: Sequence[str], namespace: str | None, say: Say, seconds: float | None
) -> tuple[list[ChangeReport], Ended]:
    """Follows those for which another attempt is asked for; what became of the wish for each is said like any other news."""
    named, told, ended = job_names(texts, namespace), list[ChangeReport](), Ended()
    async with cluster() as kube:
        async with stopped_by_signals() as stop:
            for job in named:
                told.append(await ask_for_another(kube, job))
                say(job, told[-1].message)
            ended.courses += [course for one in told if (course := course_of(one)) is not None]
            await follow(kube, ended.courses, say, seconds=seconds)
            _tell_of_those_left(ended.courses, say)
        ended.stopped_by = stop.by
    return told, ended


async def show_log(
    text: str,
    namespace: str | None,
    *,
    attempt: int | None,
    follow: bool,
    say: Callable[[str], None],
    show: Callable[[bytes], None],
) -> int | None:
    """Returns the signal by which it was stopped, if it was."""
    (job,) = job_names([text], namespace)
    async with cluster() as kube, stopped_by_signals() as stop:
        async for line in driver_log(kube, job, attempt=attempt, follow=follow, say=say):
            show(line)
    return stop.by


def _tell_of_those_left(courses: Sequence[JobProgress], say: Say) -> None:
    for course in courses:
        if course.ending is None:
            say(course.job, f"goes on, and the time is up: sluice wait {course.job}")


async def _leave(kube: Kube, courses: Sequence[JobProgress], say: Say, *, deletes: bool) -> None:
    for course in courses:
        if course.ending is not None:
            continue
        if not deletes:
            say(course.job, f"goes on: sluice wait {course.job}; to end it: {course.job.kubectl_delete}")
            continue
        # Whoever took its name since is another job.
        of_it = {"preconditions": {"uid": course.uid}, "propagationPolicy": "Background"}
        with suppress(NotFoundError, ConflictError):
            await kube.delete(JOBS, course.job.namespace, course.job.name, of_it)
        say(course.job, "is being deleted: its driver is stopped, if it has one")

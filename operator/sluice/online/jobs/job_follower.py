"""Follows jobs until each has ended, or the time is up, or somebody wants to go."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sluice.api.job_status import Phase
from sluice.engines.progress import progress_of
from sluice.kube.client import ApiError, Kube, NotFoundError
from sluice.kube.resources import PODS
from sluice.online.access.errors import OnlineError
from sluice.online.access.job_names import JobName
from sluice.online.access.job_objects import NEW
from sluice.online.jobs.job_progress import JobProgress
from sluice.online.jobs.job_watch import JobSighting, sights

LOOKS_AT_DRIVERS = 5.0
"""Seconds between two looks at the pods of drivers that run."""

NOT_LOOKED_AT = 30.0
"""Seconds after which it is told that no operator has looked at a job: one does so in moments if it watches the namespace."""
SILENCE = 300.0
"""Seconds after which a line says that jobs go on: pipelines take a step that says nothing for long for dead."""

Say = Callable[[JobName | None, str], None]
"""Called with a job and what is new of it; None: of all of them."""


@dataclass
class Stop:
    """Somebody's wish to go."""

    by: signal.Signals | None = None


@asynccontextmanager
async def stopped_by_signals() -> AsyncIterator[Stop]:
    """Ends the block at Ctrl-C or SIGTERM, and lets whoever reads the Stop go on from there. The second one ends the process."""
    stop, loop, task = Stop(), asyncio.get_running_loop(), asyncio.current_task()
    if task is None:
        raise RuntimeError("it runs in no task")
    signals = (signal.SIGINT, signal.SIGTERM)

    def ask(by: signal.Signals) -> None:
        stop.by = by
        for one in signals:
            loop.remove_signal_handler(one)
        task.cancel()

    for one in signals:
        loop.add_signal_handler(one, ask, one)
    try:
        yield stop
        await asyncio.sleep(
            0
        )  # one that comes at the last moment is noticed here, and not where the connection is closed
    except asyncio.CancelledError:
        if stop.by is None:
            raise
        task.uncancel()
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


async def follow(
    kube: Kube,
    courses: Sequence[JobProgress],
    say: Say,
    *,
    until: Phase | None = None,
    seconds: float | None = None,
) -> None:
    """Returns once every job has ended, or been seen in the phase `until`; or, with some that have not, after so many seconds."""
    following = _Following(kube, courses, say, until)
    try:
        async with asyncio.timeout(seconds):
            await following.to_the_end()
    except TimeoutError:
        return


class _Following:
    def __init__(self, kube: Kube, courses: Sequence[JobProgress], say: Say, until: Phase | None) -> None:
        self._kube = kube
        self._by_name = {course.job: course for course in courses}
        self._tell = say
        self._said_at = time.monotonic()
        self._until = until
        self._left = {course.job for course in courses if not self._is_done(course)}
        self._done = asyncio.Event()

    async def to_the_end(self) -> None:
        if not self._left:
            return
        namespaces: dict[str, set[str]] = {}
        for job in self._left:
            namespaces.setdefault(job.namespace, set()).add(job.name)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._watch(namespace, frozenset(names)))
                    for namespace, names in namespaces.items()
                ]
                tasks.append(group.create_task(self._look_at_drivers()))
                tasks.append(group.create_task(self._break_silence()))
                tasks.append(group.create_task(self._tell_of_those_not_looked_at()))
                await self._done.wait()
                for task in tasks:
                    task.cancel()
        except* (ApiError, OnlineError) as failed:
            raise failed.exceptions[0] from failed

    def _say(self, job: JobName | None, text: str) -> None:
        self._said_at = time.monotonic()
        self._tell(job, text)

    async def _break_silence(self) -> None:
        while True:
            await asyncio.sleep(max(0.0, self._said_at + SILENCE - time.monotonic()))
            if time.monotonic() >= self._said_at + SILENCE:
                phases = Counter(self._by_name[job].phase for job in self._left)
                counted = ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items()))
                self._say(None, f"nothing new for {SILENCE / 60:.0f} minutes: {counted}")

    async def _tell_of_those_not_looked_at(self) -> None:
        await asyncio.sleep(NOT_LOOKED_AT)
        for job in sorted(self._left):
            if self._by_name[job].phase == NEW:
                self._say(
                    job,
                    f"no operator has looked at it yet: does one run, and does it watch namespace {job.namespace}?",
                )

    async def _watch(self, namespace: str, names: frozenset[str]) -> None:
        def lost(why: str | None) -> None:
            self._say(None, "the cluster answers again" if why is None else f"nothing is seen for now: {why}")

        async for sight in sights(self._kube, namespace, names, lost):
            self._sees(self._by_name[JobName(namespace, sight.name)], sight)

    def _sees(self, course: JobProgress, sight: JobSighting) -> None:
        if sight.body is None and course.uid is None:
            raise OnlineError(
                f"there is no job {course.job}: see `kubectl get deltawritejobs -n {course.job.namespace}`"
            )
        body = sight.body
        news = course.is_gone(body) if sight.is_gone or body is None else course.sees(body)
        for one in news:
            self._say(course.job, one)
        if self._is_done(course):
            self._left.discard(course.job)
        if not self._left:
            self._done.set()

    def _is_done(self, course: JobProgress) -> bool:
        return course.ending is not None or (self._until is not None and course.phase == self._until.value)

    async def _look_at_drivers(self) -> None:
        """How far a run has come its driver's pod tells at once, and the job's status up to a minute later. Whoever may not see
        pods has the status alone."""
        while True:
            await asyncio.sleep(LOOKS_AT_DRIVERS)
            for job in sorted(self._left):
                course = self._by_name[job]
                if course.driver_pod is None:
                    continue
                try:
                    pod = await self._kube.get(PODS, job.namespace, course.driver_pod)
                except NotFoundError:
                    continue  # it is gone, and the job's status will say so
                except ApiError as error:
                    if not error.is_definite:
                        continue  # whoever watches the jobs tells that the API server is away
                    self._say(None, f"how far runs have come is told up to a minute late: {error}")
                    return
                for one in course.sees_progress(progress_of(pod)):
                    self._say(job, one)

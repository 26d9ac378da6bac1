"""An API server of the bench's own, as the bench sees it: what it writes there, counted, and what it sees come."""

import asyncio
import ssl
import urllib.request
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Any

import aiohttp
from bench.admission import api_writes

from devenv.stack import ControlPlane
from sluice.api.base import Json
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS, Resource

NAMESPACE = "default"
TOGETHER = 64
"""Requests of the bench under way at one time."""
PAUSE = 0.5
GONE = 410


class BenchError(Exception):
    """There is nothing to measure; the message says why."""


class Cluster:
    """The cluster as the bench sees it; as an asynchronous context manager it watches from before the first object on."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._kube: Kube | None = None
        self._places = asyncio.Semaphore(TOGETHER)
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self._changed = asyncio.Event()
        self.written: Counter[str] = Counter()
        """Writes by the bench itself."""
        self.on_application: Callable[[Json], None] = lambda _: None
        self.applications: dict[str, Json] = {}
        """Each SparkApplication as it was first seen, by the name of its job."""
        self.applied_at: dict[str, float] = {}
        """When each job's SparkApplication was first seen."""
        self.phase_at: dict[tuple[str, str], float] = {}
        """When each job, by name, was first seen in a phase."""
        self.been: Counter[str] = Counter()
        """How many jobs were seen in each phase."""

    async def __aenter__(self) -> "Cluster":
        kubeconfig = str(self._plane.kubeconfig)
        self._kube = await Kube.connect(kubeconfig)
        self.soon(self.watch(KUBEFLOW_APPLICATIONS, self._see_application))
        self.soon(self.watch(JOBS, self._see_job))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.kube.close()

    @property
    def kube(self) -> Kube:
        if self._kube is None:
            raise BenchError("the connection is not open yet")
        return self._kube

    def soon(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs beside everything else; its failure ends the measurement."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = self._failure or task.exception()
            self._changed.set()

    async def create(self, resource: Resource, body: Json, *, namespace: str | None = NAMESPACE) -> Json:
        async with self._places:
            self.written[api_writes.write_of("POST", resource.plural)] += 1
            return await self.kube.create(resource, namespace, body)

    async def patch(self, resource: Resource, name: str, body: Json, *, sub: str = "") -> Json:
        async with self._places:
            self.written[api_writes.write_of("PATCH", resource.plural, sub)] += 1
            return await self.kube.patch(resource, NAMESPACE, name, body, sub=sub or None)

    async def all_of(self, work: Iterable[Coroutine[Any, Any, object]]) -> None:
        """Runs all of them beside one another."""
        await asyncio.gather(*work)

    async def until(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Returns whether it became so within that time; it looks after each change that is seen, and twice a second."""
        end = monotonic() + seconds
        while True:
            if self._failure is not None:
                raise BenchError(f"the bench itself failed: {self._failure!r}") from self._failure
            if reached():
                return True
            left = end - monotonic()
            if left <= 0:
                return False
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(left, PAUSE))

    def has_application(self, job: str) -> Callable[[], bool]:
        return lambda: job in self.applied_at

    def has_more_applications(self, than: int) -> Callable[[], bool]:
        return lambda: len(self.applied_at) > than

    def applied_after(self, first: int) -> list[str]:
        """The jobs that got their SparkApplication after this many others, in their order."""
        return list(islice(self.applied_at, first, None))

    def has_been(self, job: str, phase: str) -> Callable[[], bool]:
        return lambda: (job, phase) in self.phase_at

    def seen_in_words(self) -> str:
        phases = "".join(f", {count:,} {phase}" for phase, count in self.been.items())
        return f"{len(self.applied_at):,} SparkApplications{phases}"

    async def writes(self) -> Counter[str]:
        """All writes so far."""
        return api_writes.writes_in(await asyncio.to_thread(self._metrics))

    def _metrics(self) -> str:
        api = self._plane.api
        trusted = ssl.create_default_context(cafile=str(api.certificate))
        request = urllib.request.Request(  # noqa: S310 - the address is our own server's
            f"{self._plane.server}/metrics", headers={"Authorization": f"Bearer {api.token}"}
        )
        with urllib.request.urlopen(request, context=trusted, timeout=60) as answer:  # noqa: S310 - likewise
            text: bytes = answer.read()
        return text.decode()

    def _see_application(self, body: Json) -> None:
        job = body["metadata"]["ownerReferences"][0]["name"]
        if job not in self.applications:
            self.applications[job] = body
            self.applied_at[job] = monotonic()
            self._changed.set()
            self.on_application(body)

    def _see_job(self, body: Json) -> None:
        name = body["metadata"]["name"]
        phase = (body.get("status") or {}).get("phase")
        if phase and (name, phase) not in self.phase_at:
            self.phase_at[name, phase] = monotonic()
            self.been[phase] += 1
            self._changed.set()

    async def watch(self, resource: Resource, see: Callable[[Json], None]) -> None:
        """Shows each object of the bench's namespace as it is now, and each change, for ever."""
        version = ""
        while True:
            try:
                if not version:
                    listed = await self.kube.list(resource, NAMESPACE)
                    for body in listed["items"]:
                        see(body)
                    version = listed["metadata"]["resourceVersion"]
                async for event in self.kube.watch(resource, NAMESPACE, version):
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] in ("ADDED", "MODIFIED"):
                        see(event["object"])
            except ApiError as error:
                if error.status == GONE:
                    version = ""
                elif error.status >= 400:
                    raise
                await asyncio.sleep(PAUSE)
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(PAUSE)

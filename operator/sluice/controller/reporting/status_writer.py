"""The one writer of a job's status: one patch per transition, and none when nothing changed. What follows from a transition,
whoever writes it, is told here."""

import time
from typing import Any

from sluice.admission import Blocking
from sluice.api.job_status import DeltaWriteJobStatus, Phase
from sluice.api.reasons import Reason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.epoch_policy import EpochPolicy
from sluice.controller.process import clock
from sluice.controller.process.retry_pauses import RetryPauses
from sluice.controller.reporting.events import EventWriter
from sluice.kube.client import Kube
from sluice.kube.resources import JOBS
from sluice.lifecycle.attempt import job_events
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import (
    StatusChange,
    generation_observed,
    patch_to,
    retry_heeded,
    runs_beside,
    stalled,
    status_after,
)

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds between two writes of what the API server does not keep."""
_EPOCH = "writerEpoch"


class StatusWriter:
    def __init__(self, kube: Kube, world: ClusterCache, epochs: EpochPolicy, events: EventWriter) -> None:
        self._kube = kube
        self._events = events
        self._world = world
        self._epochs = epochs
        self._written: dict[str, tuple[str, StatusChange]] = {}
        """What was last written, by uid, and the version of the job since."""
        self._cut: dict[str, tuple[Phase, Reason]] = {}
        """What was last written, by uid, where the API server has dropped some of it: its definition is of another version."""
        self._pauses: RetryPauses[str] = RetryPauses(time.monotonic, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        """Pauses of these: what was dropped would be worked out anew, and written, as soon as the answer is seen."""

    async def write(self, job: JobView, change: StatusChange) -> None:
        """Writes the status; fails with ConflictError if anybody changed the job since `job` was read: what a former leader
        wrote, and what arrives late, must not bring back an older state."""
        if self._written.get(job.uid) == (job.resource_version, change) and not change.comes_anew:
            return  # it says so already, and is not worked out again to find that
        if self._cut.get(job.uid) == (change.phase, change.reason) and not self._pauses.is_due(job.uid):
            return  # it says so already, as far as it can
        now = clock.now()
        wanted = status_after(job, change, now)
        await self._patch(job, wanted)
        self._note_what_was_dropped(job.uid, change, wanted)
        told = job_events.resumed(job.status, change.phase, now)
        if told is not None:
            await self._events.tell(job, told.reason, told.message)
        known = self._world.jobs.get(job.uid)
        if known is not None and not change.phase.is_terminal and change.blocked_by is None:
            self._written[job.uid] = known.resource_version, change
        else:
            self._written.pop(job.uid, None)

    def _note_what_was_dropped(self, uid: str, change: StatusChange, wanted: DeltaWriteJobStatus) -> None:
        known = self._world.jobs.get(uid)
        lacking = {} if known is None or change.phase.is_terminal else patch_to(known, wanted)
        if any(value is not None for name, value in lacking.items() if name != _EPOCH):
            self._cut[uid] = change.phase, change.reason
            self._pauses.tries(uid)
        else:
            self._cut.pop(uid, None)
            self._pauses.forget(uid)

    def forget_gone(self) -> None:
        self._cut = {uid: told for uid, told in self._cut.items() if uid in self._world.jobs}
        self._pauses.forget_unless(lambda uid: uid in self._cut)
        self._written = {uid: known for uid, known in self._written.items() if uid in self._world.jobs}

    async def stall(self, job: JobView, reason: Reason, message: str) -> None:
        """Says that the operator can't go on with the job, and leaves everything else as it is."""
        await self._send(job, stalled(job, reason, message, clock.now()))

    async def observe_generation(self, job: JobView) -> None:
        await self._patch(job, generation_observed(job))

    async def retry_heeded(self, job: JobView, asked: str) -> None:
        """Says of a finished job that somebody's word is heeded, though no other attempt follows."""
        await self._patch(job, retry_heeded(job, asked))

    async def tell_of_risk(self, job: JobView, newcomer: Blocking) -> None:
        """Says that another job begins beside it that may abort it, or that it may abort."""
        await self._patch(job, runs_beside(job, newcomer))

    async def _patch(self, job: JobView, wanted: DeltaWriteJobStatus) -> None:
        await self._send(job, patch_to(job, wanted))

    async def _send(self, job: JobView, patch: dict[str, Any]) -> None:
        if not patch:
            return
        metadata = {"uid": job.uid, "resourceVersion": job.resource_version}
        written = patch | {_EPOCH: self._epochs.epoch or 0}
        body: dict[str, Any] = {"metadata": metadata, "status": written}
        patched = await self._kube.patch(JOBS, job.namespace, job.name, body, sub="status")
        self._world.job_seen(patched)

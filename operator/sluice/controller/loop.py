"""The one task that acts: it takes what changed, moves each job one step on, and decides who goes next.

Only the leader runs it. Every step follows the order of the protocol: grant, intent, create, observe, outcome,
finalizers off, release. It can be killed between any two of them: the next leader finds where it was.
"""

import logging
import time
from dataclasses import dataclass

from sluice.api.operator_status import OperatorConditionType
from sluice.controller.admitting import Admitting
from sluice.controller.attempts import Attempts
from sluice.controller.conditions import Conditions
from sluice.controller.guard import Guard
from sluice.controller.health import Pulse
from sluice.controller.leadership import Leadership
from sluice.controller.lease_table import LeaseTable
from sluice.controller.leftovers import Leftovers
from sluice.controller.metrics import Metrics
from sluice.controller.relist import Relist
from sluice.controller.revoking import Revoking
from sluice.controller.table_reader import TableReader
from sluice.controller.world import World
from sluice.kube.client import ApiError

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
LIST_SECONDS = 300.0

_LISTS_COMPLETE = OperatorConditionType.LISTS_COMPLETE


@dataclass(kw_only=True)
class Loop:
    world: World
    relist: Relist
    leadership: Leadership
    leases: LeaseTable
    leftovers: Leftovers
    attempts: Attempts
    admitting: Admitting
    revoking: Revoking
    guard: Guard
    tables: TableReader
    conditions: Conditions
    metrics: Metrics
    pulse: Pulse
    listed_at: float | None = None

    async def run(self) -> None:
        """Until leadership is lost. What watches missed is repaired by sweeps and, less often, by full lists."""
        try:
            await self._run()
        finally:
            self.pulse.rest()

    async def _run(self) -> None:
        swept_at = 0.0
        while self.leadership.leads():
            self.pulse.beat()
            changed = await self.world.changes(max(0.0, swept_at + SWEEP_SECONDS - time.monotonic()))
            self.metrics.lagged(self.world.seconds_waited)
            began = time.monotonic()
            if time.monotonic() >= swept_at + SWEEP_SECONDS:
                changed, swept_at = self.everything(), time.monotonic()
                self.tables.forget_unused()
                self.guard.forget_gone(self.world.all_uids())
            if self.leadership.leads() and await self._listed():
                await self._act(changed)
                self.metrics.turned(time.monotonic() - began)

    def everything(self) -> set[str]:
        """Also what left nothing but a lease: looking for its application, before the release, may have failed."""
        return self.world.all_uids() | {lease.uid for lease in self.leases.held}

    async def _act(self, changed: set[str]) -> None:
        self.world.heed_policies()
        await self.leases.make_sure()
        await self.revoking.heed()
        for uid in sorted(changed):
            if not self.leadership.leads() or self.world.is_of_the_past:
                return  # what is forgotten isn't gone, and the rebuild that follows marks all
            await self.guard.on(uid, self._step(uid))
        if self.leases.is_sure:
            try:
                await self.admitting.turn()
            except Exception:
                logger.exception("nothing more is admitted in this turn: the operator failed; trying again")

    async def _step(self, uid: str) -> None:
        job = self.world.jobs.get(uid)
        if job is not None and job.unreadable is not None:
            await self.guard.tell_unreadable(job, job.unreadable)
        elif job is not None and job.open_attempt is not None:
            await self.attempts.drive(job, job.open_attempt)
        elif job is None or job.is_finished or job.is_deleted:
            await self.leftovers.retire(uid)
        elif not await self.attempts.restore(job) and not await self.leftovers.block(job):
            await self.admitting.prepare(job)

    async def _listed(self) -> bool:
        """Nothing is judged by what watches may not have brought yet."""
        if self.listed_at is None or time.monotonic() - self.listed_at > LIST_SECONDS:
            try:
                await self.relist.everything()
            except ApiError as error:
                logger.warning("cannot list what there is: %s; trying again", error)
                self.conditions.fails(_LISTS_COMPLETE, error.reason or "NoAnswer", str(error))
            else:
                self.conditions.holds(_LISTS_COMPLETE)
                self.listed_at = time.monotonic()
        return self.listed_at is not None

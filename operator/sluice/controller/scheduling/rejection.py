"""Ends jobs that are not run whatever they wait for: what they do is not understood, or their tables' policies let no such job
write."""

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.prerequisites import MissingPrerequisite
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.process.metrics import DecisionOutcome, Metrics
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.lifecycle.attempt import job_events
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.job.table_rules import (
    RefusedByPolicy,
    not_understood,
    risk_not_allowed,
    too_many_places,
    wrong_namespace,
)
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.lifecycle.retries.retry_decision import why_it_cannot_run_again
from sluice.lifecycle.spec.commit_ids import app_id_of, kept_slot, slot_named
from sluice.lifecycle.streams.checkpoints import being_freed, in_use
from sluice.templates import Permissions


@dataclass(kw_only=True)
class Rejection:
    world: ClusterCache
    leases: LeaseTable
    statuses: StatusWriter
    events: EventWriter
    metrics: Metrics
    neighbours: VisibleBlockers
    permissions: Permissions

    def out_of_the_queue(self, job: JobView) -> RefusedByPolicy | None:
        """Why it doesn't queue: its namespace may not have what it asks for, another job has its checkpoint, or the policies of its
        tables keep it out, as they are now."""
        why = job.why_not_permitted(self.permissions)
        if why is not None:
            return RefusedByPolicy(Reason.NOT_PERMITTED, f"not run, because {why}, and create the job again")
        for checkpoint, owner in self._owners(job):
            if not owner.is_deleted:
                return in_use(checkpoint, self.neighbours.called(owner.key, job.namespace))
        return too_many_places(job.footprint) or self._by_policy(job)

    def obstacle(self, job: JobView) -> MissingPrerequisite | None:
        """What it waits for besides others and what is around the operator: that one is gone which has its checkpoint."""
        for checkpoint, owner in self._owners(job):
            called = self.neighbours.called(owner.key, job.namespace)
            return MissingPrerequisite(Reason.CHECKPOINT_IN_USE, being_freed(checkpoint, called))
        return None

    def _owners(self, job: JobView) -> Iterator[tuple[str, JobView]]:
        for checkpoint, uid in self.world.checkpoints.owners(job.uid, self._holds):
            yield checkpoint, self.world.jobs[uid]

    def _holds(self, uid: str) -> bool:
        return bool(self.leases.held_by(uid))

    def _by_policy(self, job: JobView) -> RefusedByPolicy | None:
        declarations, admission = self.world.declarations, job.spec.admission
        if not declarations.by_table:
            return risk_not_allowed(admission, job.tables, declarations)
        return (
            wrong_namespace(job.namespace, job.tables, declarations)
            or risk_not_allowed(admission, job.tables, declarations)
            or not_understood(job.footprint, job.tables, declarations)
        )

    def before_a_grant(self, job: JobView) -> RefusedByPolicy | None:
        """Why it is not run though nothing is in its way: by then nobody else changes what its tables refuse."""
        return (
            self.out_of_the_queue(job)
            or (None if job.refusal is None else unfit(job.refusal))
            or self._without_its_run(job)
        )

    def _without_its_run(self, job: JobView) -> RefusedByPolicy | None:
        """Why it isn't run again: by what its earlier attempts are known is lost, or another's by now, as somebody may have written
        into a status."""
        why, slot = why_it_cannot_run_again(job, job.status.attempts), kept_slot(job.status.run)
        if why is None and slot is not None and self.leases.is_run_of_another(slot_named(slot), job.uid):
            why = f"another job commits under its id {app_id_of(slot_named(slot))}, which its status says is its own"
        if why is None:
            return None
        return RefusedByPolicy(
            Reason.RUN_LOST,
            f"not run again, because {why}: look at its tables, and create a job for what is left",
        )

    async def refuse(self, job: JobView, why: RefusedByPolicy) -> None:
        await self.statuses.write(job, StatusChange(Phase.FAILED, why.reason, why.message))
        self.metrics.decided(DecisionOutcome.REFUSED)
        told = job_events.ending(Phase.FAILED, why.reason, why.message)
        await self.events.tell(job, told.reason, told.message, warning=told.is_warning)


def unfit(why: str) -> RefusedByPolicy:
    return RefusedByPolicy(Reason.NOT_UNDERSTOOD, why)

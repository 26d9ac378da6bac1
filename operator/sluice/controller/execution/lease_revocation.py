"""Revokes leases that somebody who knows better gives up. They are asked for by an annotation on the operator's Lease object,
which only those who run the operator may write, and answered there.

Only the leader knows what stands for a lease, and an annotation reaches it wherever it is, without a port of its own.
"""

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sluice.api import names
from sluice.api.reasons import EventReason
from sluice.controller.applications.applications import Applications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.election import Election, LostLeadershipError
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.events import EventWriter
from sluice.installations.revocation import RevocationAnswer, RevocationRequest
from sluice.kube.client import ApiError
from sluice.leases import Lease
from sluice.tables import TableKey

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class LeaseRevocation:
    world: ClusterCache
    applications: Applications
    leases: LeaseTable
    leadership: Election
    events: EventWriter
    tables: TableReader
    answered: dict[str, RevocationAnswer] = field(default_factory=dict)
    """Answers by the request's id: one that could not be written is written again, unchanged."""

    async def heed(self) -> None:
        text = self.leadership.annotation(names.ANNOTATION_REVOKE)
        if text is None or not self.leases.is_sure:
            return
        try:
            request = RevocationRequest.from_json(text)
            answer = self.answered.get(request.id)
            if answer is None:
                answer = self.answered[request.id] = await self._revoke(request)
        except ValueError as error:
            answer = RevocationAnswer("", False, f"{names.ANNOTATION_REVOKE}: {error}")
        except ApiError as error:
            logger.warning("a lease could not be revoked: %s; trying again", error)
            return
        try:
            await self.leadership.annotate(
                {names.ANNOTATION_REVOKED: answer.to_json(), names.ANNOTATION_REVOKE: None}
            )
        except (ApiError, LostLeadershipError) as error:
            logger.warning("the answer to a revocation could not be written: %s; trying again", error)

    async def _revoke(self, request: RevocationRequest) -> RevocationAnswer:
        lease = next((one for one in self.leases.held if one.holder == request.holder), None)
        if lease is None:
            return RevocationAnswer(
                request.id, False, f"there is no lease of {request.holder}: see `sluice leases list`"
            )
        if lease not in self.leases.unexplained:
            why = (
                f"the lease of {lease.holder} is explained: job {lease.job} or what is left of it is in the cluster, and its "
                "end frees the lease; delete the job, or see its status"
            )
            return RevocationAnswer(request.id, False, why)
        try:
            await self._note_on_what_is_left(lease)
        except ApiError as error:
            if not error.is_definite:
                raise
            why = f"that its driver is dead can't be noted on what is left of it: {error}; revoke the lease once that is gone"
            return RevocationAnswer(request.id, False, why)
        self.tables.changed(tuple(map(TableKey.parse, lease.tables)))
        await self.leases.revoke(lease)
        message = f"lease {lease.holder} of job {lease.job} on {', '.join(lease.tables)} was revoked by hand"
        logger.warning("%s", message)
        await self.events.tell_of_lease(
            self.leadership.lease, EventReason.LEASE_REVOKED, message, since=datetime.now(UTC), warning=True
        )
        job = self.world.jobs.get(lease.uid)
        if job is not None:
            await self.events.tell(job, EventReason.LEASE_REVOKED, message, warning=True)
        return RevocationAnswer(request.id, True, message)

    async def _note_on_what_is_left(self, lease: Lease) -> None:
        """Objects whose lease is held without them may not be gone yet: for them, too, its driver is dead from now on."""
        for one in self.world.evidence(lease.uid).by_application.values():
            if one.number == lease.attempt:
                await self.applications.note_death(one)

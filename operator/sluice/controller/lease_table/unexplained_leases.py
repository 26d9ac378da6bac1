"""The leases that no object explains. They are held until an object explains them after all, or a person says that no driver of
them runs; and they are written down, so that neither a lost Redis nor another leader forgets them.

Some come with an API server that went back, or with another installation's table. Others are tombstones: their objects had to go
before anything proved that their driver is dead.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from sluice.api.operator_status import OperatorConditionType
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.full_list import FullList
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.installations.unexplained_leases import LeaseRecord, UnexplainedLeases, in_words
from sluice.leases import Grant, Lease
from sluice.leases.stored_state import StoredState
from sluice.lifecycle.attempt import lease_evidence

logger = logging.getLogger(__name__)

_EXPLAINED = OperatorConditionType.LEASES_EXPLAINED


class UnexplainedLeaseKeeper:
    def __init__(
        self,
        records: UnexplainedLeases,
        *,
        world: ClusterCache,
        relist: FullList,
        conditions: OperatorConditions,
        revoke_command: Callable[[str], str],
    ) -> None:
        """`revoke_command`: what a person types to free the lease of a holder."""
        self._records = records
        self._world = world
        self._relist = relist
        self._conditions = conditions
        self._revoke_command = revoke_command
        self._held: dict[str, LeaseRecord] = {}
        self._writing = asyncio.Lock()

    def __contains__(self, lease: Lease) -> bool:
        return lease.holder in self._held

    @property
    def leases(self) -> list[Lease]:
        return [record.grant.lease for record in self._held.values()]

    def of(self, uid: str) -> list[Lease]:
        return [lease for lease in self.leases if lease.uid == uid]

    def revoke_command(self, lease: Lease) -> str:
        return self._revoke_command(lease.holder)

    async def find(
        self, former: StoredState, shown: Iterable[Grant], *, doubt: str | None, epoch: int
    ) -> list[LeaseRecord]:
        """Finds those that no object explains, and writes them down before Redis forgets them. If the API server has told
        everything in order, the end of a lease is proved when nothing stands for it any more. One that went back does not know
        what came after, and another cluster's never knew (`doubt`). Nor is anything told of a namespace that is watched no
        longer. Intents that came back alone are among them: they may have been carried out since."""
        async with self._writing:
            known = {record.grant.lease.holder: record for record in await self._records.read()}
            added = self._out_of_sight(former)
            if doubt is not None:
                added |= {grant.lease.holder: grant for grant in (*shown, *former.grants)}
            known |= {holder: LeaseRecord(grant) for holder, grant in added.items() if holder not in known}
            found = self._left(known.values())
            await self._records.begin(found, epoch)
        if doubt is not None:
            logger.warning("%s: %d leases are held that nothing explains", doubt, len(found))
        for record in found:
            lease = record.grant.lease
            logger.warning(
                "lease %s of job %s on %s is held, and nothing explains it: once no driver of it runs, say so: %s",
                lease.holder,
                lease.job,
                ", ".join(lease.tables),
                self.revoke_command(lease),
            )
        return found

    def hold(self, found: Iterable[LeaseRecord]) -> None:
        """Holds these, and no others, from now on: Redis has them."""
        self._held = {record.grant.lease.holder: record for record in found}

    @property
    def tells_an_end(self) -> bool:
        """Whether the end of a driver is proved that has left a tombstone. What tells it may be gone a moment later."""
        buried = [record for record in self._held.values() if record.is_tombstone]
        return len(self._left(buried)) < len(buried)

    async def review(self) -> None:
        """Drops records that an object explains by now. A worker that writes meanwhile holds up nobody: it is done later then."""
        if self._writing.locked() or len(self._left(self._held.values())) == len(self._held):
            return
        async with self._writing:
            left = self._left(self._held.values())
            await self._records.write(left)
            self.hold(left)

    async def bury(self, grant: Grant, why: str) -> None:
        """Leaves a tombstone before the objects of this grant go."""
        lease, tombstone = grant.lease, LeaseRecord(grant, is_tombstone=True)
        async with self._writing:
            if self._held.get(lease.holder) == tombstone:
                return
            held = self._held | {lease.holder: tombstone}
            await self._records.write(held.values())
            self._held = held
        logger.warning(
            "lease %s of job %s on %s: %s: it is held without its objects; once no driver of it runs, say so: %s",
            lease.holder,
            lease.job,
            ", ".join(lease.tables),
            why,
            self.revoke_command(lease),
        )
        self.tell()

    async def forget(self, lease: Lease) -> None:
        """Forgets one because somebody who knows says that no driver of it runs."""
        async with self._writing:
            held = {holder: record for holder, record in self._held.items() if holder != lease.holder}
            await self._records.write(held.values())
            self._held = held
        self.tell()

    def tell(self) -> None:
        if self._held:
            self._conditions.fails(_EXPLAINED, "Unexplained", in_words(self.leases, self._revoke_command))
        else:
            self._conditions.holds(_EXPLAINED)

    def _left(self, known: Iterable[LeaseRecord]) -> list[LeaseRecord]:
        records = {record.grant.lease.holder: record for record in known}
        grants = [record.grant for record in records.values()]
        evidence = {grant.lease.uid: self._world.evidence(grant.lease.uid) for grant in grants}
        tombstones = {holder for holder, record in records.items() if record.is_tombstone}
        left = lease_evidence.unexplained(grants, evidence, tombstones=tombstones)
        return [records[grant.lease.holder] for grant in left]

    def _out_of_sight(self, former: StoredState) -> dict[str, Grant]:
        """The leases, by holder, of jobs in namespaces that were watched when they were granted, and are not now."""
        found = {}
        for holder, grant in former.readable.items():
            namespace = grant.lease.job.partition("/")[0]
            if not self._relist.looks_into(namespace):
                found[holder] = grant
                logger.warning(
                    "namespace %s of job %s is not watched any more: its lease is held until it is watched again, or revoked",
                    namespace,
                    grant.lease.job,
                )
        return found

"""The leases that no object explains. They are held until an object explains them after all, or a person says that no driver of
them runs; and they are written down, so that neither a lost Redis nor another leader forgets them.

Some come with an API server that went back, or with another installation's table. Others are tombstones: their objects had to go
before anything proved that their driver is dead.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from sluice.api.operator_status import OperatorConditionType
from sluice.controller.conditions import Conditions
from sluice.controller.relist import Relist
from sluice.controller.world import World
from sluice.installations.unexplained import Record, UnexplainedLeases, in_words
from sluice.leases import Grant, Lease
from sluice.leases.former import Former
from sluice.lifecycle import holding

logger = logging.getLogger(__name__)

_EXPLAINED = OperatorConditionType.LEASES_EXPLAINED


class Unexplained:
    def __init__(
        self,
        records: UnexplainedLeases,
        *,
        world: World,
        relist: Relist,
        conditions: Conditions,
        revoke_command: Callable[[str], str],
    ) -> None:
        """`revoke_command`: what a person types to free the lease of a holder."""
        self._records = records
        self._world = world
        self._relist = relist
        self._conditions = conditions
        self._revoke_command = revoke_command
        self._held: dict[str, Grant] = {}
        self._tombstones: set[str] = set()
        """The holders among them whose objects had to go: what is still left of them explains nothing."""
        self._writing = asyncio.Lock()

    def __contains__(self, lease: Lease) -> bool:
        return lease.holder in self._held

    @property
    def leases(self) -> list[Lease]:
        return [grant.lease for grant in self._held.values()]

    def of(self, uid: str) -> list[Lease]:
        return [lease for lease in self.leases if lease.uid == uid]

    def revoke_command(self, lease: Lease) -> str:
        return self._revoke_command(lease.holder)

    async def find(self, former: Former, shown: Iterable[Grant], *, doubt: str | None) -> list[Grant]:
        """Finds those that no object explains, and writes them down before Redis forgets them. If the API server has told
        everything in order, the end of a lease is proved when nothing stands for it any more. One that went back does not know
        what came after, and another cluster's never knew (`doubt`). Nor is anything told of a namespace that is watched no
        longer. Intents that came back alone are among them: they may have been carried out since."""
        async with self._writing:
            records = await self._records.read()
            known = {record.grant.lease.holder: record.grant for record in records}
            self._tombstones = {record.grant.lease.holder for record in records if record.is_tombstone}
            known |= self._out_of_sight(former)
            if doubt is not None:
                known |= {grant.lease.holder: grant for grant in (*shown, *former.grants)}
            found = self._left(known.values())
            await self._write(found)
        if doubt is not None:
            logger.warning("%s: %d leases are held that nothing explains", doubt, len(found))
        for grant in found:
            logger.warning(
                "lease %s of job %s on %s is held, and nothing explains it: once no driver of it runs, say so: %s",
                grant.lease.holder,
                grant.lease.job,
                ", ".join(grant.lease.tables),
                self.revoke_command(grant.lease),
            )
        return found

    def hold(self, found: Iterable[Grant]) -> None:
        """Holds these, and no others, from now on: Redis has them."""
        self._held = {grant.lease.holder: grant for grant in found}
        self._tombstones.intersection_update(self._held)

    @property
    def tells_an_end(self) -> bool:
        """Whether the end of a driver is proved that has left a tombstone. What tells it may be gone a moment later."""
        buried = [self._held[holder] for holder in self._tombstones if holder in self._held]
        return len(self._left(buried)) < len(buried)

    async def review(self) -> None:
        """Drops records that an object explains by now. A worker that writes meanwhile holds up nobody: it is done later then."""
        if self._writing.locked() or len(self._left(self._held.values())) == len(self._held):
            return
        async with self._writing:
            left = self._left(self._held.values())
            await self._write(left)
            self.hold(left)

    async def bury(self, grant: Grant, why: str) -> None:
        """Leaves a tombstone before the objects of this grant go."""
        async with self._writing:
            holder = grant.lease.holder
            if holder in self._tombstones and holder in self._held:
                return
            self._tombstones.add(holder)
            await self._write([*(one for other, one in self._held.items() if other != holder), grant])
            self._held[holder] = grant
        logger.warning(
            "lease %s of job %s on %s: %s: it is held without them; once no driver of it runs, say so: %s",
            grant.lease.holder,
            grant.lease.job,
            ", ".join(grant.lease.tables),
            why,
            self.revoke_command(grant.lease),
        )
        self.tell()

    async def forget(self, lease: Lease) -> None:
        """Forgets one because somebody who knows says that no driver of it runs."""
        async with self._writing:
            await self._write([grant for holder, grant in self._held.items() if holder != lease.holder])
            del self._held[lease.holder]
            self._tombstones.discard(lease.holder)
        self.tell()

    async def _write(self, grants: Iterable[Grant]) -> None:
        await self._records.write(
            Record(grant, is_tombstone=grant.lease.holder in self._tombstones) for grant in grants
        )

    def tell(self) -> None:
        if self._held:
            self._conditions.fails(_EXPLAINED, "Unexplained", in_words(self.leases, self._revoke_command))
        else:
            self._conditions.holds(_EXPLAINED)

    def _left(self, known: Iterable[Grant]) -> list[Grant]:
        grants = list(known)
        evidence = {grant.lease.uid: self._world.evidence(grant.lease.uid) for grant in grants}
        return holding.unexplained(grants, evidence, tombstones=self._tombstones)

    def _out_of_sight(self, former: Former) -> dict[str, Grant]:
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

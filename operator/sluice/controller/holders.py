"""Who may write, as far as this leader knows, job by job: with a lease, without one, and whom nobody can read."""

import logging
from collections.abc import Iterable

from sluice.admission import Holder
from sluice.controller.lease_table import LeaseTable
from sluice.controller.world import World
from sluice.leases import Lease
from sluice.lifecycle import holding
from sluice.lifecycle.holding import Frozen

logger = logging.getLogger(__name__)


class Holders:
    def __init__(self, world: World, leases: LeaseTable) -> None:
        self._world = world
        self._leases = leases
        self._frozen: dict[str, list[Frozen]] = {}
        """Those of whom nobody can read what they may write, by uid, as they were last looked at."""
        self.unread: set[str] = set()
        """Those of whom it isn't known yet what they touch, as nobody has read their specs or their tables: a lease's record tells
        which tables, and neither by what other names they go nor what else a job rests on."""
        self._was_read: set[str] = set()
        """Or won't be: once is enough, so that nobody holds up all by editing a job that runs."""

    def of(self, uid: str) -> tuple[Holder, ...]:
        """All that is held for the job with this uid. It isn't worked out while that is unread: nothing is granted meanwhile."""
        try:
            return self._of(uid)
        except Exception as error:
            logger.exception("job %s: the operator failed on what it holds: nothing is granted", uid)
            self._frozen[uid] = [
                Frozen(uid, f"the job with the uid {uid}", f"the operator failed on it: {error!r}", ())
            ]
            return ()

    def _of(self, uid: str) -> tuple[Holder, ...]:
        held = self._leases.held_by(uid)
        if not held and self._world.holds_nothing(uid):
            self._frozen.pop(uid, None)
            self._was_read.discard(uid)
            self.unread.discard(uid)
            return ()
        jobs, evidence = self._world.jobs, {uid: self._world.evidence(uid)}
        mine = {uid: jobs[uid]} if uid in jobs else {}
        unleased = holding.unleased(mine, evidence, {lease.holder for lease in held})
        frozen = holding.frozen(mine, evidence, self._leases.remembered_of(uid))
        if frozen:
            self._frozen[uid] = frozen
        else:
            self._frozen.pop(uid, None)
        leases = [*held, *unleased]
        if self._is_unread(uid, leases):
            self.unread.add(uid)
            return ()
        self.unread.discard(uid)
        return (*map(self._holder, leases), *(one.as_holder() for one in frozen if one.tables))

    def _is_unread(self, uid: str, leases: Iterable[Lease]) -> bool:
        job = self._world.jobs.get(uid)
        if job is None or all(map(self._leases.is_unexplained, leases)):
            return False
        if job.is_aided or job.unreadable is not None:
            self._was_read.add(uid)
        return uid not in self._was_read

    def not_to_be_read(self, uid: str) -> None:
        """The operator failed on its spec: what it holds counts as touching all of its tables."""
        self._was_read.add(uid)

    @property
    def frozen(self) -> list[Frozen]:
        return [one for of_job in self._frozen.values() for one in of_job]

    def _holder(self, lease: Lease) -> Holder:
        """One whose job the operator fails on may do anything to its tables."""
        job = self._world.jobs.get(lease.uid)
        if job is None or not job.is_read or self._leases.is_unexplained(lease):
            return holding.holder_of(lease, None)
        try:
            return holding.holder_of(lease, job)
        except Exception:
            logger.exception(
                "%s: the operator failed on what it touches: it counts as touching all", lease.job
            )
            return holding.holder_of(lease, None)

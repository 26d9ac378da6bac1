"""Knows who may write, as far as this leader knows, job by job: those with a lease, those without one, and those that cannot
be read."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from sluice.admission import Holder
from sluice.api.job import Yield
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.lease_table.table import LeaseTable
from sluice.footprint import JobFootprint, NotUnderstoodError
from sluice.leases import Lease, Reach
from sluice.lifecycle.attempt import lease_evidence
from sluice.lifecycle.attempt.lease_evidence import Frozen
from sluice.lifecycle.evidence.finished_jobs import is_over
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.table_rules import accepted
from sluice.lifecycle.streams.dormant_streams import holder_at_rest, may_rest

logger = logging.getLogger(__name__)


class Holders:
    def __init__(self, world: ClusterCache, leases: LeaseTable) -> None:
        self._world = world
        self._leases = leases
        self._frozen: dict[str, list[Frozen]] = {}
        """Holders whose possible writes cannot be read, by uid, as they were last looked at."""
        self.unread: set[str] = set()
        """Holders of whom it is not known what they touch, because their specs or their tables have not been read: a lease's
        record names the tables, but neither their other names nor what else a job rests on."""
        self.behind: set[str] = set()
        """Holders whose specs or tables have not been read either, but whose reach at the time of the grant is known: only jobs
        that meet them there wait."""
        self._was_read: set[str] = set()
        """Holders that were read once: once is enough, so that nobody holds up all others by editing a running job."""
        self._fails: set[str] = set()
        """Holders that the operator fails to read."""
        self._led: dict[str, dict[str, frozenset[str]]] = {}
        """The places to which each holder's names have led since this leader knows of it, by its uid and the name."""
        self._reached: dict[str, JobFootprint] = {}
        """The footprint, by uid, whose places are in the reach already."""
        self._stays: dict[str, int] = {}
        """The generation of a stream's spec, by its uid, that can't be understood: who looks at its status must not have to read it
        again."""
        self._rested: dict[str, Holder] = {}
        """Streams at rest, by uid, as they were understood last."""

    @property
    def to_read(self) -> set[str]:
        return self.unread | self.behind

    def is_to_be_read(self, uid: str) -> bool:
        return uid in self.unread or uid in self.behind

    def of(self, uid: str) -> tuple[Holder, ...]:
        """Returns all that is held for the job with this uid. It isn't worked out while the job is unread: nothing is granted
        meanwhile."""
        try:
            return self._of(uid)
        except Exception as error:
            logger.exception("job %s: the operator failed on what it holds: nothing is granted", uid)
            self._frozen[uid] = [
                Frozen(uid, f"the job with uid {uid}", f"the operator failed on it: {error!r}", ())
            ]
            return ()

    def _of(self, uid: str) -> tuple[Holder, ...]:
        held = self._leases.held_by(uid)
        if not held and self._world.holds_nothing(uid):
            self._frozen.pop(uid, None)
            self._reached.pop(uid, None)
            self._led.pop(uid, None)
            self._stays.pop(uid, None)
            for uids in (self._was_read, self._fails, self.unread, self.behind):
                uids.discard(uid)
            return self._at_rest(uid)
        jobs, evidence = self._world.jobs, {uid: self._world.evidence(uid)}
        mine = {uid: jobs[uid]} if uid in jobs else {}
        unleased = lease_evidence.unleased(mine, evidence, {lease.holder for lease in held})
        frozen = lease_evidence.frozen(mine, evidence, self._leases.remembered_of(uid))
        if frozen:
            self._frozen[uid] = frozen
        else:
            self._frozen.pop(uid, None)
        leases = [*held, *unleased]
        self.unread.discard(uid)
        self.behind.discard(uid)
        if self._is_unread(uid, leases):
            if uid not in self._was_read and not all(map(self._is_enough, leases)):
                self.unread.add(uid)
                return ()
            self.behind.add(uid)
        found = (*map(self._holder, leases), *(one.as_holder() for one in frozen if one.tables))
        return found or (() if frozen else self._at_rest(uid))

    def _at_rest(self, uid: str) -> tuple[Holder, ...]:
        """What a stream keeps others from though it holds no lease."""
        job, before = self._world.jobs.get(uid), self._rested.pop(uid, None)
        if job is None or uid in self._fails or not may_rest(job.body):
            return ()
        try:
            is_known = job.is_read and job.is_soon_worked_out
            if not is_known and before is None:
                self.unread.add(uid)
                return ()
            found = holder_at_rest(job) if is_known else before
        except NotUnderstoodError:
            return ()  # it is refused when its turn comes
        except Exception:  # all others would wait for it
            logger.exception("%s: the operator failed on what it keeps others from while it rests", job.key)
            return ()
        if found is None:
            return ()
        self._rested[uid] = found
        return (found,)

    def _is_unread(self, uid: str, leases: Iterable[Lease]) -> bool:
        job = self._world.jobs.get(uid)
        if job is None or uid in self._fails or all(lease in self._leases.unexplained for lease in leases):
            return False
        if job.is_read_with_facts or job.unreadable is not None or _is_another(job, leases):
            self._was_read.add(uid)
            return False
        return True

    def _is_enough(self, lease: Lease) -> bool:
        """Whether what is written down of it is enough: reading its job would show nothing else that could be in others' way."""
        reach = self._leases.reach_of(lease)
        return reach is not None and reach.lasts and reach.names == self._world.declarations.names.fingerprint

    def not_to_be_read(self, uid: str) -> None:
        """Notes that the operator failed on its spec: what it holds counts as touching all of its tables."""
        self._fails.add(uid)

    @property
    def frozen(self) -> list[Frozen]:
        return [one for of_job in self._frozen.values() for one in of_job]

    def _holder(self, lease: Lease) -> Holder:
        """Returns the holder, with whom it makes room for if it has no end."""
        job = self._world.jobs.get(lease.uid)
        found = self._touching(lease, job)
        for_ever = None if job is None or not job.is_stream else self._makes_room_for(job, lease, found)
        return found if for_ever is None else replace(found, for_ever=for_ever)

    def _makes_room_for(self, job: JobView, lease: Lease, holder: Holder) -> Yield | None:
        """A stream whose spec was changed into one that can't be understood goes on as it was, for nobody knows how long, and is
        asked to stop for nobody. One that was changed otherwise stops by itself."""
        if job.is_deleted:
            return None
        attempt = job.open_attempt
        goes_on = attempt is not None and attempt.ending is None
        if not job.is_read:
            is_known = job.uid in self._fails or self._stays.get(job.uid) == job.generation
            return Yield.NEVER if goes_on and is_known else None
        try:
            job.footprint_from_spec  # noqa: B018 - one that can't be understood is an error
            for_ever = job.for_ever if lease_evidence.is_of(lease, job) else None
        except NotUnderstoodError:
            self._stays[job.uid] = job.generation
        except Exception:
            logger.exception("%s: the operator failed on it: it counts as making room for nobody", job.key)
        else:
            return for_ever if holder.places is None or for_ever is Yield.NEVER else None
        return Yield.NEVER if goes_on else None

    def _touching(self, lease: Lease, job: JobView | None) -> Holder:
        """Returns the holder; one whose job the operator fails on may do anything to its tables."""
        reach = self._leases.reach_of(lease)
        if job is None or lease in self._leases.unexplained:
            return lease_evidence.holder_of(lease, None, reach)
        if not job.is_read_with_facts and (reach is not None or not job.is_read):
            return lease_evidence.holder_of(lease, None, reach)
        try:
            holder = lease_evidence.holder_of(lease, job, self._learned(lease, job, reach))
            return self._at_its_risk(self._where_led(holder), lease, job)
        except Exception:
            logger.exception(
                "%s: the operator failed on what it touches: it counts as touching everything", lease.job
            )
            return lease_evidence.holder_of(lease, None, reach)

    def _where_led(self, holder: Holder) -> Holder:
        """Adds the places to which its names led before."""
        self.is_led(holder.uid, holder.footprint)
        before = self._led.get(holder.uid)
        if before is None:
            return holder
        return replace(holder, footprint=lease_evidence.staying_where_led(holder.footprint, before))

    def is_led(self, uid: str, footprint: JobFootprint) -> None:
        """Notes where the names of a holder lead, which may be granted its leases at this moment."""
        for name, places in lease_evidence.led_by_names(footprint).items():
            before = self._led.setdefault(uid, {})
            before[name] = before.get(name, frozenset()) | places

    def _at_its_risk(self, holder: Holder, lease: Lease, job: JobView) -> Holder:
        """Adds what the job accepts, if it is still the one that the lease was granted for."""
        with suppress(NotUnderstoodError):  # of a job that is over no spec is kept
            if lease_evidence.is_of(lease, job):
                tables, declared = holder.footprint.keys, self._world.declarations
                return replace(holder, accepts=accepted(job.spec.admission, tables, declared))
        return holder

    def _learned(self, lease: Lease, job: JobView, reach: Reach | None) -> Reach | None:
        """Adds what was read since to its reach, in case the job is edited or deleted later; this includes a log that did not
        answer before."""
        if not job.is_read_with_facts or is_over(job.body) or not lease_evidence.is_of(lease, job):
            return reach
        names = job.names.fingerprint
        if reach is not None and self._reached.get(job.uid) is job.footprint and reach.names == names:
            return reach
        now = lease_evidence.reach_of(job)
        found = now if reach is None else reach.and_now(now)
        if found != reach:
            self._leases.learn(lease, found)
        self._reached[job.uid] = job.footprint
        return found


def _is_another(job: JobView, leases: Iterable[Lease]) -> bool:
    """Whether the job was edited since: its spec then no longer says what its leases were granted for."""
    return job.is_read and not any(lease_evidence.is_of(lease, job) for lease in leases)

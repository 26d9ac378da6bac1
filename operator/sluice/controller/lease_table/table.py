"""The lease table as far as it can be trusted now: which grants are not known to be written down, and when the whole table
must be rebuilt."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from redis.exceptions import RedisError

from sluice.api.job_status import Phase
from sluice.api.operator_status import OperatorConditionType
from sluice.api.reasons import Reason
from sluice.conflicts.places import EDITION
from sluice.controller.applications.restored_applications import RestoredApplications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.full_list import FullList
from sluice.controller.leadership.election import Election, LostLeadershipError
from sluice.controller.leadership.epoch_policy import EpochPolicy, NotFencedError
from sluice.controller.lease_table.redis_capacity import RedisCapacity
from sluice.controller.lease_table.unexplained_leases import UnexplainedLeaseKeeper
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.retry_pauses import RetryPauses
from sluice.controller.readers.name_bindings import NameBindings
from sluice.controller.reporting.error_isolation import ErrorIsolation
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.kube.client import ApiError, ConflictError
from sluice.leases import (
    Epochs,
    ForgottenError,
    FullError,
    Grant,
    Lease,
    LeaseStore,
    OtherInstallationError,
    Reach,
    RefusedError,
)
from sluice.leases.changes import AT_ONCE
from sluice.leases.endpoint import Endpoint
from sluice.leases.fitness import UnfitError
from sluice.leases.refusals import REFUSALS, cure_of, refused
from sluice.leases.stored_state import StoredState
from sluice.lifecycle.attempt import lease_evidence
from sluice.lifecycle.evidence.attempt_evidence import JobEvidence
from sluice.lifecycle.job.status import StatusChange

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0
"""Seconds, so that nobody waits much longer than before for a Redis that is back."""
CHECK_SECONDS = 2.0
"""Seconds between checks that Redis is still what it was; each grant and each release finds out for itself, too."""

_ALL = "all"
_USABLE = OperatorConditionType.LEASE_TABLE_USABLE

EPOCHS_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
EPOCHS_AHEAD = 1 << 14
"""No installation whose Lease object and Redis are both forgotten has had more takeovers and rebuilds than hours by this
margin."""

REFUSES_US = "RedisRefusesLogin"
"""The reason of the condition where Redis answers, but not to this operator."""

_OF_URL = "where the operator's configuration, SLUICE_REDIS_URL or SLUICE_REDIS_PASSWORD comes from, and restart the operator"

TROUBLE = (
    *(RedisError, OSError, ForgottenError, OtherInstallationError, RefusedError, ValueError),
    NotFencedError,
)


class LeaseTable:
    def __init__(
        self,
        store: LeaseStore,
        *,
        world: ClusterCache,
        relist: FullList,
        leadership: Election,
        statuses: StatusWriter,
        unexplained: UnexplainedLeaseKeeper,
        came_back: RestoredApplications,
        names: NameBindings,
        conditions: OperatorConditions,
        guard: ErrorIsolation,
        epochs: EpochPolicy,
        redis: Endpoint,
    ) -> None:
        self._store = store
        self._world = world
        self._relist = relist
        self._leadership = leadership
        self._statuses = statuses
        self._conditions = conditions
        self._guard = guard
        self._epochs = epochs
        self._redis = redis
        self._room = RedisCapacity(redis, conditions)
        self.trouble: str | None = "it has not been asked yet"
        """Why nothing can be granted now."""
        self.unsettled: dict[str, Lease] = {}
        """Grants of which it isn't known whether their intent was written."""
        self._settling: RetryPauses[str] = RetryPauses(
            time.monotonic, first=FIRST_PAUSE, longest=LONGEST_PAUSE
        )
        self.unexplained = unexplained
        """Held since the API server went back, since the table was another installation's, or since their objects had to go."""
        self._came_back = came_back
        self._names = names
        self._noted_beat = 0
        self._remembered: dict[str, list[Lease]] = {}
        """What Redis held before the last rebuild, by uid: it may know what an object can no longer tell."""
        self._trying: RetryPauses[str] = RetryPauses(time.monotonic, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        self._checked_at = 0.0
        self._begun = 0
        """An epoch that was begun, and in which nothing has been rebuilt: whatever kept it from that, none is spent on trying
        again. 0: there is none."""
        self._lists_fail = False
        """Whether the last rebuild failed on what the API server answers."""
        self._mended: str | None = None
        self._mended_at = 0.0
        self._to_release: dict[str, Lease] = {}
        """Releases by holder, in the order in which they were asked for."""

    @property
    def is_sure(self) -> bool:
        return self.trouble is None and not self._world.is_of_the_past

    @property
    def no_room(self) -> str | None:
        """Why nothing new can be granted, though it is certain who holds what."""
        return self._room.lacks

    @property
    def epoch(self) -> int:
        return self._store.epoch

    @property
    def held(self) -> list[Lease]:
        return self._store.held

    def held_by(self, uid: str) -> list[Lease]:
        return self._store.held_by(uid)

    def holder_of_run(self, run: str) -> str | None:
        """Who commits under the id of this run, if anybody does."""
        return self._store.holder_of_run(run)

    def is_run_of_another(self, run: str, uid: str) -> bool:
        """Whether another job than the one with this uid commits under the id of this run."""
        holder = self.holder_of_run(run)
        return holder is not None and not holder.startswith(f"{uid}/")

    def lease_of(self, uid: str, attempt: int) -> Lease | None:
        return self._store.lease_of(uid, attempt)

    @property
    def uids(self) -> list[str]:
        """The jobs that hold any lease."""
        return self._store.uids

    def remembered_of(self, uid: str) -> list[Lease]:
        """All that is remembered by sources that must not be believed alone."""
        return [*self._store.held_by(uid), *self._remembered.get(uid, ())]

    @property
    def is_due(self) -> bool:
        """Whether it is time to verify the table, or to try that again."""
        if not self._trying.is_due(_ALL):
            return False
        if not self.is_sure or self.unexplained.tells_an_end:
            return True
        return time.monotonic() - self._checked_at >= CHECK_SECONDS

    @property
    def seconds_left(self) -> float:
        """Seconds until verifying it is due."""
        if self.is_sure:
            return self._checked_at + CHECK_SECONDS - time.monotonic()
        return self._trying.seconds_left(_ALL)

    async def make_sure(self) -> None:
        """Verifies the table before anything rests on it; while it is not verified, nothing of this leader's is under way.
        What failed is tried again after a while."""
        self._trying.tries(_ALL)
        why = self.trouble
        try:
            if self.trouble is None and self._world.is_of_the_past:
                self.mistrust(ForgottenError("the API server went back to an earlier state"))
            if self.is_sure:
                await self._store.check_memory()
                await self._note_beat()
                await self._store.note_learned()
                await self._written_down(self.unexplained.review())
                self._checked_at = time.monotonic()
                self._trying.forget(_ALL)
            else:
                # The rebuild rests on what the jobs say.
                due = self.unsettled_due()
                await asyncio.gather(*(self._guard.on(uid, self.settle(uid)) for uid in due))
                await self._rebuild()
                self._heed_mending(why)
        except TROUBLE as error:
            self.mistrust(error)
        except (ApiError, LostLeadershipError) as error:
            logger.warning("the lease table cannot be verified now: %s; trying again", error)
            self._lists_fail = True
            self._conditions.fails(_USABLE, "NotRebuilt", f"it cannot be verified now: {error}")
        except Exception as error:
            logger.exception("the operator failed on the lease table; trying again")
            self.mistrust(error)
        else:
            if self.no_room is None:
                self._conditions.holds(_USABLE)
            self.unexplained.tell()

    def _heed_mending(self, why: str | None) -> None:
        """Starts the pauses anew unless the same trouble is soon back: what a rebuild mends for good is mended at once the
        next time, too; what it did not mend waits longer and longer."""
        now = time.monotonic()
        if why != self._mended or now - self._mended_at > LONGEST_PAUSE * 2:
            self._trying.forget(_ALL)
        self._mended, self._mended_at = why, now

    def reach_of(self, lease: Lease) -> Reach | None:
        """Returns how far the holder of this lease reached when it was granted; None if that isn't known."""
        granted = self._store.granted(lease)
        return granted.reach if granted is not None else None

    def learn(self, lease: Lease, reach: Reach) -> None:
        """Takes in what a reader of its job has learned, where nothing was known of it."""
        if self._store.granted(lease) is not None:
            self._store.learn(lease, reach)

    async def grant(self, lease: Lease, reach: Reach) -> Grant | None:
        """Grants the lease; None if Redis has no room, or can't be trusted any more. Until `settled` it counts as not known to be
        written down."""
        try:
            grant = await self._store.grant(lease, reach)
        except UnicodeError:
            raise  # the job's own, which can't be written down: nothing was sent
        except FullError as error:
            self._room.is_lacking(error)
            return None
        except TROUBLE as error:
            self.mistrust(error)
            return None
        self._room.is_there()
        self.unsettled[lease.uid] = lease
        return grant

    def settled(self, uid: str) -> None:
        del self.unsettled[uid]
        self._settling.forget(uid)

    def release(self, lease: Lease) -> None:
        """Queues a release, which is sent by the deciding task after another look. What cannot be released now is left out by
        the rebuild that follows."""
        if self.is_sure:
            self._to_release[lease.holder] = lease
            self._world.wake()

    async def send_releases(self) -> list[str]:
        """Sends the releases; returns the uids of the jobs whose leases went."""
        asked, self._to_release = list(self._to_release.values()), {}
        sent = []
        while asked:
            some, asked = asked[:AT_ONCE], asked[AT_ONCE:]
            ended = [lease for lease in some if self._has_ended(lease)]
            gone = await asyncio.gather(*map(self._released, ended))
            sent += [lease.uid for lease, is_gone in zip(ended, gone, strict=True) if is_gone]
        return sent

    def _has_ended(self, lease: Lease) -> bool:
        """Whether nothing stands for it any more, as far as can be told right now."""
        holds = self._world.evidence(lease.uid).holds(lease.attempt) or lease.uid in self.unsettled
        return self.is_sure and not holds and lease not in self.unexplained

    async def _released(self, lease: Lease) -> bool:
        try:
            await self._store.release(lease)
        except TROUBLE as error:
            self.mistrust(error)
            return False
        return True

    def mistrust(self, error: Exception) -> None:
        """Tells all jobs, and has the table rebuilt, at once; and if that fails for the same reason, after a pause."""
        trouble = self._in_words(error)
        if self.trouble != trouble:
            logger.warning(
                "the lease table is not usable: %s; nothing is granted until it is rebuilt", trouble
            )
            self._world.mark_all()
        self.trouble = trouble
        self._conditions.fails(
            _USABLE, _in_one_word(error), f"{trouble}; nothing is granted until it is rebuilt"
        )

    def _in_words(self, error: Exception) -> str:
        said = str(error).rstrip(".")
        where = f"Redis at {self._redis.address}"
        if isinstance(error, REFUSALS):
            return f"{where} {refused(error, self._redis)}: {cure_of(error, self._redis, of_url=_OF_URL)}"
        if isinstance(error, UnfitError):
            return f"{where} cannot keep leases: {said}"
        return f"Redis: {said}" if isinstance(error, RedisError | OSError) else said

    def _evidence(self) -> dict[str, JobEvidence]:
        """The evidence of everything that may hold."""
        return self._evidence_of(self._world.awake_uids())

    def _evidence_of(self, uids: Iterable[str]) -> dict[str, JobEvidence]:
        return {uid: self._world.evidence(uid) for uid in uids}

    def unsettled_due(self) -> list[str]:
        """The grants that are to be checked now. Where that fails for one job, its lease stays, and the others' do not wait
        for it: an intent that arrives after a rebuild finds no lease, and is taken back."""
        return [uid for uid in self.unsettled if self._settling.is_due(uid)]

    async def settle(self, uid: str) -> None:
        """Settles a status write whose answer was lost: the job itself says whether the intent is there. If it isn't, the job
        is written to, so that the intent cannot arrive later: it was sent under a precondition."""
        lease = self.unsettled.get(uid)
        if lease is None:
            return
        self._settling.tries(uid)
        namespace, _, name = lease.job.partition("/")
        body = await self._relist.job(namespace, name, uid)
        if body is not None:
            self._world.job_seen(body)
        job = self._world.jobs.get(uid) if body is not None else None
        if job is not None and job.unreadable is not None:
            return  # it may hide the intent
        given_back = job is None or job.open_attempt is None
        if job is not None and given_back:
            message = f"attempt {lease.attempt} was given back: its intent could not be written"
            change = StatusChange(Phase.PENDING, Reason.GRANT_GIVEN_BACK, message, comes_anew=True)
            await self._statuses.write(job, change)
        self.settled(uid)
        if given_back:
            self.release(lease)
        self._world.mark(uid)

    async def _rebuild(self) -> None:
        """Starts a new epoch with every lease that Kubernetes knows of after the epoch was raised."""
        await self._store.check_fitness()
        epoch, returns = await self._listed_under_a_new_epoch()
        await self._names.begin(epoch)
        self._world.heed_policies()
        grants = lease_evidence.grants(self._world.jobs, self._evidence())
        former = await self._store.former()
        if self._remembers_more(former):
            await self._came_back.end({*former.values, *(lease.holder for lease in self._store.held)})
        ended = self._came_back.being_ended()
        grants = [
            grant
            for grant in grants
            if grant.lease.holder not in ended or grant.lease.holder in former.values
        ]
        self._remembered = {}
        for lease in former.hints:
            self._remembered.setdefault(lease.uid, []).append(lease)
        unexplained = await self.unexplained.find(former, grants, doubt=self._doubt(former), epoch=epoch)
        explained = {grant.lease.holder for grant in grants}
        grants += [record.grant for record in unexplained if record.grant.lease.holder not in explained]
        in_redis = former.readable
        reaching = [self._reaching(grant, in_redis) for grant in grants]
        await self._store.rebuild(epoch, reaching, beat=self._leadership.beat)
        self._begun = 0
        self.unexplained.hold(unexplained)
        self._world.returns_heeded = returns
        self._leadership.rebuilt()
        self.trouble = None
        self._checked_at = time.monotonic()
        self._to_release.clear()
        self._world.look_at_all()
        self._world.mark_these(self.uids)  # also of those of whom nothing else is left
        logger.info("epoch %d: the lease table was rebuilt with %d leases", epoch, len(grants))

    def _reaching(self, grant: Grant, in_redis: Mapping[str, Grant]) -> Grant:
        """Adds how far each grant reaches, as this leader or the one that granted it knew it: objects don't tell, because
        others can write to them."""
        for known in (self._store.granted(grant.lease), in_redis.get(grant.lease.holder)):
            reach = known.reach if known is not None and known.is_the_same_as(grant) else None
            if reach is not None and reach.edition == EDITION:
                return replace(grant, reach=reach)
        return replace(grant, reach=None)

    async def _listed_under_a_new_epoch(self) -> tuple[int, int]:
        """Raises the epoch first, so that the lists show all that was done under older ones; and once more if they show one
        that is as high. Also returns how often the API server had gone back before they were taken."""
        if self._lists_fail:  # epochs are few: none is spent on a rebuild that would fail again
            await self._relist.everything()
            self._lists_fail = False
        await self._epochs.try_again()
        in_redis = (await self._store.former()).epoch
        in_force = await self._epoch_in_force(in_redis)
        seen = max(in_redis, in_force, _hours_of_epochs() - 1)
        again = self._begun if in_redis < self._begun >= in_force and not self._world.is_of_the_past else 0
        while True:
            epoch = again
            if not epoch:
                epoch = await self._leadership.raise_epoch(seen)
                await self._epochs.enforce(epoch)
            self._begun, again = epoch, 0
            returns = self._world.returns
            await self._relist.everything()
            seen = self._epoch_on_objects(in_redis)
            if seen < epoch:
                return epoch, returns

    async def _epoch_in_force(self, in_redis: int) -> int:
        """The epoch that the policies' parameter says; raises NotFencedError if no operator has come to that one."""
        found, ours = await self._epochs.last(), max(in_redis, self._leadership.epoch, _hours_of_epochs())
        if found > ours + EPOCHS_AHEAD:
            raise NotFencedError(
                f"{self._epochs.parameter} says epoch {found}, which no operator has reached: delete it, and it is made anew"
            )
        return found

    def _epoch_on_objects(self, in_redis: int) -> int:
        """Returns the highest plausible epoch on objects. Epochs are few: whoever writes a very high one into a status would
        leave none for later leaders."""
        ours = max(in_redis, self._leadership.epoch, _hours_of_epochs())
        plausible = min(ours + EPOCHS_AHEAD, Epochs.END - 1)
        epochs = lease_evidence.epochs(self._world.jobs, self._evidence(), plausible=plausible)
        for who in epochs.made_up:
            logger.warning("%s, which no operator has reached: it is ignored", who)
        return epochs.highest

    def _doubt(self, former: StoredState) -> str | None:
        """Why a lease may be held though no object shows it."""
        if former.adopted_from is not None:
            return f"the leases of installation {former.adopted_from} were taken over"
        if self._has_gone_back(former):
            return "the API server went back to an earlier state"
        return None

    def _has_gone_back(self, former: StoredState) -> bool:
        noticed = self._world.is_of_the_past or self._leadership.went_back
        return noticed or former.beat > self._leadership.beat

    def _remembers_more(self, former: StoredState) -> bool:
        """Whether the API server went back, and Redis knows what came after: it has forgotten nothing since it was last rebuilt, by
        this leader, or by one whose Lease object told later renewals than it does now."""
        if former.adopted_from is not None or not self._has_gone_back(former):
            return False
        return former.epoch == self._store.epoch > 0 or former.beat > self._leadership.beat

    async def _note_beat(self) -> None:
        beat = self._leadership.beat
        if beat != self._noted_beat:
            await self._store.note_beat(beat)
            self._noted_beat = beat

    async def revoke(self, lease: Lease) -> None:
        """Revokes a lease because somebody who knows says that no driver of it runs. An intent that is still open is then
        carried out."""
        await self._written_down(self.unexplained.forget(lease))
        if not self._world.evidence(lease.uid).holds(lease.attempt):
            self.release(lease)
        self._world.mark(lease.uid)

    async def bury(self, lease: Lease, why: str) -> bool:
        """Leaves a tombstone, so that the objects that the lease stands for may go; returns whether it is there."""
        grant = self._store.granted(lease)
        if grant is None or not self.is_sure:
            return False
        await self._written_down(self.unexplained.bury(grant, why))
        return True

    async def _written_down(self, writing: Awaitable[None]) -> None:
        try:
            await writing
        except ConflictError as error:
            self.mistrust(ForgottenError(f"somebody else wrote down which leases nothing explains: {error}"))
            raise


def _hours_of_epochs() -> int:
    """Hours as the clock has them; 0 where it tells a time for which there is no epoch: the clock only ever raises an epoch, and
    a wrong one must not use them up."""
    hours = int((datetime.now(UTC) - EPOCHS_BEGIN).total_seconds()) // 3600
    return hours if 0 < hours < Epochs.LAST else 0


def _in_one_word(trouble: Exception) -> str:
    if isinstance(trouble, REFUSALS):
        return REFUSES_US
    if isinstance(trouble, RedisError | OSError):
        return "RedisFails"
    if isinstance(trouble, NotFencedError):
        return "NotFenced"
    return "Forgotten" if isinstance(trouble, ForgottenError) else "Refused"

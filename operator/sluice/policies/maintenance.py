"""When a policy's maintenance is due, and which of the jobs that were made for it are to go.

One run is due at a time, the latest: it does what those would have done that were missed, so that these are counted and told, and
not made up for one by one. Runs of one kind follow each other (what Kubernetes calls Forbid). Nothing else makes sense on one
table: side by side the second would wait in the queue for the first and then find little to do, or lose to it; and if the second
ended the first, a compaction that takes longer than its interval would never be done.

What was decided last is kept beside the schedule for which it was decided. Where nothing is kept, where the schedule was changed
since, or where it was kept by a clock that was days ahead, runs count from now on, so that none of the past is due at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.api.job_status import Phase
from sluice.api.maintenance import KEPT_FAILED, KEPT_SUCCEEDED
from sluice.policies.cron import Schedule
from sluice.policies.job_name import job_name, short

_MOST_COUNTED = 100
_MOMENT = timedelta(microseconds=1)
_STEP_BACK = timedelta(days=1)
"""A clock that is put back by less is waited for. What lies further ahead was written by a clock that was wrong."""
_SUSPENDED = "suspended"


class MaintenanceKind(StrEnum):
    OPTIMIZE = "optimize"
    VACUUM = "vacuum"


@dataclass(frozen=True)
class MaintenanceSpec:
    """What the policy wants of one kind."""

    kind: MaintenanceKind
    schedule: Schedule
    suspend: bool = False
    """Holds back what the schedule asks for; what a person asks for is done all the same."""
    starting_deadline: timedelta | None = None
    """How late a run may start; one that could not be started by then is passed over. Absent: however late."""
    kept_succeeded: int = KEPT_SUCCEEDED
    kept_failed: int = KEPT_FAILED

    @property
    def spelled(self) -> str:
        return _SUSPENDED if self.suspend else f"{self.schedule.text} {self.schedule.zone.key}"


@dataclass(frozen=True)
class Decided:
    """Up to when it is decided which runs were made, were left out, or were passed over."""

    until: datetime
    schedule: str
    """As `MaintenanceSpec.spelled` had it."""


@dataclass(frozen=True)
class MaintenanceJob:
    """A job that was made for the policy."""

    name: str
    at: datetime
    """The time that the schedule names, or when it was asked for."""
    phase: Phase | None = None
    by_hand: bool = False

    @property
    def is_finished(self) -> bool:
        return self.phase is not None and self.phase.is_terminal


@dataclass(frozen=True)
class KnownMaintenance:
    """What there is of one kind of a policy's maintenance."""

    policy: str
    uid: str
    """The policy's: one that is created again has jobs of its own."""
    since: datetime | None = None
    """When the schedule came to be, if that is known: when the policy was created, if its spec was never changed."""
    decided: Decided | None = None
    jobs: tuple[MaintenanceJob, ...] = ()
    asked: str | None = None
    """The word by which somebody asks for a run now, if it isn't heeded yet."""


@dataclass(frozen=True)
class MaintenanceRun:
    name: str
    at: datetime
    """Of this day is :today."""
    by_hand: bool = False
    """Whether somebody asked for it, who knows whether there is something to be gained."""


@dataclass(frozen=True)
class NextRun:
    run: MaintenanceRun | None = None
    """What is to be made now, if it isn't left out because nothing is to be gained."""
    decided: Decided | None = None
    """What is to be kept from now on, once the run is made or left out. None: what was kept stays."""
    heeded: bool = False
    """Whether the word that asks for a run is heeded by this."""
    told: tuple[str, ...] = ()
    goes: tuple[str, ...] = ()
    """Names of finished jobs that are more than are to be kept."""
    look_again: datetime | None = None
    """When the next run is due. What happens to jobs and to the policy is looked at as it happens."""


def planned(wanted: MaintenanceSpec, known: KnownMaintenance, now: datetime) -> NextRun:
    busy = next((job.name for job in known.jobs if not job.is_finished), None)
    by_schedule = _by_schedule(wanted, known, now, busy)
    goes = tuple(_too_many(wanted, known))
    look_again = None if wanted.suspend else _next(wanted, known, by_schedule, now)
    if known.asked is None:
        return _with(by_schedule, goes, look_again)
    name = name_by_hand(known.policy, known.uid, wanted.kind, known.asked)
    if any(job.name == name for job in known.jobs):
        return _with(by_schedule, goes, look_again, heeded=True)
    if busy is not None:
        waits = f"the {wanted.kind} that was asked for ({known.asked}) waits until {busy} has ended"
        return _with(by_schedule, goes, look_again, told=waits)
    kept = (
        by_schedule.decided if by_schedule.run is None else None
    )  # what is due is looked at again once this one has ended
    return NextRun(
        MaintenanceRun(name, now, by_hand=True),
        kept,
        True,
        by_schedule.told if kept else (),
        goes,
        look_again,
    )


def name_of(policy: str, uid: str, kind: MaintenanceKind, at: datetime) -> str:
    """The same for whoever works it out, so that two leaders make one job; and another one for each time."""
    return job_name(policy, uid, kind, str(int(at.timestamp()) // 60))


def name_by_hand(policy: str, uid: str, kind: MaintenanceKind, word: str) -> str:
    return job_name(policy, uid, kind, f"asked-{short(word)}")


def _with(
    plan: NextRun, goes: tuple[str, ...], look_again: datetime | None, *, heeded: bool = False, told: str = ""
) -> NextRun:
    said = (*plan.told, told) if told else plan.told
    return NextRun(plan.run, plan.decided, heeded, said, goes, look_again)


# ------------------------------------------------------------------------------------------------------------------- by schedule


def _by_schedule(
    wanted: MaintenanceSpec, known: KnownMaintenance, now: datetime, busy: str | None
) -> NextRun:
    since = _since(wanted, known, now)
    if since is None or (wanted.suspend and known.decided is None):
        return _from_now_on(wanted, known, now)
    if wanted.suspend:
        return NextRun()
    due = wanted.schedule.last_before_or_at(now)
    if due is None or due <= since:
        return NextRun()
    decided = Decided(due, wanted.spelled)
    limit = wanted.starting_deadline
    if limit is not None and now - due > limit:
        late = f"the {wanted.kind} of {_shown(due, wanted)} could not be started within {limit}, and is passed over"
        return NextRun(decided=decided, told=(late, *_of_missed(wanted, since, due)))
    if busy is not None:
        return NextRun(told=(f"the {wanted.kind} of {_shown(due, wanted)} waits until {busy} has ended",))
    run = MaintenanceRun(name_of(known.policy, known.uid, wanted.kind, due), due)
    return NextRun(run, decided, told=tuple(_of_missed(wanted, since, due)))


def _since(wanted: MaintenanceSpec, known: KnownMaintenance, now: datetime) -> datetime | None:
    """From when on runs may be due; None: from now on."""
    latest_believed = now + _STEP_BACK
    kept = known.decided
    if kept is not None and (kept.schedule != wanted.spelled or kept.until > latest_believed):
        return None
    first = known.since if kept is None else kept.until
    moments = (first, *(job.at for job in known.jobs if not job.by_hand))
    return max((at for at in moments if at is not None and at <= latest_believed), default=None)


def _from_now_on(wanted: MaintenanceSpec, known: KnownMaintenance, now: datetime) -> NextRun:
    kept = known.decided
    told: tuple[str, ...] = ()
    if kept is not None and kept.schedule == wanted.spelled and not wanted.suspend:
        told = (
            f"the last {wanted.kind} is said to be of {_shown(kept.until, wanted)}, which is still to come: a clock was wrong, "
            "and runs count from now on",
        )
    return NextRun(decided=Decided(now, wanted.spelled), told=told)


def _of_missed(wanted: MaintenanceSpec, since: datetime, due: datetime) -> Iterable[str]:
    count = wanted.schedule.count(since, due - _MOMENT, most=_MOST_COUNTED + 1)
    if count == 1:
        yield "one run before it was missed"
    elif count:
        number = f"more than {_MOST_COUNTED}" if count > _MOST_COUNTED else str(count)
        yield f"{number} runs before it were missed, which are not made up for one by one"


def _shown(at: datetime, wanted: MaintenanceSpec) -> str:
    return wanted.schedule.shown(at)


def _next(wanted: MaintenanceSpec, known: KnownMaintenance, plan: NextRun, now: datetime) -> datetime | None:
    """Not before what is decided, where a clock was put back a little."""
    since = plan.decided.until if plan.decided is not None else _since(wanted, known, now)
    return wanted.schedule.next_after(now if since is None else max(since, now))


# ----------------------------------------------------------------------------------------------------------------------- history


def _too_many(wanted: MaintenanceSpec, known: KnownMaintenance) -> Iterable[str]:
    """Only of runs that are known to be decided: a job is what tells of its run until that is kept."""
    finished = [job for job in known.jobs if job.is_finished]
    for limit, failed in ((wanted.kept_succeeded, False), (wanted.kept_failed, True)):
        alike = [job for job in finished if (job.phase is Phase.FAILED) is failed]
        newest_first = sorted(alike, key=lambda job: (job.at, job.name), reverse=True)
        yield from (job.name for job in newest_first[limit:] if _is_kept_elsewhere(job, wanted, known))


def _is_kept_elsewhere(job: MaintenanceJob, wanted: MaintenanceSpec, known: KnownMaintenance) -> bool:
    if job.by_hand:
        asked = known.asked
        return asked is None or job.name != name_by_hand(known.policy, known.uid, wanted.kind, asked)
    return known.decided is not None and job.at <= known.decided.until

"""What is done so that a table becomes as its policy wants: one job at a time, made from what was read of the table after the last
one had ended, and not for ever where somebody sets it back.

What was done is counted in the policy's status. It is written before the next job is made, so that a leader that comes after
never counts less than was done.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.api.bounds import SHORT
from sluice.api.job_status import Phase
from sluice.api.policy import DeltaTablePolicySpec, Enforcement
from sluice.api.policy_enforcement import Enforced, EnforcedReason, FieldSet, SetBack
from sluice.api.strings import shortened
from sluice.delta.version import Version
from sluice.policies.alteration import Alteration, ClusterBy
from sluice.policies.desired_state import wishes_of
from sluice.policies.difference import AlterationPlan, plan_of
from sluice.policies.enforcement_record import MOST_JOBS
from sluice.policies.job_name import job_name
from sluice.policies.job_permission import JobsForbidden
from sluice.policies.observed_status import Named, author_of
from sluice.tables.table_observation import CLUSTERING, TableObservation

ROUNDS = 3
"""How often a field may be found set back before nobody sets it any more."""
ROUND = timedelta(days=7)
"""What is set back later than this after it was set is no answer to that: it counts as the first time."""
MOST_FAILURES = 5
FIRST_PAUSE = timedelta(minutes=1)
KEPT_SUCCEEDED, KEPT_FAILED = 3, 1
_LONGEST_FAILURE = 1024
"""Characters: what is said of it must have room beside it in one message."""
NOT_ENFORCED = "the policy does not say Enforce any more"
NOT_WANTED = "what it would change is not wanted any more, or is so already"
_CLUSTER_BY = "clusterBy"
_OF_NUMBERS = (
    f"its jobs are numbered up to {MOST_JOBS}, which is more than it has made: somebody made a job of that name in its place, or "
    "wrote the number into its status. Delete the policy and create it again, which begins to count anew"
)


class RemedyKind(StrEnum):
    PROPERTIES = "properties"
    CLUSTERING = "clustering"


KINDS = frozenset(RemedyKind)


@dataclass(frozen=True)
class OwnJob:
    """A job that was made to change the table."""

    name: str
    uid: str
    number: int
    phase: Phase | None
    sql: str | None = None
    """None: it is not known any more, as of one that is over."""
    fields: tuple[str, ...] = ()
    """The policy's fields that it sets."""
    why: str = ""
    """How it ended, or what it waits for."""
    ended_at: datetime | None = None
    """When it was first known to have ended; None: it has not."""
    has_begun: bool = False
    """Whether an attempt of it is under way, or it is being deleted."""
    was_tried: bool = False
    """Whether it had an attempt."""

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None


@dataclass(frozen=True)
class ObservedPolicy:
    """What there is of one policy."""

    name: str
    uid: str
    generation: int
    spec: DeltaTablePolicySpec
    jobs: tuple[OwnJob, ...]
    look: TableObservation | None
    version: Version | None
    """Of Delta, that its jobs run."""
    no_jobs: JobsForbidden | None = None
    """Why no job can be made."""
    asked: str | None = None
    """The word by which somebody asks to go on, heeded or not."""
    named: Named = str
    """How jobs are called in its namespace."""
    lingering: frozenset[str] = frozenset()
    """Uids of jobs that are gone, while something of theirs may still write."""


@dataclass(frozen=True)
class MakeJob:
    name: str
    kind: RemedyKind
    sql: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class WithdrawJob:
    """Deletes a job of which nothing is under way."""

    job: OwnJob
    why: str


@dataclass(frozen=True)
class WaitForJob:
    why: str
    until: datetime | None = None
    """None: until something changes."""
    look: bool = False
    """Whether it waits for a look at the table."""


@dataclass(frozen=True)
class Done:
    """There is nothing to do."""


@dataclass(frozen=True)
class Stalled:
    reason: EnforcedReason
    why: str


Step = MakeJob | WithdrawJob | WaitForJob | Done | Stalled


@dataclass(frozen=True)
class RemediationDecision:
    step: Step
    kept: Enforced
    """What is to be kept from now on, before the step is done."""


def decide(known: ObservedPolicy, before: Enforced, now: datetime) -> RemediationDecision:
    kept = _counted(known, _of_this_generation(known, before), now)
    decision = _decided(known, kept, now)
    kept = _telling(decision.kept, decision.step).within_bounds()
    is_new = before == Enforced() and kept == Enforced(generation=known.generation)
    is_nothing = is_new and not isinstance(decision.step, MakeJob)
    return RemediationDecision(decision.step, before if is_nothing else kept)


def _telling(kept: Enforced, step: Step) -> Enforced:
    """What the policy's status is to say of it. Before the table is looked at, and a job is there, it is what was said last."""
    if isinstance(step, MakeJob | WithdrawJob) or (isinstance(step, WaitForJob) and step.look):
        return kept
    reason, message = None, None
    if isinstance(step, Stalled):
        reason, message = step.reason, step.why
    elif isinstance(step, WaitForJob):
        reason = EnforcedReason.CHANGING if step.until is None else EnforcedReason.RETRYING
        message = step.why
    return kept.model_copy(update={"reason": reason, "message": message})


def too_many(jobs: Iterable[OwnJob], kept: Enforced) -> tuple[OwnJob, ...]:
    """Which finished ones are to go, all of which are counted."""
    over = sorted(
        (job for job in jobs if job.is_over and job.number <= kept.counted), key=lambda job: -job.number
    )
    succeeded = [job for job in over if job.phase is Phase.SUCCEEDED]
    failed = [job for job in over if job.phase is not Phase.SUCCEEDED]
    return (*succeeded[KEPT_SUCCEEDED:], *failed[KEPT_FAILED:])


def why_not_yet(
    spec: DeltaTablePolicySpec, look: TableObservation | None, version: Version | None, sql: str | None
) -> str | None:
    """Why a job with this statement may not begin now; None: it would change the table. `look`: the last one, if that began after
    all runs had ended that may have changed the table."""
    if spec.enforcement is not Enforcement.ENFORCE:
        return NOT_ENFORCED
    if look is None:
        return "its log has not been read since the last job ended that may have changed it; it begins once that is done"
    plan = plan_of(spec, look.state, version)
    return plan.not_compared or (NOT_WANTED if _is_needless(sql, plan) else None)


def number_of(job: str, kind: str, policy: str, uid: str) -> int | None:
    """Which one of its policy's the job of this name is. None: the policy would not give it that name."""
    number = number_in(job)
    return number if number is not None and job == job_name(policy, uid, kind, str(number)) else None


def number_in(name: str) -> int | None:
    """Which one it is of its policy's, by its name."""
    number = name.rpartition("-")[2]
    is_one = number.isascii() and number.isdecimal() and len(number) <= len(str(MOST_JOBS))
    return int(number) if is_one else None


def is_over_the_limit(kept: Enforced) -> SetBack | None:
    return next((one for one in kept.set_back if one.times >= ROUNDS), None)


# ------------------------------------------------------------------------------------------------------------------ what is counted


def _of_this_generation(known: ObservedPolicy, before: Enforced) -> Enforced:
    """Begins to count anew where the policy wants something else, or somebody says so."""
    is_asked = known.asked is not None and known.asked != before.asked
    if before.generation == known.generation and not is_asked:
        return before
    last = max((before.number, *(job.number for job in known.jobs)))
    return Enforced(
        generation=known.generation,
        asked=known.asked if is_asked else before.asked,
        number=last,
        counted=last,
        job=before.job,
        job_uid=before.job_uid,
        ended_at=before.ended_at,
        reason=before.reason,
        message=before.message,
    )


def _counted(known: ObservedPolicy, kept: Enforced, now: datetime) -> Enforced:
    """Takes in the ends of jobs that are not counted yet, and who is the last one."""
    by_number = {job.number: job for job in known.jobs}
    told_of = {number for number in (kept.number, *by_number) if number > kept.counted}
    for number in sorted(told_of):  # of numbers between them nothing is told: they may be many
        job = by_number.get(number)
        if job is not None:
            kept = kept.model_copy(update={"number": number, "job": job.name, "job_uid": job.uid})
            if job.ended_at is None:
                break
            kept = _with_end(kept, job, job.ended_at)
        elif number == kept.number:
            why = f"{kept.job} was deleted before its end was seen"
            kept = _with_failure(kept, number, why, now)
        else:
            kept = kept.model_copy(update={"counted": number})
    return _not_ahead(kept, now)


def _not_ahead(kept: Enforced, now: datetime) -> Enforced:
    """What was written by a clock that was ahead was now at the latest."""
    ahead = {
        name: now
        for name, at in (("ended_at", kept.ended_at), ("failed_at", kept.failed_at))
        if at is not None and at > now
    }
    return kept.model_copy(update=ahead) if ahead else kept


def _with_end(kept: Enforced, job: OwnJob, ended_at: datetime) -> Enforced:
    if job.phase is not Phase.SUCCEEDED:
        return _with_failure(kept, job.number, f"{job.name}: {job.why}", ended_at)
    others = tuple(one for one in kept.fields_set if one.field not in job.fields)
    newly = tuple(FieldSet(field=field, at=ended_at) for field in job.fields)
    return kept.model_copy(
        update={
            "counted": job.number,
            "ended_at": _later(kept.ended_at, ended_at),
            "failures": 0,
            "failed_at": None,
            "failure": None,
            "fields_set": (*others, *newly),
        }
    )


def _with_failure(kept: Enforced, number: int, why: str, at: datetime) -> Enforced:
    return kept.model_copy(
        update={
            "counted": number,
            "failures": kept.failures + 1,
            "failed_at": at,
            "failure": why[:_LONGEST_FAILURE],
            "ended_at": _later(kept.ended_at, at),
        }
    )


def _later(first: datetime | None, second: datetime) -> datetime:
    return second if first is None else max(first, second)


def _with_set_back(
    kept: Enforced, fields: Iterable[str], known: ObservedPolicy, look: TableObservation
) -> Enforced:
    """Counts fields that are found to differ though they were set."""
    keys = {wish.field: wish.name for wish in wishes_of(known.spec)} | {_CLUSTER_BY: CLUSTERING}
    set_at = {one.field: one.at for one in kept.fields_set}
    found = {one.field: one for one in kept.set_back}
    for field in fields:
        if field not in set_at:
            continue
        before = found.get(field)
        times = 1 if before is None or look.at - set_at[field] > ROUND else before.times + 1
        found[field] = SetBack(
            field=field, times=times, at=look.at, by=_by_whom(keys.get(field), look, known.named)
        )
        del set_at[field]
    return kept.model_copy(
        update={
            "fields_set": tuple(FieldSet(field=field, at=at) for field, at in set_at.items()),
            "set_back": tuple(found.values()),
        }
    )


def _by_whom(key: str | None, look: TableObservation, named: Named) -> str:
    commit = None if key is None else look.history.changed_by.get(key)
    if commit is None:
        return "somebody whom the log does not tell any more"
    return f"{author_of(commit, named)} in version {commit.version}"


# ------------------------------------------------------------------------------------------------------------------ what is done


def _decided(known: ObservedPolicy, kept: Enforced, now: datetime) -> RemediationDecision:
    is_wanted = known.spec.enforcement is Enforcement.ENFORCE
    plan = _plan(known) if is_wanted else None
    under_way = next((job for job in known.jobs if not job.is_over), None)
    if under_way is not None:
        return _beside(under_way, kept, plan, now, is_wanted=is_wanted)
    if not is_wanted:
        return RemediationDecision(Done(), kept)
    if kept.job_uid in known.lingering:
        return RemediationDecision(WaitForJob(f"what is left of {kept.job} is being ended"), kept)
    if plan is None or known.look is None or not _is_believed(known.look, kept):
        return RemediationDecision(WaitForJob("the table is being looked at", look=True), kept)
    if not plan.changes:
        return RemediationDecision(Done(), _settled(kept, known.look) if plan.not_compared is None else kept)
    change = plan.changes[0]
    fields = _fields_of(change, plan)
    kept = _with_set_back(kept, fields, known, known.look)
    return RemediationDecision(_next(known, kept, change, fields, now), kept)


def _plan(known: ObservedPolicy) -> AlterationPlan | None:
    return None if known.look is None else plan_of(known.spec, known.look.state, known.version)


def _is_believed(look: TableObservation, kept: Enforced) -> bool:
    return kept.ended_at is None or look.at > kept.ended_at


def _beside(
    job: OwnJob, kept: Enforced, plan: AlterationPlan | None, now: datetime, *, is_wanted: bool
) -> RemediationDecision:
    if job.has_begun:
        return RemediationDecision(WaitForJob(f"{job.name} is changing the table"), kept)
    if not is_wanted:
        return RemediationDecision(WithdrawJob(job, NOT_ENFORCED), _taken_back(kept, job, now))
    if plan is not None and _is_needless(job.sql, plan):
        return RemediationDecision(WithdrawJob(job, NOT_WANTED), _taken_back(kept, job, now))
    return RemediationDecision(WaitForJob(f"{job.name} waits to change the table: {job.why}"), kept)


def _is_needless(sql: str | None, plan: AlterationPlan) -> bool:
    return plan.not_compared is None and sql not in [one.sql for one in plan.changes]


def _taken_back(kept: Enforced, job: OwnJob, now: datetime) -> Enforced:
    """Counted before it is deleted, so that it counts as no failure. What an attempt of it may have changed is looked at before the
    next one is made."""
    ended_at = _later(kept.ended_at, now) if job.was_tried else kept.ended_at
    return kept.model_copy(
        update={"number": max(kept.number, job.number), "counted": job.number, "ended_at": ended_at}
    )


def _settled(kept: Enforced, look: TableObservation) -> Enforced:
    """The table is as wanted: what failed before is over, and so is what was set back long ago."""
    recent = tuple(one for one in kept.set_back if look.at - one.at <= ROUND)
    return kept.model_copy(update={"failures": 0, "failed_at": None, "failure": None, "set_back": recent})


def _next(
    known: ObservedPolicy, kept: Enforced, change: Alteration, fields: tuple[str, ...], now: datetime
) -> Step:
    fight = is_over_the_limit(kept)
    if fight is not None:
        return Stalled(EnforcedReason.FIGHT, _of_fight(fight))
    if kept.failures >= MOST_FAILURES:
        return Stalled(EnforcedReason.REMEDY_FAILED, _of_failures(kept))
    if known.no_jobs is not None:
        return Stalled(known.no_jobs.reason, known.no_jobs.why)
    if kept.failed_at is not None:
        due = kept.failed_at + FIRST_PAUSE * 2 ** (kept.failures - 1)
        if now < due:
            return WaitForJob(f"the next job is made at {due:%Y-%m-%dT%H:%M:%SZ}: {kept.failure}", until=due)
    if kept.number >= MOST_JOBS:
        return Stalled(EnforcedReason.NAME_TAKEN, _OF_NUMBERS)
    kind = RemedyKind.CLUSTERING if isinstance(change, ClusterBy) else RemedyKind.PROPERTIES
    name = job_name(known.name, known.uid, kind, str(kept.number + 1))
    return MakeJob(name, kind, change.sql, fields)


def _of_failures(kept: Enforced) -> str:
    return (
        f"{kept.failures} jobs have failed one after another, lastly {kept.failure}. Nothing more is tried: mend the cause, then "
        "change the policy, or go on by the annotation sluice.dev/run=enforce"
    )


def _of_fight(found: SetBack) -> str:
    return (
        f"spec.{found.field} was set {found.times} times, and set back each time, lastly by {found.by}: nothing of this table is "
        "changed any more. Settle it with whoever wants it otherwise, then change the policy, or go on by the annotation "
        "sluice.dev/run=enforce"
    )


def _fields_of(change: Alteration, plan: AlterationPlan) -> tuple[str, ...]:
    """The policy's fields that the change sets, as a status has room for them."""
    of_clustering = isinstance(change, ClusterBy)
    return tuple(
        shortened(one.field, SHORT)
        for one in plan.differences
        if one.is_tried and (one.field == _CLUSTER_BY) is of_clustering
    )

"""The way of an open attempt: what stands for it goes in, the one next step comes out.

An application is created once its lease and its intent are certain; its driver's end is proved before anything else is said of
how it ended.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from sluice.api.base import Json
from sluice.api.job_status import (
    Attempt,
    AttemptEnding,
    DriverLoss,
    EndingReason,
    Phase,
    StreamPause,
    StreamProgress,
)
from sluice.api.reasons import Reason
from sluice.api.strings import shortened
from sluice.engines import Observation, Stage, engine_of
from sluice.engines.progress import stream_of
from sluice.footprint import NotUnderstoodError
from sluice.leases.model import Lease
from sluice.lifecycle.attempt import withdrawal
from sluice.lifecycle.attempt.deadlines import Deadline, deadline_of, of_a_suspended
from sluice.lifecycle.attempt.running_status import running
from sluice.lifecycle.attempt.withdrawal import Creates, withdrawn
from sluice.lifecycle.evidence.attempt_evidence import PROVED, Evidence
from sluice.lifecycle.evidence.deletion import (
    NOT_TOLD,
    DeleteApplication,
    FreeDriverName,
    OccupyName,
    ReleaseObject,
    late_after,
    leaving,
)
from sluice.lifecycle.evidence.driver_details import with_driver
from sluice.lifecycle.evidence.driver_losses import command_for, command_on_pod
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.streams.pauses import StreamPauseReason, wanted_by_itself
from sluice.lifecycle.streams.stop_requests import is_asked_to_stop, why_it_pauses

SLOW_START_SECONDS = 5.0
"""Seconds that each step of a start may take before it is told."""

SLOW_END_SECONDS = 10.0
"""Seconds for a Spark operator to see that a driver has ended, before anybody is told that it hasn't said so."""

_LONGEST_DETAIL = 800
"""Characters of what a pod says, which may be any number: the command after it must be whole."""

_WHY_ENDED = {
    EndingReason.DEADLINE_EXCEEDED: Reason.DEADLINE_EXCEEDED,
    EndingReason.START_TIMED_OUT: Reason.START_TIMED_OUT,
    EndingReason.WAITING_FOR_COMPUTE: Reason.WAITING_FOR_COMPUTE,
    EndingReason.PREEMPTED: Reason.PREEMPTED,
    EndingReason.PAUSE_EXCEEDED: Reason.PAUSE_EXCEEDED,
}


@dataclass(frozen=True)
class Create:
    """Create the application, under the lease that was granted for it."""

    lease: Lease


@dataclass(frozen=True)
class Withdraw:
    """Take the intent back, unless the API server has the application after all."""

    change: StatusChange


@dataclass(frozen=True)
class ReportProgress:
    """Say what there is to know now; nothing else can be done."""

    change: StatusChange
    seconds_until_worth_it: float = 0.0
    """Seconds before it is said: usually it is over before that."""
    deadline: Deadline | None = None
    """When the attempt is ended if nothing changes."""
    seconds_until_more: float | None = None
    """Seconds until there is more to say, though nothing changes."""


@dataclass(frozen=True)
class AskToStop:
    """Write onto the pod of a stream's driver that it is to stop at a batch boundary, as its attempt's pause says."""

    pod: Json
    why: str


@dataclass(frozen=True)
class BeginEnding:
    """Write down that the attempt is to be ended, and why, if it is still as it was seen."""

    change: StatusChange


@dataclass(frozen=True)
class OccupyDriverName:
    """Take the driver's name, so that no driver can start any more, or find the driver that did."""


@dataclass(frozen=True)
class LookForDriver:
    """Look for the driver where no watch has shown it; if it is nowhere, say so."""

    otherwise: StatusChange


@dataclass(frozen=True)
class End:
    """The attempt's end is proved: write the outcome, then let it go."""

    seen: Observation
    application_deleted: bool = False
    """Whether somebody deleted it while it ran."""
    came_back: bool = False
    """Whether it came back with an earlier state of the API server, so that it may have run."""
    on_pod: StreamProgress | None = None
    """What the driver of a stream has said last on its pod."""


@dataclass(frozen=True)
class EndPod:
    """Delete the pod of the driver that has ended: as long as another container of it goes on, no Spark operator sees it."""

    pod: Json


@dataclass(frozen=True)
class Leave:
    """Its job, its application, its driver's pod or its namespace is being deleted: it is brought to its end like whatever is left
    of any job."""


@dataclass(frozen=True)
class Wait:
    """Wait until it is known who holds what, or until it is time for another try."""


@dataclass(frozen=True)
class DistrustIntent:
    """Not all leases are known: nothing may rest on the lease table before a rebuild."""

    why: str


StepTowardsTheEnd = BeginEnding | DeleteApplication | End | EndPod | Leave
Step = (
    Create
    | Withdraw
    | ReportProgress
    | AskToStop
    | OccupyDriverName
    | LookForDriver
    | Wait
    | DistrustIntent
    | StepTowardsTheEnd
)


@dataclass(frozen=True)
class Cover:
    """What the lease table says of the attempt."""

    lease: Lease | None
    is_sure: bool = True
    """Whether the table can be trusted now."""
    revoke_command: str | None = None
    """Set where no object explains the lease, so that an application may have been created for it: what frees it then."""


def next_step(
    job: JobView,
    evidence: Evidence,
    cover: Cover,
    creates: Creates,
    now: datetime,
    *,
    observed_since: datetime | None = None,
    gives_way: StreamPauseReason | None = None,
) -> Step:
    """Returns the next step of the attempt whose intent is in the evidence. `observed_since`: since when it is followed without a
    break, if that isn't since its grant. `gives_way`: until when streams pause for it."""
    attempt = evidence.intent
    if attempt is None:
        raise ValueError(f"{job.key}: {evidence.application_name} belongs to no running attempt")
    if job.is_deleted:
        return _of_deleted(job, attempt, evidence, cover, now)
    if attempt.ending is not None:
        if not _is_spared(attempt.ending, evidence):
            return _of_ending(job, attempt, attempt.ending, evidence, cover, now)
        attempt = attempt.model_copy(update={"ending": None})
        evidence = replace(evidence, intent=attempt)
    deadline = deadline_of(job, attempt, evidence, observed_since, gives_way)
    if deadline is not None and deadline.at <= now and cover.lease is not None:
        return _begin_ending(attempt, deadline, now)
    if evidence.seen.stage is Stage.NOT_CREATED:
        return _before_creation(job, attempt, cover, creates, now)
    return _after_creation(job, attempt, evidence, cover, deadline, now)


def _after_creation(  # noqa: PLR0917 - all that a step depends on
    job: JobView,
    attempt: Attempt,
    evidence: Evidence,
    cover: Cover,
    deadline: Deadline | None,
    now: datetime,
) -> Step:
    seen = evidence.seen
    step: Step
    match seen.stage:
        case Stage.NEVER_STARTS if evidence.application is None and attempt.message is not None:
            step = Withdraw(withdrawal.given_up(job, attempt, attempt.message, now))
        case Stage.ENDED | Stage.NEVER_STARTS:
            step = _end(evidence)
        case _ if cover.is_sure and cover.lease is None and not evidence.application_is_going:
            step = DistrustIntent(f"no lease covers {attempt.application}, which may run")
        case Stage.NOT_OVER:
            step = _before_another_driver(job, attempt, evidence, now)
        case Stage.STARTING:
            change = _starting(job, attempt, evidence, deadline, now)
            step = ReportProgress(change, _seconds_of_patience(job, attempt, seen, now), deadline)
        case Stage.RUNNING:
            step = _while_it_runs(job, attempt, evidence, deadline, now)
        case Stage.NO_DRIVER:
            step = OccupyDriverName()
        case Stage.LOST:
            lost = LookForDriver(otherwise=_lost(job, attempt, evidence, now))
            step = Leave() if evidence.namespace_ends else lost
        case Stage.NOT_CREATED:
            raise ValueError(f"{job.key}: {attempt.application} was not created")
        case _:
            assert_never(seen.stage)
    return step


def _while_it_runs(
    job: JobView, attempt: Attempt, evidence: Evidence, deadline: Deadline | None, now: datetime
) -> Step:
    reason = None if attempt.pause is not None else wanted_by_itself(job, attempt)
    if reason is not None:
        pause = StreamPause(reason=reason, since=now)
        attempt = attempt.model_copy(update={"pause": pause})
    elif attempt.pause is not None and evidence.pod is not None and not is_asked_to_stop(evidence.pod):
        return AskToStop(evidence.pod, why_it_pauses(attempt.pause))
    told = running(job, attempt, evidence, now)
    return ReportProgress(told.change, told.seconds_until_worth_it, deadline, told.seconds_until_more)


def unexplained(lease: Lease, revoke_command: str) -> str:
    """Says what is known. Why no object shows it is not known for long: the records of such leases outlive the leader that
    found out."""
    return (
        f"attempt {lease.attempt} may run: its lease is held, and no object shows what became of it. That is so after the API "
        "server went back to an earlier state, after the leases of another installation were taken over, and after its namespace "
        f"was not watched for a while. Once no driver of it runs, say so: {revoke_command}"
    )


def _begin_ending(attempt: Attempt, deadline: Deadline, now: datetime) -> BeginEnding:
    message = f"SparkApplication {attempt.application} is being ended: {deadline.message}"
    ended = attempt.model_copy(update={"ending": deadline.ending(now), "message": None})
    return BeginEnding(StatusChange(Phase.ENDING, _WHY_ENDED[deadline.reason], message, attempt=ended))


def _is_spared(ending: AttemptEnding, evidence: Evidence) -> bool:
    """Whether its driver runs, or ran, after all, and nothing was deleted for it yet."""
    if ending.reason in (EndingReason.DEADLINE_EXCEEDED, EndingReason.PREEMPTED, EndingReason.PAUSE_EXCEEDED):
        return False
    is_as_it_was = evidence.application is not None and not evidence.application_is_going
    seen = evidence.seen
    return is_as_it_was and not seen.is_suspended and (seen.stage is Stage.RUNNING or _has_run(seen))


def _has_run(seen: Observation) -> bool:
    return seen.exit_code is not None and seen.started_at is not None


def _of_ending(  # noqa: PLR0917 - all that a step depends on
    job: JobView,
    attempt: Attempt,
    ending: AttemptEnding,
    evidence: Evidence,
    cover: Cover,
    now: datetime,
) -> Step:
    """The steps that bring it to its end: its application goes first, so that it starts no driver. Who deletes it has its driver
    ended with it."""
    seen = evidence.seen
    if _is_to_end(evidence, job.namespace) or seen.stage in PROVED:
        return End(seen, came_back=evidence.came_back, on_pod=stream_of(evidence.pod))
    if evidence.application is not None and not evidence.application_is_going:
        if cover.is_sure and cover.lease is None:
            return DistrustIntent(f"no lease covers {attempt.application}, which is being ended")
        return DeleteApplication()
    if seen.stage is Stage.NOT_CREATED:
        return OccupyDriverName()
    lost = _lost_at_its_end(job, attempt, evidence, f"; it was being ended: {ending.message}", now)
    return Leave() if lost is None else lost


def _lost_at_its_end(
    job: JobView, attempt: Attempt, evidence: Evidence, why: str, now: datetime
) -> ReportProgress | LookForDriver | None:
    """Tells that a driver is lost that is being ended: nothing more can be done to end it. A node may fall silent before it has
    told of the driver's container."""
    if evidence.namespace_ends:
        return None
    is_lost = evidence.seen.stage is Stage.LOST and (evidence.pod is None or evidence.pod_is_going)
    since = now if is_lost else late_after(evidence)
    if since is None:
        return None
    change = _lost(job, attempt, evidence, now, how=None if is_lost else NOT_TOLD)
    change = replace(change, message=f"{change.message}{why}")
    return LookForDriver(change) if since <= now else ReportProgress(change, (since - now).total_seconds())


def _starting(
    job: JobView, attempt: Attempt, evidence: Evidence, deadline: Deadline | None, now: datetime
) -> StatusChange:
    seen = evidence.seen
    loss = evidence.lost_at(now) if evidence.pod_is_going else None
    gone = "" if loss is None else _if_its_node_is_gone(job, evidence, loss)
    told = f"{shortened(seen.detail, _LONGEST_DETAIL)}{gone}{_otherwise(deadline)}"
    message = f"SparkApplication {attempt.application} exists; {told}{evidence.words_beside}"
    reason = Reason.WAITING_FOR_COMPUTE if seen.waits_for_compute else Reason.DRIVER_STARTING
    attempt = attempt.model_copy(update={"message": None, "loss": loss})
    return StatusChange(Phase.STARTING, reason, message, attempt=attempt)


def _otherwise(deadline: Deadline | None) -> str:
    if deadline is None:
        return ""
    until = f"{deadline.at.strftime('%H:%M:%S')} UTC"
    if deadline.reason is EndingReason.WAITING_FOR_COMPUTE:
        return f"; if that lasts until {until}, its leases are released, and it queues again"
    return f"; if its driver doesn't run by {until}, the attempt is ended"


def _of_deleted(job: JobView, attempt: Attempt, evidence: Evidence, cover: Cover, now: datetime) -> Step:
    if cover.revoke_command is not None and evidence.seen.stage is Stage.NOT_CREATED:
        return Wait()  # it may have been carried out: a person says what became of it
    if evidence.seen.stage is Stage.NOT_CREATED:
        return Withdraw(withdrawn(attempt, "its job was deleted", now))
    if _is_to_end(evidence, job.namespace):
        return _end(evidence)
    lost = _lost_at_its_end(job, attempt, evidence, "; its job is being deleted", now)
    return Leave() if lost is None else lost


def _end(evidence: Evidence) -> End:
    return End(evidence.seen, evidence.was_deleted_while_it_ran, evidence.came_back, stream_of(evidence.pod))


def _is_to_end(evidence: Evidence, namespace: str) -> bool:
    """Whether its outcome is told now: its end is proved, or its driver's pod must go, and the result with it."""
    match leaving(evidence, namespace):
        case ReleaseObject():
            return True
        case FreeDriverName() | OccupyName() if evidence.seen.stage is Stage.NOT_OVER:
            return evidence.seen.exit_code is not None or evidence.declared_dead
        case _:
            return False


def _before_another_driver(job: JobView, attempt: Attempt, evidence: Evidence, now: datetime) -> Step:
    """Its outcome is told once its application starts no other driver; or before its driver's pod must go, which has the result."""
    seen = evidence.seen
    if evidence.application_is_going:
        return _end(evidence) if _is_to_end(evidence, job.namespace) else Leave()
    if (why := of_a_suspended(attempt, evidence)) is not None:
        return _begin_ending(attempt, Deadline(now, *why), now)
    if _is_unborn(evidence):
        return Leave()
    patience = max(0.0, SLOW_END_SECONDS - (now - _last_news(attempt, evidence)).total_seconds())
    if patience == 0 and (step := _without_patience(evidence)) is not None:
        return step
    what = "its driver has ended" if seen.exit_code is not None else "it has no driver"
    message = (
        f"{what}, and the Spark operator hasn't said yet that SparkApplication {attempt.application} starts no other one "
        f"(it says {_state_of(evidence)}): its outcome comes then. If it never says so, because it is gone, delete the application"
        f": kubectl delete {_kind_of(evidence)} -n {job.namespace} {attempt.application}{evidence.words_beside}"
    )
    change = StatusChange(
        Phase.ENDING, Reason.APPLICATION_NOT_OVER, message, attempt=with_driver(job, attempt, seen)
    )
    return ReportProgress(change, patience)


def _last_news(attempt: Attempt, evidence: Evidence) -> datetime:
    """When the Spark operator last had something to see: that the driver ended, or that its pod is being deleted."""
    ended = evidence.seen.ended_at or attempt.started_at or attempt.granted_at
    deleted = evidence.pod["metadata"].get("deletionTimestamp") if evidence.pod is not None else None
    return max(ended, datetime.fromisoformat(deleted)) if deleted else ended


def _without_patience(evidence: Evidence) -> Step | None:
    """What may make a Spark operator see that the driver has ended. One that waits for the pod to go, because its application was
    suspended or edited, would wait for ever: our finalizer waits for the application."""
    pod = evidence.pod
    if pod is None or evidence.seen.exit_code is None:
        return None
    if evidence.pod_is_going:
        return Leave()
    return None if pod["status"].get("phase") in ("Succeeded", "Failed") else EndPod(pod)


def _is_unborn(evidence: Evidence) -> bool:
    """Whether its driver's pod was deleted before it had a node. Its application would wait for that pod for ever, and a namespace
    that is being deleted for both: it deletes pods first."""
    return evidence.pod_is_going and evidence.seen.exit_code is None


def _before_creation(job: JobView, attempt: Attempt, cover: Cover, creates: Creates, now: datetime) -> Step:
    """The steps before the creation, also after a takeover: an intent is rolled forward, under the same name and with the same
    content."""
    if not cover.is_sure:
        return Wait()
    if cover.lease is None:
        # It was written by a leader that had already been replaced, after its successor had looked. What it was granted for
        # may have been granted to others since.
        return Withdraw(withdrawn(attempt, "its leases were granted under an earlier epoch", now))
    if cover.revoke_command is not None:
        message = unexplained(cover.lease, cover.revoke_command)
        return ReportProgress(StatusChange(Phase.STARTING, Reason.LEASE_UNEXPLAINED, message))
    obstacle = _obstacle(job, attempt)
    if obstacle is None:
        return _creation(job, attempt, cover.lease, creates, now)
    if creates.none_can_land or creates.a_new_epoch_helps:
        return _taken_back(attempt, withdrawn(attempt, obstacle, now), creates)
    message = f"{obstacle}: nothing is created; put that right, or delete the job"
    return ReportProgress(StatusChange(Phase.STARTING, Reason.SPEC_CHANGED, message))


def _creation(job: JobView, attempt: Attempt, lease: Lease, creates: Creates, now: datetime) -> Step:
    if not _is_covered(job, lease):
        change = withdrawn(
            attempt, "a name that it uses leads elsewhere than its leases were granted for", now
        )
    elif creates.refusal is not None and (creates.namespace_ends or withdrawal.is_over(job, attempt, now)):
        change = withdrawal.given_up(job, attempt, creates.refusal, now)
    else:
        return Create(lease) if creates.is_next_due else Wait()
    return _taken_back(attempt, change, creates)


def _taken_back(attempt: Attempt, change: StatusChange, creates: Creates) -> Step:
    """The step that takes it back, or the one that comes first as long as a create of it may land."""
    if creates.none_can_land:
        return Withdraw(change)
    return DistrustIntent(may_land(attempt.application)) if creates.a_new_epoch_helps else OccupyDriverName()


def may_land(application: str) -> str:
    return (
        f"a create of SparkApplication {application} had no answer, and may land once the name is free: in a new epoch the API "
        "server refuses it"
    )


def _seconds_of_patience(job: JobView, attempt: Attempt, seen: Observation, now: datetime) -> float:
    """Seconds before it is said how far its start is: usually the next step comes sooner than writing that is worth, unless its job
    says anything else. Where many start, or slowly, each step would else cost a write. A moment that the API server's clock
    puts ahead of ours tells nothing: waiting for it could take for ever."""
    if job.phase is not Phase.STARTING or attempt.message is not None:
        return 0.0
    since = attempt.granted_at
    if seen.starting_since is not None and seen.starting_since <= now:
        since = max(since, seen.starting_since)
    return max(0.0, SLOW_START_SECONDS - (now - since).total_seconds())


def _obstacle(job: JobView, attempt: Attempt) -> str | None:
    """Why an attempt that was admitted cannot be created as it was admitted; None if it can."""
    try:
        if job.hashes.are(attempt.hash):
            return None
        how = job.hashes.how_changed(attempt.hash)
    except NotUnderstoodError as error:
        return str(error)
    return f"the spec is not the one that attempt {attempt.number} was granted for, because {how}"


def _is_covered(job: JobView, lease: Lease) -> bool:
    """Whether its leases are on the tables that it would write now: its driver is told where names lead now."""
    return set(job.footprint.written_at).issubset(lease.tables)


def _kind_of(evidence: Evidence) -> str:
    """What kubectl calls its application."""
    return "sparkapplication" if evidence.application is None else engine_of(evidence.application).named


def _state_of(evidence: Evidence) -> str:
    application = evidence.application
    said = engine_of(application).progress(application).words if application is not None else ""
    return said or "nothing yet"


def _lost(
    job: JobView, attempt: Attempt, evidence: Evidence, now: datetime, *, how: str | None = None
) -> StatusChange:
    loss = evidence.lost_at(now)
    message = (
        f"{how or evidence.how_lost}: it may still write, so its leases are held; {evidence.void_words}once you know that it is "
        f"dead, say so: {_commands_on_the_pod(evidence)}{_declare_dead(job, evidence, loss)}{evidence.words_beside}"
    )
    told = attempt.model_copy(update={"loss": loss})
    return StatusChange(Phase.ENDING, Reason.DRIVER_LOST, message, attempt=told)


def _if_its_node_is_gone(job: JobView, evidence: Evidence, loss: DriverLoss) -> str:
    """A node may fall silent before it has told of the driver's container: then nothing tells that it did."""
    return (
        f"; its pod is being deleted: {evidence.void_words}should its node be gone, say that it is dead: "
        f"{_commands_on_the_pod(evidence)}{_declare_dead(job, evidence, loss)}"
    )


def _declare_dead(job: JobView, evidence: Evidence, loss: DriverLoss) -> str:
    where = {"kind": "deltawritejob", "namespace": job.namespace, "name": job.name}
    return command_for(loss, evidence.application_name, **where)


def _commands_on_the_pod(evidence: Evidence) -> str:
    """A pod that stays would hold its lease again once nothing tells any more that it is dead, also one that is being deleted and
    waits for its node; and should its node come back, a pod that is being deleted is ended there."""
    return "" if evidence.pod is None else command_on_pod(evidence.pod)

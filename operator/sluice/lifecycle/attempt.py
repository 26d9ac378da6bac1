"""The way of an open attempt: what stands for it goes in, the one next step comes out.

An application is created once its lease and its intent are certain; its driver's end is proved before anything else is said of
how it ended.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, Phase
from sluice.api.reasons import Reason
from sluice.engines import Observation, Stage, engine_of
from sluice.engines.progress import progress_of
from sluice.footprint import NotUnderstoodError
from sluice.leases.model import Lease
from sluice.lifecycle import withdrawal
from sluice.lifecycle.deletion import FreeDriverName, LetGo, OccupyName, leaving
from sluice.lifecycle.driver import with_driver
from sluice.lifecycle.evidence import Evidence
from sluice.lifecycle.job import JobView
from sluice.lifecycle.status import StatusChange
from sluice.lifecycle.withdrawal import Creates, withdrawn

SLOW_START_SECONDS = 5.0

SLOW_END_SECONDS = 10.0
"""Seconds for a Spark operator to see that a driver has ended, before anybody is told that it hasn't said so."""

PROGRESS_SECONDS = 60.0
"""Between two copies of a run's progress into its job's status."""


@dataclass(frozen=True)
class Create:
    """Create the application, under the lease that was granted for it."""

    lease: Lease


@dataclass(frozen=True)
class TakeBack:
    """Take the intent back, unless the API server has the application after all."""

    change: StatusChange


@dataclass(frozen=True)
class Tell:
    """Say what there is to know now; nothing else can be done."""

    change: StatusChange
    seconds_until_worth_it: float = 0.0
    """Seconds before it is said: usually it is over before that."""


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
class Mistrust:
    """Not all leases are known: nothing may rest on the lease table before a rebuild."""

    why: str


Step = Create | TakeBack | Tell | OccupyDriverName | LookForDriver | End | EndPod | Leave | Wait | Mistrust


@dataclass(frozen=True)
class Cover:
    """What the lease table says of the attempt."""

    lease: Lease | None
    is_sure: bool = True
    """Whether the table can be trusted now."""
    revoke_command: str | None = None
    """Set where no object explains the lease, so that an application may have been created for it: what frees it then."""


def next_step(job: JobView, evidence: Evidence, cover: Cover, creates: Creates, now: datetime) -> Step:
    """Returns the next step of the attempt whose intent is in the evidence."""
    attempt = evidence.intent
    if attempt is None:
        raise ValueError(f"{job.key}: {evidence.application_name} belongs to no running attempt")
    seen = evidence.seen
    if job.is_deleted:
        return _of_deleted(attempt, evidence, cover, job.namespace, now)
    step: Step
    match seen.stage:
        case Stage.NOT_CREATED:
            step = _before_creation(job, attempt, cover, creates, now)
        case Stage.NEVER_STARTS if evidence.application is None and attempt.message is not None:
            step = TakeBack(withdrawal.given_up(job, attempt, attempt.message, now))
        case Stage.ENDED | Stage.NEVER_STARTS:
            step = _end(evidence)
        case _ if cover.is_sure and cover.lease is None and not evidence.application_is_going:
            step = Mistrust(f"no lease covers {attempt.application}, which may run")
        case Stage.NOT_OVER:
            step = _before_another_driver(job, attempt, evidence, now)
        case Stage.STARTING:
            told = seen.detail + _if_its_node_is_gone(job, attempt, evidence)
            message = f"SparkApplication {attempt.application} exists; {told}{_beside(evidence)}"
            there = attempt.model_copy(update={"message": None})
            change = StatusChange(Phase.STARTING, Reason.DRIVER_STARTING, message, attempt=there)
            step = Tell(change, _seconds_of_patience(job, attempt, now))
        case Stage.RUNNING:
            step = _told_running(job, attempt, evidence, now)
        case Stage.NO_DRIVER:
            step = OccupyDriverName()
        case Stage.LOST:
            lost = LookForDriver(otherwise=_lost(job, attempt, evidence))
            step = Leave() if evidence.namespace_ends else lost
        case _:
            assert_never(seen.stage)
    return step


def unexplained(lease: Lease, revoke_command: str) -> str:
    """Says what is known. Why no object shows it is not known for long: the records of such leases outlive the leader that
    found out."""
    return (
        f"attempt {lease.attempt} may run: its lease is held, and no object shows what became of it. That is so after the API "
        "server went back to an earlier state, after the leases of another installation were taken over, and after its namespace "
        f"was not watched for a while. Once no driver of it runs, say so: {revoke_command}"
    )


def _of_deleted(attempt: Attempt, evidence: Evidence, cover: Cover, namespace: str, now: datetime) -> Step:
    if cover.revoke_command is not None and evidence.seen.stage is Stage.NOT_CREATED:
        return Wait()  # it may have been carried out: a person says what became of it
    if evidence.seen.stage is Stage.NOT_CREATED:
        return TakeBack(withdrawn(attempt, "its job was deleted", now))
    return _end(evidence) if _is_to_end(evidence, namespace) else Leave()


def _end(evidence: Evidence) -> End:
    return End(evidence.seen, evidence.was_deleted_while_it_ran, evidence.came_back)


def _is_to_end(evidence: Evidence, namespace: str) -> bool:
    """Whether its outcome is told now: its end is proved, or its driver's pod must go, and the result with it."""
    match leaving(evidence, namespace):
        case LetGo():
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
    if _is_unborn(evidence):
        return Leave()
    patience = max(0.0, SLOW_END_SECONDS - (now - _last_news(attempt, evidence)).total_seconds())
    if patience == 0 and (step := _without_patience(evidence)) is not None:
        return step
    what = "its driver has ended" if seen.exit_code is not None else "it has no driver"
    message = (
        f"{what}, and the Spark operator hasn't said yet that SparkApplication {attempt.application} starts no other one "
        f"(it says {_state_of(evidence)}): its outcome comes then. If it never says so, because it is gone or the application "
        f"is suspended, delete that: "
        f"kubectl delete sparkapplication -n {job.namespace} {attempt.application}{_beside(evidence)}"
    )
    change = StatusChange(
        Phase.ENDING, Reason.APPLICATION_NOT_OVER, message, attempt=with_driver(job, attempt, seen)
    )
    return Tell(change, patience)


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
        return TakeBack(withdrawn(attempt, "its leases were granted under an earlier epoch", now))
    if cover.revoke_command is not None:
        message = unexplained(cover.lease, cover.revoke_command)
        return Tell(StatusChange(Phase.STARTING, Reason.LEASE_UNEXPLAINED, message))
    obstacle = _obstacle(job, attempt)
    if obstacle is None:
        return _creation(job, attempt, cover.lease, creates, now)
    if creates.none_can_land or creates.a_new_epoch_helps:
        return _taken_back(attempt, withdrawn(attempt, obstacle, now), creates)
    message = f"{obstacle}: nothing is created; put that right, or delete the job"
    return Tell(StatusChange(Phase.STARTING, Reason.SPEC_CHANGED, message))


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
        return TakeBack(change)
    return Mistrust(may_land(attempt.application)) if creates.a_new_epoch_helps else OccupyDriverName()


def may_land(application: str) -> str:
    return (
        f"a create of SparkApplication {application} had no answer, and may land once the name is free: in a new epoch the API "
        "server refuses it"
    )


def _seconds_of_patience(job: JobView, attempt: Attempt, now: datetime) -> float:
    """Seconds before it is said that a driver starts: usually it starts sooner than writing that is worth, unless its job says
    anything else."""
    if job.phase is not Phase.STARTING or attempt.message is not None:
        return 0.0
    return max(0.0, SLOW_START_SECONDS - (now - attempt.granted_at).total_seconds())


def _obstacle(job: JobView, attempt: Attempt) -> str | None:
    """Why an attempt that was admitted cannot be created as it was admitted; None if it can."""
    try:
        same = job.spec_hash == attempt.hash
    except NotUnderstoodError as error:
        return str(error)
    return None if same else f"the spec is not the one that attempt {attempt.number} was granted for"


def _is_covered(job: JobView, lease: Lease) -> bool:
    """Whether its leases are on the tables that it would write now: its driver is told where names lead now."""
    return {key.text for key in job.footprint.keys}.issubset(lease.tables)


def _beside(evidence: Evidence) -> str:
    return "".join(f"; {sentence}" for sentence in evidence.told_beside)


def _told_running(job: JobView, attempt: Attempt, evidence: Evidence, now: datetime) -> Step:
    """Progress is news of its own: it is copied once a minute at most, so that short runs cost no write more, and with
    whatever else is written."""
    change = _running(with_driver(job, attempt, evidence.seen), evidence)
    progress = progress_of(evidence.pod)
    known = attempt.progress
    if progress is None or progress == (known and known.model_copy(update={"copied_at": None})):
        return Tell(change)
    running = change.attempt
    if running is None or running.started_at is None:
        return Tell(change)
    last = known.copied_at if known is not None and known.copied_at is not None else running.started_at
    seconds_left = PROGRESS_SECONDS - (now - last).total_seconds()
    is_told = job.phase is Phase.RUNNING and running == attempt and change.message == job.status.message
    if seconds_left > 0:
        return Tell(change, seconds_left if is_told else 0.0)
    copied = running.model_copy(update={"progress": progress.model_copy(update={"copied_at": now})})
    return Tell(replace(change, attempt=copied))


def _state_of(evidence: Evidence) -> str:
    application = evidence.application
    said = engine_of(application).progress(application).words if application is not None else ""
    return said or "nothing yet"


def _running(attempt: Attempt, evidence: Evidence) -> StatusChange:
    seen = evidence.seen
    ended = f" on node {seen.node}, but {seen.disruption}" if seen.disruption is not None else ""
    return StatusChange(
        Phase.RUNNING,
        Reason.DRIVER_RUNNING,
        f"SparkApplication {attempt.application} runs{ended}; its outcome comes when the driver ends{_beside(evidence)}",
        attempt=attempt.model_copy(
            update={"started_at": attempt.started_at or seen.started_at, "message": None}
        ),
    )


def _lost(job: JobView, attempt: Attempt, evidence: Evidence) -> StatusChange:
    message = (
        f"{evidence.how_lost}: it may still write, so its leases are held; once you know that it is dead, say so: "
        f"{_commands_on_the_pod(evidence)}kubectl annotate deltawritejob -n {job.namespace} {job.name} "
        f"{names.ANNOTATION_DRIVER_DEAD}={attempt.application}{_beside(evidence)}"
    )
    return StatusChange(Phase.ENDING, Reason.DRIVER_LOST, message)


def _if_its_node_is_gone(job: JobView, attempt: Attempt, evidence: Evidence) -> str:
    """A node may fall silent before it has told of the driver's container: then nothing tells that it did."""
    if not evidence.pod_is_going:
        return ""
    return (
        "; its pod is being deleted: should its node be gone, say that it is dead: kubectl annotate deltawritejob "
        f"-n {job.namespace} {job.name} {names.ANNOTATION_DRIVER_DEAD}={attempt.application}"
    )


def _commands_on_the_pod(evidence: Evidence) -> str:
    """A pod that stays would hold its lease again once nothing tells any more that it is dead; and should its node come back, a
    pod that is being deleted is ended there."""
    if evidence.pod is None or evidence.pod_is_going:
        return ""
    metadata = evidence.pod["metadata"]
    return f"kubectl delete pod -n {metadata['namespace']} {metadata['name']} --force && "

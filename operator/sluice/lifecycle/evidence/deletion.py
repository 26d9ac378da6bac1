"""Decides how what is left of an attempt is removed when its job has ended, is gone, or goes on with another attempt.

Nothing that may still write is let go; what must end is made to end, and its end is waited for.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeGuard, assert_never

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Outcome
from sluice.engines import Stage, engine_of
from sluice.lifecycle.evidence.attempt_evidence import PROVED, Evidence, evidence_of, labels_of
from sluice.lifecycle.evidence.driver_losses import command_for, command_on_pod

PATIENCE = timedelta(seconds=30)
"""For which a node may be late to tell what became of a pod that it was to end by then."""

NOT_TOLD = "its driver's node has not said what became of it"


@dataclass(frozen=True)
class ReleaseObject:
    """Take our finalizer off: its end is proved."""


@dataclass(frozen=True)
class DeletePod:
    """Delete the pod, so that its driver ends."""

    pod: Json


@dataclass(frozen=True)
class DeleteApplication:
    """Delete the application, so that it starts no driver."""


@dataclass(frozen=True)
class OccupyName:
    """Take the driver's name, so that no driver can start any more, or find the driver that did."""


@dataclass(frozen=True)
class FreeDriverName:
    """Let the pod of the driver that has ended go, so that the driver's name can be taken."""

    pod: Json


@dataclass(frozen=True)
class AwaitChange:
    """Wait for what was begun."""


@dataclass(frozen=True)
class RecordLoss:
    """Note on what is left that its driver is lost: a person's word that it is dead has to name this loss."""

    after: datetime | None = None
    """Its node has until then to say what became of the driver."""


@dataclass(frozen=True)
class Hold:
    """Hold until somebody says that the driver is dead."""

    message: str


@dataclass(frozen=True)
class Bury:
    """Leave a tombstone that holds its lease, and let its objects go: they must, and nothing proves that its driver is dead."""

    why: str
    otherwise: Hold | RecordLoss | AwaitChange
    """The step where it has no lease that could be held without them."""


LeavingStep = (
    ReleaseObject
    | DeletePod
    | DeleteApplication
    | OccupyName
    | FreeDriverName
    | AwaitChange
    | RecordLoss
    | Bury
    | Hold
)


def leaving(evidence: Evidence, namespace: str) -> LeavingStep:
    """Returns the one next step towards letting it go."""
    step: LeavingStep
    match evidence.seen.stage:
        case Stage.ENDED | Stage.NEVER_STARTS:
            step = ReleaseObject()
        case Stage.NOT_OVER:
            step = _before_another_driver(evidence)
        case Stage.LOST if _was_proved(evidence):
            step = _after_its_driver(evidence)
        case Stage.STARTING | Stage.RUNNING | Stage.NO_DRIVER | Stage.LOST if _is_there(evidence.pod):
            step = DeletePod(evidence.pod)
        case Stage.LOST if evidence.namespace_ends:
            why = f"{evidence.how_lost}, and its namespace is being deleted"
            step = Bury(why, _held(evidence, namespace, why))
        case Stage.LOST:
            step = _held(evidence, namespace, evidence.how_lost)
        case Stage.NO_DRIVER:
            step = OccupyName()
        case Stage.STARTING if evidence.pod is None and _is_there(evidence.application):
            step = DeleteApplication()
        case Stage.STARTING if (late := late_after(evidence)) is not None:
            step = _held(evidence, namespace, NOT_TOLD, late)
        case Stage.STARTING | Stage.RUNNING | Stage.NOT_CREATED:
            step = AwaitChange()
        case _:
            assert_never(evidence.seen.stage)
    return step


def _before_another_driver(evidence: Evidence) -> LeavingStep:
    """Keeps an application whose driver has ended from starting another one: as long as its pod is there, none can."""
    if _is_there(evidence.application):
        return DeleteApplication()
    return FreeDriverName(evidence.pod) if evidence.pod is not None else OccupyName()


def _after_its_driver(evidence: Evidence) -> LeavingStep:
    """The same once that pod is gone, or somebody's word tells its end: an application that knows of its driver has nothing
    under way that would start another one."""
    if evidence.namespace_ends or not evidence.may_start_a_driver:
        return ReleaseObject()
    return DeleteApplication() if _is_there(evidence.application) else OccupyName()


def _was_proved(evidence: Evidence) -> bool:
    """Whether its outcome was written, which takes a proof of its driver's end: of the driver whose pod it is, if there is one."""
    intent = evidence.intent
    if intent is None or intent.outcome is None:
        return False
    if intent.outcome in (Outcome.WITHDRAWN, Outcome.NOT_STARTED) and intent.exit_code is None:
        return False  # what was proved is that its name was taken
    if evidence.pod is None:
        return True
    return intent.driver is not None and intent.driver.pod_uid == evidence.pod["metadata"]["uid"]


def pod_proves_alone(evidence: Evidence) -> bool:
    """Whether its end would be proved if nothing else were left of it. What proves the end must go last: with two things to
    go, whoever comes after the first is gone would never know of it."""
    if evidence.pod is None:
        return False
    uid = labels_of(evidence.pod).get(names.LABEL_JOB_UID, "")
    left = evidence_of(uid, None, (), [evidence.pod]).by_application.values()
    return any(one.seen.stage in PROVED for one in left)


def _is_there(body: Json | None) -> TypeGuard[Json]:
    """Whether it exists and isn't being deleted yet."""
    return body is not None and "deletionTimestamp" not in body["metadata"]


def late_after(evidence: Evidence) -> datetime | None:
    """From when on the node of a driver that is being ended is late: it hasn't even told of the driver's container. None: it has
    nothing to tell."""
    if evidence.pod is None or not evidence.pod_is_going or evidence.seen.stage is not Stage.STARTING:
        return None
    return datetime.fromisoformat(evidence.pod["metadata"]["deletionTimestamp"]) + PATIENCE


def how_to_declare_it_dead(evidence: Evidence, namespace: str) -> str | None:
    """What a person does who knows that the driver of what is left is dead; None: it isn't lost, or its loss is not noted there. A
    pod that stays when its application has gone would hold the lease again."""
    body = evidence.witness
    if body is None or not evidence.losses or evidence.seen.stage not in (Stage.LOST, Stage.STARTING):
        return None
    is_pod = evidence.application is None
    command = command_for(
        evidence.losses[0],
        evidence.application_name,
        kind="pod" if is_pod else engine_of(body).named,
        namespace=namespace,
        name=body["metadata"]["name"],
    )
    first = "" if is_pod or evidence.pod is None else command_on_pod(evidence.pod)
    return (
        f"its leases are held; {evidence.void_words}once you know that it is dead, say so: {first}{command}"
    )


def _held(
    evidence: Evidence, namespace: str, why: str, after: datetime | None = None
) -> Hold | RecordLoss | AwaitChange:
    if evidence.witness is None:
        return AwaitChange()
    how = how_to_declare_it_dead(evidence, namespace)
    return RecordLoss(after) if how is None else Hold(f"{why}; {how}")

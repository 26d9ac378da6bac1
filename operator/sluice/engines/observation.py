"""Reads what an application and its driver pod say about an attempt.

The pod's container is believed before anything else: it alone proves that the driver has ended, and it alone
carries the runner's result. An application's own state tells of starts and of submissions that failed.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sluice.engines.attempt import LABEL_SPARK
from sluice.engines.disruption import Disruption, disruption_of, silent_since
from sluice.engines.engine import ApplicationState
from sluice.engines.kinds import engine_of
from sluice.engines.placeholder import is_placeholder
from sluice.templates.pod import DRIVER_CONTAINER

_UNDER_WAY = "its driver is being started"
_SUSPENDED = "it is suspended (spec.suspend), by a queue such as Kueue or by hand, and starts no driver until it is resumed"
_OVER = ("Failed", "Succeeded")


class Stage(StrEnum):
    NOT_CREATED = "NotCreated"
    STARTING = "Starting"
    RUNNING = "Running"
    ENDED = "Ended"
    NOT_OVER = "NotOver"
    """No driver of it runs, and its application may still start another one."""
    NO_DRIVER = "NoDriver"
    """The application will start no driver by itself any more, and none is known: this must still be proved."""
    NEVER_STARTS = "NeverStarts"
    """It is proved that no driver starts: the driver's name is taken by a pod that cannot start."""
    LOST = "Lost"
    """There was a driver, and nothing will tell how it ended: nothing proves that the process has ended."""


@dataclass(frozen=True)
class Observation:
    stage: Stage
    detail: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    message: str | None = None
    spark_application: str | None = None
    """The driver's id in Spark."""
    pod_uid: str | None = None
    node: str | None = None
    disruption: Disruption | None = None
    silent_since: str | None = None
    """Since when its node is silent, in the words of its pod; None: that isn't why it is lost."""
    waits_for_compute: bool = False
    """Whether its start waits for compute alone: its application is suspended, or its driver's pod has no node."""
    is_suspended: bool = False
    """Whether its application is suspended: it would start another driver once it is resumed."""
    starting_since: datetime | None = None
    """When its start came as far as it is, by the API server's clock: its driver's pod was made, or got or lacked a node."""

    @property
    def is_silent(self) -> bool:
        """Whether it is lost only as long as its node is silent."""
        return self.silent_since is not None


def observe(
    application: dict[str, Any] | None, pod: dict[str, Any] | None, *, driver_seen: bool
) -> Observation:
    progress = engine_of(application).progress(application) if application is not None else None
    seen = _observed(application, progress, pod, driver_seen=driver_seen)
    if progress is None or not progress.is_suspended:
        return seen
    if seen.stage is Stage.STARTING and pod is None:
        seen = replace(seen, detail=_SUSPENDED, waits_for_compute=True)
    return replace(seen, is_suspended=True)


def _observed(
    application: dict[str, Any] | None,
    progress: ApplicationState | None,
    pod: dict[str, Any] | None,
    *,
    driver_seen: bool,
) -> Observation:
    if pod is not None and is_placeholder(pod):
        is_over = progress is None or progress.has_ended or _is_going(application)
        return Observation(
            Stage.NEVER_STARTS if is_over else Stage.NOT_OVER, detail=_words(progress, application)
        )
    if pod is not None:
        labels = pod["metadata"].get("labels") or {}
        seen = replace(
            _of_pod(pod),
            spark_application=labels.get(LABEL_SPARK),
            pod_uid=pod["metadata"].get("uid"),
            node=pod["spec"].get("nodeName"),
            disruption=disruption_of(pod),
        )
        has_ended = seen.stage in (Stage.ENDED, Stage.NEVER_STARTS)
        is_over = not has_ended or _starts_no_other(progress, application)
        return seen if is_over else replace(seen, stage=Stage.NOT_OVER)
    if driver_seen or (progress is not None and progress.driver_was_seen):
        return Observation(Stage.LOST, detail="the driver's pod is gone, and its end was not seen")
    if application is None or progress is None:
        return Observation(Stage.NOT_CREATED)
    if progress.has_ended or _is_going(application):
        return Observation(Stage.NO_DRIVER, detail=_words(progress, application))
    return Observation(Stage.STARTING, detail=_UNDER_WAY)


def _starts_no_other(progress: ApplicationState | None, application: dict[str, Any] | None) -> bool:
    """Whether the application starts no driver beside the one that it has had. One that is being deleted and doesn't know yet
    that it has a driver may just be submitted, for the second time."""
    if progress is None:
        return True
    return progress.has_ended or (_is_going(application) and progress.driver_was_seen)


def _is_going(application: dict[str, Any] | None) -> bool:
    return application is not None and "deletionTimestamp" in application["metadata"]


def _of_pod(pod: dict[str, Any]) -> Observation:
    status = pod.get("status", {})
    container = next(
        (c for c in status.get("containerStatuses") or () if c.get("name") == DRIVER_CONTAINER), None
    )
    state = (container or {}).get("state") or {}
    if "terminated" in state:
        terminated = state["terminated"]
        return Observation(
            Stage.ENDED,
            detail=terminated.get("reason", ""),
            started_at=_time(terminated.get("startedAt")),
            ended_at=_time(terminated.get("finishedAt")),
            exit_code=terminated.get("exitCode"),
            message=terminated.get("message"),
        )
    if "running" in state:
        started = _time(state["running"].get("startedAt"))
        stale = _why_stale(pod)
        return Observation(
            Stage.LOST if stale else Stage.RUNNING,
            detail=stale,
            started_at=started,
            silent_since=None if status.get("phase") in _OVER else silent_since(pod),
        )
    if "deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName"):
        return Observation(Stage.NEVER_STARTS, detail="the driver's pod was deleted before it had a node")
    if status.get("phase") in _OVER:
        return Observation(
            Stage.LOST, detail=f"{_over(pod)}, and its status does not mention the driver's container"
        )
    return Observation(
        Stage.STARTING,
        detail=_obstacle(status, state.get("waiting", {})) or _UNDER_WAY,
        waits_for_compute=not pod["spec"].get("nodeName"),
        starting_since=_starting_since(pod),
    )


def _starting_since(pod: dict[str, Any]) -> datetime | None:
    scheduled = (
        condition.get("lastTransitionTime")
        for condition in pod.get("status", {}).get("conditions", [])
        if condition.get("type") == "PodScheduled"
    )
    moments = [_time(text) for text in (pod["metadata"].get("creationTimestamp"), *scheduled)]
    return max((moment for moment in moments if moment is not None), default=None)


def _why_stale(pod: dict[str, Any]) -> str:
    """Why it is not known whether the container still runs of which the node said so last; empty if it runs."""
    if pod["status"].get("phase") in _OVER:
        return f"{_over(pod)}, and its node has not said that the driver's container ended"
    since = silent_since(pod)
    return f"the driver's node has not been heard of since {since}" if since else ""


def _over(pod: dict[str, Any]) -> str:
    """What a pod's status says that is over. Whoever collects the pods of lost nodes writes that, too."""
    disruption = disruption_of(pod)
    return f"the driver's pod is {pod['status']['phase']}{f': {disruption}' if disruption else ''}"


def _obstacle(status: dict[str, Any], waiting: dict[str, Any]) -> str | None:
    """Returns what keeps a driver's pod from running, if it is more than the usual steps of a start."""
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return "the driver's container waits: " + _joined(waiting)
    for condition in status.get("conditions", []):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return "the driver's pod has no node: " + _joined(condition)
    return None


def _joined(said: dict[str, Any]) -> str:
    return ": ".join(said[name] for name in ("reason", "message") if said.get(name))


def _words(progress: ApplicationState | None, application: dict[str, Any] | None) -> str:
    if progress is None:
        return "the application is gone"
    if not _is_going(application) or progress.has_ended:
        return progress.words
    return (
        f"the application was deleted ({progress.words})" if progress.words else "the application was deleted"
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None

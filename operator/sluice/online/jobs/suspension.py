"""Holds waiting jobs and streams back, and lets them go on. A job that is held back by this starts nothing: the operator begins
an attempt only if the job is still as it was when that was decided."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluice.api.base import Json
from sluice.api.job_status import OVER, Phase
from sluice.online.access.connection import cluster
from sluice.online.access.job_names import JobName, job_names, namespace_or_usual
from sluice.online.access.job_objects import HOLDING, object_in, objects_in, phase_of
from sluice.online.jobs.job_changes import ChangeDecision, ChangeReport, Result, changed, jobs_that_go_on

MANAGER = "sluice-suspend"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_RUNS = HOLDING | {Phase.PAUSED.value}
_PATH = ("f:spec", "f:admission", "f:suspend")


@dataclass(frozen=True)
class Chosen:
    """Which jobs are meant: those that are named, or those of one namespace that have not ended."""

    texts: tuple[str, ...]
    namespace: str | None
    selector: str = ""


async def suspend(chosen: Chosen) -> list[ChangeReport]:
    return await _set(chosen, is_held=True)


async def resume(chosen: Chosen) -> list[ChangeReport]:
    return await _set(chosen, is_held=False)


async def _set(chosen: Chosen, *, is_held: bool) -> list[ChangeReport]:
    decide = _decide_to_hold if is_held else _decide_to_let_go
    named: Sequence[JobName] = job_names(chosen.texts, chosen.namespace)
    async with cluster() as kube:
        if not chosen.texts:
            namespace = namespace_or_usual(chosen.namespace)
            named = [job async for job in jobs_that_go_on(kube, namespace, chosen.selector)]
        return [await changed(kube, job, decide, MANAGER) for job in named]


def _decide_to_hold(job: JobName, body: Json) -> ChangeDecision:
    phase = phase_of(body)
    if phase in OVER:
        return ChangeDecision(Result.UNCHANGED, f"has ended ({phase}): there is nothing to hold back")
    if body["metadata"].get("deletionTimestamp"):
        return ChangeDecision(Result.UNCHANGED, "is being deleted: there is nothing to hold back")
    stops = phase in _RUNS and _is_stream(body) and phase != Phase.ENDING.value
    if phase in _RUNS and not stops:
        why = (
            f"runs already ({phase}): suspend holds back waiting jobs; to end this one: {job.kubectl_delete}"
        )
        return ChangeDecision(Result.REFUSED, why)
    if _is_held(body):
        return ChangeDecision(Result.UNCHANGED, f"is held back already ({phase})")
    if stops:
        message = f"stops between two batches, and goes on from its checkpoint after `sluice resume {job}`"
    else:
        message = f"is held back: it keeps its age and is in nobody's way until `sluice resume {job}`"
    return ChangeDecision(Result.CHANGED, message + _put_back(body), _patch(is_held=True))


def _decide_to_let_go(job: JobName, body: Json) -> ChangeDecision:
    phase = phase_of(body)
    if phase == Phase.FAILED.value and _is_held(body):
        message = f"has ended ({phase}), and is no longer held back: `sluice retry {job}` has it run again"
        return ChangeDecision(Result.CHANGED, message + _put_back(body), _patch(is_held=False))
    if phase in OVER:
        return ChangeDecision(Result.UNCHANGED, f"has ended ({phase}): there is nothing to let go")
    if not _is_held(body):
        return ChangeDecision(Result.UNCHANGED, f"is not held back ({phase})")
    queues = "is no longer held back" if phase in _RUNS else "is let go: it queues again, with its old age"
    return ChangeDecision(Result.CHANGED, queues + _put_back(body), _patch(is_held=False))


def _is_stream(body: Json) -> bool:
    return bool(object_in(body.get("spec")).get("stream"))


def _is_held(body: Json) -> bool:
    return _field(body) is True


def _patch(*, is_held: bool) -> Json:
    return {"spec": {"admission": {"suspend": is_held}}}


def _field(manifest: Any) -> Any:
    return object_in(object_in(object_in(manifest).get("spec")).get("admission")).get("suspend")


def _put_back(body: Json) -> str:
    """A warning, if whoever applies the job's manifest has set this field in it."""
    appliers = _appliers(body["metadata"])
    if not appliers:
        return ""
    return (
        f"; {' and '.join(appliers)} has spec.admission.suspend in the manifest that it applies, and puts it back when it applies "
        "that again, or reports a conflict: change it there, too"
    )


def _appliers(metadata: Json) -> list[str]:
    found = [
        str(entry.get("manager"))
        for entry in objects_in(metadata.get("managedFields"))
        if entry.get("operation") == "Apply" and _owns_it(entry.get("fieldsV1"))
    ]
    try:
        applied = json.loads(str(object_in(metadata.get("annotations")).get(LAST_APPLIED)))
    except (ValueError, RecursionError):
        return found
    return [*found, "kubectl apply"] if _field(applied) is not None else found


def _owns_it(fields: Any) -> bool:
    for part in _PATH:
        fields = object_in(fields).get(part)
    return fields is not None

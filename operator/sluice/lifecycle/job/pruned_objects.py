"""Reduces an object that is followed to the fields that are read of it, because thousands of objects stay in memory.

What has another shape than it should have is kept as it is, so that whoever reads it finds the same fault as in the whole
object. There is a list of what is kept: a reader of anything else has to add it here, and a test checks that for all evidence.
"""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from json import dumps
from sys import intern
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.engines import DRIVER_CONTAINER, UnknownEngineError, engine_of
from sluice.engines.attempt import LABEL_ROLE, LABEL_SPARK
from sluice.engines.compute_queue import passed_on
from sluice.engines.disruption import CONDITION
from sluice.templates.shared_rules import DEEPEST

_OF_METADATA = (
    "namespace",
    "name",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
)
_OF_OWNER = ("apiVersion", "kind", "name", "uid", "controller")
_NAMED = "sluice.dev/blocked-by"
"""Where a kept job has the fingerprint of the jobs in its way."""
_OURS = f"{names.GROUP}/"
"""The prefix of our own labels and annotations."""
_OF_SPARK = frozenset({LABEL_ROLE, LABEL_SPARK})
"""Labels that tell executors apart, and where to read more of a run. Nothing else that others note means anything."""
_DEEPEST_KEPT = DEEPEST + 16
"""Levels: what is nested deeper is left empty. Only a job's own template can be, and such a one is refused."""
_CONDITIONS = ("PodScheduled", "Ready", "ContainersReady", CONDITION)
_OF_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime")


def of_job(body: Json) -> Json:
    """Keeps what is read of a job. The jobs that its status names as in its way are written and never read: their names are
    dropped, and an empty list remains, which tells that names were written and may have to be removed; and a fingerprint of them,
    so that they are not written again."""
    kept = body | {"metadata": metadata(body["metadata"])}
    for part in ("labels", "annotations"):
        given = body["metadata"].get(part)
        if isinstance(given, dict) and (more := passed_on(given)):
            kept["metadata"][part] |= more
    status = body.get("status")
    if isinstance(status, dict) and isinstance(status.get("blockedBy"), list):
        kept["status"] = status | {"blockedBy": []}
        if status["blockedBy"]:
            kept[_NAMED] = _fingerprint(status["blockedBy"])
    return sharing_texts(kept)


def names_already(job: Json, blocked_by: Any) -> bool:
    """Whether these are the jobs that the status of a kept job names as in its way."""
    return bool(blocked_by) and job.get(_NAMED) == _fingerprint(blocked_by)


def _fingerprint(blocked_by: list[Any]) -> str:
    text = dumps(blocked_by, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def of_application(body: Json) -> Json:
    """Keeps what is read of an application. Of its spec only whether it is suspended: the job tells what it runs, and its
    annotations what it holds."""
    return sharing_texts(
        {
            **_only(body, ("apiVersion", "kind")),
            "metadata": metadata(body["metadata"]),
            **_each(
                body,
                spec=lambda spec: _only(spec, ("suspend",)),
                status=lambda status: _status_of_application(body, status),
            ),
        }
    )


def _status_of_application(body: Json, status: Any) -> Any:
    try:
        return engine_of(body).kept(status) if isinstance(status, dict) else status
    except UnknownEngineError:
        return status  # refused by whoever reads it


def of_pod(body: Json) -> Json:
    return sharing_texts(
        {
            **_only(body, ("apiVersion", "kind")),
            "metadata": metadata(body["metadata"]),
            **_each(
                body,
                spec=lambda spec: _only(spec, ("schedulingGates", "nodeName")),
                status=_status_of_pod,
            ),
        }
    )


def _status_of_pod(status: Any) -> Any:
    kept = _only(status, ("phase", "reason", "message", "conditions", "containerStatuses"))
    if not isinstance(kept, dict):
        return kept
    return kept | _each(
        kept,
        conditions=lambda given: _listed(given, "type", _CONDITIONS, _OF_CONDITION),
        containerStatuses=lambda given: _listed(given, "name", (DRIVER_CONTAINER,), ("name", "state")),
    )


def sharing_texts(body: Json) -> Json:
    """Shares texts: each object comes with texts of its own, most of which also stand in others, or elsewhere in it."""
    return _shared_object(body, _DEEPEST_KEPT)


def _shared_object(given: Json, levels: int) -> Json:
    return {intern(name): _shared(inner, levels - 1) for name, inner in given.items()} if levels else {}


def _shared(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return intern(value)
    if isinstance(value, dict):
        return _shared_object(value, levels)
    if isinstance(value, list):
        return [_shared(inner, levels - 1) for inner in value] if levels else []
    return value


def metadata(given: Json) -> Json:
    return {
        **_only(given, _OF_METADATA),
        **_each(given, labels=_that_mean, annotations=_that_mean),
        **_owner(given.get("ownerReferences")),
    }


def _owner(given: Any) -> Json:
    """A policy that made the object. Other owners mean nothing, and each application and each driver has one."""
    found = policy_in(given)
    return {} if found is None else {"ownerReferences": [found]}


def policy_in(owners: Any) -> Json | None:
    """The reference to the policy that controls an object with these owners."""
    for one in owners if isinstance(owners, list) else ():
        if (
            isinstance(one, dict)
            and one.get("controller") is True
            and one.get("kind") == names.POLICY_KIND
            and str(one.get("apiVersion")).startswith(_OURS)
            and isinstance(one.get("uid"), str)
        ):
            return {name: one[name] for name in _OF_OWNER if name in one}
    return None


def policy_of(job: Json) -> str | None:
    """The uid of the policy that made a job; None: a person did, or anything else."""
    found = policy_in(job["metadata"].get("ownerReferences"))
    return None if found is None else str(found["uid"])


def _that_mean(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    return {name: text for name, text in given.items() if name.startswith(_OURS) or name in _OF_SPARK}


def _each(body: Json, **kept: Any) -> Json:
    """Keeps each of these fields that is there."""
    return {name: keep(body[name]) for name, keep in kept.items() if name in body}


def _only(given: Any, wanted: Iterable[str]) -> Any:
    return {name: given[name] for name in wanted if name in given} if isinstance(given, dict) else given


def _listed(given: Any, field: str, values: Collection[str], wanted: Iterable[str]) -> Any:
    """Keeps those entries of a list whose field says so, and whatever isn't an entry."""
    if not isinstance(given, list):
        return given
    return [_only(one, wanted) for one in given if not isinstance(one, dict) or one.get(field) in values]

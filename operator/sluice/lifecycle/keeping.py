"""What is kept of an object that is followed: all that is read of it, and no more. Thousands of them stay in memory.

What has another shape than it should have is kept as it is, so that whoever reads it finds the same fault as in the whole object.
A kind's own part is a list of what is kept: a reader of anything else has to add it here, which a test holds for all evidence.
"""

from collections.abc import Iterable
from sys import intern
from typing import Any

from sluice.engines import ENGINE

Json = dict[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The whole object once more, as somebody applied it."""


def of_job(body: Json) -> Json:
    """Whom its status names as in its way is written and not read; that anybody is named stays, so that it can be taken out."""
    kept = body | {"metadata": _metadata(body["metadata"])}
    status = body.get("status")
    if isinstance(status, dict) and isinstance(status.get("blockedBy"), list):
        kept["status"] = status | {"blockedBy": []}
    sharing: Json = _with_shared_names(kept)
    return sharing


def of_application(body: Json) -> Json:
    """Of its spec nothing is read: what it runs is told by the job, and what it holds by its annotations."""
    return {
        **_each(body, apiVersion=_whole, kind=_whole),
        "metadata": _metadata(body["metadata"]),
        **_each(body, status=lambda status: _only(status, ("applicationState",))),
    }


def of_pod(body: Json) -> Json:
    return {
        "metadata": _metadata(body["metadata"]),
        **_each(
            body,
            apiVersion=_whole,
            kind=_whole,
            spec=lambda spec: _only(spec, ("schedulingGates", "nodeName")),
            status=_status_of_pod,
        ),
    }


def _status_of_pod(status: Any) -> Any:
    kept = _only(status, ("phase", "reason", "message", "conditions", "containerStatuses"))
    if not isinstance(kept, dict):
        return kept
    return kept | _each(
        kept,
        conditions=lambda given: _listed(
            given, "type", "PodScheduled", ("type", "status", "reason", "message")
        ),
        containerStatuses=lambda given: _listed(given, "name", ENGINE.driver_container, ("name", "state")),
    )


def _with_shared_names(value: Any) -> Any:
    """Each object comes with texts of its own for the names of its fields, which are the same in all."""
    if isinstance(value, dict):
        return {intern(name): _with_shared_names(inner) for name, inner in value.items()}
    return [_with_shared_names(inner) for inner in value] if isinstance(value, list) else value


def _metadata(given: Json) -> Json:
    kept = {name: value for name, value in given.items() if name != "managedFields"}
    annotations = given.get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        kept["annotations"] = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    return kept


def _each(body: Json, **kept: Any) -> Json:
    """Of those fields that there are."""
    return {name: keep(body[name]) for name, keep in kept.items() if name in body}


def _whole(given: Any) -> Any:
    return given


def _only(given: Any, names: Iterable[str]) -> Any:
    return {name: given[name] for name in names if name in given} if isinstance(given, dict) else given


def _listed(given: Any, field: str, value: str, names: Iterable[str]) -> Any:
    """Those entries of a list whose field says so, and what isn't an entry."""
    if not isinstance(given, list):
        return given
    return [_only(one, names) for one in given if not isinstance(one, dict) or one.get(field) == value]

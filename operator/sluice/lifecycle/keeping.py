"""What is kept of an object that is followed: all that is read of it, and no more. Thousands of them stay in memory.

What has another shape than it should have is kept as it is, so that whoever reads it finds the same fault as in the whole object.
There is a list of what is kept: a reader of anything else has to add it here, which a test holds for all evidence.
"""

from collections.abc import Iterable
from sys import intern
from typing import Any

from sluice.api import names
from sluice.engines import ENGINE

Json = dict[str, Any]

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
_OURS = f"{names.GROUP}/"
"""How the names of those labels and annotations begin that mean anything here."""


def of_job(body: Json) -> Json:
    """Whom its status names as in its way is written and not read; that anybody is named stays, so that it can be taken out."""
    kept = body | {"metadata": metadata(body["metadata"])}
    status = body.get("status")
    if isinstance(status, dict) and isinstance(status.get("blockedBy"), list):
        kept["status"] = status | {"blockedBy": []}
    return sharing_texts(kept)


def of_application(body: Json) -> Json:
    """Of its spec nothing is read: what it runs is told by the job, and what it holds by its annotations."""
    return sharing_texts(
        {
            **_only(body, ("apiVersion", "kind")),
            "metadata": metadata(body["metadata"]),
            **_each(body, status=lambda status: _only(status, ("applicationState",))),
        }
    )


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
        conditions=lambda given: _listed(
            given, "type", "PodScheduled", ("type", "status", "reason", "message")
        ),
        containerStatuses=lambda given: _listed(given, "name", ENGINE.driver_container, ("name", "state")),
    )


def sharing_texts(body: Json) -> Json:
    """Each object comes with texts of its own, most of which stand in others, too, or elsewhere in it."""
    return {intern(name): _shared(inner) for name, inner in body.items()}


def _shared(value: Any) -> Any:
    if isinstance(value, str):
        return intern(value)
    if isinstance(value, dict):
        return sharing_texts(value)
    return [_shared(inner) for inner in value] if isinstance(value, list) else value


def metadata(given: Json) -> Json:
    return {**_only(given, _OF_METADATA), **_each(given, labels=_ours, annotations=_ours)}


def _ours(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    return {name: text for name, text in given.items() if name.startswith(_OURS)}


def _each(body: Json, **kept: Any) -> Json:
    """Of those fields that there are."""
    return {name: keep(body[name]) for name, keep in kept.items() if name in body}


def _only(given: Any, wanted: Iterable[str]) -> Any:
    return {name: given[name] for name in wanted if name in given} if isinstance(given, dict) else given


def _listed(given: Any, field: str, value: str, wanted: Iterable[str]) -> Any:
    """Those entries of a list whose field says so, and what isn't an entry."""
    if not isinstance(given, list):
        return given
    return [_only(one, wanted) for one in given if not isinstance(one, dict) or one.get(field) == value]

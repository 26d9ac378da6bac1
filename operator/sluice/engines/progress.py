"""Reads how far a run has come from the annotation that the runner keeps on its driver's pod."""

import json
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from sluice.api import names
from sluice.api.base import Json, Model
from sluice.api.job_status import AttemptProgress, LastCommit, StreamLag, StreamProgress

Read = TypeVar("Read", bound=Model)

_INSIDE: dict[str, type[Model]] = {"lastCommit": LastCommit, "lag": StreamLag}
_OF_32_BITS = ("statement", "of")
_LONGEST = 4_096
"""Characters: the runner writes some hundred, and anybody who may write pods may write anything."""


_OF_US = {"copiedAt", "toldAt", "attempt", "replaced"}
"""Fields that no driver says."""


def progress_of(pod: Json | None) -> AttemptProgress | None:
    """None where there is none, or what is there isn't the runner's."""
    return progress_from(_content_of(pod))


def stream_of(pod: Json | None) -> StreamProgress | None:
    """How far a stream has come; None likewise."""
    content = _content_of(pod)
    return stream_from(content.get("stream")) if isinstance(content, dict) else None


def progress_from(content: Any) -> AttemptProgress | None:
    """Fields that a later runner adds are left out."""
    found = _read(AttemptProgress, content)
    return None if found is None or not _is_told_well(found.since) else found


def stream_from(content: Any) -> StreamProgress | None:
    """The same of a stream, also from a run's result."""
    found = _read(StreamProgress, content)
    if found is None or not (_is_told_well(found.batch_at) and _is_told_well(found.idle_since)):
        return None
    return found


def _content_of(pod: Json | None) -> Any:
    text = ((pod or {}).get("metadata", {}).get("annotations") or {}).get(names.ANNOTATION_PROGRESS)
    if not isinstance(text, str) or len(text) > _LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read(model: type[Read], content: Any) -> Read | None:
    if not isinstance(content, dict):
        return None
    try:
        return model.as_stored(_only_known(model, content))
    except (ValidationError, OverflowError):
        return None


def _only_known(model: type[Model], content: Json) -> Json:
    found = {}
    for field, info in model.model_fields.items():
        name = info.alias or field
        if name in content and name not in _OF_US:
            found[name] = _fitting(name, content[name])
    return found


def _fitting(name: str, value: Any) -> Any:
    """What the API server doesn't take would keep the whole status from being written."""
    if isinstance(value, dict) and name in _INSIDE:
        return _only_known(_INSIDE[name], value)
    if isinstance(value, int) and abs(value) >= 2 ** (31 if name in _OF_32_BITS else 63):
        raise OverflowError(value)
    return value


def _is_told_well(at: datetime | None) -> bool:
    """Whether a moment has a zone, and is one by all clocks: at the ends of the calendar it may have no time in UTC."""
    if at is None or at.tzinfo is None:
        return at is None
    try:
        at.astimezone(UTC)
    except OverflowError:
        return False
    return True

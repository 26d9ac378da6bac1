"""Reads how far a run has come from the annotation that the runner keeps on its driver's pod."""

import json
from typing import Any

from pydantic import ValidationError

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import AttemptProgress

_LONGEST = 4_096
"""Characters: the runner writes some hundred, and anybody who may write pods may write anything."""


def progress_of(pod: Json | None) -> AttemptProgress | None:
    """None where there is none, or what is there isn't the runner's."""
    text = ((pod or {}).get("metadata", {}).get("annotations") or {}).get(names.ANNOTATION_PROGRESS)
    if not isinstance(text, str) or len(text) > _LONGEST:
        return None
    try:
        return progress_from(json.loads(text))
    except (ValueError, RecursionError):
        return None


def progress_from(content: Any) -> AttemptProgress | None:
    """Fields that a later runner adds are left out."""
    if not isinstance(content, dict):
        return None
    known = {field.alias or name for name, field in AttemptProgress.model_fields.items()} - {"copiedAt"}
    try:
        found = AttemptProgress.as_stored({name: content[name] for name in known if name in content})
    except ValidationError:
        return None
    return None if found.since.tzinfo is None else found

"""Checks the names of manifests as the API server does, which is not asked here."""

import re
from datetime import date, datetime
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job import DeltaWriteJob
from sluice.offline.manifests import Document

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST = 253


def why_no_name(document: Document) -> str | None:
    """What is wrong with the name of a job or a policy, with its line; None: nothing."""
    metadata = document.body.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    generated = given.get("name") in (None, "") and given.get("generateName") not in (None, "")
    field = "generateName" if generated else "name"
    why = _why(given.get(field), str(document.body.get("kind")), generated=generated)
    if why is None:
        return None
    line = document.line_of(("metadata", field))
    return f"metadata.{field}{'' if line is None else f' (line {line})'}: {why}"


def _why(name: Any, kind: str, *, generated: bool) -> str | None:
    if name in (None, ""):
        return "is required, unless there is a generateName"
    if isinstance(name, date) and not isinstance(name, datetime):  # kubectl reads it as text
        name = str(name)
    if not isinstance(name, str):
        return f"must be text, not {name!r}: put it in quotes"
    if generated:
        name = re.sub(r"(?<=.)-$", "a", name)  # what follows is letters and digits
    elif kind == names.JOB_KIND:
        only: Json = {"metadata": {"name": name}}
        named = DeltaWriteJob.model_construct(**only)
        for rule in DeltaWriteJob.validations:
            if not rule.holds(named):
                return rule.message.removeprefix("metadata.name ")
    if len(name) > _LONGEST:
        return f"takes at most {_LONGEST} characters: shorten it"
    if _SUBDOMAIN.fullmatch(name) is None:
        return (
            f"{name!r} is no name that Kubernetes takes: use lower-case letters, digits, - and ., with a letter or digit at "
            "both ends, such as load-orders"
        )
    return None

"""The stamps by which commits tell which job made them. Anybody can write one: it tells nothing that a job's leases rest on."""

import json
import re
from collections.abc import Mapping
from typing import Any

from sluice.api import names

_JOB = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def stamp_of(user_metadata: object) -> dict[str, Any]:
    """The stamp in what a commit's writer may put any text into; empty if there is none."""
    if not isinstance(user_metadata, str):
        return {}
    try:
        content = json.loads(user_metadata)
    except (ValueError, RecursionError):
        return {}
    stamp = content.get(names.STAMP, {}) if isinstance(content, dict) else {}
    return stamp if isinstance(stamp, dict) else {}


def job_of(info: Mapping[str, Any]) -> str | None:
    """The job that a commit names as its own, as namespace/name. None: it names none that could be one."""
    stamp = stamp_of(info.get("userMetadata"))
    job, uid = stamp.get("job"), stamp.get("uid")
    is_one = isinstance(job, str) and isinstance(uid, str) and uid and _JOB.fullmatch(job) is not None
    return job if is_one else None

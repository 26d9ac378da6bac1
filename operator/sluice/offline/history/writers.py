"""Says who made a commit, as far as the log tells: jobs run many times under names that differ in a date or a number."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sluice.api import names

_RUN = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,27}|\d{4}-\d\d-\d\d(?:[T_ ]\d\d(?::?\d\d)*Z?)?"
    r"|(?<=[\s#/=])\d+\b|\d{3,}",
    re.IGNORECASE,
)
_LONGEST = 60


def writer_of(info: Mapping[str, Any], app_ids: Sequence[str]) -> str:
    """Names the writer and the operation: one program often writes in several ways."""
    return f"{_who(info, app_ids)}: {info.get('operation') or 'unknown'}"


def _who(info: Mapping[str, Any], app_ids: Sequence[str]) -> str:
    job = info.get("job") or {}
    notebook = info.get("notebook") or {}
    named = (
        _of_metadata(info.get("userMetadata")),
        job.get("jobName") or (f"job {job['jobId']}" if job.get("jobId") else None),
        f"notebook {notebook['notebookId']}" if notebook.get("notebookId") else None,
        f"txn {_without_run(app_ids[0])}" if app_ids else None,
        info.get("userName"),
        info.get("engineInfo"),
    )
    return next((str(name)[:_LONGEST] for name in named if name), "unknown")


def _of_metadata(text: object) -> str | None:
    """Names the writer by metadata: a Sluice job's stamp, or whatever else its author wrote there."""
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        content = json.loads(text)
    except ValueError:
        content = text
    if isinstance(content, dict):
        stamp = content.get(names.STAMP)
        author = stamp if isinstance(stamp, dict) else content
        content = next((author[key] for key in ("job", "name", "app", "pipeline") if author.get(key)), None)
    return _without_run(str(content)) if content else None


def _without_run(name: str) -> str:
    return _RUN.sub("*", name.strip())

"""Says who made a commit, as far as the log tells: jobs run many times under names that differ in a date or a number."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sluice.api import names

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,27}"
_RUN = re.compile(
    rf"{_UUID}|\d{{4}}-\d\d-\d\d(?:[T_ ]\d\d(?::?\d\d)*Z?)?|(?<=[\s#/=])\d+\b|\d{{3,}}",
    re.IGNORECASE,
)
_QUERY = re.compile(rf"({_UUID})(?:/\d+)?", re.IGNORECASE)
"""The transaction id of a stream: its query's id, and from a statement of each batch that statement's number."""
_LONGEST = 60


class CommitAuthor(NamedTuple):
    name: str
    is_named: bool
    """Whether its author, or whatever runs it, gave it a name: an engine or a user is many writers."""


def writer_of(info: Mapping[str, Any], app_ids: Sequence[str]) -> CommitAuthor:
    """Names the writer and the operation: one program often writes in several ways."""
    name, is_named = _who(info, app_ids)
    return CommitAuthor(f"{name}: {info.get('operation') or 'unknown'}", is_named)


def _who(info: Mapping[str, Any], app_ids: Sequence[str]) -> CommitAuthor:
    job = info.get("job") or {}
    notebook = info.get("notebook") or {}
    stream = _stream(info, app_ids)
    named = (
        _of_metadata(info.get("userMetadata")),
        job.get("jobName") or (f"job {job['jobId']}" if job.get("jobId") else None),
        f"notebook {notebook['notebookId']}" if notebook.get("notebookId") else None,
        None if stream is not None or not app_ids else f"txn {_without_run(app_ids[0])}",
    )
    own = next((str(name)[:_LONGEST] for name in named if name), None)
    if own is not None or stream is not None:
        return CommitAuthor(", ".join(part for part in (own, stream) if part is not None), is_named=True)
    other = next(
        (str(info[key])[:_LONGEST] for key in ("userName", "engineInfo") if info.get(key)), "unknown"
    )
    return CommitAuthor(other, is_named=False)


def _stream(info: Mapping[str, Any], app_ids: Sequence[str]) -> str | None:
    """Names a stream by its query's id, which stays the same for as long as its checkpoint does: two streams that have one name,
    or none, are two writers."""
    parameters = info.get("operationParameters")
    told = parameters.get("queryId") if isinstance(parameters, dict) else None
    found = next((found for found in map(_QUERY.fullmatch, app_ids) if found), None)
    query = told if isinstance(told, str) and told else found[1] if found else None
    return None if query is None else f"stream {query[:8]}"


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

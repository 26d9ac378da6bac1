"""Reads what the runner left in the driver's termination message: how the run went, in its own words."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from sluice.api import names
from sluice.api.base import Model
from sluice.api.job_status import (
    MAX_NAMES,
    AttemptException,
    AttemptReport,
    Commit,
    ConflictingCommit,
    Outcome,
    ReportedName,
    StreamProgress,
)
from sluice.api.strings import without_surrogates
from sluice.api.tables import TableRef
from sluice.engines.progress import stream_from

RESULT_VERSION = 1
"""Fields that are new in a result do not change it: an operator that does not know them leaves them out, and a result without
them says nothing of them. It changes when a field comes to mean something else."""

_ENDED_FROM_OUTSIDE = "Terminated"

_ALREADY = "AlreadyCommitted"

_OUTCOMES = {
    "Succeeded": Outcome.SUCCEEDED,
    _ALREADY: Outcome.ALREADY_COMMITTED,
    "Failed": Outcome.FAILED,
    "Paused": Outcome.PAUSED,
}
"""What a run may say of itself; what else may have become of an attempt is not the runner's to say."""


class RunResult(Model):
    outcome: Outcome
    commits: tuple[Commit, ...] = ()
    exception: AttemptException | None = None
    failed_operation: str | None = None
    """The operation of the statement that failed."""
    of_job: str | None = None
    """The job whose run it was, as namespace/name, where the reader knows it."""
    report: AttemptReport | None = None
    names: tuple[ReportedName, ...] = ()
    """Where names led in a catalog that others use as well."""
    strayed: tuple[str, ...] = ()
    """What of its commits lies elsewhere than the job was judged to touch, for people."""
    has_kept_to_footprint: bool | None = None
    """None: nobody has looked, or not at everything."""
    was_ended_from_outside: bool = False
    """Whether the run failed only because its driver was told to end."""
    stream: StreamProgress | None = None
    """How far a stream has come."""
    commits_left_out: bool = False
    """Whether there may be more commits than these: the message had no room for them, or the runner could not look for them."""


def parse(message: str | None) -> RunResult | None:
    """Parses the message; None if it is not the runner's: the tail of a log, nothing at all, or what no status could hold."""
    if not message:
        return None
    try:
        content = json.loads(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("version") != RESULT_VERSION:
        return None
    try:
        return RunResult(
            outcome=_OUTCOMES[content["outcome"]],
            commits=tuple(_each(_own_statements(content), _commits)),
            exception=_exception(content.get("exception")),
            failed_operation=_failed_operation(content),
            report=_report(content.get("report")),
            names=_names(content.get("names")),
            strayed=_strayed(content.get("footprint")),
            has_kept_to_footprint=_has_kept_to_footprint(content.get("footprint")),
            was_ended_from_outside=_was_ended_from_outside(content),
            stream=stream_from(content.get("stream")),
            commits_left_out=_leaves_out(content),
        )
    except (AttributeError, KeyError, TypeError, ValueError, ValidationError):
        return None


def _leaves_out(content: dict[str, Any]) -> bool:
    if content.get("statementsLeftOut"):
        return True
    return _was_ended_from_outside(content) or any(
        "commits" not in s and s.get("state") not in ("NoCommit", _ALREADY)
        for s in content.get("statements", [])
    )


def _was_ended_from_outside(content: dict[str, Any]) -> bool:
    return bool((content.get("exception") or {}).get("class") == _ENDED_FROM_OUTSIDE)


def _own_statements(content: dict[str, Any]) -> list[Any]:
    """The statements that the attempt ran itself; of a run of which nothing was left, those of earlier attempts."""
    statements: list[Any] = content.get("statements", [])
    if content["outcome"] == _ALREADY:
        return statements
    return [statement for statement in statements if statement.get("state") != _ALREADY]


def _each(items: list[Any], convert: Callable[[Any], list[Commit]]) -> list[Commit]:
    return [converted for item in items for converted in convert(item)]


def _commits(statement: dict[str, Any]) -> list[Commit]:
    return [
        Commit(
            table=commit["table"],
            version=_whole(commit["version"]),
            statement=_whole(statement["number"], bits=32),
            operation=commit["operation"],
            metrics={
                name: value
                for name, value in list(commit.get("metrics", {}).items())[:32]
                if isinstance(value, int) and not isinstance(value, bool) and _fits(value)
            }
            or None,
        )
        for commit in statement.get("commits", [])
    ]


def _failed_operation(content: dict[str, Any]) -> str | None:
    failed = [s.get("operation") for s in content.get("statements", []) if s.get("state") == "Failed"]
    return _short(failed[-1], 256) if failed else None


def _exception(content: dict[str, Any] | None) -> AttemptException | None:
    if content is None:
        return None
    return AttemptException(
        class_=str(content["class"])[:256],
        error_class=_short(content.get("errorClass"), 256),
        sql_state=_short(content.get("sqlState"), 16),
        statement=_whole(content.get("statement"), bits=32),
        message=str(content.get("message", ""))[:2048],
        partition=_short(content.get("partition"), 512),
        retriable=_flag(content.get("retriable")),
        conflicting_commit=_conflicting(content.get("conflictingCommit")),
    )


def _report(content: Any) -> AttemptReport | None:
    """A report that isn't understood costs nothing of the result."""
    if not isinstance(content, dict):
        return None
    return AttemptReport(
        config_map=_short(content.get("configMap"), 256), missing=_short(content.get("missing"), 2048)
    )


def _names(content: Any) -> tuple[ReportedName, ...]:
    """What no job could say in its manifest leads nowhere: the driver is its author's, and may report anything."""
    found = []
    for one in content[:MAX_NAMES] if isinstance(content, list) else ():
        name, location = (one.get("name"), one.get("location")) if isinstance(one, dict) else (None, None)
        if isinstance(name, str) and isinstance(location, str) and _may_be_said(name, location):
            found.append(ReportedName(name=name, table=location))
    return tuple(found)


def _may_be_said(name: str, location: str) -> bool:
    try:
        TableRef(name=name)
        TableRef(path=location)
    except ValidationError:
        return False
    return True


def _strayed(content: Any) -> tuple[str, ...]:
    found = content.get("strayed") if isinstance(content, dict) else None
    return (
        tuple(without_surrogates(str(place)[:512]) for place in found[:8]) if isinstance(found, list) else ()
    )


def _has_kept_to_footprint(content: Any) -> bool | None:
    if _strayed(content):
        return False
    is_known = isinstance(content, dict) and content.get("strayed") == [] and content.get("unlooked") is None
    return True if is_known else None


def _conflicting(content: dict[str, Any] | None) -> ConflictingCommit | None:
    if content is None:
        return None
    stamp = content.get("stamp") or {}
    stamp = stamp.get(names.STAMP, stamp)
    job = _short(stamp.get("job"), 320)
    return ConflictingCommit(
        table=content.get("table"),
        version=_whole(content.get("version")),
        operation=_short(content.get("operation"), 256),
        engine=_short(content.get("engine"), 256),
        job=job,
        foreign=False if job is not None else _flag(content.get("foreign")),
    )


def _flag(value: Any) -> bool | None:
    """Whoever doesn't say yes or no has said nothing."""
    return value if isinstance(value, bool) else None


def _whole(value: Any, *, bits: int = 64) -> Any:
    """Returns the whole number; the API server takes none that is larger than this."""
    if isinstance(value, int) and not _fits(value, bits):
        raise ValueError(f"{value} has more than {bits} bits")
    return value


def _fits(value: int, bits: int = 64) -> bool:
    return bool(-(2 ** (bits - 1)) <= value < 2 ** (bits - 1))


def _short(text: Any, limit: int) -> str | None:
    return None if text is None else str(text)[:limit]

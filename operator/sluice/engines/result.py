"""Reads what the runner left in the driver's termination message: how the run went, in its own words."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from sluice.api import names
from sluice.api.base import Model
from sluice.api.job_status import AttemptException, Commit, ConflictingCommit, Outcome

RESULT_VERSION = 1

_ENDED_FROM_OUTSIDE = "Terminated"

_OUTCOMES = {"Succeeded": Outcome.SUCCEEDED, "Failed": Outcome.FAILED}
"""What a run may say of itself; what else may have become of an attempt is not the runner's to say."""


class RunResult(Model):
    outcome: Outcome
    commits: tuple[Commit, ...] = ()
    exception: AttemptException | None = None
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
            commits=tuple(_each(content.get("statements", []), _commits)),
            exception=_exception(content.get("exception")),
            commits_left_out=_leaves_out(content),
        )
    except (AttributeError, KeyError, TypeError, ValueError, ValidationError):
        return None


def _leaves_out(content: dict[str, Any]) -> bool:
    if content.get("statementsLeftOut"):
        return True
    if (content.get("exception") or {}).get("class") == _ENDED_FROM_OUTSIDE:
        return True
    return any("commits" not in s and s.get("state") != "NoCommit" for s in content.get("statements", []))


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


def _exception(content: dict[str, Any] | None) -> AttemptException | None:
    if content is None:
        return None
    return AttemptException(
        class_=str(content["class"])[:256],
        error_class=_short(content.get("errorClass"), 256),
        statement=_whole(content.get("statement"), bits=32),
        message=str(content.get("message", ""))[:2048],
        conflicting_commit=_conflicting(content.get("conflictingCommit")),
    )


def _conflicting(content: dict[str, Any] | None) -> ConflictingCommit | None:
    if content is None:
        return None
    stamp = content.get("stamp") or {}
    stamp = stamp.get(names.STAMP, stamp)
    return ConflictingCommit(
        version=_whole(content.get("version")),
        operation=_short(content.get("operation"), 256),
        job=_short(stamp.get("job"), 320),
    )


def _whole(value: Any, *, bits: int = 64) -> Any:
    """Returns the whole number; the API server takes none that is larger than this."""
    if isinstance(value, int) and not _fits(value, bits):
        raise ValueError(f"{value} has more than {bits} bits")
    return value


def _fits(value: int, bits: int = 64) -> bool:
    return bool(-(2 ** (bits - 1)) <= value < 2 ** (bits - 1))


def _short(text: Any, limit: int) -> str | None:
    return None if text is None else str(text)[:limit]

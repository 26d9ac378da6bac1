"""The result as the operator reads it from the termination log: JSON of at most 4,096 bytes.

Kubernetes would cut a longer message anywhere. So the longest parts are cut first: messages, then metrics, then
commits, and finally statements, of which the last matter most, because a later one implies the earlier ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sluice_runner.commits import Commit
from sluice_runner.failures import Failure, Winner

VERSION = 1
MAX_BYTES = 4096
_MESSAGE_BYTES = (1500, 600, 200)


COMMITTED = "Committed"
NO_COMMIT = "NoCommit"
FAILED = "Failed"


@dataclass(frozen=True)
class StatementResult:
    number: int
    state: str
    operation: str
    commits: Sequence[Commit] = ()


@dataclass(frozen=True)
class Result:
    attempt: int
    """0 if the plan could not be read: attempts count from 1."""
    statements: Sequence[StatementResult] = ()
    failure: Failure | None = None
    failed_statement: int | None = None
    winner: Winner | None = None
    """The commit that won the conflict, completed from the table's log."""

    @property
    def succeeded(self) -> bool:
        return self.failure is None


@dataclass(frozen=True)
class _Cut:
    """What is removed to make the result fit."""

    message_bytes: int | None = None
    metrics: bool = False
    commits_of_last: int | None = None
    last_statements: int | None = None


def encode(result: Result) -> bytes:
    for cut in _cuts(len(result.statements)):
        encoded = _bytes(_document(result, cut))
        if len(encoded) <= MAX_BYTES:
            return encoded
    raise ValueError("a result without statements and with its messages cut cannot be too long")


def _cuts(statements: int) -> Iterator[_Cut]:
    """Yields ever deeper cuts: the last statements keep their parts longest, because they imply the ones before."""
    yield _Cut()
    cut = _Cut()
    for size in _MESSAGE_BYTES:
        cut = replace(cut, message_bytes=size)
        yield cut
    cut = replace(cut, metrics=True)
    yield cut
    for kept in _halves(statements):
        cut = replace(cut, commits_of_last=kept)
        yield cut
    for kept in _halves(statements):
        yield replace(cut, last_statements=kept)


def _halves(count: int) -> Iterator[int]:
    while count > 0:
        count //= 2
        yield count


def _document(result: Result, cut: _Cut) -> dict[str, Any]:
    kept = _last(result.statements, cut.last_statements)
    with_commits = {statement.number for statement in _last(kept, cut.commits_of_last)}
    document: dict[str, Any] = {
        "version": VERSION,
        "outcome": "Succeeded" if result.succeeded else "Failed",
        "attempt": result.attempt,
        "statements": [_statement(statement, cut, statement.number in with_commits) for statement in kept],
    }
    if result.failure is not None:
        document["exception"] = _exception(result, result.failure, cut)
    if cut != _Cut():
        document["truncated"] = True
    if len(kept) < len(result.statements):
        document["statementsLeftOut"] = len(result.statements) - len(kept)
    return document


def _last(statements: Sequence[StatementResult], count: int | None) -> Sequence[StatementResult]:
    return statements if count is None else statements[len(statements) - min(count, len(statements)) :]


def _statement(statement: StatementResult, cut: _Cut, with_commits: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "number": statement.number,
        "state": statement.state,
        "operation": statement.operation,
    }
    if with_commits:
        document["commits"] = [_commit(commit, cut) for commit in statement.commits]
    return document


def _commit(commit: Commit, cut: _Cut) -> dict[str, Any]:
    document = {"table": commit.table, "version": commit.version, "operation": commit.operation}
    if not cut.metrics:
        document["metrics"] = dict(commit.metrics)
    return document


def _exception(result: Result, failure: Failure, cut: _Cut) -> dict[str, Any]:
    return {
        "class": failure.name[:128],
        "javaClass": failure.java_class and failure.java_class[:256],
        "errorClass": failure.error_class and failure.error_class[:256],
        "message": _shortened(failure.message, cut.message_bytes),
        "statement": result.failed_statement,
        "conflictingCommit": _winner(result.winner) if result.winner is not None else None,
    }


def _winner(winner: Winner) -> dict[str, Any]:
    stamp = winner.stamp
    fits = stamp is not None and len(_bytes(stamp)) <= 1024
    return {
        "version": winner.version,
        "operation": winner.operation and winner.operation[:128],
        "stamp": stamp if fits else None,
    }


def _shortened(text: str, limit: int | None) -> str:
    encoded = _utf8(text)
    if limit is None or len(encoded) <= limit:
        return encoded.decode()
    return encoded[:limit].decode(errors="ignore") + "…"


def _utf8(text: str) -> bytes:
    """A lone surrogate (half a character, as Java strings may hold) has no UTF-8 of its own."""
    return text.encode(errors="replace")


def _bytes(document: Mapping[str, Any]) -> bytes:
    return _utf8(json.dumps(document, ensure_ascii=False, separators=(",", ":")))

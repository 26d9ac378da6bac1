"""The result as the operator reads it from the termination log: JSON of at most 4,096 bytes.

Kubernetes would cut a longer message anywhere. So what is missed least is cut first: names, which another run tells as well, then
the longest parts: messages, then metrics, then commits, and finally statements, of which the last matter most, because a later one
implies the earlier ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sluice_runner.commits import Commit
from sluice_runner.failures import Failure
from sluice_runner.winners import Winner

VERSION = 1
MAX_BYTES = 4096
_MESSAGE_BYTES = (1500, 600, 200)
_REPORT_BYTES = 480
_LOCATION_BYTES = 512
_STRAYED = 2
_STRAYED_BYTES = 300
_LEAST_OF_FOOTPRINT = 60
_NAMES = 16


COMMITTED = "Committed"
NO_COMMIT = "NoCommit"
ALREADY_COMMITTED = "AlreadyCommitted"
"""An earlier attempt did it, so that it was left out."""
FAILED = "Failed"


@dataclass(frozen=True)
class StatementResult:
    number: int
    state: str
    operation: str
    commits: Sequence[Commit] = ()
    strayed: Sequence[str] = ()
    """What of these lies elsewhere than the job was judged to touch."""
    unlooked: str | None = None
    """Why it could not be looked whether anything does."""
    is_read: bool = True
    """Whether its commits are known: what could not be read isn't said to be nothing."""


@dataclass(frozen=True)
class Report:
    """The ConfigMap with the full report, or why there is none; exactly one is set."""

    name: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Result:
    attempt: int
    """0 if the plan could not be read: attempts count from 1."""
    statements: Sequence[StatementResult] = ()
    failure: Failure | None = None
    failed_statement: int | None = None
    winner: Winner | None = None
    """The commit that won the conflict, completed from the table's log."""
    nothing_was_left: bool = False
    """Whether earlier attempts had done everything."""
    report: Report | None = None
    """None: not written yet."""
    is_looked_at: bool = False
    """Whether commits were held against what the job was judged to touch."""
    names: Sequence[tuple[str, str]] = ()
    """Where names lead in catalogs that others use as well."""
    stream: Mapping[str, Any] | None = None
    """How far a stream has come."""
    is_paused: bool = False
    """Whether it is a stream that stopped between two batches, because it was asked to."""

    @property
    def outcome(self) -> str:
        if not self.succeeded:
            return "Failed"
        if self.is_paused:
            return "Paused"
        return "AlreadyCommitted" if self.nothing_was_left else "Succeeded"

    @property
    def succeeded(self) -> bool:
        return self.failure is None


@dataclass(frozen=True)
class _Cut:
    """What is removed to make the result fit."""

    names: int = _NAMES
    message_bytes: int | None = None
    metrics: bool = False
    commits_of_last: int | None = None
    last_statements: int | None = None
    footprint_bytes: int | None = None
    last_commit: bool = False
    """That of a stream: its pod says it as well."""


def encode(result: Result) -> bytes:
    for cut in _cuts(result):
        encoded = _json(_document(result, cut))
        if len(encoded) <= MAX_BYTES:
            return encoded
    raise ValueError("a result without statements and with its messages cut cannot be too long")


def _cuts(result: Result) -> Iterator[_Cut]:
    """Yields ever deeper cuts: the last statements keep their parts longest, because they imply the ones before."""
    yield _Cut()
    cut = _Cut()
    for kept in _halves(min(len(result.names), _NAMES)):
        cut = replace(cut, names=kept)
        yield cut
    for size in _MESSAGE_BYTES:
        cut = replace(cut, message_bytes=size)
        yield cut
    cut = replace(cut, metrics=True)
    yield cut
    for kept in _halves(len(result.statements)):
        cut = replace(cut, commits_of_last=kept)
        yield cut
    for kept in _halves(len(result.statements)):
        cut = replace(cut, last_statements=kept)
        yield cut
    cut = replace(cut, footprint_bytes=_LEAST_OF_FOOTPRINT, message_bytes=0)
    yield cut
    yield replace(cut, last_commit=True)


def _halves(count: int) -> Iterator[int]:
    while count > 0:
        count //= 2
        yield count


def _document(result: Result, cut: _Cut) -> dict[str, Any]:
    kept = _last(result.statements, cut.last_statements)
    with_commits = {statement.number for statement in _last(kept, cut.commits_of_last)}
    document: dict[str, Any] = {
        "version": VERSION,
        "outcome": result.outcome,
        "attempt": result.attempt,
        "statements": [_statement(statement, cut, statement.number in with_commits) for statement in kept],
    }
    if result.stream is not None:
        document["stream"] = _stream(result.stream, cut)
    if result.failure is not None:
        document["exception"] = _exception(result, result.failure, cut)
    if result.report is not None:
        document["report"] = _report(result.report)
    if result.is_looked_at and result.statements:
        document["footprint"] = _footprint(result, cut)
    if result.names:
        document["names"] = [{"name": name, "location": place} for name, place in result.names[: cut.names]]
    if len(result.names) > cut.names:
        document["namesLeftOut"] = len(result.names) - cut.names
    if cut != _Cut():
        document["truncated"] = True
    if len(kept) < len(result.statements):
        document["statementsLeftOut"] = len(result.statements) - len(kept)
    return document


def _stream(told: Mapping[str, Any], cut: _Cut) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name != "lastCommit" or not cut.last_commit}


def _last(statements: Sequence[StatementResult], count: int | None) -> Sequence[StatementResult]:
    return statements if count is None else statements[len(statements) - min(count, len(statements)) :]


def _statement(statement: StatementResult, cut: _Cut, with_commits: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "number": statement.number,
        "state": statement.state,
        "operation": statement.operation,
    }
    if with_commits and statement.is_read:
        document["commits"] = [_commit(commit, cut) for commit in statement.commits]
    return document


def _commit(commit: Commit, cut: _Cut) -> dict[str, Any]:
    document = {"table": commit.table, "version": commit.version, "operation": commit.operation}
    if not cut.metrics:
        document["metrics"] = dict(commit.metrics)
    return document


def _exception(result: Result, failure: Failure, cut: _Cut) -> dict[str, Any]:
    return {
        "class": _fitting(failure.name, 128),
        "javaClass": _fitting(failure.java_class, 256),
        "errorClass": _fitting(failure.error_class, 128),
        "sqlState": _fitting(failure.sql_state, 16),
        "message": _shortened(failure.message, cut.message_bytes),
        "statement": result.failed_statement,
        "partition": _fitting(failure.partition, 384),
        "retriable": failure.retriable,
        "conflictingCommit": _winner(result.winner) if result.winner is not None else None,
    }


def _footprint(result: Result, cut: _Cut) -> dict[str, Any]:
    strayed = [(one.number, place) for one in result.statements for place in one.strayed]
    unlooked = [(one.number, one.unlooked) for one in result.statements if one.unlooked is not None]
    if result.failed_statement is not None and result.failed_statement not in (
        one.number for one in result.statements
    ):
        unlooked.append((result.failed_statement, "the run ended before anybody could look"))
    limit = _STRAYED_BYTES if cut.footprint_bytes is None else cut.footprint_bytes
    return {
        "strayed": [_of_statement(*one, limit) for one in strayed[:_STRAYED]],
        "unlooked": _of_statement(*unlooked[0], limit) if unlooked else None,
    }


def _of_statement(number: int, text: str, limit: int) -> str | None:
    return _fitting(f"statement {number}: {text}", limit)


def _report(report: Report) -> dict[str, Any]:
    if report.name is not None:
        return {"configMap": report.name}
    return {"missing": _fitting(report.missing or "", _REPORT_BYTES)}


def _winner(winner: Winner) -> dict[str, Any]:
    stamp = winner.stamp
    fits = stamp is not None and len(_json(stamp)) <= 1024
    return {
        "version": winner.version,
        "table": winner.table if len(_json(winner.table or "")) <= _LOCATION_BYTES else None,
        "operation": _fitting(winner.operation, 128),
        "engine": _fitting(winner.engine, 128),
        "stamp": stamp if fits else None,
        "foreign": winner.foreign,
    }


def _shortened(text: str, limit: int | None) -> str:
    encoded = _utf8(text)
    if limit is None or len(encoded) <= limit:
        return encoded.decode()
    return encoded[:limit].decode(errors="ignore") + "…"


def _fitting(text: str | None, limit: int) -> str | None:
    """The text, cut to so many bytes of JSON: others wrote it, and a control character takes six of them."""
    if text is None:
        return None
    text = _utf8(text[:limit]).decode()
    while len(_json(text)) > limit:
        text = text[: len(text) * limit // len(_json(text)) - 1] + "…"
    return text


def _utf8(text: str) -> bytes:
    """A lone surrogate (half a character, as Java strings may hold) has no UTF-8 of its own."""
    return text.encode(errors="replace")


def _json(value: Mapping[str, Any] | str) -> bytes:
    return _utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

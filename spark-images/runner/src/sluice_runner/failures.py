"""What went wrong, by class: found through py4j, PySpark's conversions and exceptions that wrap others.

Delta's conflicts decide whether a job is run again, but they do not always arrive as themselves: a stream or a thread
pool wraps them, PySpark turns some into Python classes that no longer hold their Java exception, and before 4.1
Delta's message holds the winner's commit as JSON where later ones have a sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sluice_runner.stamp import read_stamp

CONFLICTS = frozenset(
    {
        "ConcurrentAppendException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentDeleteReadException",
        "ConcurrentTransactionException",
        "ConcurrentWriteException",
        "DeltaConcurrentModificationException",
        "MetadataChangedException",
        "ProtocolChangedException",
    }
)
_DELTA_EXCEPTIONS = "io.delta.exceptions."
_DEPTH = 20

_ERROR_CLASS = re.compile(r"^\s*\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_WRAPPED_CONFLICT = re.compile(r"io\.delta\.exceptions\.(\w+Exception): (.*)", re.DOTALL)
_SHUT_DOWN = re.compile("SparkContext (was|has been) shut ?down")
_WINNER_SENTENCE = re.compile(
    r"a concurrent (?P<operation>.{1,80}?) (?:added data to|deleted data from) table .*?"
    r"committed at version (?P<version>\d+)",
    re.DOTALL,
)
_WINNER_COMMIT = "Conflicting commit: {"
_OPERATION = re.compile(r'"operation":"([^"\\]*)"')
_USER_METADATA = re.compile(r'"userMetadata":("(?:[^"\\]|\\.)*")')


class Terminated(BaseException):
    """The driver was told to end (SIGTERM). It is not an Exception, so that no handler of the work's failures can
    hold it up."""


@dataclass(frozen=True)
class Winner:
    """The commit that won the conflict, as far as the exception tells."""

    version: int | None
    operation: str | None
    user_metadata: str | None

    @property
    def stamp(self) -> Mapping[str, Any] | None:
        return read_stamp(self.user_metadata)


@dataclass(frozen=True)
class Failure:
    name: str
    java_class: str | None
    error_class: str | None
    message: str
    winner: Winner | None = None

    def without(self, secrets: Sequence[str]) -> Failure:
        message = self.message
        for secret in secrets:
            message = message.replace(secret, "***")
        return replace(self, message=message)


@dataclass(frozen=True)
class Link:
    """One exception of a chain of causes."""

    class_name: str
    message: str
    error_class: str | None
    is_java: bool


def terminated(message: str) -> Failure:
    """The failure of a driver that was ended. It says nothing about the running statement, whose commit may have
    landed or may still land."""
    return Failure(Terminated.__name__, None, None, message)


def classify(error: BaseException) -> Failure:
    return judge(list(_chain(error)))


def judge(chain: Sequence[Link]) -> Failure:
    """The failure that a chain of exceptions means: a conflict anywhere in it, or else the outermost exception with
    its root cause."""
    for link in chain:
        conflict = _conflict_in(link)
        if conflict is not None:
            return conflict
    outermost, root = _for_people(chain[0]), chain[-1]
    if any(_SHUT_DOWN.search(link.message) for link in chain):
        return terminated(f"Spark was shut down from outside: {outermost.message}")
    message = outermost.message
    if root is not chain[0] and root.message.strip() not in message:
        message = f"{message}\ncaused by {_short(root.class_name)}: {root.message}"
    coded = next((link.error_class for link in chain if link.error_class is not None), None)
    return Failure(
        _short(outermost.class_name), outermost.class_name if outermost.is_java else None, coded, message
    )


def _for_people(link: Link) -> Link:
    """Shortens a message: Spark's own subclass of AnalysisException only adds the plan, over many lines."""
    if _short(link.class_name) != "ExtendedAnalysisException":
        return link
    sentence, _, _plan = link.message.partition(";\n")
    return replace(link, class_name="org.apache.spark.sql.AnalysisException", message=sentence)


def _conflict_in(link: Link) -> Failure | None:
    if link.is_java and _short(link.class_name) in CONFLICTS:
        name, message, code = _short(link.class_name), link.message, link.error_class
    else:
        wrapped = _WRAPPED_CONFLICT.search(link.message)
        if wrapped is None or wrapped.group(1) not in CONFLICTS:
            return None
        name, message = wrapped.group(1), wrapped.group(2)
        code = _error_class(message)
    return Failure(name, _DELTA_EXCEPTIONS + name, code or _error_class(message), message, _winner(message))


def _winner(message: str) -> Winner | None:
    """The commit that won, from Delta's message: from its CommitInfo or, since 4.1 for some classes, from a sentence.

    The CommitInfo isn't parsed as JSON, because up to 4.0 its parameters lack their quotes. What is needed comes
    before them (the operation) and after them (the metadata).
    """
    _, found, commit = message.partition(_WINNER_COMMIT)
    if found:
        operation = _OPERATION.search(commit)
        metadata = _USER_METADATA.findall(commit)
        return Winner(
            version=None,
            operation=operation.group(1) if operation is not None else None,
            user_metadata=json.loads(metadata[-1]) if metadata else None,
        )
    sentence = _WINNER_SENTENCE.search(message)
    if sentence is None:
        return None
    return Winner(int(sentence["version"]), sentence["operation"], None)


def _chain(error: BaseException) -> Iterator[Link]:
    java = _java_exception(error)
    if java is not None:
        yield from _java_chain(java)
        return
    name = type(error).__name__
    message = str(error) or name
    if type(error).__module__.startswith("delta.exceptions"):
        # Delta's Python classes drop the Java exception and keep its text, which begins with the error class.
        yield Link(_DELTA_EXCEPTIONS + name, message, _error_class(message), is_java=True)
        return
    yield Link(name, message, _error_class(message), is_java=False)
    cause = error.__cause__
    depth = 0
    while cause is not None and depth < _DEPTH:
        yield Link(type(cause).__name__, str(cause), _error_class(str(cause)), is_java=False)
        cause, depth = cause.__cause__, depth + 1


def _java_exception(error: BaseException) -> Any:
    """py4j's errors and PySpark's captured ones both carry the Java exception, under names of their own."""
    for attribute in ("java_exception", "_origin"):
        java = getattr(error, attribute, None)
        if java is not None:
            return java
    return None


def _java_chain(java: Any) -> Iterator[Link]:
    for _ in range(_DEPTH):
        name: str = java.getClass().getName()
        message: str = java.getMessage() or java.toString()
        yield Link(name, message, _java_error_class(java) or _error_class(message), is_java=True)
        cause = java.getCause()
        if cause is None or cause.equals(java):
            return
        java = cause


def _java_error_class(java: Any) -> str | None:
    """SparkThrowable's error class: getCondition since Spark 4, getErrorClass before."""
    methods = {method.getName() for method in java.getClass().getMethods()}
    for name in ("getCondition", "getErrorClass"):
        if name in methods:
            found: str | None = getattr(java, name)()
            return found
    return None


def _error_class(message: str) -> str | None:
    found = _ERROR_CLASS.match(message)
    return found.group(1) if found is not None else None


def _short(class_name: str) -> str:
    return re.split(r"[.$]", class_name.rstrip("$"))[-1]

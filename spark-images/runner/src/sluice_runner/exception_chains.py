"""Turns what Python caught into its chain of Java and Python exceptions, each with its full class name.

Nearly always py4j still has the Java exception. Its class is only text in three places: in Delta's Python classes, in
PySpark's UnknownException, and in what py4j tells Java of an exception in a Python callback (foreachBatch). A text
anywhere else is what somebody wrote, raise_error for instance, and names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sluice_runner.retriable import CONFLICTS, DELTA, SQL_STATE, error_class_of

_DEPTH = 20

_ERROR_CLASS = re.compile(r"^\s*\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_SQL_STATE = re.compile(r"\bSQLSTATE: ([0-9A-Z]{5})\b")
_JAVA_TEXT = re.compile(r"(?P<name>(?:\w+\.)+[\w$]+)(?:: (?P<message>.*))?", re.DOTALL)
_DELTAS_MODULES = frozenset({"delta.exceptions", "delta.exceptions.base", "delta.exceptions.captured"})

_CALLBACK = "py4j.Py4JException"
_NAMES = "|".join(sorted(name.removeprefix(DELTA) for name in CONFLICTS if name.startswith(DELTA)))
_PACKAGES = r"io\.delta\.exceptions|org\.apache\.spark\.sql\.delta"
_MESSAGE = r"(?P<message>.*?)(?=\n\s+at |\n\nJVM stacktrace:|\Z)"
_FROM_JAVA = re.compile(
    rf"^py4j\.protocol\.Py4JJavaError: An error occurred while calling [^\n]*\n"
    rf"(?:|.*?^Caused by): (?P<name>(?:{_PACKAGES})\.(?:{_NAMES})): {_MESSAGE}",
    re.MULTILINE | re.DOTALL,
)
_FROM_PYTHON = re.compile(
    rf"^delta\.exceptions(?:\.captured|\.base)?\.(?P<name>{_NAMES}): {_MESSAGE}", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Link:
    """One exception of a chain of causes."""

    class_name: str
    """With its package, if it is one of Java's."""
    message: str
    error_class: str | None
    is_java: bool
    sql_state: str | None = None


def chain_of(error: BaseException) -> Iterator[Link]:
    """The exception and its causes, outermost first."""
    current: BaseException | None = error
    for _ in range(_DEPTH):
        if current is None:
            return
        java = _java_exception(current)
        if java is not None:
            yield from _java_chain(java)
            return
        link = _python_link(current)
        yield link
        if link.class_name == _CALLBACK:
            yield from _in_callback(link.message)
        cause = _kept(current, "cause")
        current = cause if isinstance(cause, BaseException) else current.__cause__


def _java_exception(error: BaseException) -> Any:
    """py4j's errors and PySpark's captured ones both carry the Java exception, under names of their own."""
    for attribute in ("java_exception", "_origin"):
        java = getattr(error, attribute, None)
        if java is not None:
            return java
    return None


def _kept(error: BaseException, name: str) -> Any:
    """What PySpark's exceptions keep of Java's, under a name that begins with _ since 4.0; other exceptions' are their own."""
    if not type(error).__module__.startswith(("pyspark.errors.", "delta.exceptions")):
        return None
    return getattr(error, f"_{name}", None) or getattr(error, name, None)


def _python_link(error: BaseException) -> Link:
    module, name = type(error).__module__, type(error).__name__
    # str() of PySpark's exceptions would add the JVM's stack trace.
    message = _kept(error, "desc") or str(error) or name
    if module in _DELTAS_MODULES and DELTA + name in CONFLICTS:
        return _conflict(DELTA + name, message)
    if not module.startswith("pyspark.errors."):
        return Link(name, message, None, is_java=False)
    java = _JAVA_TEXT.fullmatch(message) if name == "UnknownException" else None
    if java is None:
        return Link(name, message, _error_class(message), is_java=False, sql_state=_sql_state(message))
    java_class, said = java["name"], java["message"] or java["name"]
    if java_class in CONFLICTS:
        return _conflict(java_class, said)
    return Link(java_class, said, None, is_java=True)


def _java_chain(java: Any) -> Iterator[Link]:
    for _ in range(_DEPTH):
        name: str = java.getClass().getName()
        message: str = java.getMessage() or java.toString()
        methods = {method.getName() for method in java.getClass().getMethods()}
        # getCondition since Spark 4, getErrorClass before.
        code = _told(java, methods, "getCondition") or _told(java, methods, "getErrorClass")
        state = _told(java, methods, "getSqlState") if code is not None else None
        yield Link(name, message, code, is_java=True, sql_state=state)
        if name == _CALLBACK:
            yield from _in_callback(message)
        cause = java.getCause()
        if cause is None or cause.equals(java):
            return
        java = cause


def _told(java: Any, methods: set[str], method: str) -> str | None:
    """What a SparkThrowable tells of itself; nothing if it has no such method, as other exceptions don't."""
    if method not in methods:
        return None
    found: str | None = getattr(java, method)()
    return found


def _in_callback(traceback: str) -> Iterator[Link]:
    """The conflict that a function of foreachBatch met, from the traceback that py4j made of it."""
    from_java = _FROM_JAVA.search(traceback)
    if from_java is not None:
        yield _conflict(from_java["name"], from_java["message"])
        return
    from_python = _FROM_PYTHON.search(traceback)
    if from_python is not None:
        yield _conflict(DELTA + from_python["name"], from_python["message"])


def _conflict(java_class: str, message: str) -> Link:
    """A conflict of which only class and message are left."""
    state = SQL_STATE if java_class.startswith(DELTA) else None
    code = _error_class(message) or error_class_of(java_class)
    return Link(java_class, message, code, is_java=True, sql_state=state)


def _error_class(message: str) -> str | None:
    found = _ERROR_CLASS.match(message)
    return found.group(1) if found is not None else None


def _sql_state(message: str) -> str | None:
    found = _SQL_STATE.findall(message)
    return found[-1] if found else None

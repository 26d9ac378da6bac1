"""An exception's class is taken from Java, and from text only where that is all that is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from sluice_runner.exception_chains import chain_of
from sluice_runner.failures import classify

MESSAGE = "[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Transaction conflict detected. a concurrent WRITE added data to table t"


@dataclass
class Named:
    name: str

    def getName(self) -> str:  # noqa: N802 - as in Java
        return self.name


class JavaError:
    """An exception as py4j shows it."""

    def __init__(
        self, name: str, message: str | None, cause: JavaError | None = None, **told: str | None
    ) -> None:
        self._name, self._message, self._cause, self._told = name, message, cause, told

    def getClass(self) -> Any:  # noqa: N802 - as in Java
        error = self

        class Class(Named):
            def getMethods(self) -> Sequence[Named]:  # noqa: N802 - as in Java
                return [Named(method) for method in ("getMessage", *error._told)]

        return Class(self._name)

    def getMessage(self) -> str | None:  # noqa: N802 - as in Java
        return self._message

    def toString(self) -> str:  # noqa: N802 - as in Java
        return self._name if self._message is None else f"{self._name}: {self._message}"

    def equals(self, other: object) -> bool:
        return other is self

    def getCause(self) -> JavaError | None:  # noqa: N802 - as in Java
        return self._cause

    def __getattr__(self, method: str) -> Any:
        if method not in self._told:
            raise AttributeError(method)
        return lambda: self._told[method]


class Py4JJavaError(Exception):
    def __init__(self, java_exception: JavaError) -> None:
        self.java_exception = java_exception


CONFLICT = JavaError(
    "io.delta.exceptions.ConcurrentAppendException",
    MESSAGE,
    getCondition="DELTA_CONCURRENT_APPEND.WITHOUT_HINT",
    getSqlState="2D521",
)


def captured(
    name: str, message: str, module: str, cause: BaseException | None = None, *, prefix: str = "_"
) -> Exception:
    """One of PySpark's or Delta's Python exceptions, whose Java exception is gone."""
    error: Exception = type(name, (Exception,), {"__module__": module})(
        f"{message}\n\nJVM stacktrace:\nat x.y"
    )
    vars(error).update({f"{prefix}desc": message, f"{prefix}cause": cause, "_origin": None})
    return error


def test_what_java_tells_is_kept() -> None:
    failure = classify(Py4JJavaError(JavaError("org.apache.spark.SparkException", "awaitResult", CONFLICT)))
    assert (failure.name, failure.java_class) == (
        "ConcurrentAppendException",
        "io.delta.exceptions.ConcurrentAppendException",
    )
    assert (failure.error_class, failure.sql_state) == ("DELTA_CONCURRENT_APPEND.WITHOUT_HINT", "2D521")


def test_spark_3_5_names_an_error_class_by_another_method() -> None:
    java = JavaError("org.apache.spark.SparkException", "m", getErrorClass="X_Y", getSqlState="42000")
    (link,) = chain_of(Py4JJavaError(java))
    assert (link.error_class, link.sql_state) == ("X_Y", "42000")


def test_text_in_brackets_is_no_error_class_of_a_java_exception_without_one() -> None:
    (link,) = chain_of(Py4JJavaError(JavaError("java.lang.RuntimeException", MESSAGE)))
    assert (link.error_class, link.sql_state, link.message) == (None, None, MESSAGE)
    (silent,) = chain_of(Py4JJavaError(JavaError("java.lang.NullPointerException", None)))
    assert silent.message == "java.lang.NullPointerException"


def test_an_error_class_is_not_asked_for_a_state_that_it_lacks() -> None:
    """Delta's exceptions fail when they are asked for the SQLSTATE of no error class."""
    java = JavaError("org.apache.spark.sql.delta.X", "m", getErrorClass=None, getSqlState="never asked")
    (link,) = chain_of(Py4JJavaError(java))
    assert link.sql_state is None


@pytest.mark.parametrize("module", ["delta.exceptions", "delta.exceptions.captured"])
def test_deltas_python_classes_are_conflicts(module: str) -> None:
    failure = classify(captured("ConcurrentAppendException", MESSAGE, module))
    assert failure.java_class == "io.delta.exceptions.ConcurrentAppendException"
    assert (failure.error_class, failure.sql_state) == ("DELTA_CONCURRENT_APPEND.WITHOUT_HINT", "2D521")
    assert failure.message == MESSAGE
    assert failure.retriable


def test_a_conflict_whose_text_has_no_error_class_has_that_of_its_class() -> None:
    said = "A conflicting metadata domain delta.clustering is added."
    failure = classify(captured("ConcurrentTransactionException", said, "delta.exceptions.captured"))
    assert (failure.error_class, failure.message) == ("DELTA_CONCURRENT_TRANSACTION", said)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("ConcurrentAppendException", "__main__"),
        ("ConcurrentAppendException", "delta.exceptions_of_mine"),
        ("DeltaInvalidException", "delta.exceptions"),
    ],
)
def test_a_users_own_class_is_no_conflict(name: str, module: str) -> None:
    failure = classify(captured(name, MESSAGE, module))
    assert (failure.name, failure.java_class, failure.error_class) == (name, None, None)
    assert not failure.retriable


@pytest.mark.parametrize("prefix", ["_", ""], ids=["since 4.0", "3.5"])
def test_the_exception_of_a_stream_that_ended_is_known_by_its_cause(prefix: str) -> None:
    """query.exception() makes PySpark's exceptions of texts."""
    module = "pyspark.errors.exceptions.captured"
    cause = captured("UnknownException", CONFLICT.toString(), module, prefix=prefix)
    ended = captured("StreamingQueryException", "[STREAM_FAILED] Query ended", module, cause, prefix=prefix)
    failure = classify(ended)
    assert failure.java_class == "io.delta.exceptions.ConcurrentAppendException"
    assert failure.sql_state == "2D521"


def test_a_java_exception_that_pyspark_does_not_know_keeps_its_class() -> None:
    module = "pyspark.errors.exceptions.captured"
    (link,) = chain_of(captured("UnknownException", "java.io.IOException: disk full: x", module))
    assert (link.class_name, link.message, link.is_java) == ("java.io.IOException", "disk full: x", True)


PY4J = "py4j.protocol.Py4JJavaError: An error occurred while calling o83.save."
FRAMES = "\n\tat org.apache.spark.sql.delta.DeltaErrors$.x(DeltaErrors.scala:1)\n\tat java.lang.Thread.run(Thread.java:1)\n"


def of_foreach_batch(text: str) -> Py4JJavaError:
    told = f"An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n  File x\n{text}"
    return Py4JJavaError(
        JavaError(
            "org.apache.spark.sql.streaming.StreamingQueryException",
            f"[FOREACH_BATCH_USER_FUNCTION_ERROR] {told}",
            JavaError("py4j.Py4JException", told),
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{PY4J}\n: io.delta.exceptions.ConcurrentAppendException: {MESSAGE}{FRAMES}",
        f"{PY4J}\n: org.apache.spark.SparkException: awaitResult{FRAMES}"
        f"Caused by: io.delta.exceptions.ConcurrentAppendException: {MESSAGE}{FRAMES}\t... 3 more",
        f"delta.exceptions.captured.ConcurrentAppendException: {MESSAGE}\n\nJVM stacktrace:\nx.y",
        f"delta.exceptions.ConcurrentAppendException: {MESSAGE}",
    ],
)
def test_a_conflict_in_a_function_of_foreach_batch_is_known_by_the_traceback(text: str) -> None:
    failure = classify(of_foreach_batch(text))
    assert failure.java_class == "io.delta.exceptions.ConcurrentAppendException"
    assert failure.message == MESSAGE
    assert failure.error_class == "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"


def test_a_stream_tells_the_same_of_foreach_batch_after_it_has_ended() -> None:
    module = "pyspark.errors.exceptions.captured"
    told = f"py4j.Py4JException: An exception was raised by the Python Proxy.\n{PY4J}\n: {CONFLICT.toString()}{FRAMES}"
    cause = captured("UnknownException", told, module)
    failure = classify(captured("StreamingQueryException", "An exception was raised", module, cause))
    assert failure.java_class == "io.delta.exceptions.ConcurrentAppendException"
    assert failure.message == MESSAGE


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: io.delta.exceptions.ConcurrentAppendException: no",
        "mine.delta.exceptions.ConcurrentAppendException: no",
        "__main__.ConcurrentAppendException: no",
        f"{PY4J}\n: com.example.ConcurrentAppendException: no{FRAMES}",
        "pyspark.errors.exceptions.captured.SparkRuntimeException: [USER_RAISED_EXCEPTION] "
        "io.delta.exceptions.ConcurrentAppendException: no",
    ],
)
def test_words_in_a_function_of_foreach_batch_are_no_conflict(text: str) -> None:
    failure = classify(of_foreach_batch(text))
    assert failure.name == "StreamingQueryException"
    assert not failure.retriable


def test_the_same_text_in_an_exception_that_no_callback_raised_names_nothing() -> None:
    text = f"{PY4J}\n: io.delta.exceptions.ConcurrentAppendException: {MESSAGE}{FRAMES}"
    failure = classify(Py4JJavaError(JavaError("org.apache.spark.SparkRuntimeException", text)))
    assert failure.name == "SparkRuntimeException"


def test_what_others_call_a_cause_or_a_description_is_theirs() -> None:
    error = captured("MyError", "mine", "__main__", ValueError("not the cause"), prefix="")
    (link,) = chain_of(error)
    assert link.message == "mine\n\nJVM stacktrace:\nat x.y"


def test_causes_that_go_round_end() -> None:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    assert len(list(chain_of(first))) == 20


def test_the_causes_of_python_exceptions_may_be_java_ones() -> None:
    error = ValueError("outer")
    error.__cause__ = Py4JJavaError(JavaError("java.net.ConnectException", "Connection refused"))
    assert [link.class_name for link in chain_of(error)] == ["ValueError", "java.net.ConnectException"]

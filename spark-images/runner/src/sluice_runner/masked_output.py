"""Keeps secrets out of what the driver itself writes: its two streams, Spark's log, and the plans that Spark shows.

The JVM is there before the runner is, with a log that is configured by the image. So an appender that leaves out the secrets is
put in front of each that is there.
"""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from sluice_runner.java_classes import has_class, java_class
from sluice_runner.plan import Plan
from sluice_runner.secrets_in_text import STARS, Mask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASKED_LOG = "dev.sluice.log.MaskedLog"
_OPTIONS_REGEX = "spark.sql.redaction.options.regex"
_OPTIONS_AT_FIRST = "(?i)url"
"""Spark's own value."""


class MaskedStream(io.TextIOBase):
    """Writes whole lines, because a secret may come in two parts."""

    def __init__(self, beneath: TextIO, mask: Mask) -> None:
        self._beneath = beneath
        self._mask = mask
        self._line = ""
        self._lock = threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            lines, end, self._line = (self._line + text).rpartition("\n")
            if end:
                self._beneath.write(self._mask(lines) + end)
        return len(text)

    def flush(self) -> None:
        self._beneath.flush()

    def end(self) -> None:
        self._beneath.write(self._mask(self._line))
        self._line = ""
        self._beneath.flush()

    def fileno(self) -> int:
        return self._beneath.fileno()


def hide_from_streams(mask: Mask) -> None:
    sys.stdout = MaskedStream(_own(sys.stdout), mask)
    sys.stderr = MaskedStream(_own(sys.stderr), mask)


def end_streams() -> None:
    """Writes what was written without an end of line: Python itself doesn't end what stands in the place of its streams."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, MaskedStream):
            stream.end()


def _own(stream: TextIO) -> TextIO:
    return stream._beneath if isinstance(stream, MaskedStream) else stream


def settings() -> dict[str, str]:
    """What spark-submit set; the JVM is started where there is none yet."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an image without PySpark must still report that

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def hide_from_log(mask: Mask) -> None:
    """Has Log4j leave the secrets out of all appenders that the image has configured, in every layout."""
    if mask.pattern is None:
        return
    from pyspark import SparkContext  # noqa: PLC0415

    context = java_class(SparkContext, "org.apache.logging.log4j.LogManager").getContext(False)
    if not context.getClass().getName().startswith("org.apache.logging.log4j.core"):
        sys.stderr.write(
            f"sluice: Spark logs by {context.getClass().getName()}, not by Log4j 2: secrets are not left out of its log. "
            "Use an image that logs by Log4j 2, as Spark's own images do\n"
        )
    elif not has_class(SparkContext, _MASKED_LOG):
        sys.stderr.write(
            "sluice: sluice-logstore.jar is not on the driver's class path: secrets are not left out of Spark's log. "
            "Use an image that has it in its jars folder\n"
        )
    else:
        java_class(SparkContext, _MASKED_LOG).hide(context, mask.pattern, STARS)


def hide_from_plans(spark: SparkSession, plan: Plan) -> None:
    """Has Spark leave out the values of these options where it shows plans. It could leave out texts, too, but the setting that
    says which (spark.sql.redaction.string.regex) goes with every task, and into the event log as it is."""
    if plan.secret_options:
        before = spark.conf.get(_OPTIONS_REGEX, _OPTIONS_AT_FIRST) or ""
        spark.conf.set(_OPTIONS_REGEX, options_regex(before, plan.secret_options))


def options_regex(before: str, options: Mapping[str, str]) -> str:
    own = f"(?i)^(?:{'|'.join(re.escape(name) for name in sorted(options))})$"
    return f"(?:{before})|(?:{own})" if before else own

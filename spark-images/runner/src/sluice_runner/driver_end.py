"""How a driver ends: what SIGTERM means to it, and how its result gets into the termination log."""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from sluice_runner.failures import Terminated
from sluice_runner.java_classes import java_class
from sluice_runner.result import Result, encode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TERMINATION_LOG = "SLUICE_TERMINATION_LOG"
_DEFAULT_LOG = "/dev/termination-log"


def on_sigterm(_signal: int, _frame: FrameType | None) -> None:
    """Only the first one counts: a pod's end may be told to this process by several."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated(
        "the driver was ended by SIGTERM. The running statement may have committed or may still commit: look into the "
        "table's log"
    )


class _HandedOn:
    """What the JVM does at SIGTERM."""

    def handle(self, _signal: Any) -> None:
        """The main thread hears of it, which may wait for an answer of the JVM's."""
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    class Java:
        implements = ("sun.misc.SignalHandler",)


def take_over_from_jvm(spark: SparkSession) -> None:
    """From here on SIGTERM is for this process alone to act on. A JVM would shut Spark down at once, whatever it is at; and the
    first process of a container, which is told of the end, is the JVM, or one that tells all."""
    # An image without PySpark must still report that.
    from pyspark.errors import IllegalArgumentException  # noqa: PLC0415
    from pyspark.java_gateway import ensure_callback_server_started  # noqa: PLC0415

    start_callback_server: Any = ensure_callback_server_started
    start_callback_server(spark.sparkContext._gateway)
    java_signal = java_class(spark, "sun.misc.Signal")
    try:
        java_signal.handle(java_signal("TERM"), _HandedOn())
    except IllegalArgumentException as error:
        sys.stderr.write(
            f"sluice: once the driver is ended, its batch is broken off at once, and run again by the next attempt "
            f"({error}): remove -Xrs from spark.driver.extraJavaOptions to have it come to its end\n"
        )


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")  # noqa: UP017 - images may have Python 3.10


def leave(result: Result, *, is_last: bool = False) -> None:
    """Writes the result to the termination log or, if that can't be written, to the log, so that people can find it."""
    encoded = encode(result)
    log = Path(os.environ.get(TERMINATION_LOG, _DEFAULT_LOG))
    try:
        log.write_bytes(encoded)
    except OSError as error:
        if not is_last:
            return  # the last one is told
        sys.stderr.write(
            f"sluice: could not write the result to {log} ({error}): check that {TERMINATION_LOG} is set correctly. The "
            f"result is:\n{encoded.decode()}\n"
        )
        sys.stderr.flush()

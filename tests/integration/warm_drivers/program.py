"""A driver's Python: connects to a JVM that others have used, makes it as good as new, and runs the driver's file.

From there on all is what spark-submit's own Python does: a SparkContext of the driver's settings, made and stopped by the file.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaPackage
from pyspark import SparkContext
from pyspark.serializers import UTF8Deserializer, read_int

SECONDS_TO_START = 300.0


def run() -> None:
    """Its arguments: where the JVM writes its address, Spark's settings, and the file with its own arguments."""
    _, gateway, settings, file, *arguments = sys.argv
    _connect(Path(gateway))
    _begin_anew(json.loads(settings))
    sys.argv = [file, *arguments]
    sys.path[:] = [
        str(Path(file).parent),
        *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
        *(entry for entry in sys.path if entry not in _OURS),
    ]
    runpy.run_path(file, run_name="__main__")


_OURS = frozenset(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
"""By which this file was found: no driver has it."""


def _connect(gateway: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not gateway.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no JVM listens as {gateway} says: its log is beside it")
        time.sleep(0.05)
    with gateway.open("rb") as file:  # written as PySpark's own launcher reads it, by functions without types
        port, secret = read_int(file), UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), str(secret)


def _begin_anew(settings: dict[str, str]) -> None:
    """Takes away all that a driver leaves in its JVM, and sets what spark-submit would."""
    ensure: Any = SparkContext._ensure_initialized
    ensure()
    jvm: Any = SparkContext._jvm
    contexts = getattr(jvm.org.apache.spark, "SparkContext$")
    left = getattr(contexts, "MODULE$").getActive()
    if left.isDefined():
        left.get().stop()
    jvm.SparkSession.clearDefaultSession()
    jvm.SparkSession.clearActiveSession()
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()
    jvm.org.apache.logging.log4j.LogManager.getContext(False).reconfigure()
    ours = jvm.dev.sluice.delta
    if not isinstance(ours.CommitGate, JavaPackage):  # some images have neither our jar nor Delta
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        ours.CommitGate.open()
        ours.EmptyCommits.refuse(False)
        ours.BoundNames.clear()
    system = jvm.java.lang.System
    for name in list(system.getProperties().stringPropertyNames()):
        if name.startswith("spark."):
            system.clearProperty(name)
    for name, text in settings.items():
        system.setProperty(name, text)

"""Builds plans, and runs them in a session of the test or in a driver of their own."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from integration.warm_drivers.jvm import SPARK_HOME, SPARK_SUBMIT
from jvm_options import java_options
from sluice_runner.job_statements import Progress, run
from sluice_runner.plan import decode
from sluice_runner.result import encode
from spark_jars import class_path

Document = dict[str, Any]

BUCKET_FOLDER, SCHEME, STORE_SETTINGS = (
    "SLUICE_TEST_BUCKET",
    "SLUICE_TEST_SCHEME",
    "SLUICE_TEST_STORE_SETTINGS",
)
"""Where an S3 server keeps the bucket with the tests' tables, by which scheme they are written, and what Spark is to know of the
server. Not set: tables are in folders of this machine."""
ENTRY = Path(__file__).parents[3] / "spark-images" / "runner" / "run.py"
DELTA_SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
    # Two sessions of one JVM shall meet at a commit: with its lock, the one that is held would keep the other out.
    "spark.databricks.delta.commitLock.enabled": "false",
}
SMALL_SETTINGS: Mapping[str, str] = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.ui.retainedExecutions": "1",
    # VACUUM lists files in so many tasks: 10,000 by default, which take a minute.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    # Describing plans for nobody takes a quarter of the time.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.debug.maxToStringFields": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "700m",
    # JVMs that live for a minute: compiled quickly rather than well, but kept, for which 48 MB are not enough.
    "spark.driver.extraJavaOptions": java_options(
        *("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC"),
        *("-Xms512m", "-Xmn256m", "-XX:MetaspaceSize=256m"),
    ),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


TELLING_ALL: Mapping[str, str] = {
    "spark.logConf": "true",
    "spark.sql.maxPlanStringLength": "100000",
    "spark.sql.debug.maxToStringFields": "100",
    "spark.sql.ui.explainMode": "extended",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}
"""Settings by which Spark logs all that it knows, for tests of what must be nowhere in it."""


def at(path: Path) -> str:
    """The name under which SQL knows the table in a folder."""
    return f"delta.`{place(path)}`"


def place(path: Path) -> str:
    """What a job calls a folder: its path, or the object store's name for it where the tests' tables are in a bucket."""
    bucket = os.environ.get(BUCKET_FOLDER)
    if not bucket or not path.is_relative_to(bucket):
        return str(path)
    return f"{os.environ[SCHEME]}://{Path(bucket).name}/{path.relative_to(bucket)}"


def store_settings() -> Mapping[str, str]:
    """What the session needs beside, where the tests' tables are in a bucket."""
    found: Mapping[str, str] = json.loads(os.environ.get(STORE_SETTINGS, "{}"))
    return found


def location(path: Path) -> str:
    """Where the table in a folder is, in Hadoop's spelling."""
    found = place(path)
    return f"file:{found}" if found.startswith("/") else found


def plan(work: Document, run_key: str = "run-1", **changes: object) -> Document:
    document: Document = {
        "version": 2,
        "job": {"namespace": "sales", "name": "daily", "uid": "1d3f"},
        "runKey": run_key,
        "specHash": "abc",
        "attempt": 1,
        "token": 4294967297,
        "assumed": assumed({}),
        **work,
    }
    return {**document, **changes}


def assumed(settings: Mapping[str, str], **changes: object) -> Document:
    """What the job was judged by: this Spark with these settings."""
    return {"sparkVersion": pyspark.__version__, "sparkConf": dict(settings), **changes}


def sql(*texts: str) -> Document:
    return {"sql": {"statements": [{"number": n, "text": text} for n, text in enumerate(texts, 1)]}}


def arguments(document: Document) -> list[str]:
    encoded = base64.b64encode(zlib.compress(json.dumps(document).encode())).decode()
    return [f"--plan={encoded[start : start + 200]}" for start in range(0, len(encoded), 200)]


def run_here(spark: SparkSession, document: Document) -> Document:
    """The result as the operator would read it."""
    result: Document = json.loads(encode(run(spark, Progress(decode(arguments(document))))))
    return result


def run_sql(spark: SparkSession, *texts: str, run_key: str = "run-1", **changes: object) -> Document:
    return run_here(spark, plan(sql(*texts), run_key, **changes))


def statements(result: Document) -> list[tuple[str, str, list[int]]]:
    """Operation, state and versions of each statement."""
    return [
        (item["operation"], item["state"], [commit["version"] for commit in item["commits"]])
        for item in result["statements"]
    ]


@dataclass(frozen=True)
class Driver:
    """A driver's spark-submit, in a process group of its own with the Python that it starts.

    A warm driver runs elsewhere: its spark-submit has its output and its exit code.
    """

    process: subprocess.Popen[str]
    termination_log: Path

    def ended(self, seconds: float = 500) -> int:
        """Its exit code."""
        self.process.communicate(timeout=seconds)
        return self.process.returncode

    def result(self) -> Document:
        content: Document = json.loads(self.termination_log.read_bytes())
        return content


def submit(
    folder: Path,
    document: Document,
    settings: Mapping[str, str],
    *,
    assumes: Document | None = None,
    variables: Mapping[str, str] | None = None,
    command: Sequence[str | Path] = (SPARK_SUBMIT,),
) -> Driver:
    """Starts a driver with these settings and variables; the job was judged by the same settings, or by what it `assumes`.
    `command`: spark-submit, as warm drivers have one, or within another program."""
    document = {**document, "assumed": assumes or assumed({**SMALL_SETTINGS, **settings})}
    return submit_file(folder, ENTRY, arguments(document), settings, environment=variables, command=command)


def submit_file(
    folder: Path,
    file: Path,
    parameters: Sequence[str],
    settings: Mapping[str, str],
    *,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str | Path] = (SPARK_SUBMIT,),
) -> Driver:
    """The folder's name is that of the driver's application."""
    given = {**SMALL_SETTINGS, "spark.driver.extraClassPath": class_path(), **settings}
    options = [f"--conf={key}={value}" for key, value in given.items()]
    words = [*map(str, command), "--master=local[1]", f"--name={folder.name}", *options, str(file)]
    return _start([*words, *parameters], folder, {"SPARK_HOME": str(SPARK_HOME), **(environment or {})})


def start_python(folder: Path, parameters: Sequence[str], environment: Mapping[str, str]) -> Driver:
    return _start([sys.executable, str(ENTRY), *parameters], folder, environment)


def _start(command: list[str], folder: Path, environment: Mapping[str, str]) -> Driver:
    log = folder / "termination-log"
    log.touch()
    ours = {"PYSPARK_PYTHON": sys.executable, "SLUICE_TERMINATION_LOG": str(log)}
    with (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **ours, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    return Driver(process, log)

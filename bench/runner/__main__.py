"""What the runner adds to the statements that it runs, and where the time of a driver goes.

./dev run python -m bench.runner           # 10 rounds in one session, 3 triples of drivers; about five minutes

Always side by side: each round runs a job's statements in plain PySpark and by the runner, on tables of their own that are
alike, in turns of who comes first. The ratio is the median over the rounds.
"""

import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path

import pyspark
from bench.runner.settings import SETTINGS
from pyspark.sql import SparkSession

from integration.runner.jobs import (
    Document,
    at,
    plan,
    run_here,
    sql,
    submit,
)

ROUNDS = 10
DRIVERS = 3
ROWS = 200_000
TOKEN = 1 << 32
KINDS = ("plain", "runner", "runner with a run key")


def statements(table: Path) -> list[str]:
    """A day's work on a table of some size, so that a statement takes about as long as a small one does in earnest."""
    day = "DATE'2026-11-19'"
    rows = f"SELECT id, id % 1000 AS customer, {day} AS date FROM range"
    return [
        f"CREATE TABLE {at(table)} (id BIGINT, customer BIGINT, date DATE) USING delta PARTITIONED BY (date)",
        f"INSERT INTO {at(table)} {rows}({ROWS})",
        f"MERGE INTO {at(table)} t USING ({rows}({ROWS // 2}, {ROWS + ROWS // 2})) s ON t.date = {day} AND t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        f"UPDATE {at(table)} SET customer = 0 WHERE date = {day} AND customer = 7",
        f"DELETE FROM {at(table)} WHERE date = {day} AND customer = 0",
    ]


def document(table: Path, number: int, *, with_run_key: bool) -> Document:
    run = {
        "appId": f"sluice/bench/{number}",
        "closes": True,
        "firstToken": TOKEN,
        "tables": [{"path": str(table)}],
    }
    changes = {"run": run} if with_run_key else {}
    return plan(sql(*statements(table)), f"bench-{number}", token=TOKEN + number, **changes)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        in_one_session(Path(folder))
        drivers(Path(folder))


def in_one_session(folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def plain(table: Path, _number: int) -> None:
        for text in statements(table):
            spark.sql(text)

    def by_runner(table: Path, number: int, *, with_run_key: bool) -> None:
        with redirect_stdout(io.StringIO()):
            result = run_here(spark, document(table, number, with_run_key=with_run_key))
        if result["outcome"] != "Succeeded":
            raise RuntimeError(f"the runner failed: {result}")

    ways: dict[str, Callable[[Path, int], None]] = {
        "plain": plain,
        "runner": lambda table, number: by_runner(table, number, with_run_key=False),
        "runner with a run key": lambda table, number: by_runner(table, number, with_run_key=True),
    }
    plain(folder / "warm", 0)
    took: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(ROUNDS):
        for kind in (*KINDS[number % 3 :], *KINDS[: number % 3]):
            table = folder / f"{kind.replace(' ', '-')}-{number}"
            began = time.perf_counter()
            ways[kind](table, number)
            took[kind].append(time.perf_counter() - began)
    spark.stop()
    tell(f"{len(statements(folder))} statements in one warm session, {ROUNDS} rounds", took)


def drivers(folder: Path) -> None:
    took: dict[str, list[float]] = {kind: [] for kind in KINDS}
    marks: dict[str, float] = {}
    for number in range(DRIVERS):
        for kind in (*KINDS[number % 3 :], *KINDS[: number % 3]):
            place = folder / f"driver-{kind.replace(' ', '-')}-{number}"
            place.mkdir()
            began = time.perf_counter()
            if kind == "plain":
                marks = plain_driver(place)
            else:
                driver = submit(place, document(place / "t", number, with_run_key=kind != "runner"), SETTINGS)
                driver.process.communicate()
                if driver.result()["outcome"] != "Succeeded":
                    raise RuntimeError(f"the runner failed: {driver.result()}")
            took[kind].append(time.perf_counter() - began)
    tell(f"a driver from start to end, {DRIVERS} of each", took)
    sys.stdout.write("\nwhere the time of the last plain driver went\n")
    for (_, before), (what, after) in pairwise(marks.items()):
        sys.stdout.write(f"  {what:<24} {after - before:6.2f} s\n")


def plain_driver(place: Path) -> dict[str, float]:
    """When the driver began, and what it had reached when."""
    texts = place / "statements.json"
    texts.write_text(json.dumps(statements(place / "t")))
    options = [f"--conf={name}={value}" for name, value in SETTINGS.items()]
    spark_submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    began = time.time()
    ended = subprocess.run(
        [
            spark_submit,
            "--master=local[1]",
            *options,
            str(Path(__file__).with_name("plain.py")),
            str(texts),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"the plain driver failed: {ended.stderr[-2000:]}")
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return {"start": began, **found, "end": time.time()}


def tell(what: str, took: dict[str, list[float]]) -> None:
    sys.stdout.write(f"\n{what}\n")
    plain = took["plain"]
    for kind in KINDS:
        added = [mine - theirs for mine, theirs in zip(took[kind], plain, strict=True)]
        ratio = statistics.median(mine / theirs for mine, theirs in zip(took[kind], plain, strict=True))
        sys.stdout.write(
            f"  {kind:<24} median {statistics.median(took[kind]):6.2f} s   x{ratio:.3f}   "
            f"{statistics.median(added) * 1000:+7.0f} ms\n"
        )
    sys.stdout.flush()


main()

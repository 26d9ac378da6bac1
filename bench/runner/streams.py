"""What a batch of a stream costs beside what it would without the runner.

./dev run python -m bench.runner.streams            # 5 rounds of 20 batches each way; about four minutes
./dev run python -m bench.runner.streams --profile  # and where the runner's own time goes

Always side by side: each round runs the same batches by Delta's own sink, by a plain foreachBatch that appends under the same
numbers, and by the runner, each into a table of its own, in turns of who comes first. A batch takes from one commit to the next,
so that all that is between them counts. On a busy machine that tells little: beside it stands what a batch takes of a core, in
Python and in the JVM, the start of its query in it. The first batches of a query are left out: they bring what lasts.
"""

import argparse
import cProfile
import io
import os
import pstats
import statistics
import sys
import tempfile
import time
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.runner.settings import SETTINGS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from integration.runner.streaming import run_stream, stream_of
from sluice_runner.batches import Batches

ROUNDS = 5
BATCHES = 20
WARM = 3
ROWS = 20_000
"""Of each batch."""
KINDS = ("plain foreachBatch", "Delta's own sink", "runner", "runner with a query")
QUERY = "SELECT id, customer FROM source WHERE customer = 7"
"""Which few rows get through."""


def by_plain(spark: SparkSession, source: Path, folder: Path) -> None:
    def append(batch: DataFrame, number: int) -> None:
        ids = {"txnAppId": str(folder), "txnVersion": str(number)}
        batch.write.format("delta").mode("append").options(**ids).save(str(folder / "table"))

    _writer(spark, source, folder).foreachBatch(append).start().awaitTermination()


def by_deltas_own(spark: SparkSession, source: Path, folder: Path) -> None:
    _writer(spark, source, folder).format("delta").start(str(folder / "table")).awaitTermination()


def _writer(spark: SparkSession, source: Path, folder: Path) -> DataStreamWriter:
    rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(str(source))
    return rows.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    )


def by_runner(spark: SparkSession, source: Path, folder: Path, query: str | None = None) -> None:
    reads = {"format": "delta", "path": str(source), "options": {"maxFilesPerTrigger": "1"}}
    table = {"path": str(folder / "table")}
    document = stream_of(source, folder / "checkpoint", source=reads, table=table)
    if query is not None:
        document["stream"]["query"] = query
    with redirect_stdout(io.StringIO()):
        result = run_stream(spark, document)
    if result["outcome"] != "Succeeded" or result["stream"]["batches"] != BATCHES:
        raise RuntimeError(f"the runner failed: {result}")


def by_runner_with_a_query(spark: SparkSession, source: Path, folder: Path) -> None:
    by_runner(spark, source, folder, QUERY)


WAYS = dict(zip(KINDS, (by_plain, by_deltas_own, by_runner, by_runner_with_a_query), strict=True))


def seconds_of_batches(table: Path) -> list[float]:
    """From one commit to the next."""
    commits = sorted((table / "_delta_log").glob("*.json"))
    return [after - before for before, after in pairwise(commit.stat().st_mtime for commit in commits)][WARM:]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        source = Path(folder) / "source"
        for _ in range(BATCHES):
            rows = spark.range(ROWS).selectExpr("id", "id % 1000 AS customer")
            rows.coalesce(1).write.format("delta").mode("append").save(str(source))
        for kind in KINDS:
            WAYS[kind](spark, source, Path(folder) / f"warm-{kind}")
        tell(rounds(spark, source, Path(folder), options.rounds))
        if options.profile:
            profile(spark, source, Path(folder) / "profiled")
    spark.stop()


def cpu_seconds(spark: SparkSession) -> float:
    """Of this process and of its JVM's."""
    gateway: Any = spark.sparkContext._gateway
    told = Path(f"/proc/{gateway.proc.pid}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + sum(map(int, told[11:13])) / os.sysconf("SC_CLK_TCK")


def rounds(
    spark: SparkSession, source: Path, folder: Path, count: int
) -> dict[str, list[tuple[float, float]]]:
    """The median batch of each round, and what a batch of it took of a core."""
    took: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for number in range(count):
        turn = number % len(KINDS)
        for kind in (*KINDS[turn:], *KINDS[:turn]):
            place = folder / f"{kind}-{number}"
            began = cpu_seconds(spark)
            WAYS[kind](spark, source, place)
            of_a_core = (cpu_seconds(spark) - began) / BATCHES
            took[kind].append((statistics.median(seconds_of_batches(place / "table")), of_a_core))
    return took


def tell(took: dict[str, list[tuple[float, float]]]) -> None:
    for what, which in (("from one commit to the next", 0), ("of a core", 1)):
        sys.stdout.write(f"a batch of an append, {ROWS} rows, {what}\n")
        plain = [one[which] for one in took[KINDS[0]]]
        for kind in KINDS:
            own = [one[which] for one in took[kind]]
            pairs = list(zip(own, plain, strict=True))
            ratio = statistics.median(mine / theirs for mine, theirs in pairs)
            added = statistics.median(mine - theirs for mine, theirs in pairs)
            sys.stdout.write(
                f"  {kind:<20} median {statistics.median(own) * 1000:6.0f} ms   x{ratio:.3f}   {added * 1000:+6.0f} ms\n"
            )
    sys.stdout.flush()


def profile(spark: SparkSession, source: Path, folder: Path) -> None:
    found = cProfile.Profile()
    run = Batches.run

    def profiled(self: Batches, batch: DataFrame, number: int) -> None:
        if number < WARM:
            run(self, batch, number)
        else:
            found.runcall(run, self, batch, number)

    Batches.run = profiled  # type: ignore[method-assign]
    by_runner(spark, source, folder)
    Batches.run = run  # type: ignore[method-assign]
    sys.stdout.write(f"\nthe runner's own time, {BATCHES - WARM} batches\n")
    pstats.Stats(found, stream=sys.stdout).sort_stats("cumulative").print_stats(45)


main()

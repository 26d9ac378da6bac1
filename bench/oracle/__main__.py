"""How fast the oracle is: verdicts on compiled footprints, footprints from SQL text, and a version that parses each time.

./dev run python -m bench.oracle            # CPU time of one core, so that a busy machine tells little lies
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from itertools import product
from time import process_time

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import conflict_between
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

TABLE = key_of_path("s3://lake/orders")
FACTS = {
    TABLE: TableFacts(
        columns=Table.of(
            {"id": "bigint", "k": "int", "v": "string", "date": "date", "region": "string"},
            ["date", "region"],
        ),
        dialect=oss("4.4.0"),
        log_store=LogStore.SAFE,
    )
}
NAME = "delta.`s3://lake/orders`"
REGIONS = ("eu-west", "eu-east", "us", "apac")


def statements(day: int, region: str) -> list[str]:
    d = f"DATE '2026-{1 + day // 28:02}-{1 + day % 28:02}'"
    return [
        f"INSERT INTO {NAME} SELECT id, k, v, {d} AS date, '{region}' AS region FROM delta.`s3://lake/raw`",
        f"DELETE FROM {NAME} WHERE date = {d} AND region = '{region}' AND k = 1",
        f"UPDATE {NAME} SET v = 'x' WHERE date BETWEEN {d} AND {d} AND region IN ('{region}') AND k > 3",
        f"OPTIMIZE {NAME} WHERE date = {d} AND region = '{region}' ZORDER BY (id)",
        f"MERGE INTO {NAME} AS t USING (SELECT * FROM delta.`s3://lake/raw` WHERE date = {d}) AS s "
        f"ON t.id = s.id AND t.date = {d} AND t.region = '{region}' "
        f"WHEN MATCHED AND s.k > 0 THEN UPDATE SET v = s.v WHEN NOT MATCHED AND s.date = {d} THEN INSERT *",
    ]


def specs() -> list[DeltaWriteJobSpec]:
    return [
        DeltaWriteJobSpec.model_validate({"sql": sql})
        for day in range(40)
        for region in REGIONS
        for sql in statements(day, region)
    ]


def understood(spec: DeltaWriteJobSpec) -> JobFootprint:
    return footprint_of(spec, {}, facts=FACTS)


def timed(work: Callable[[], int]) -> float:
    """Returns how much work is done a second of CPU time."""
    begun = process_time()
    done = work()
    return done / (process_time() - begun)


def main() -> int:
    jobs = specs()
    understood(jobs[0])
    gc.collect()
    gc.freeze()  # what a long-running process has from its start is not searched again
    times = []
    footprints = []
    for spec in jobs:
        begun = process_time()
        footprints.append(understood(spec))
        times.append(process_time() - begun)
    times.sort()
    tracemalloc.start()
    kept = [understood(spec) for spec in jobs[:200]]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    pairs = list(product(footprints[:200], footprints[300:500]))

    def compiled() -> int:
        for first, second in pairs:
            conflict_between(first, second)
        return len(pairs)

    some = list(product(jobs[:10], jobs[300:310]))

    def naive() -> int:
        for first, second in some:
            conflict_between(understood(first), understood(second))
        return len(some)

    fast, slow = timed(compiled), timed(naive)
    out = sys.stdout.write
    out(f"pair verdicts on compiled footprints   {fast:10,.0f} /s   (target 50,000)\n")
    out(f"pair verdicts that parse each time     {slow:10,.0f} /s   ratio {fast / slow:,.0f}\n")
    out(f"SQL text to footprint, p50             {times[len(times) // 2] * 1e3:10.2f} ms\n")
    out(
        f"SQL text to footprint, p99             {times[int(len(times) * 0.99)] * 1e3:10.2f} ms  (target 2)\n"
    )
    out(f"memory of a compiled footprint         {size / len(kept) / 1024:10.1f} KiB\n")
    missed = [fast < 50_000, times[int(len(times) * 0.99)] > 0.002]
    return 1 if any(missed) else 0


if __name__ == "__main__":
    sys.exit(main())

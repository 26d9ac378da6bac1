"""How fast the oracle is: verdicts on compiled footprints, footprints from SQL text, and a version that parses each time.

./dev run python -m bench.oracle            # CPU time of one core, so that a busy machine tells little lies
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Sequence
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


LONG = f"""MERGE INTO {NAME} AS t
USING (
  WITH recent AS (
    SELECT
      r.id,
      r.k,
      r.v,
      r.date,
      r.region,
      row_number() OVER (PARTITION BY r.id ORDER BY r.updated_at DESC) AS place
    FROM delta.`s3://lake/raw` AS r
    WHERE r.date = DATE '2026-03-04'
      AND r.region = 'eu-west'
      AND r.k IS NOT NULL
      AND r.v NOT LIKE 'test%'
  ),
  prices AS (
    SELECT
      p.id,
      max(p.price) AS price,
      sum(CASE WHEN p.kind = 'refund' THEN -p.amount ELSE p.amount END) AS amount,
      count(DISTINCT p.customer) AS customers
    FROM delta.`s3://lake/prices` AS p
    LEFT JOIN delta.`s3://lake/rates` AS f
      ON p.currency = f.currency
      AND p.date = f.date
    WHERE p.date BETWEEN DATE '2026-03-01' AND DATE '2026-03-04'
    GROUP BY p.id
    HAVING count(*) > 0
  )
  SELECT
    recent.id,
    recent.k,
    coalesce(recent.v, 'unknown') AS v,
    recent.date,
    recent.region,
    prices.price,
    prices.amount
  FROM recent
  LEFT JOIN prices ON recent.id = prices.id
  WHERE recent.place = 1
) AS s
ON t.id = s.id
  AND t.date = DATE '2026-03-04'
  AND t.region = 'eu-west'
WHEN MATCHED AND s.k > 0 AND s.v <> t.v THEN UPDATE SET
  t.v = s.v,
  t.k = s.k
WHEN NOT MATCHED AND s.date = DATE '2026-03-04' THEN
  INSERT (id, k, v, date, region)
  VALUES (s.id, s.k, s.v, s.date, s.region)
"""
"""A statement of fifty lines."""
_A_PARTITION = len(statements(0, REGIONS[0]))


def specs() -> list[DeltaWriteJobSpec]:
    return [
        DeltaWriteJobSpec.model_validate({"sql": sql})
        for day in range(40)
        for region in REGIONS
        for sql in statements(day, region)
    ]


def understood(spec: DeltaWriteJobSpec) -> JobFootprint:
    return footprint_of(spec, {}, facts=FACTS)


def read(jobs: Sequence[DeltaWriteJobSpec]) -> tuple[list[JobFootprint], list[float]]:
    """Returns the footprints, and the seconds that each took, from the shortest."""
    footprints, times = [], []
    for spec in jobs:
        begun = process_time()
        footprints.append(understood(spec))
        times.append(process_time() - begun)
    return footprints, sorted(times)


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
    footprints, times = read(jobs)
    _, long_times = read([DeltaWriteJobSpec(sql=LONG)] * 100)
    tracemalloc.start()
    kept = [understood(spec) for spec in jobs[:200]]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    apart = list(product(footprints[:200], footprints[300:500]))
    meeting = [
        pair
        for start in range(0, len(footprints), _A_PARTITION)
        for on_one in (footprints[start : start + _A_PARTITION],)
        for pair in product(on_one, on_one)
    ] * 10

    def compiled(pairs: Sequence[tuple[JobFootprint, JobFootprint]]) -> int:
        for first, second in pairs:
            conflict_between(first, second)
        return len(pairs)

    some = list(product(jobs[:10], jobs[300:310]))

    def naive() -> int:
        for first, second in some:
            conflict_between(understood(first), understood(second))
        return len(some)

    fast, met, slow = timed(lambda: compiled(apart)), timed(lambda: compiled(meeting)), timed(naive)
    out = sys.stdout.write
    out(f"pair verdicts on compiled footprints   {fast:10,.0f} /s   (target 50,000)\n")
    out(f"the same, of jobs on one partition     {met:10,.0f} /s\n")
    out(f"pair verdicts that parse each time     {slow:10,.0f} /s   ratio {fast / slow:,.0f}\n")
    out(f"SQL text to footprint, p50             {times[len(times) // 2] * 1e3:10.2f} ms\n")
    out(
        f"SQL text to footprint, p99             {times[int(len(times) * 0.99)] * 1e3:10.2f} ms  (target 2)\n"
    )
    out(
        f"50 lines of SQL to footprint, p50      {long_times[len(long_times) // 2] * 1e3:10.2f} ms  (target 5)\n"
    )
    out(f"memory of a compiled footprint         {size / len(kept) / 1024:10.1f} KiB\n")
    missed = [
        fast < 50_000,
        times[int(len(times) * 0.99)] > 0.002,
        long_times[len(long_times) // 2] > 0.005,
    ]
    return 1 if any(missed) else 0


if __name__ == "__main__":
    sys.exit(main())

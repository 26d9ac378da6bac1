"""How fast the queue is: a hot table with waiters of a few templates next to all pairs of them, and one release among many
tables, beside jobs that name no location.

./dev run python -m bench.oracle.queue      # CPU time of one core, so that a busy machine tells little lies
"""

import gc
import sys
from datetime import UTC, datetime, timedelta
from itertools import count, product
from time import process_time

from bench.oracle.__main__ import REGIONS, statements, timed

from sluice.admission import Queue, Waiter
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import conflict_between
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

BEGAN = datetime(2026, 11, 19, tzinfo=UTC)
AGES = timedelta(minutes=2)
MOMENTS = {"nobody has aged": BEGAN, "all have aged": BEGAN + timedelta(hours=1)}
HOT = 2_000
TABLES, ON_EACH = 1_000, 10
NAMES = 500
KNOWN = TableFacts(
    columns=Table.of(
        {"id": "bigint", "k": "int", "v": "string", "date": "date", "region": "string"}, ["date", "region"]
    ),
    dialect=oss("4.4.0"),
    log_store=LogStore.SAFE,
)


def understood(sql: str, table: str = "s3://lake/orders") -> JobFootprint:
    sql = sql.replace("s3://lake/orders", table)
    return footprint_of(DeltaWriteJobSpec(sql=sql), {}, facts={key_of_path(table): KNOWN})


def waiter(number: int, footprint: JobFootprint) -> Waiter:
    queued_at = BEGAN + timedelta(milliseconds=number)
    return Waiter(f"{number:06}", f"etl/{number:06}", footprint, 0, queued_at, queued_at + AGES)


def settled(queue: Queue, now: datetime = BEGAN) -> None:
    while queue.judge(now):
        pass


def hot_table() -> tuple[float, float, Queue]:
    """Returns the queue's effective pairs a second, and pairs a second one by one."""
    templates = [understood(sql) for sql in statements(3, REGIONS[0])]
    waiters = [waiter(number, templates[number % len(templates)]) for number in range(HOT)]
    queue = Queue()

    def arrive() -> int:
        for one in waiters:
            queue.wait(one)
        settled(queue)
        return HOT * (HOT - 1) // 2

    some = list(product(waiters[:100], waiters[100:200]))

    def pair_by_pair() -> int:
        for one, other in some:
            conflict_between(one.footprint, other.footprint)
        return len(some)

    return timed(arrive), timed(pair_by_pair), queue


def drained(queue: Queue, now: datetime) -> list[float]:
    """Returns the seconds that each change takes: one holder releases, and whoever may go then goes."""
    times = []
    holding: list[str] = []
    while len(queue) or holding:
        began = process_time()
        if holding:
            queue.hold(holding.pop(0), ())
        settled(queue, now)
        for decision in iter(queue.take, None):
            one = decision.waiter
            queue.hold(one.uid, (one,))
            queue.leave(one.uid)
            holding.append(one.uid)
        times.append(process_time() - began)
        for _ in iter(queue.take_blocked, None):
            pass
    return times


def many_tables(names: int) -> Queue:
    queue, numbers = Queue(), count()
    for table in range(TABLES):
        on = f"s3://lake/orders-{table}"
        footprints = [understood(sql, on) for sql in statements(3, REGIONS[0])]
        for one in range(ON_EACH):
            queue.wait(waiter(next(numbers), footprints[one % len(footprints)]))
        if table * names // TABLES < (table + 1) * names // TABLES:
            footprint = footprint_of(DeltaWriteJobSpec(sql=f"DELETE FROM sales.orders_{table}"), {})
            queue.wait(waiter(next(numbers), footprint))
    settled(queue)
    return queue


def all_different() -> Queue:
    """One table, and no two waiters of one shape."""
    queue = Queue()
    for number in range(HOT):
        month = f"{2000 + number // 12:04}-{number % 12 + 1:02}-01"
        sql = f"DELETE FROM delta.`s3://lake/orders` WHERE id = {number} AND date < DATE '{month}'"
        queue.wait(waiter(number, understood(sql)))
    return queue


def told(name: str, times: list[float], queue: Queue) -> None:
    times.sort()
    p50, p99 = times[len(times) // 2] * 1e3, times[int(len(times) * 0.99)] * 1e3
    sys.stdout.write(
        f"{name:38} {p50:10.3f} ms p50 {p99:10.3f} ms p99 {times[-1] * 1e3:10.3f} ms longest   "
        f"{queue.judged:,} judged, {queue.compared:,} compared, {queue.worked_out:,} worked out\n"
    )


def main() -> int:
    understood(statements(3, REGIONS[0])[0])
    gc.collect()
    gc.freeze()
    fast, slow, _ = hot_table()
    out = sys.stdout.write
    out(f"pairs on one table, by the queue       {fast:10,.0f} /s   (target 200,000)\n")
    out(f"pairs on one table, one by one         {slow:10,.0f} /s   ratio {fast / slow:,.0f}\n")
    for moment, now in MOMENTS.items():
        out(f"{moment}:\n")
        *_, queue = hot_table()
        settled(queue, now)
        told(f"a release on one table, {HOT:,} waiting", drained(queue, now), queue)
        queue = all_different()
        settled(queue, now)
        told("the same, each with its own condition", drained(queue, now), queue)
        for names in (0, NAMES):
            queue = many_tables(names)
            settled(queue, now)
            waiting = len(queue)
            times = drained(queue, now)
            beside = f", {names} by name" if names else ""
            told(f"a release, {waiting:,} waiting{beside}", times, queue)
    return 0 if fast >= 200_000 else 1


if __name__ == "__main__":
    sys.exit(main())

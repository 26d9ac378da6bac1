"""The index by statement: which statements lose to which, by which rules, as the oracle answers."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from generate.rulebooks import Rulebook
from sluice.conflicts import Level, example_jobs
from sluice.conflicts.oracle import worst_for
from sluice.conflicts.rule import Example, ExampleJob

TABLES: tuple[tuple[bool, Mapping[str, object]], ...] = ((True, {}), (False, {"clustering_columns": ("id",)}))
"""Partitioned, and clustered."""
_ROW = "SELECT 1L AS id, 10 AS amount, DATE '2026-11-18' AS date"
STATEMENTS: Mapping[str, ExampleJob] = {
    "INSERT": example_jobs.APPEND,
    "INSERT that reads `orders`": "INSERT INTO orders SELECT * FROM orders WHERE date = DATE '2026-11-18'",
    "INSERT ... REPLACE WHERE": f"INSERT INTO orders REPLACE WHERE date = DATE '2026-11-18' {_ROW}",
    "INSERT OVERWRITE": example_jobs.OVERWRITE,
    "INSERT OVERWRITE of partitions (dynamic)": example_jobs.DYNAMIC_OVERWRITE,
    "a write under a txnAppId": example_jobs.WRITE_WITH_ID,
    "a stream that appends": example_jobs.STREAM_TO_ORDERS,
    "UPDATE": example_jobs.UPDATE,
    "DELETE": example_jobs.DELETE,
    "DELETE of whole partitions": example_jobs.DELETE_DAY,
    "TRUNCATE TABLE": "TRUNCATE TABLE orders",
    "MERGE": (
        f"MERGE INTO orders t USING ({_ROW}) s ON t.id = s.id AND t.date = DATE '2026-11-18' "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    "OPTIMIZE": example_jobs.OPTIMIZE,
    "OPTIMIZE ... ZORDER BY": "OPTIMIZE orders ZORDER BY (id)",
    "VACUUM": example_jobs.VACUUM,
    "RESTORE": example_jobs.RESTORE,
    "ALTER TABLE of schema or properties": example_jobs.ADD_COLUMN,
    "ALTER TABLE that enables a feature": example_jobs.ENABLE_VECTORS,
    "ALTER TABLE ... DROP FEATURE": example_jobs.DROP_FEATURE,
    "ALTER TABLE ... ADD CONSTRAINT": "ALTER TABLE orders ADD CONSTRAINT positive CHECK (amount > 0)",
    "ALTER TABLE ... CLUSTER BY": "ALTER TABLE orders CLUSTER BY (amount)",
    "CREATE TABLE": "CREATE TABLE orders (id BIGINT, amount INT, date DATE) USING delta",
    "CREATE OR REPLACE TABLE": "CREATE OR REPLACE TABLE orders (id BIGINT, amount INT, date DATE) USING delta",
    "CREATE TABLE ... CLONE": "CREATE TABLE orders SHALLOW CLONE archive",
}


def index(book: Rulebook) -> Iterator[str]:
    loses: dict[str, set[str]] = {name: set() for name in STATEMENTS}
    wins: dict[str, set[str]] = {name: set() for name in STATEMENTS}
    for partitioned, table in TABLES:
        jobs = {name: book.jobs(Example(job, job, partitioned, table))[0] for name, job in STATEMENTS.items()}
        for loser, winner in product(jobs, repeat=2):
            verdict = worst_for(jobs[loser], jobs[winner])[1]
            if verdict.level is not Level.NEVER:
                loses[loser].add(verdict.rule)
                wins[winner].add(verdict.rule)
    yield f"**{_dialect(book)}**\n"
    yield "| statement | loses by | others lose to it by |"
    yield "| --- | --- | --- |"
    for name in STATEMENTS:
        yield f"| {name} | {_ids(loses[name])} | {_ids(wins[name])} |"
    yield ""


def _dialect(book: Rulebook) -> str:
    version = ".".join(map(str, book.dialect.version or ()))
    return f"Engine: {book.engine}, version {version}{' with Photon' if book.dialect.photon else ''}"


def _ids(found: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in sorted(found)) or "none"

"""The tables and the jobs of the demo, and what each of the jobs must come to."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from arro3.core import Array, DataType, Table
from deltalake import write_deltalake

from sluice.api import names

DAYS = (date(2026, 11, 17), date(2026, 11, 18), date(2026, 11, 19))
ROWS_A_DAY = 100


@dataclass(frozen=True)
class DemoJob:
    name: str
    what: str
    spec: dict[str, Any]
    phase: str
    reason: str
    rows: int = 0
    """How many rows of the orders table it adds (or takes away)."""

    def manifest(self, namespace: str) -> dict[str, Any]:
        return {
            "apiVersion": names.API_VERSION,
            "kind": names.JOB_KIND,
            "metadata": {"name": self.name, "namespace": namespace},
            "spec": self.spec,
        }


@dataclass(frozen=True)
class Scenario:
    orders: Path
    returns: Path
    jobs: tuple[DemoJob, ...]

    @property
    def rows(self) -> int:
        return self.rows_after({job.name for job in self.jobs})

    def rows_after(self, succeeded: Collection[str]) -> int:
        """How many rows the orders table holds once these jobs, and no others, have done their work."""
        return ROWS_A_DAY * len(DAYS) + sum(job.rows for job in self.jobs if job.name in succeeded)


def scenario(folder: Path, extra: int) -> Scenario:
    orders, returns = folder / "orders", folder / "returns"
    t, r = f"delta.`{orders}`", f"delta.`{returns}`"
    jobs = (*_jobs(t, r), *(_extra(t, n) for n in range(1, extra + 1)))
    return Scenario(orders, returns, jobs)


def create_tables(plan: Scenario) -> None:
    """Creates the tables as another writer would: without a driver, which would need ten seconds."""
    ids = [number for number in range(ROWS_A_DAY) for _ in DAYS]
    columns = {"id": Array(ids, DataType.int64()), "date": _days(DAYS * ROWS_A_DAY)}
    amounts = {"amount": Array([10] * len(ids), DataType.int32())}
    write_deltalake(plan.orders, Table({**columns, **amounts}), partition_by=["date"])
    empty = Table({"id": Array([], DataType.int64()), "date": _days(())})
    write_deltalake(plan.returns, empty, partition_by=["date"])


def _days(days: tuple[date, ...]) -> Array:
    since = [(day - date(1970, 1, 1)).days for day in days]
    return Array(since, DataType.int32()).cast(DataType.date32())


def _jobs(t: str, r: str) -> tuple[DemoJob, ...]:
    return (
        _good(
            "append-web",
            "appends; conflicts with no other append",
            {"sql": f"INSERT INTO {t} SELECT id + 1000, DATE '2026-11-19', 20 FROM range(50)"},
            rows=50,
        ),
        _good(
            "append-shop",
            "appends at the same time",
            {
                "write": {
                    "table": {"path": t.removeprefix("delta.`").removesuffix("`")},
                    "source": {
                        "sql": "SELECT id + 2000 AS id, DATE '2026-11-19' AS date, 30 AS amount FROM range(50)"
                    },
                }
            },
            rows=50,
        ),
        _good(
            "load-returns",
            "writes another table, waits for nobody",
            {"sql": f"INSERT INTO {r} VALUES (7, DATE '2026-11-18')"},
        ),
        _good(
            "correct-prices",
            "MERGE: reads what the appends add, so it waits for them",
            {
                "sql": f"MERGE INTO {t} t USING (SELECT id, 5 AS off FROM range(10)) s\n"
                "ON t.id = s.id AND t.date = :day\n"
                "WHEN MATCHED THEN UPDATE SET amount = t.amount - s.off",
                "parameters": {"day": {"date": "2026-11-19"}},
            },
        ),
        _good(
            "forget-customer",
            "DELETE: rewrites files, waits for the MERGE",
            {"sql": f"DELETE FROM {t} WHERE id = 3"},
            rows=-len(DAYS),
        ),
        DemoJob(
            "skip-if-busy",
            "OPTIMIZE that would rather not wait",
            {"sql": f"OPTIMIZE {t}", "admission": {"whenBlocked": "Skip"}},
            "Skipped",
            "Blocked",
        ),
        DemoJob(
            "wrong-column",
            "fails on Spark: there is no such column",
            {"sql": f"INSERT INTO {r} SELECT nope, date FROM {t}"},
            "Failed",
            "AnalysisException",
        ),
        DemoJob(
            "not-understood",
            "refused before it costs anything",
            {"sql": f"CALL system.rewrite('{t}')"},
            "Failed",
            "NotUnderstood",
        ),
    )


def _extra(t: str, number: int) -> DemoJob:
    if number % 3:
        sql = f"INSERT INTO {t} SELECT id + {number * 10_000}, DATE '2026-11-17', 1 FROM range(10)"
        return _good(f"append-{number}", "appends", {"sql": sql}, rows=10)
    sql = f"UPDATE {t} SET amount = amount + 1 WHERE date = DATE '2026-11-17'"
    return _good(f"update-{number}", "UPDATE: waits for who writes its day", {"sql": sql})


def _good(name: str, what: str, spec: dict[str, Any], rows: int = 0) -> DemoJob:
    return DemoJob(name, what, spec, "Succeeded", "Committed", rows)

"""Jobs as most people write them, every table by its catalog name: bound by policies, they are judged as if by path.

Each job is something that really runs beside others on one table of orders by day: loads, merges, corrections, back-fills,
clean-up, compaction.
"""

from itertools import combinations_with_replacement
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.manifests import Document
from sluice.api.policy import DeltaTablePolicySpec
from sluice.conflicts import PairOrder, pair_of
from sluice.footprint import JobFootprint
from sluice.offline.jobs import Job
from sluice.offline.known_facts import KnownFacts, knowledge_of
from sluice.tables import Policy

PATHS = {
    f"prod.{name}": f"s3://lake/{name.replace('.', '/')}"
    for name in ("sales.orders", "sales.returns", "raw.orders", "raw.late", "archive.orders", "crm.customers")
}
SCHEMA = [
    {"name": name, "type": kind}
    for name, kind in (
        ("id", "bigint"),
        ("customer", "bigint"),
        ("amount", "decimal(12,2)"),
        ("region", "string"),
        ("date", "date"),
    )
]
POLICIES = [
    (Policy(name, "etl", DeltaTablePolicySpec.model_validate({"table": {"name": name, "path": path}})), name)
    for name, path in PATHS.items()
]
DAY, NEXT, OLD = ("DATE '2026-11-19'", "DATE '2026-11-20'", "DATE '2026-10-05'")
MERGE = (
    "MERGE INTO prod.sales.orders t USING ({source}) s ON t.id = s.id AND t.date = {day} "
    "WHEN MATCHED THEN UPDATE SET amount = s.amount{insert}"
)


def merge(day: str, source: str, insert: str = " WHEN NOT MATCHED THEN INSERT *") -> str:
    return MERGE.format(day=day, source=source.format(day=day), insert=insert)


def backfill(first: str, after: str) -> dict[str, Any]:
    rows = f"date >= DATE '{first}' AND date < DATE '{after}'"
    return {
        "write": {
            "table": {"name": "prod.sales.orders"},
            "source": {
                "sql": f"SELECT id, customer, amount, region, date FROM prod.archive.orders WHERE {rows}"
            },
            "mode": "Overwrite",
            "replaceWhere": rows,
        }
    }


ONE_DAY = "SELECT * FROM prod.raw.orders WHERE date = {day}"
JOBS: dict[str, str | dict[str, Any]] = {
    "load": f"INSERT INTO prod.sales.orders SELECT * FROM prod.raw.orders WHERE date = {DAY}",
    "load next": f"INSERT INTO prod.sales.orders SELECT * FROM prod.raw.orders WHERE date = {NEXT}",
    "load late": "INSERT INTO prod.sales.orders SELECT r.* FROM prod.raw.late r JOIN prod.crm.customers c ON r.customer = c.id",
    "merge": merge(DAY, ONE_DAY),
    "merge next": merge(NEXT, ONE_DAY),
    "merge week": merge(
        NEXT, "SELECT * FROM prod.raw.orders WHERE date > DATE '2026-11-19' AND date <= DATE '2026-11-26'"
    ),
    "merge two sources": merge(
        DAY, f"{ONE_DAY} UNION ALL SELECT * FROM prod.raw.late WHERE date = '2026-11-19'"
    ),
    "correct": merge(NEXT, "SELECT id, amount FROM prod.raw.late", insert=""),
    "merge promised": {
        "sql": merge(DAY, "SELECT * FROM prod.raw.late"),
        "writes": [f"date = {DAY}"],
    },
    "reload": f"INSERT INTO prod.sales.orders REPLACE WHERE date = {DAY} {ONE_DAY.format(day=DAY)}",
    "october": backfill("2026-10-01", "2026-11-01"),
    "september": backfill("2026-09-01", "2026-10-01"),
    "forget": f"MERGE INTO prod.sales.orders o USING prod.crm.customers c ON o.date = {OLD} AND o.customer = c.id "
    "WHEN MATCHED THEN DELETE",
    "fix": f"UPDATE prod.sales.orders SET amount = 0 WHERE orders.date = {DAY} AND id = 7",
    "compact": f"OPTIMIZE prod.sales.orders WHERE date = {NEXT}",
    "returns": "INSERT INTO prod.sales.returns SELECT * FROM prod.sales.orders WHERE amount < 0",
    "add column": "ALTER TABLE prod.sales.orders ADD COLUMNS (note STRING)",
}


def knowledge() -> KnownFacts:
    common = {"schema": SCHEMA, "dialect": {"name": "oss", "version": "4.4.0"}, "logStore": "S3DynamoDB"}
    partitioned = {"prod.sales.orders", "prod.sales.returns"}
    facts = [
        Document(path, {"path": path, **common, "partitionColumns": ["date"] if name in partitioned else []})
        for name, path in PATHS.items()
    ]
    return knowledge_of(POLICIES, facts, [])


def job(work: str | dict[str, Any]) -> Job:
    given = {"sql": work} if isinstance(work, str) else work
    return Job("job", "job", DeltaWriteJobSpec.model_validate(given))


def by_path(work: str | dict[str, Any]) -> str | dict[str, Any]:
    """The same work with every table by its location."""
    if isinstance(work, str):
        for name, path in PATHS.items():
            work = work.replace(name, f"delta.`{path}`")
        return work.replace("orders.date", "date")
    found: dict[str, Any] = {
        key: by_path(value) if isinstance(value, dict | str) else value for key, value in work.items()
    }
    return found | ({"table": {"path": PATHS[work["table"]["name"]]}} if "table" in work else {})


KNOWN = knowledge()
NAMED: dict[str, JobFootprint] = {name: KNOWN.footprint(job(work)) for name, work in JOBS.items()}
PLACED: dict[str, JobFootprint] = {name: KNOWN.footprint(job(by_path(work))) for name, work in JOBS.items()}
SAFE = {
    "load": "load, load next, load late, october, september, correct, forget, compact, returns, merge next, merge week",
    "load next": "load next, load late, merge, merge two sources, merge promised, reload, fix, october, september, forget, "
    "compact, returns",
    "load late": "load late, returns, compact",
    "merge": "merge next, merge week, correct, october, september, forget, compact, returns",
    "merge next": "merge two sources, merge promised, reload, october, september, forget, fix, returns",
    "merge week": "merge two sources, merge promised, reload, october, september, forget, fix, returns",
    "merge two sources": "correct, october, september, forget, compact, returns",
    "correct": "merge promised, reload, october, september, forget, fix, returns",
    "merge promised": "october, september, forget, compact, returns",
    "reload": "october, september, forget, compact, returns",
    "october": "september, fix, compact, returns",
    "september": "forget, fix, compact, returns",
    "forget": "fix, compact, returns",
    "fix": "compact, returns",
    "compact": "returns, add column",
    "returns": "returns, add column",
}
"""Pairs that Delta lets pass in both orders, whatever the tables hold."""
PAIRS = list(combinations_with_replacement(JOBS, 2))


def is_safe(one: str, other: str) -> bool:
    return other in SAFE.get(one, "").split(", ") or one in SAFE.get(other, "").split(", ")


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_by_name_two_jobs_are_judged_as_by_path(one: str, other: str) -> None:
    assert pair_of(NAMED[one], NAMED[other]) == pair_of(PLACED[one], PLACED[other])


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_those_that_are_surely_safe_pass_as_they_are_written_and_no_others(one: str, other: str) -> None:
    assert (pair_of(NAMED[one], NAMED[other]).order is PairOrder.ANY) == is_safe(one, other)

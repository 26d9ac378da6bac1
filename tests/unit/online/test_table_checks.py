"""The doctor tells which tables the operator cannot read, by what the newest job of each says."""

from typing import Any

import pytest

from sluice.online.access.connection import Installation
from sluice.online.doctor.findings import Finding, FindingLevel
from sluice.online.doctor.table_checks import table_findings
from sluice.tables import key_of_name
from sluice.tables.open_tables import OpenTables
from unit.kube.served import served, told

DENIED = "nothing is known of its columns: the log of s3://lake/orders cannot be read: AccessDenied: the store (x) does not let it"


def job(made: str, table: Any = "s3://lake/orders", *widened: Any) -> dict[str, Any]:
    footprint = [{"table": table, "widened": list(widened)}]
    return {
        "metadata": {"creationTimestamp": f"2026-11-26T00:00:{made}Z"},
        "status": {"footprint": footprint},
    }


async def found(*jobs: Any, watched: tuple[str, ...] = ()) -> list[Finding]:
    async with served(*[told({"metadata": {}, "items": list(jobs)}) for _ in watched or (1,)]) as server:
        return [
            one async for one in table_findings(server.kube, Installation("ops", "sluice", None, watched))
        ]


@pytest.mark.parametrize("watched", [(), ("a", "b")])
async def test_a_table_that_cannot_be_read_is_a_warning_with_the_reason(watched: tuple[str, ...]) -> None:
    (one,) = await found(job("01", "s3://lake/orders", "it is wide", DENIED), watched=watched)
    assert (one.level, one.subject) == (FindingLevel.WARN, "s3://lake/orders")
    assert one.message == "its log cannot be read: AccessDenied: the store (x) does not let it"


async def test_a_name_that_no_policy_binds_is_one() -> None:
    facts = OpenTables().facts(key_of_name("prod.sales.orders"))
    (one,) = await found(job("01", "prod.sales.orders", f"nothing is known of its columns: {facts.unread}"))
    assert (one.level, one.subject) == (FindingLevel.WARN, "prod.sales.orders")
    assert "no DeltaTablePolicy binds it to a path: add one" in one.message


async def test_a_table_that_did_not_answer_in_time_is_one() -> None:
    late = "the log of s3://lake/orders did not answer within 10 s"
    (one,) = await found(job("01", "s3://lake/orders", late))
    assert one.message == "its log did not answer within 10 s"


@pytest.mark.parametrize("order", [1, -1])
async def test_the_newest_job_of_a_table_decides(order: int) -> None:
    jobs = [job("01", "s3://lake/orders", DENIED), job("02")]
    (one,) = await found(*jobs[::order])
    assert one.level is FindingLevel.OK
    jobs = [job("01"), job("02", "s3://lake/orders", DENIED)]
    (one,) = await found(*jobs[::order])
    assert one.level is FindingLevel.WARN


async def test_without_jobs_nothing_is_claimed() -> None:
    (one,) = await found()
    assert (one.level, one.message) == (FindingLevel.OK, "no job tells of a table yet")


@pytest.mark.parametrize(
    "status", [None, "strange", {"footprint": "strange"}, {"footprint": ["strange", {"table": 1}, {}]}]
)
async def test_a_status_that_somebody_else_wrote_ends_nothing(status: Any) -> None:
    (one,) = await found({"metadata": {}, "status": status}, job("01", "s3://lake/orders", DENIED))
    assert one.level is FindingLevel.WARN

"""Whoever may be writing a table counts, wherever runs have reported since that its names lead."""

from datetime import UTC, datetime

from sluice.api.base import Json
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.lifecycle.evidence.table_writers import writers_of
from sluice.tables import TableKey, key_of_name, key_of_path
from sluice.tables.reported_names import NameReport, ReportedNames
from unit.controller.bodies import job_body

GRANTED_AT = datetime(2026, 11, 19, 10, tzinfo=UTC)
ORDERS = key_of_name("lake.sales.orders")
REPORTED, ELSEWHERE = key_of_path("s3://lake/orders"), key_of_path("s3://lake/orders-2")


def writers(of: TableKey, recorded: str) -> list[str]:
    world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
    world.job_seen(running(recorded))
    world.names_reported(ReportedNames.of([(ORDERS, NameReport(REPORTED.text, "etl/other", GRANTED_AT))]))
    world.heed_policies()
    return [job.name for job in writers_of(of, world.jobs.values())]


def running(recorded: str) -> Json:
    body = job_body("a", sql=f"DELETE FROM {ORDERS}")
    attempt = {
        "number": 1,
        "token": 1 << 32,
        "hash": "h",
        "application": "sluice-a-1",
        "grantedAt": GRANTED_AT.isoformat(),
    }
    footprint = {"table": recorded, "statement": 1, "operation": "Delete", "reads": "true", "writes": "true"}
    return body | {"status": {"phase": "Running", "attempts": [attempt], "footprint": [footprint]}}


def test_who_was_granted_a_name_that_led_nowhere_may_be_writing_anywhere() -> None:
    assert writers(REPORTED, ORDERS.text) == ["a"]
    assert writers(ELSEWHERE, ORDERS.text) == ["a"]


def test_who_was_granted_a_location_is_writing_there_alone() -> None:
    assert writers(REPORTED, REPORTED.text) == ["a"]
    assert writers(ELSEWHERE, REPORTED.text) == []

"""Who may be writing a table is told without reading what thousands of other jobs say."""

from typing import Any

import pytest

from sluice.api.base import Json
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.lifecycle.evidence.table_writers import writers_of
from sluice.lifecycle.job.parsed_statuses import ParsedStatuses, ReadStatus
from sluice.tables import key_of_path
from unit.controller.bodies import job_body

ATTEMPT = {
    "number": 1,
    "token": 1 << 32,
    "hash": "h",
    "application": "a-1",
    "grantedAt": "2026-11-19T10:00:00Z",
}
OVER = ATTEMPT | {"endedAt": "2026-11-19T10:00:00Z", "outcome": "Succeeded"}
FOOTPRINT = [{"table": "s3://lake/orders", "statement": 1, "operation": "Update", "reads": "", "writes": ""}]


def job(name: str, phase: str, *attempts: Any) -> Json:
    status = {"phase": phase, "observedGeneration": 1, "attempts": list(attempts), "footprint": FOOTPRINT}
    return job_body(name) | {"status": status}


def writers(*bodies: Json) -> list[str]:
    world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
    for body in bodies:
        world.job_seen(body)
    return [one.name for one in writers_of(key_of_path("s3://lake/orders"), world.jobs.values())]


def test_those_with_an_open_attempt_at_the_table_may_write_it() -> None:
    elsewhere = job("elsewhere", "Running", ATTEMPT)
    elsewhere["status"]["footprint"] = [FOOTPRINT[0] | {"table": "s3://lake/returns"}]
    again = job("again", "Running", OVER, ATTEMPT | {"number": 2, "outcome": None})
    waits, over = job("waits", "Waiting"), job("over", "Succeeded", OVER)
    assert writers(waits, job("runs", "Running", ATTEMPT), over, elsewhere, again) == ["runs", "again"]


def test_statuses_without_an_open_attempt_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = ParsedStatuses.of

    def noted(self: ParsedStatuses, uid: str, body: Json) -> ReadStatus:
        read.append(uid)
        return whole(self, uid, body)

    monkeypatch.setattr(ParsedStatuses, "of", noted)
    many = [job(f"waits-{number}", "Waiting") for number in range(20)]
    many += [job(f"over-{number}", "Succeeded", OVER) for number in range(20)]
    assert writers(*many, job("runs", "Running", ATTEMPT)) == ["runs"]
    assert set(read) == {"uid-runs"}


@pytest.mark.parametrize("attempts", [None, 3, "x", {}, [3], [None], [[]], [{"outcome": "Succeeded"}]])
def test_what_is_no_attempt_writes_nothing(attempts: Any) -> None:
    body = job("odd", "Running")
    body["status"]["attempts"] = attempts
    assert writers(body, job_body("new"), job_body("wrong") | {"status": "Running"}) == []

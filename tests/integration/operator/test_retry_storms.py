"""Many jobs on one table that all lose to one commit: each comes back at its own time, and nobody else waits for it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from prometheus_client.parser import text_string_to_metric_families

from integration.operator.many_drivers import Followed, ManyDrivers
from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess
from integration.waiting import PATIENCE, eventually
from sluice.api.base import Json
from sluice.lifecycle.retries.retry_decision import RetryRules, pause

PATIENT = 5
"""The first ones have a longer pause than all others, so that there is room for somebody else between their attempts."""
LIMIT = 2
PAUSE, LONG_PAUSE = 3, 10
"""Seconds before the first retry, on average."""
MOST_STATUSES_AN_ATTEMPT = 5
MOST_WRITES_AN_ATTEMPT = 8
SOON = timedelta(seconds=15)
"""Far less than a storm takes, and far more than a grant does."""


def _losses(number: int) -> int:
    """Of twenty jobs one loses each attempt that it may have, one all but the last, and the others their first one."""
    return {7: LIMIT + 1, 17: LIMIT}.get(number % 20, 1)


class Storm:
    """What is played, and what jobs' statuses said of it, one after another."""

    def __init__(self, cluster: Played, table: str, many: int) -> None:
        self.names = [f"storm-{number}" for number in range(many)]
        self.losses = {name: _losses(number) for number, name in enumerate(self.names)}
        self.drivers = ManyDrivers(cluster, self.losses)
        self.jobs = Followed(cluster.objects, "deltawritejob")
        self.applications = Followed(cluster.objects, "sparkapplication")
        self.table = table
        self.asked: dict[str, datetime] = {}
        """When a job was created."""
        self.statuses: dict[str, Json] = {}
        self.uids: dict[str, str] = {}
        self.retries: dict[tuple[str, int], datetime] = {}
        """When the attempt with this number was to queue."""
        self.created: dict[str, datetime] = {}
        """When an application was created, to the second."""
        self.written: Counter[str] = Counter()
        """How often a job's status was."""

    def creates(self, name: str, spec: Json) -> None:
        self.asked[name] = datetime.now(UTC)
        self.drivers.create_job(name, spec)

    def creates_all(self) -> None:
        for number, name in enumerate(self.names):
            pause = LONG_PAUSE if number < PATIENT else PAUSE
            retry = {"limit": LIMIT, "backoff": f"{pause}s"}
            self.creates(name, _update(self.table, f"= {number}") | {"retry": retry})

    def turn(self, seconds: float = 0.0) -> None:
        """Lets the drivers of new applications begin, and takes note of what the operator says."""
        while (event := self.applications.take(seconds)) is not None:
            if event["type"] == "ADDED":
                metadata = event["object"]["metadata"]
                self.created[metadata["name"]] = datetime.fromisoformat(metadata["creationTimestamp"])
                self.drivers.begins(event["object"])
        while (event := self.jobs.take(0)) is not None:
            self._notes(event)

    def plays_until(self, done: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not done():
            phases = Counter(status.get("phase") for status in self.statuses.values())
            assert time.monotonic() < end, f"not within {PATIENCE:.0f} s: {what}; {phases}"
            self.turn(0.05)

    def _notes(self, event: Json) -> None:
        name, status = event["object"]["metadata"]["name"], event["object"].get("status") or {}
        self.written[name] += event["type"] == "MODIFIED"
        self.statuses[name] = status
        self.uids[name] = event["object"]["metadata"]["uid"]
        if status.get("phase") == "BackingOff":
            self.retries[name, status["attempt"] + 1] = datetime.fromisoformat(status["retryAt"])

    def phase(self, name: str) -> str | None:
        return self.statuses.get(name, {}).get("phase")

    def is_over(self) -> bool:
        return all("finishedAt" in self.statuses.get(name, {}) for name in self.asked)

    def attempts(self, name: str) -> list[Json]:
        return list(self.statuses[name]["attempts"])


def _update(table: str, where: str) -> Json:
    return {"sql": f"UPDATE delta.`{table}` SET id = id + 1 WHERE part {where}"}


def _at(attempt: Json, field: str) -> datetime:
    return datetime.fromisoformat(attempt[field])


@pytest.fixture
def table(tmp_path: Path) -> str:
    """id BIGINT, part INT, partitioned by part"""
    fields = [Field(name, PrimitiveType(kind)) for name, kind in (("id", "long"), ("part", "integer"))]
    DeltaTable.create(str(tmp_path / "hot"), Schema(fields), partition_by=["part"])
    return str(tmp_path / "hot")


@pytest.fixture
def storm(cluster: Played, table: str, request: pytest.FixtureRequest) -> Iterator[Storm]:
    storm = Storm(cluster, table, request.param)
    with storm.drivers, storm.jobs, storm.applications:
        yield storm


@pytest.mark.parametrize(
    ("storm", "leader_dies"),
    [
        pytest.param(60, False, id="60"),
        pytest.param(200, False, id="200", marks=pytest.mark.long(minutes=4)),
        pytest.param(200, True, id="200-and-the-leader-dies", marks=pytest.mark.long(minutes=4)),
    ],
    indirect=["storm"],
)
def test_a_storm_of_retries(
    cluster: Played, operator: OperatorProcess, storm: Storm, leader_dies: bool
) -> None:
    storm.creates_all()
    storm.plays_until(lambda: len(storm.drivers.running) == len(storm.names), "all run at once")
    storm.creates("between", _update(storm.table, f"< {PATIENT}"))
    storm.plays_until(lambda: storm.phase("between") == "Waiting", "another one waits for some of them")
    elsewhere = ["elsewhere-1", "elsewhere-2", "elsewhere-3"]
    for number, name in enumerate(storm.names):
        storm.drivers.first_one_loses(name)
        storm.turn()
        if number == len(storm.names) // 2:
            for other in elsewhere:
                storm.creates(other, append(f"/lake/{other}"))
            if leader_dies:
                operator.kill()
                operator.start()
    storm.plays_until(storm.is_over, "all have ended")

    _each_ended_as_its_losses_say(storm)
    _none_came_before_its_time(storm)
    _another_one_ran_between_their_attempts(storm)
    _what_was_written_is_bounded(storm)
    if not leader_dies:  # who leads next has to wait for the Lease, and counts anew
        _those_of_other_tables_did_not_wait(storm, elsewhere)
        assert operator.metric('sluice_retries_total{cause="Conflict"}') == len(storm.retries)
        assert _writes(operator) <= MOST_WRITES_AN_ATTEMPT * len(storm.created)
    eventually(lambda: not cluster.holders(), "no lease is left", show=cluster.holders)


def _each_ended_as_its_losses_say(storm: Storm) -> None:
    for name, lost in storm.losses.items():
        succeeds = lost <= LIMIT
        outcomes = ["Failed"] * lost + ["Succeeded"] * succeeds
        assert [one["outcome"] for one in storm.attempts(name)] == outcomes, name
        assert storm.phase(name) == ("Succeeded" if succeeds else "Failed")
        assert storm.statuses[name]["retries"] == min(lost, LIMIT)
        if not succeeds:
            told = storm.statuses[name]["message"]
            assert told.startswith(f"after {lost} attempts: statement 1: ConcurrentAppendException"), told
    assert len(storm.retries) == sum(min(lost, LIMIT) for lost in storm.losses.values())


def _none_came_before_its_time(storm: Storm) -> None:
    for (name, number), at in storm.retries.items():
        before, attempt = (one for one in storm.attempts(name) if one["number"] in (number - 1, number))
        assert _at(attempt, "grantedAt") >= at
        assert storm.created[attempt["application"]] + timedelta(seconds=1) > at
        rules = RetryRules(LIMIT, LONG_PAUSE if name in storm.names[:PATIENT] else PAUSE)
        drawn = pause(rules, number - 1, storm.uids[name], number - 1)
        assert at - _at(before, "endedAt") >= drawn, "the pause that is this job's own"


def _another_one_ran_between_their_attempts(storm: Storm) -> None:
    [between] = storm.attempts("between")
    patient = [storm.attempts(name)[:2] for name in storm.names[:PATIENT]]
    assert max(_at(first, "endedAt") for first, _ in patient) <= _at(between, "grantedAt")
    assert _at(between, "grantedAt") < min(_at(second, "grantedAt") for _, second in patient)
    assert storm.phase("between") == "Succeeded"


def _those_of_other_tables_did_not_wait(storm: Storm, elsewhere: list[str]) -> None:
    last = max(storm.retries.values())
    for name in elsewhere:
        [attempt] = storm.attempts(name)
        granted = _at(attempt, "grantedAt")
        assert granted - storm.asked[name] < SOON
        assert granted < last, "the storm goes on"
        assert storm.phase(name) == "Succeeded"


def _what_was_written_is_bounded(storm: Storm) -> None:
    for name in storm.names:
        assert storm.written[name] <= MOST_STATUSES_AN_ATTEMPT * len(storm.attempts(name)), name


def _writes(operator: OperatorProcess) -> int:
    _, text = operator.get("/metrics")
    return sum(
        round(sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "sluice_api_requests_total"
        and sample.labels["verb"] in ("create", "update", "patch", "delete")
        and sample.labels["resource"] in ("deltawritejobs", "sparkapplications", "pods")
    )

"""A table whose log ended two readers is told of, known to the next leader, and read again when a person says so."""

import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.readers.quarantine import Quarantine
from sluice.controller.readers.table_processes import TableProcesses
from sluice.engines import RuntimeProfile
from sluice.installations.quarantined_tables import MOST_TABLES, QuarantinedTable, read, written
from sluice.lifecycle.job.job_view import JobView
from sluice.processes.child import DeathCause
from sluice.processes.limits import Limits
from sluice.tables import TableKey, key_of_path
from unit.controller.bodies import job_body, policy_body
from unit.tables.hostile_logs import large_line_in_commit
from unit.tables.lake import orders

LIMITS = Limits(memory_mib=128, cpu_seconds=60, patience=120, answer_mib=8, threads=16, stack_mib=1)


class Lease:
    """What leaders write on it, one after the other, and a person."""

    def __init__(self) -> None:
        self.text: str | None = None

    def annotation(self, name: str) -> str | None:
        assert name == names.ANNOTATION_QUARANTINE
        return self.text

    async def annotate(self, annotations: Mapping[str, str | None]) -> None:
        ((name, self.text),) = annotations.items()
        assert name == names.ANNOTATION_QUARANTINE


class Around:
    """The world of one leader, what it has read again, and what it tells."""

    def __init__(self, lease: Lease, table: Path) -> None:
        self.processes = TableProcesses(LIMITS)
        self.world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
        self.told: list[tuple[str, EventReason, str]] = []
        self.changes: list[TableKey] = []
        self.world.policy_seen(policy_body("orders", table={"path": str(table)}))
        self.world.heed_policies()
        self.world.job_seen(job_body("waits", sql=f"DELETE FROM delta.`{table}`"))
        self.world.resting.rests("uid-waits", (key_of_path(str(table)),))
        self.world.take_changes()
        around: Any = self
        on: Any = lease
        self.quarantine = Quarantine(
            processes=self.processes, leadership=on, world=self.world, tables=around, events=around
        )

    def changed(self, tables: tuple[TableKey, ...]) -> None:
        self.changes += tables

    async def tell(self, job: JobView, reason: EventReason, message: str, *, warning: bool) -> None:
        assert warning
        self.told.append((job.key, reason, message))

    async def tell_of_policy(self, policy: Json, reason: EventReason, message: str, *, warning: bool) -> None:
        assert warning
        self.told.append((policy["metadata"]["name"], reason, message))


@pytest.fixture
def leaders(tmp_path: Path) -> Iterator[list[Around]]:
    lease = Lease()
    made = [Around(lease, tmp_path / "t") for _ in range(2)]
    yield made
    for one in made:
        one.processes.close()


@pytest.fixture
def key(tmp_path: Path) -> TableKey:
    """A table whose log ends its readers."""
    large_line_in_commit(tmp_path / "t", 300)
    return key_of_path(str(tmp_path / "t"))


async def test_a_quarantined_table_is_told_of_and_known_to_the_next_leader_until_a_person_lifts_it(
    leaders: list[Around], key: TableKey, tmp_path: Path
) -> None:
    first, second = leaders
    lease: Any = first.quarantine.leadership
    await first.quarantine.heed()
    assert (lease.text, first.told) == (None, [])
    why = first.processes.facts(key).unread
    for _ in range(2):
        await first.quarantine.heed()
    expected = f"the log of {key} is in quarantine: its reader needed more than 128 MiB of memory, twice"
    assert [(who, reason) for who, reason, _ in first.told] == [
        ("orders", EventReason.TABLE_QUARANTINED),
        ("etl/waits", EventReason.TABLE_QUARANTINED),
    ]
    assert all(message.startswith(expected) for *_, message in first.told)

    await second.quarantine.heed()
    assert second.processes.facts(key).unread == why
    assert not second.processes.deaths, "the next leader pays for it with no process"
    assert not second.told, "it was told"

    lease.text = None
    shutil.rmtree(tmp_path / "t")
    orders(tmp_path / "t")
    await second.quarantine.heed()
    assert second.changes == [key]
    assert "uid-waits" in second.world.take_changes()
    assert second.processes.facts(key).unread is None
    await second.quarantine.heed()
    assert lease.text is None


async def test_a_table_that_is_read_again_and_ends_its_reader_is_written_down_again(
    leaders: list[Around], key: TableKey
) -> None:
    leader, _ = leaders
    lease: Any = leader.quarantine.leadership
    leader.processes.facts(key)
    await leader.quarantine.heed()
    lease.text = None
    await leader.quarantine.heed()
    assert lease.text is None
    before = leader.processes.deaths.total()
    leader.processes.facts(key)
    assert leader.processes.deaths == {DeathCause.MEMORY: before + 1}
    await leader.quarantine.heed()
    assert [one.table for one in read(lease.text)] == [key.text]
    assert len(leader.told) == 4


def test_the_newest_tables_are_written_down_and_what_no_operator_wrote_is_left_out() -> None:
    at = datetime(2026, 11, 29, tzinfo=UTC)
    many = [
        QuarantinedTable(f"s3://lake/{number}", "facts", "memory", "needed more", at + timedelta(number))
        for number in range(MOST_TABLES + 3)
    ]
    assert read(written(many)) == tuple(many[3:])
    assert written([]) is None
    for text in ("{", "{}", "[1]", '[{"table": "x"}]', "[" * 100_000):
        assert read(text) == ()

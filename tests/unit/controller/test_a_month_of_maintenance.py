"""A month of maintenance of a real table, by a clock that is played: what ran, what was left out, and why.

The table's writer, and the driver that does what jobs say, are delta-rs. It stamps commits with the machine's time, so what the log
says of time is moved to the clock that is played; all else in the log is as it wrote it. The month is one in which clocks are put
back in Berlin.
"""

import json
import os
import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from sluice.api.base import Json
from sluice.api.reasons import EventReason
from sluice.tables import key_of_path
from sluice.tables.table_observer import TableObserver
from unit.controller.bodies import policy_body
from unit.controller.maintained import Api, Leader, Looks

BEGIN, END = datetime(2025, 10, 1, tzinfo=UTC), datetime(2025, 11, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RETENTION = timedelta(days=7)
HOLIDAYS = range(13, 20)
DOWN = (datetime(2025, 10, 7, 12, tzinfo=UTC), datetime(2025, 10, 9, 6, tzinfo=UTC))
"""No operator runs."""
NIGHTLY: Json = {
    "optimize": {"schedule": "30 2 * * *", "timeZone": "Europe/Berlin", "where": "date < :today"},
    "vacuum": {"schedule": "0 4 * * SUN", "timeZone": "Europe/Berlin", "successfulJobsHistoryLimit": 1},
}
_OPTIMIZE = re.compile(r"OPTIMIZE delta\.`(?P<path>.+)` WHERE date < DATE'(?P<day>[0-9-]+)'")
_VACUUM = re.compile(r"VACUUM delta\.`(?P<path>.+)`")


class Lake:
    """The table, its writer, and the drivers of jobs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = BEGIN - DAY
        self.rows = 0
        self.moved = -1
        schema = Schema([Field("date", PrimitiveType("date")), Field("n", PrimitiveType("long"))])
        self._written = DeltaTable.create(
            str(path),
            schema,
            partition_by=["date"],
            configuration={"delta.checkpointInterval": "100000"},
        )
        self.move()

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(str(self.path))

    def append(self, day: date) -> None:
        days = Array([(day - date(1970, 1, 1)).days], DataType.int32()).cast(DataType.date32())
        rows = Table({"date": days, "n": Array([self.rows], DataType.int64())})
        write_deltalake(self._written, rows, mode="append")  # which reads only what was committed since
        self.rows += 1
        self.move()

    def run(self, sql: str) -> None:
        if (found := _OPTIMIZE.fullmatch(sql)) is not None:
            self.table.optimize.compact(partition_filters=[("date", "<", found["day"])])
        else:
            assert _VACUUM.fullmatch(sql), sql
            ago = datetime.now(UTC) - self.now + RETENTION
            self.table.vacuum(
                int(ago.total_seconds() // 3600), dry_run=False, enforce_retention_duration=False
            )
        self.move()

    def move(self) -> None:
        """Moves the times of what was committed since to now."""
        moment = int(self.now.timestamp() * 1000)
        for commit in sorted((self.path / "_delta_log").glob("*.json")):
            if int(commit.stem) > self.moved:
                actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
                for action in actions:
                    _at(action, moment)
                commit.write_text("".join(f"{json.dumps(one)}\n" for one in actions), encoding="utf-8")
                os.utime(commit, (moment / 1000, moment / 1000))
                self.moved = int(commit.stem)

    @property
    def data_files(self) -> set[str]:
        return {str(one.relative_to(self.path)) for one in self.path.glob("date=*/*.parquet")}


def _at(action: Json, moment: int) -> None:
    if "commitInfo" in action:
        action["commitInfo"]["timestamp"] = moment
        parameters = action["commitInfo"].get("operationParameters") or {}
        if "specifiedRetentionMillis" in parameters:
            parameters["specifiedRetentionMillis"] = str(int(RETENTION.total_seconds() * 1000))
    if "remove" in action:
        action["remove"]["deletionTimestamp"] = moment


class LooksAtTheLake(Looks):
    def __init__(self, lake: Lake) -> None:
        super().__init__()
        self._lake = lake
        self._tables = TableObserver(now=lambda: lake.now)

    def soon(self, _: str) -> None:
        self.seen = self._tables.look(key_of_path(str(self._lake.path)))


def has_a_writer(now: datetime) -> bool:
    return now.weekday() < 5 and now.day not in HOLIDAYS and now.month == 10


async def played(lake: Lake) -> tuple[Api, list[tuple[EventReason, str, datetime]]]:
    api = Api()
    policy = policy_body("daily", table={"path": str(lake.path)}, maintenance=NIGHTLY)
    policy["metadata"]["creationTimestamp"] = BEGIN.isoformat()
    api.put("policy", policy)
    told: list[tuple[EventReason, str, datetime]] = []
    leader: Leader | None = None
    done: set[str] = set()
    while lake.now < END:
        lake.now += HOUR
        if has_a_writer(lake.now) and lake.now.hour in range(6, 16):
            lake.append(lake.now.date())
        if DOWN[0] <= lake.now < DOWN[1]:
            leader = None
            continue
        if leader is None:
            leader = Leader(api, LooksAtTheLake(lake))
        for _ in range(2):  # the second one has the look that the first one asked for
            await leader.rounds.turn(lake.now)
        for name in [name for name in api.made if name not in done]:
            lake.run(api.objects["job", name]["spec"]["sql"])
            leader.ends(name)
            done.add(name)
        told += [(reason, message, lake.now) for reason, message in leader.events.told]
        leader.events.told.clear()
    return api, told


def days_of(told: list[tuple[EventReason, str, datetime]], reason: EventReason, about: str) -> list[int]:
    return [at.day for told_as, message, at in told if told_as is reason and about in message]


async def test_a_month(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "daily")
    api, told = await played(lake)
    made, left_out = EventReason.MAINTENANCE_CREATED, EventReason.MAINTENANCE_LEFT_OUT

    after_work = [2, 3, 4, 7, 9, 10, 11, 21, 22, 23, 24, 25, 28, 29, 30, 31]
    assert days_of(told, made, "for optimize: the partition date=") == after_work
    assert days_of(told, made, "has 10 files that are smaller than 64 MiB") == after_work
    idle = [1, 5, 6, *range(12, 21), 26, 26, 27]
    assert days_of(told, left_out, "no optimize is run: no partition where date < DATE'2025-10-") == idle
    assert days_of(told, made, "(one run before it was missed)") == [9], "nobody was there on the 8th"

    assert days_of(told, made, "for vacuum: nobody knows when the table was vacuumed last") == [5, 12]
    assert days_of(told, made, "for vacuum: 4 commits removed files before 2025-10-12") == [19]
    assert days_of(told, left_out, "no vacuum is run: no commit removed files between 2025-10-12") == [26]
    assert len(told) == len(after_work) + len(idle) + 4

    per_day = Counter(int(name.partition("/")[0][-2:]) for name in lake.data_files)
    compacted_and_cleaned = dict.fromkeys((1, 2, 3, 6, 7, 8, 9, 10), 1)
    compacted = dict.fromkeys((20, 21, 22, 23, 24, 27, 28, 29, 30), 11)
    assert per_day == compacted_and_cleaned | compacted | {31: 10}
    assert lake.table.count() == lake.rows, "no row was lost"

    left = [job["metadata"]["name"] for job in api.jobs]
    assert len([name for name in left if "-optimize-" in name]) == 3
    assert len([name for name in left if "-vacuum-" in name]) == 1
    state = api.objects["policy", "daily"]["status"]["maintenance"]
    assert state["optimize"]["lastRunAt"] == "2025-10-31T01:30:00Z"
    assert state["optimize"]["nextRunAt"] == "2025-11-01T01:30:00Z"
    assert state["vacuum"]["lastLeftOut"]["at"] == "2025-10-26T03:00:00Z"
    assert state["vacuum"]["nextRunAt"] == "2025-11-02T03:00:00Z"

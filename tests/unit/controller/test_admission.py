"""Who is granted, where the intent of one of them can't be written."""

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.api.job_status import Attempt, Phase
from sluice.api.reasons import Reason
from sluice.controller.applications.applications import Applications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.job_figures import JobFigures
from sluice.controller.leadership.prerequisites import MissingPrerequisite
from sluice.controller.policy_work.change_gate import HeldBackChange
from sluice.controller.process import clock as controller_clock
from sluice.controller.process.metrics import Metrics
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.timers import Timers
from sluice.controller.readers.spec_reader import SpecReader
from sluice.controller.reporting.error_isolation import ErrorIsolation
from sluice.controller.scheduling import admission as module
from sluice.controller.scheduling import grants
from sluice.controller.scheduling.admission import JobAdmission
from sluice.controller.scheduling.holders import Holders
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.leases import Epochs, Grant, Lease, Reach
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange, UnderstoodFields, as_body, status_after
from sluice.lifecycle.spec.read_requests import READ_AT_ONCE, reader
from sluice.processes.child import NoAnswerError
from sluice.tables import LogStore
from unit.controller.bodies import PARTITIONED, job_body, unfenced
from unit.lifecycle.objects import TOKEN, application


class NoneUnexplained:
    def __contains__(self, _: Lease) -> bool:
        return False

    def of(self, _: str) -> list[Lease]:
        return []


class Leases:
    trouble = None
    is_sure = True
    no_room: str | None = None

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.held: list[Lease] = []
        self.reaches: dict[str, Reach] = {}
        self.unsettled: dict[str, Lease] = {}
        self.unexplained = NoneUnexplained()

    def held_by(self, uid: str) -> list[Lease]:
        return [lease for lease in self.held if lease.uid == uid]

    def holder_of_run(self, run: str) -> str | None:
        return next((lease.holder for lease in self.held if lease.run == run), None)

    def is_run_of_another(self, run: str, uid: str) -> bool:
        return any(lease.run == run and lease.uid != uid for lease in self.held)

    def remembered_of(self, uid: str) -> list[Lease]:
        return self.held_by(uid)

    def reach_of(self, lease: Lease) -> Reach | None:
        return self.reaches.get(lease.holder)

    def learn(self, lease: Lease, reach: Reach) -> None:
        self.reaches[lease.holder] = reach

    async def grant(self, lease: Lease, reach: Reach) -> Grant | None:
        self.asked.append(lease.uid)
        if self.no_room is not None:
            return None
        self.held.append(lease)
        self.learn(lease, reach)
        self.unsettled[lease.uid] = lease
        return Grant(lease, Epochs.token(3, len(self.asked)))

    def settled(self, uid: str) -> None:
        del self.unsettled[uid]

    def release(self, lease: Lease) -> None:
        self.held.remove(lease)


class Statuses:
    def __init__(self, world: ClusterCache, refuses: dict[str, Exception]) -> None:
        self._world = world
        self._refuses = refuses
        self.asked: list[str] = []

    async def write(self, job: JobView, change: StatusChange) -> None:
        self.asked.append(job.uid)
        if job.name in self._refuses:
            raise self._refuses[job.name]
        status = as_body(status_after(job, change, job.arrived_at))
        metadata = job.body["metadata"] | {"resourceVersion": str(int(job.resource_version) + 1)}
        self._world.job_seen(job.body | {"metadata": metadata, "status": status})

    async def stall(self, job: JobView, reason: str, message: str) -> None: ...


class Tables:
    """All are partitioned by date, as is found when somebody asks."""

    def __init__(self, world: ClusterCache) -> None:
        self._world = world

    def knows(self, job: JobView, **_: bool) -> bool:
        for key in job.tables:
            self._world.table_seen(key, replace(PARTITIONED, log_store=LogStore.SAFE))
        return True


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def admitting(refuses: dict[str, Exception]) -> tuple[Leases, JobAdmission]:
    world, read = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")}), reader()
    pool: Any = SimpleNamespace(ask=lambda _, question, **__: read(question))
    for name in ("a", "b"):
        world.job_seen(job_body(name, sql=f"INSERT INTO delta.`/lake/{name}` VALUES (1)"))

    async def nothing(*_: Any, **__: Any) -> None: ...

    async def job(*_: Any) -> Any:
        return None

    no: Any = SimpleNamespace(tell=nothing, drive=nothing, job=job, leads=lambda: True)
    tables: Any = Tables(world)
    leases: Any = Leases()
    statuses: Any = Statuses(world, refuses)
    guard = ErrorIsolation(world, no, statuses, no)
    workers = ObjectWorkers(guard.on)
    workers.serve(nothing, lambda _: None)
    surroundings: Any = SimpleNamespace(
        obstacle=None, obstacle_for=lambda _: None, obstacle_of_its_own=lambda _: None
    )
    own_changes: Any = SimpleNamespace(keeps=lambda _: None)
    return leases, JobAdmission(
        world=world,
        leases=leases,
        holders=Holders(world, leases),
        leadership=no,
        attempts=no,
        applications=Applications(no, world, unfenced()),
        workers=workers,
        statuses=statuses,
        events=no,
        specs=SpecReader(world, pool),
        tables=tables,
        conditions=OperatorConditions(),
        metrics=(metrics := Metrics()),
        figures=JobFigures(metrics, world, leases),
        timers=Timers(),
        surroundings=surroundings,
        own_changes=own_changes,
        age_after=timedelta(minutes=2),
    )


async def turn(asked: JobAdmission, *uids: str) -> None:
    """Takes a turn as the loop does, and waits until nothing is under way."""
    for uid in (*asked.world.take_changes(), *uids):
        asked.consider(uid)
    await asked.turn()
    async with asked.workers.paused():
        pass


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr(grants, "time", found)
    return found


async def test_an_intent_that_is_refused_gives_its_grant_back_and_is_tried_ever_more_rarely(
    clock: Clock,
) -> None:
    leases, asked = admitting({"a": ApiError(422, "Invalid", "a webhook says no")})
    for _ in range(100):
        await turn(asked, "uid-a")
        clock.now += 0.25
    assert [lease.uid for lease in leases.held] == ["uid-b"]
    assert leases.unsettled == {}
    assert 5 <= leases.asked.count("uid-a") <= 10
    assert leases.asked.count("uid-b") == 1


@pytest.mark.parametrize("status", [422, 500])
async def test_a_job_that_cannot_be_told_what_keeps_it_from_a_grant_is_tried_ever_more_rarely(
    clock: Clock, status: int
) -> None:
    missing = MissingPrerequisite(Reason.DEFINITIONS_OUTDATED, "it lacks the subresource status")
    _, asked = admitting({"a": ApiError(status, "", "not now")})
    around: Any = SimpleNamespace(
        obstacle=missing, obstacle_for=lambda _: missing, obstacle_of_its_own=lambda _: None
    )
    asked.surroundings = around
    for _ in range(100):
        await turn(asked, "uid-a", "uid-b")
        clock.now += 0.25
    written: Any = asked.statuses
    assert 5 <= written.asked.count("uid-a") <= 10
    assert written.asked.count("uid-b") == 1


async def test_a_job_for_which_redis_has_no_room_says_so_and_asks_ever_more_rarely(clock: Clock) -> None:
    leases, asked = admitting({})
    leases.no_room = "Redis at redis:6379/0 is full"
    for _ in range(100):
        await turn(asked, "uid-a", "uid-b")
        clock.now += 0.25
    assert 5 <= leases.asked.count("uid-a") <= 10
    for uid in ("uid-a", "uid-b"):
        status = asked.world.jobs[uid].status
        assert (status.phase, status.reason) == (Phase.PENDING, "LeasesUnavailable")
        assert status.message == leases.no_room
    leases.no_room = None
    clock.now += 5
    await turn(asked, "uid-a", "uid-b")
    assert sorted(lease.uid for lease in leases.held) == ["uid-a", "uid-b"]


async def test_an_intent_without_an_answer_keeps_its_grant_until_the_job_was_asked() -> None:
    leases, asked = admitting({"a": ApiError(0, "NoAnswer", "lost")})
    for _ in range(3):
        await turn(asked, "uid-a", "uid-b")
    assert sorted(lease.uid for lease in leases.held) == ["uid-a", "uid-b"]
    assert set(leases.unsettled) == {"uid-a"}


@pytest.mark.parametrize(
    ("error", "at_once"),
    [(ConflictError(409, "Conflict", ""), True), (NotFoundError(404, "NotFound", ""), False)],
)
async def test_a_job_that_was_changed_meanwhile_is_decided_on_again_at_once_and_one_without_a_status_is_not(
    error: Exception, *, at_once: bool
) -> None:
    """The API server does not find the job, or serves no statuses: a job that is there is asked for ever more rarely."""
    leases, asked = admitting({"a": error})
    await turn(asked)
    assert [lease.uid for lease in leases.held] == ["uid-b"]
    assert asked.granting.pauses.is_due("uid-a") is at_once


async def test_who_waits_is_told_of_one_that_runs_and_how_many_more_are_in_the_way() -> None:
    _, asked = admitting({})
    asked.age_after = timedelta()
    for name in ("c", "d", "e"):
        asked.world.job_seen(job_body(name))
    await turn(asked)
    message = asked.world.jobs["uid-e"].status.message or ""
    assert message.startswith("waits for etl/c, which runs on file:/lake/orders (")
    assert message.endswith("), and for 1 more job; this job starts once nothing conflicts with it")


def held_since_before(asked: JobAdmission, leases: Leases) -> None:
    """Adds a lease of a job that an earlier leader admitted; this leader has read nothing of it."""
    body = job_body("held", sql="DELETE FROM delta.`/lake/sales` WHERE date = DATE '2026-11-20'")
    asked.world.job_seen(body)
    asked.tables.knows(asked.world.jobs["uid-held"])
    job = asked.world.jobs["uid-held"]
    attempt = Attempt(
        number=1, token=TOKEN, hash=job.spec_hash, application="held-1", granted_at=datetime.now(UTC)
    )
    change = StatusChange(Phase.RUNNING, Reason.BLOCKED, "its driver runs", UnderstoodFields.of(job), attempt)
    status = as_body(status_after(job, change, job.arrived_at))
    asked.world.job_gone("uid-held")
    body["metadata"] |= {"uid": "uid-of-held", "resourceVersion": "2"}
    asked.world.job_seen(body | {"status": status})
    lease = Lease("uid-of-held", 1, attempt.hash, "etl/held", ("file:/lake/sales",), ())
    asked.world.applications.seen(application("RUNNING", "held-1", lease=lease))
    leases.held.append(lease)


async def test_nothing_is_granted_before_it_is_known_what_those_touch_who_hold_since_before() -> None:
    """Their leases say which tables; a table may go by two names, and a run rests on more than it writes."""
    leases, asked = admitting({})
    held_since_before(asked, leases)
    for name, day in (("same", 20), ("next", 21)):
        sql = f"DELETE FROM delta.`/lake/sales` WHERE date = DATE '2026-11-{day}'"
        asked.world.job_seen(job_body(name, sql=sql))
    await turn(asked)
    assert len(leases.held) == 1
    assert [asked.world.jobs[f"uid-{name}"].phase for name in ("same", "next")] == [None, None]
    uid = asked.unread.take()
    asked.read(uid)
    await turn(asked, uid)
    assert uid == "uid-of-held"
    assert [asked.world.jobs[f"uid-{name}"].phase for name in ("same", "next")] == [
        "Waiting",
        "Starting",
    ]
    assert (asked.world.jobs["uid-same"].status.message or "").startswith(
        "waits for etl/held, which runs on "
    )


async def test_who_holds_and_cannot_be_read_holds_up_those_on_its_tables_only() -> None:
    leases, asked = admitting({})

    def fails(*_: Any, **__: Any) -> bool:
        raise RuntimeError("a mistake of ours")

    held_since_before(asked, leases)
    sql = "DELETE FROM delta.`/lake/sales` WHERE date = DATE '2026-11-21'"
    asked.world.job_seen(job_body("next", sql=sql))
    await turn(asked)
    knows, asked.tables.knows = asked.tables.knows, fails  # type: ignore[method-assign]
    asked.read("uid-of-held")
    asked.tables.knows = knows  # type: ignore[method-assign]
    await turn(asked, "uid-of-held")
    await turn(asked)
    assert asked.world.jobs["uid-next"].phase == "Waiting"
    assert asked.world.jobs["uid-a"].phase == "Starting"


async def test_a_job_that_goes_while_it_is_to_be_read_ends_no_turn() -> None:
    leases, asked = admitting({})
    held_since_before(asked, leases)
    for uid in asked.world.take_changes():
        asked.consider(uid)
    assert asked.holders.unread == {"uid-of-held"}
    asked.world.job_gone("uid-of-held")
    await asked.turn()


@pytest.mark.parametrize("table", ["sales\n", "\0", ""])
async def test_what_is_no_tables_name_in_a_status_holds_up_nobody(table: str) -> None:
    _, asked = admitting({})
    body = job_body("c", sql="INSERT INTO delta.`/lake/c` VALUES (1)")
    one = {"table": table, "statement": 1, "operation": "Append", "reads": "false", "writes": "true"}
    asked.world.job_seen(body | {"status": {"phase": "Pending", "observedGeneration": 1, "footprint": [one]}})
    await turn(asked)
    assert asked.world.jobs["uid-c"].unreadable is not None
    assert asked.world.jobs["uid-a"].phase is Phase.STARTING


def edited(asked: JobAdmission, name: str, sql: str) -> None:
    """Edits the spec of a job that waits."""
    body = asked.world.jobs[f"uid-{name}"].body
    version = str(int(body["metadata"]["resourceVersion"]) + 1)
    metadata = body["metadata"] | {"generation": 2, "resourceVersion": version}
    asked.world.job_seen(body | {"metadata": metadata, "spec": body["spec"] | {"sql": sql}})


async def waits_behind_another(name: str) -> tuple[Leases, JobAdmission]:
    leases, asked = admitting({})
    for one in ("before", name):
        asked.world.job_seen(job_body(one))
    await turn(asked)
    assert asked.world.jobs[f"uid-{name}"].phase is Phase.WAITING
    return leases, asked


async def test_who_waits_keeps_who_is_in_the_way_while_a_new_leader_finds_definitions_missing() -> None:
    """An API server that starts says so for a moment of each definition; every job that waits would be told twice."""
    leases, asked = await waits_behind_another("patient")
    asked.world.job_seen(job_body("new"))
    leases.is_sure = False
    none_is_served = MissingPrerequisite(Reason.DEFINITIONS_OUTDATED, "none is served")
    without_definitions: Any = SimpleNamespace(obstacle_for=lambda _: none_is_served)
    asked.surroundings = without_definitions
    told = asked.world.jobs["uid-patient"].status
    for uid in ("uid-patient", "uid-new"):
        await asked.tell_obstacle(uid)
    assert asked.world.jobs["uid-patient"].status == told
    assert asked.world.jobs["uid-new"].status.reason == "DefinitionsOutdated"


async def test_a_job_edited_so_that_nobody_is_in_its_way_any_more_is_granted_at_once() -> None:
    leases, asked = await waits_behind_another("edited")
    edited(asked, "edited", "DELETE FROM delta.`/lake/elsewhere` WHERE id = 1")
    await turn(asked)
    assert "uid-edited" in [lease.uid for lease in leases.held]


async def test_a_job_edited_while_somebody_is_in_its_way_is_told_of_its_new_spec() -> None:
    _, asked = await waits_behind_another("edited")
    edited(asked, "edited", "DELETE FROM delta.`/lake/orders` WHERE id = 7")
    await turn(asked)
    job = asked.world.jobs["uid-edited"]
    assert (job.phase, job.status.observed_generation) == (Phase.WAITING, 2)


class Keeps:
    """Keeps one job."""

    def __init__(self, uid: str, quiet_for: float) -> None:
        self.uid, self.quiet_for = uid, quiet_for

    def keeps(self, job: JobView) -> HeldBackChange | None:
        found = MissingPrerequisite(Reason.AWAITS_LOOK, "its log has not been read since")
        return HeldBackChange(found, self.quiet_for) if job.uid == self.uid else None


def behind_a_kept_one(quiet_for: float) -> tuple[Leases, JobAdmission, Any]:
    leases, asked = admitting({})
    asked.own_changes = keeps = Keeps("uid-a", quiet_for)  # type: ignore[assignment]
    asked.world.job_seen(job_body("c", sql="ALTER TABLE delta.`/lake/a` SET TBLPROPERTIES ('team' = 'a')"))
    return leases, asked, keeps


async def test_a_kept_job_has_its_place_for_a_while_and_goes_once_it_is_kept_no_more() -> None:
    leases, asked, keeps = behind_a_kept_one(10.0)
    for _ in range(3):
        await turn(asked, "uid-a", "uid-c")
        assert [lease.uid for lease in leases.held] == ["uid-b"], "another change would outdate the next look"
    assert asked.timers.seconds_left() is not None
    keeps.uid = ""
    await turn(asked, "uid-a")
    assert sorted(lease.uid for lease in leases.held) == ["uid-a", "uid-b"]


async def test_a_job_that_is_kept_for_long_is_in_nobodys_way() -> None:
    leases, asked, keeps = behind_a_kept_one(0.0)
    await turn(asked)
    assert sorted(lease.uid for lease in leases.held) == ["uid-b", "uid-c"]
    leases.held = [lease for lease in leases.held if lease.uid != "uid-c"]
    keeps.uid = ""
    asked.world.job_gone("uid-c")
    await turn(asked, "uid-a")
    assert sorted(lease.uid for lease in leases.held) == ["uid-a", "uid-b"]


async def test_a_job_that_comes_to_be_kept_for_long_leaves_its_place() -> None:
    leases, asked, keeps = behind_a_kept_one(10.0)
    await turn(asked)
    assert "uid-a" in asked.queue
    keeps.quiet_for = 0.0
    await turn(asked, "uid-a")
    assert "uid-a" not in asked.queue
    assert sorted(lease.uid for lease in leases.held) == ["uid-b", "uid-c"]


async def test_a_job_that_is_kept_for_long_says_why_once() -> None:
    _, asked, _ = behind_a_kept_one(0.0)
    assert not asked.consider("uid-a")
    await asked.prepare(asked.world.jobs["uid-a"])
    status = asked.world.jobs["uid-a"].status
    assert (status.phase, status.reason) == (Phase.PENDING, "AwaitsLook")
    assert asked.consider("uid-a")


async def test_a_job_says_once_that_its_long_spec_waits_to_be_read_and_how_many_are_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.0)
    _, asked = admitting({})
    may_read = threading.Event()

    def reads(*_: Any, **__: Any) -> Any:
        assert may_read.wait(120)
        raise NoAnswerError("was ended")

    pool: Any = SimpleNamespace(ask=reads, close=may_read.set)
    asked.specs = SpecReader(asked.world, pool)
    long = " /* " + "x" * READ_AT_ONCE + " */"
    for name in ("first", "second"):
        asked.world.job_seen(job_body(name, sql=f"DELETE FROM delta.`/lake/{name}`{long}"))
        assert not asked.consider(f"uid-{name}"), "it is still to be told"
    await asyncio.sleep(0.01)
    for name, message in (
        ("first", "its spec is being read"),
        ("second", "its spec waits to be read; ahead of it: 1"),
    ):
        await asked.prepare(asked.world.jobs[f"uid-{name}"])
        job = asked.world.jobs[f"uid-{name}"]
        assert (job.phase, job.status.reason, job.status.message) == (Phase.PENDING, "ReadingSpec", message)
        assert asked.consider(job.uid), "it wants nothing until it is read"
        await asked.prepare(job)
        assert asked.world.jobs[job.uid].resource_version == job.resource_version, "it is written once"
    asked.specs.close()


async def test_a_job_that_asks_for_what_its_namespace_may_not_have_fails_before_it_queues() -> None:
    leases, asked = admitting({})
    node = {"spark.kubernetes.executor.volumes.hostPath.node.options.path": "/"}
    body = job_body("c", sql="INSERT INTO delta.`/lake/a` VALUES (1)")
    body["spec"]["runtime"] = {"sparkConf": node}
    asked.world.job_seen(body)
    await turn(asked)
    assert "uid-c" not in asked.queue
    changes: list[StatusChange] = []

    async def write(_: JobView, change: StatusChange) -> None:
        changes.append(change)

    statuses: Any = SimpleNamespace(write=write)
    asked.refusing.statuses = statuses
    await asked.prepare(asked.world.jobs["uid-c"])
    [change] = changes
    assert (change.phase, change.reason) == (Phase.FAILED, Reason.NOT_PERMITTED)
    assert (
        "does not let jobs of the namespace etl use hostPath volumes (spec.runtime.sparkConf."
        in change.message
    )
    assert "uid-c" not in leases.asked


async def test_a_job_that_waited_past_its_days_is_judged_for_any_day_before_it_is_granted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its condition would be narrower than what it may touch by now."""
    now = datetime(2026, 11, 19, 12, tzinfo=UTC)
    monkeypatch.setattr(controller_clock, "now", lambda: now)
    leases, asked = admitting({})
    sales = "FROM delta.`/lake/sales` WHERE"
    asked.world.job_seen(job_body("first", sql=f"DELETE {sales} date = DATE '2026-08-01'"))
    await turn(asked)
    for name, condition in (("old", "date < current_date() - 90"), ("new", "date = DATE '2026-11-19'")):
        asked.world.job_seen(job_body(name, sql=f"DELETE {sales} {condition}"))
        await turn(asked)
    assert "uid-old" not in leases.asked
    assert "uid-new" in leases.asked
    now = datetime(2026, 11, 21, tzinfo=UTC)
    leases.held = [lease for lease in leases.held if lease.uid != "uid-first"]
    asked.world.job_gone("uid-first")
    await turn(asked, "uid-first")
    await turn(asked)
    assert "uid-old" not in leases.asked, "it may touch what the newer one deletes"
    leases.held = [lease for lease in leases.held if lease.uid != "uid-new"]
    asked.world.job_gone("uid-new")
    await turn(asked, "uid-new")
    await turn(asked)
    old = asked.world.jobs["uid-old"]
    assert (old.phase, old.days, old.footprint.tables[0].reads_text) == ("Starting", None, "true")

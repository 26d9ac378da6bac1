"""Who is granted, where the intent of one of them can't be written."""

from types import SimpleNamespace
from typing import Any

import pytest

from sluice.controller import admitting as module
from sluice.controller.admitting import Admitting
from sluice.controller.applications import Applications
from sluice.controller.conditions import Conditions
from sluice.controller.guard import Guard
from sluice.controller.holders import Holders
from sluice.controller.metrics import Metrics
from sluice.controller.timers import Timers
from sluice.controller.workers import Workers
from sluice.controller.world import World
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.leases import Epochs, Grant, Lease
from sluice.lifecycle.job import JobView
from sluice.lifecycle.status import StatusChange, plain, status_after
from unit.controller.bodies import job_body


class Leases:
    trouble = None
    is_sure = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.held: list[Lease] = []
        self.unsettled: dict[str, Lease] = {}

    def held_by(self, uid: str) -> list[Lease]:
        return [lease for lease in self.held if lease.uid == uid]

    def remembered_of(self, uid: str) -> list[Lease]:
        return self.held_by(uid)

    def is_unexplained(self, _: Lease) -> bool:
        return False

    def unexplained_of(self, _: str) -> list[Lease]:
        return []

    async def grant(self, lease: Lease) -> Grant:
        self.asked.append(lease.uid)
        self.held.append(lease)
        self.unsettled[lease.uid] = lease
        return Grant(lease, Epochs.token(3, len(self.asked)))

    def settled(self, uid: str) -> None:
        del self.unsettled[uid]

    def release(self, lease: Lease) -> None:
        self.held.remove(lease)


class Statuses:
    def __init__(self, world: World, refuses: dict[str, Exception]) -> None:
        self._world = world
        self._refuses = refuses

    async def write(self, job: JobView, change: StatusChange) -> None:
        if job.name in self._refuses:
            raise self._refuses[job.name]
        status = plain(status_after(job, change, job.arrived_at))
        metadata = job.body["metadata"] | {"resourceVersion": str(int(job.resource_version) + 1)}
        self._world.job_seen(job.body | {"metadata": metadata, "status": status})

    async def stall(self, job: JobView, reason: str, message: str) -> None: ...


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def admitting(refuses: dict[str, Exception]) -> tuple[Leases, Admitting]:
    world = World({"default": RuntimeProfile(spark_version="4.2.0")})
    for name in ("a", "b"):
        world.job_seen(job_body(name, sql=f"INSERT INTO delta.`/lake/{name}` VALUES (1)"))

    async def nothing(*_: Any, **__: Any) -> None: ...

    async def job(*_: Any) -> Any:
        return None

    no: Any = SimpleNamespace(tell=nothing, drive=nothing, job=job, leads=lambda: True)
    tables: Any = SimpleNamespace(knows=lambda *_, **__: True)
    leases: Any = Leases()
    statuses: Any = Statuses(world, refuses)
    guard = Guard(world, no, statuses, no)
    workers = Workers(guard.on)
    workers.serve(nothing, lambda _: None)
    return leases, Admitting(
        world=world,
        leases=leases,
        holders=Holders(world, leases),
        leadership=no,
        attempts=no,
        applications=Applications(no, world),
        workers=workers,
        statuses=statuses,
        events=no,
        tables=tables,
        conditions=Conditions(),
        metrics=Metrics(),
        timers=Timers(),
    )


async def turn(asked: Admitting, *uids: str) -> None:
    """As the loop does it, until nothing is under way."""
    for uid in (*asked.world.take_changes(), *uids):
        asked.consider(uid)
    await asked.turn()
    async with asked.workers.paused():
        pass


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
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


async def test_an_intent_without_an_answer_keeps_its_grant_until_the_job_was_asked() -> None:
    leases, asked = admitting({"a": ApiError(0, "NoAnswer", "lost")})
    for _ in range(3):
        await turn(asked, "uid-a", "uid-b")
    assert sorted(lease.uid for lease in leases.held) == ["uid-a", "uid-b"]
    assert set(leases.unsettled) == {"uid-a"}


@pytest.mark.parametrize("error", [ConflictError(409, "Conflict", ""), NotFoundError(404, "NotFound", "")])
async def test_a_job_that_was_changed_meanwhile_is_decided_on_again_at_once(error: Exception) -> None:
    leases, asked = admitting({"a": error})
    await turn(asked)
    assert [lease.uid for lease in leases.held] == ["uid-b"]
    assert asked.granting.is_due("uid-a")


async def test_who_waits_is_told_of_one_that_runs_and_how_many_more_are_in_the_way() -> None:
    _, asked = admitting({})
    for name in ("c", "d", "e"):
        asked.world.job_seen(job_body(name))
    await turn(asked)
    message = asked.world.jobs["uid-e"].status.message or ""
    assert message.startswith("etl/c runs on file:/lake/orders: ")
    assert message.endswith(" (1 more in the way); starts when nothing conflicts with it any more")

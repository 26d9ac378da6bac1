"""What was forgotten, because the API server went back to an earlier state, isn't gone."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.process.fair_queue import FairQueue
from sluice.controller.process.metrics import Metrics
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.process.timers import Timers
from sluice.controller.scheduling.loop import Loop
from unit.controller.bodies import unfenced
from unit.lifecycle.objects import application


class Leader:
    """Leads until its loop has come to its second turn."""

    turns = 0

    def leads(self) -> bool:
        return self.turns < 2


async def nothing() -> None:
    await asyncio.sleep(0)


async def test_no_driver_is_ended_because_its_job_is_not_listed_again_yet() -> None:
    """The watch of applications was faster, and the rebuild failed meanwhile."""
    world, leader = ClusterCache({}), Leader()
    acted: list[str] = []

    async def make_sure() -> None:
        leader.turns += 1
        world.applications.seen(application("RUNNING"))
        for _ in range(10):
            await nothing()

    async def on(_: str, doing: Any) -> None:
        await doing

    async def retire(uid: str) -> None:
        acted.append(uid)

    async def no_releases() -> list[str]:
        return []

    no: Any = SimpleNamespace
    workers = ObjectWorkers(on)
    loop = Loop(
        world=world,
        relist=no(everything=nothing, listed_at=1e12),
        leadership=no(leads=leader.leads, epoch=1),
        epochs=unfenced(),
        leases=no(
            make_sure=make_sure,
            held_by=lambda _: [],
            is_sure=False,
            is_due=True,
            seconds_left=0.0,
            send_releases=no_releases,
        ),
        leftovers=no(retire=retire),
        attempts=no(applications=no(forget_gone=lambda: None)),
        admitting=no(
            consider=lambda _: False,
            holds=lambda _: None,
            seconds_left=lambda: None,
            unread=FairQueue(),
            forget_gone=lambda: None,
        ),
        by_hand=no(heed=nothing),
        revoking=no(heed=nothing),
        names=no(seconds_left=None, close=lambda: None, end_what_nobody_holds=lambda _: False),
        guard=no(forget_gone=lambda: None),
        tables=no(forget_unused=lambda: None),
        surroundings=no(
            tell=lambda _: False,
            obstacle=None,
            obstacle_for=lambda _: None,
            obstacle_of_its_own=lambda _: None,
            serves_all=True,
        ),
        conditions=no(holds=lambda _: None),
        metrics=Metrics(),
        pulse=no(beat=lambda: None, rest=lambda: None),
        timers=Timers(),
        workers=workers,
    )
    workers.serve(loop.step, loop.worker_done)
    world.pods.went_back()
    world.applications.seen(application("RUNNING"))
    await loop.run()
    assert acted == []
    leader.turns, world.returns_heeded = 0, world.returns
    world.mark_all()
    workers = loop.workers = ObjectWorkers(on)
    workers.serve(loop.step, loop.worker_done)
    await loop.run()
    assert acted, "after the rebuild all goes on"

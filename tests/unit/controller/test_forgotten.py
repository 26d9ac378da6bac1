"""What was forgotten, because the API server went back to an earlier state, isn't gone."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sluice.controller.loop import Loop
from sluice.controller.world import World
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
    world, leader, acted = World({}), Leader(), []

    async def make_sure() -> None:
        leader.turns += 1
        world.applications.seen(application("RUNNING"))
        await nothing()

    async def on(_: str, doing: Any) -> None:
        acted.append(doing.__name__)
        doing.close()
        await nothing()

    no: Any = SimpleNamespace
    loop = Loop(
        world=world,
        relist=no(everything=nothing),
        leadership=no(leads=leader.leads),
        leases=no(make_sure=make_sure, held=[], is_sure=False),
        leftovers=no(),
        attempts=no(),
        admitting=no(),
        revoking=no(heed=nothing),
        guard=no(on=on, forget_gone=lambda _: None),
        tables=no(forget_unused=lambda: None),
        conditions=no(holds=lambda _: None),
        metrics=no(lagged=lambda _: None, turned=lambda _: None),
        pulse=no(beat=lambda: None, rest=lambda: None),
    )
    world.pods.went_back()
    world.applications.seen(application("RUNNING"))
    await loop.run()
    assert acted == []
    leader.turns, world.returns_heeded = 0, world.returns
    world.mark_all()
    await loop.run()
    assert acted, "after the rebuild all goes on"

"""A word on a finished job that asks for one more attempt is heeded, whatever it says: as long as it isn't, the job is not over,
and its time to live never ends."""

from types import SimpleNamespace
from typing import Any

import pytest

from sluice.api.names import ANNOTATION_RETRY
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.process.timers import Timers
from sluice.controller.scheduling.loop import Loop
from unit.controller.bodies import job_body


@pytest.mark.parametrize("word", ["1", "", "x" * 1000])
@pytest.mark.parametrize("deleted", [False, True])
async def test_a_word_is_heeded_unless_its_job_is_being_deleted(word: str, *, deleted: bool) -> None:
    world, did = ClusterCache({}), list[str]()
    body = job_body("a") | {"status": {"phase": "Failed", "observedGeneration": 1}}
    body["metadata"]["annotations"] = {ANNOTATION_RETRY: word}
    if deleted:
        body["metadata"]["deletionTimestamp"] = "2026-11-19T10:00:00Z"
    world.job_seen(body)

    async def heed(_: Any, asked: str) -> None:
        did.append(f"heeds {asked}")

    async def retire(_: str) -> None:
        did.append("retires")

    no: Any = SimpleNamespace
    loop = Loop(
        world=world,
        relist=no(),
        leadership=no(leads=lambda: True),
        leases=no(),
        leftovers=no(retire=retire),
        attempts=no(),
        admitting=no(),
        by_hand=no(heed=heed),
        revoking=no(),
        names=no(),
        guard=no(),
        tables=no(),
        conditions=no(),
        metrics=no(),
        pulse=no(),
        timers=Timers(),
        workers=no(),
        surroundings=no(),
        epochs=no(),
    )
    await loop.step("uid-a")
    assert did == (["retires"] if deleted else [f"heeds {word[:100]}"])

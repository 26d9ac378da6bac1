"""A job that takes much of the operator's processor time at once is named."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.scheduling.loop import SLOW_STEP, Loop
from unit.controller.bodies import job_body


@pytest.mark.parametrize("took", [0.5 * SLOW_STEP, 1.5 * SLOW_STEP])
async def test_the_log_names_a_job_that_holds_up_others(
    took: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world, measured, seconds = ClusterCache({}), list[float](), iter([100.0, 100.0 + took])
    world.job_seen(job_body("a"))
    parts: dict[str, Any] = {one.name: SimpleNamespace() for one in fields(Loop) if one.init}
    made = Loop(**parts | {"world": world, "metrics": SimpleNamespace(stepped=measured.append)})
    monkeypatch.setattr("sluice.controller.scheduling.loop.time.thread_time", lambda: next(seconds))
    with made._step("uid-a"):
        pass
    monkeypatch.undo()
    assert measured == [pytest.approx(took)]
    told = ["job etl/a took 0.8 s of processor time at once: other jobs waited meanwhile"]
    assert caplog.messages == (told if took > SLOW_STEP else [])

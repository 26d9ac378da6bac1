"""When an attempt with a deadline is looked at again."""

from types import SimpleNamespace
from typing import Any

import pytest

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.attempts import Attempts
from sluice.controller.process.timers import Timers
from sluice.engines import RuntimeProfile
from unit.controller.bodies import job_body
from unit.lifecycle.objects import NAME, RUNNING, TOKEN, application, pod


async def nothing(*_: Any, **__: Any) -> None: ...


@pytest.mark.parametrize(("limit", "is_looked_at"), [(60, False), (2**31 - 1, True)])
async def test_a_deadline_that_is_over_asks_for_no_look_after_look_while_nobody_knows_who_holds_what(
    limit: int, *, is_looked_at: bool
) -> None:
    """A leader that finds Redis gone has no lease to end an attempt under, until it is back and all are looked at."""
    world, timers = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")}), Timers()
    body = job_body("a")
    body["spec"]["activeDeadlineSeconds"] = limit
    granted = "2026-01-01T00:00:00Z"
    attempt = {"number": 1, "token": TOKEN, "hash": "h", "application": NAME, "grantedAt": granted}
    attempt["startedAt"] = granted
    world.job_seen(body | {"status": {"phase": "Running", "attempts": [attempt]}})
    world.applications.seen(application("RUNNING"))
    world.pods.seen(pod(RUNNING))
    job, no = world.jobs["uid-a"], SimpleNamespace
    assert job.open_attempt is not None
    no_creates = no(of=lambda *_: None)
    leases: Any = no(epoch=0, is_sure=False, lease_of=lambda *_: None, unexplained=())
    others: Any = no(creates=no_creates, write=nothing, tell=nothing, knows=nothing)
    attempts = Attempts(
        world=world,
        leases=leases,
        applications=others,
        leftovers=others,
        statuses=others,
        events=others,
        figures=others,
        tables=others,
        logs=others,
        timers=timers,
    )
    await attempts.drive(job, job.open_attempt)
    left = timers.seconds_left()
    assert (left is not None) == is_looked_at

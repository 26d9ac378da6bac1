"""What it costs to look for whom streams may pause: nothing where none yields, and little where thousands wait for one."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.admission import Holder, Waiter
from sluice.api.job import DeltaWriteJobSpec
from sluice.controller.admitting import Admitting
from sluice.controller.pausing import MOST_EXPLAINED, SHARE
from sluice.footprint import footprint_of
from sluice.footprint.model import JobFootprint
from unit.controller.bodies import job_body
from unit.controller.test_admitting import admitting
from unit.lifecycle.streaming import spec

MANY = 10_000
LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
SQL = "ALTER TABLE delta.`/lake/orders` SET TBLPROPERTIES ('note' = 'x')"


def footprint(given: Any) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec.model_validate(given), LINKING)


def behind_a_stream(yields: str) -> Admitting:
    """An operator of which many jobs wait behind a stream, each of a shape of its own, and change metadata."""
    _, asked = admitting({})
    given = spec()
    given["stream"]["yield"] = yields
    asked.world.job_seen(job_body("s", **given))
    holders = [Holder("uid-s", "etl/s", footprint(given))]
    asked.queue.hold("uid-s", holders)
    asked.pausing.holds("uid-s", holders)
    alters, queued_at = footprint({"sql": SQL}), datetime.now(UTC)
    for number in range(MANY):
        asked.world.job_seen(job_body(f"w{number}", sql=SQL))
        uid, each = f"uid-w{number}", replace(alters, run=f"etl/{number}")
        asked.queue.wait(Waiter(uid, f"etl/w{number}", each, 0, queued_at, queued_at + timedelta(hours=1)))
    while asked.queue.judge(datetime.now(UTC), MANY):
        pass
    return asked


def test_where_no_stream_yields_nobody_is_looked_at_however_many_wait() -> None:
    asked = behind_a_stream("Never")
    asked.pausing.turn(asked.queue)
    assert asked.pausing.explained == 0
    assert asked.pausing.seconds_until_look(asked.queue) is None


def test_behind_a_stream_that_yields_a_few_are_looked_at_and_then_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = behind_a_stream("Metadata")
    began = time.monotonic()
    asked.pausing.turn(asked.queue)
    took = time.monotonic() - began
    assert asked.pausing.explained == MOST_EXPLAINED
    left = asked.pausing.seconds_until_look(asked.queue)
    assert left is not None
    assert left > (SHARE - 2) * took  # so that looking takes no more than a fiftieth of the time
    asked.pausing.turn(asked.queue)
    assert asked.pausing.explained == MOST_EXPLAINED  # nobody is looked at before
    with capsys.disabled():
        print(
            f"\n{MANY} waiters behind a stream: a look takes {took * 1000:.0f} ms, the next one after {left:.1f} s"
        )

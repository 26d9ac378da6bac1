"""A running stream whose spec was changed into one that can't be understood goes on as it was, and stops for nobody."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.controller.scheduling.admission import JobAdmission
from unit.controller.bodies import job_body
from unit.controller.test_admission import Leases, admitting, turn
from unit.lifecycle.objects import application
from unit.lifecycle.streaming import spec

LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
BOTH = "DELETE FROM delta.`/lake/orders` WHERE id = 1; DELETE FROM delta.`/lake/other` WHERE id = 1"


async def streaming(yields: str) -> tuple[Leases, JobAdmission]:
    """The stream `s`, as it was granted by this leader."""
    leases, asked = admitting({})
    given = spec()
    given["stream"]["yield"] = yields
    asked.world.job_seen(job_body("s", **given))
    await turn(asked, "uid-s")
    (lease,) = leases.held_by("uid-s")
    attempt = asked.world.jobs["uid-s"].open_attempt
    assert attempt is not None
    asked.world.applications.seen(application("RUNNING", attempt.application, lease=lease))
    return leases, asked


def changed(asked: JobAdmission, version: int, **given: Any) -> None:
    """Edits the spec of the stream."""
    body = asked.world.jobs["uid-s"].body
    stream: Json = body["spec"]["stream"] | given
    metadata = body["metadata"] | {"generation": version, "resourceVersion": str(version)}
    asked.world.job_seen(body | {"metadata": metadata, "spec": body["spec"] | {"stream": stream}})
    asked.read("uid-s")


def waits(asked: JobAdmission, name: str, sql: str, minutes: int = 0) -> None:
    body = job_body(name, sql=sql)
    queued_at = (LONG_AGO + timedelta(minutes=minutes)).isoformat()
    asked.world.job_seen(body | {"status": {"phase": "Waiting", "queuedAt": queued_at}})


@pytest.mark.parametrize("yields", ["Never", "Aged"])
async def test_who_waits_for_it_stops_nobody_else_and_is_told_what_lets_it_go(yields: str) -> None:
    leases, asked = await streaming(yields)
    changed(asked, 50, query="SELEC nothing")
    waits(asked, "both", BOTH)
    await turn(asked, "uid-both")
    assert asked.world.jobs["uid-both"].phase is Phase.WAITING
    waits(asked, "after", "DELETE FROM delta.`/lake/other` WHERE id = 1", 1)
    await turn(asked, "uid-after")
    assert "uid-after" in leases.asked
    said = asked.pausing.said_to(asked.world.jobs["uid-both"], asked.queue.explain("uid-both"))
    assert said == (
        "; etl/s is a stream that runs for ever, and stops for nobody until its spec is put right, which was changed into one "
        "that can't be understood"
    )


async def test_that_is_known_also_of_an_object_of_which_the_spec_was_not_read_again() -> None:
    _, asked = await streaming("Aged")
    changed(asked, 50, query="SELEC nothing")
    asked.consider("uid-s")
    body = asked.world.jobs["uid-s"].body
    asked.world.job_seen(body | {"metadata": body["metadata"] | {"resourceVersion": "51"}})
    assert not asked.world.jobs["uid-s"].is_read
    (holder,) = asked.holders.of("uid-s")
    assert holder.for_ever == "Never"
    changed(asked, 52, query="SELECT * FROM source WHERE id > 1")  # it stops by itself
    (holder,) = asked.holders.of("uid-s")
    assert holder.for_ever is None

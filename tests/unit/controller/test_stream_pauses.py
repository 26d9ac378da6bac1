"""What it costs to look for whom streams may pause: nothing where none yields, and little where thousands wait for one."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.admission import AdmissionDecision, Holder, Waiter
from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec, Yield
from sluice.api.job_status import Outcome
from sluice.controller.scheduling import holders
from sluice.controller.scheduling.admission import JobAdmission
from sluice.controller.scheduling.stream_pauses import MOST_EXPLAINED, MOST_IN_THE_WAY, SHARE
from sluice.footprint import footprint_of
from sluice.footprint.model import JobFootprint
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.streams import pauses
from unit.controller.bodies import job_body
from unit.controller.test_admission import admitting
from unit.lifecycle.objects import LEASE, RUNNING, application, pod
from unit.lifecycle.streaming import attempt, spec

MANY = 3_000
LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
ADDS = "ALTER TABLE delta.`/lake/orders` ADD COLUMNS (more INT)"
SQL = "ALTER TABLE delta.`/lake/orders` SET TBLPROPERTIES ('note' = 'x')"


def footprint(given: Any) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec.model_validate(given), LINKING)


def behind_a_stream(yields: str, many: int = MANY, *, runs: bool = False) -> JobAdmission:
    """An operator of which many jobs wait behind a stream, each of a shape of its own, and change metadata. `runs`: whether its
    driver does."""
    _, asked = admitting({})
    given = spec()
    given["stream"]["yield"] = yields
    body = job_body("s", **given)
    if runs:
        lease, began = replace(LEASE, uid="uid-s", job="etl/s"), datetime.now(UTC) - timedelta(hours=1)
        intent = attempt(started_at=began).model_dump(mode="json", by_alias=True, exclude_none=True)
        body |= {"status": {"phase": "Running", "attempts": [intent]}}
        asked.world.applications.seen(application("RUNNING", lease=lease))
        asked.world.pods.seen(pod(RUNNING, lease=lease))
    asked.world.job_seen(body)
    held = [Holder("uid-s", "etl/s", footprint(given))]
    asked.queue.hold("uid-s", held)
    asked.pausing.holds("uid-s", held)
    alters, queued_at = footprint({"sql": SQL}), datetime.now(UTC)
    for number in range(many):
        asked.world.job_seen(job_body(f"w{number}", sql=SQL))
        uid, each = f"uid-w{number}", replace(alters, run=f"etl/{number}")
        asked.queue.wait(Waiter(uid, f"etl/w{number}", each, 0, queued_at, queued_at + timedelta(hours=1)))
    while asked.queue.judge(datetime.now(UTC), max(many, 1)):
        pass
    return asked


def test_where_no_stream_yields_nobody_is_looked_at_however_many_wait() -> None:
    asked = behind_a_stream("Never")
    asked.pausing.turn(asked.queue)
    assert asked.pausing.explained == 0
    assert asked.pausing.seconds_until_look() is None


def test_behind_a_stream_that_yields_a_few_are_looked_at_and_then_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = behind_a_stream("Metadata")
    began = time.monotonic()
    asked.pausing.turn(asked.queue)
    took = time.monotonic() - began
    assert asked.pausing.explained == MOST_EXPLAINED
    left = asked.pausing.seconds_until_look()
    assert left is not None
    assert left > (SHARE - 2) * took  # so that looking takes no more than a fiftieth of the time
    asked.pausing.turn(asked.queue)
    assert asked.pausing.explained == MOST_EXPLAINED  # nobody is looked at before
    with capsys.disabled():
        print(
            f"\n{MANY} waiters behind a stream: a look takes {took * 1000:.0f} ms, the next one after {left:.1f} s"
        )


def test_streams_behind_which_nobody_stands_are_looked_at_no_more_until_somebody_may_have_come() -> None:
    asked = behind_a_stream("Metadata", 0)
    asked.pausing.turn(asked.queue)
    assert asked.pausing.seconds_until_look() is None
    asked.world.job_seen(job_body("late", sql=SQL))
    queued_at = datetime.now(UTC)
    late = Waiter(
        "uid-late", "etl/late", footprint({"sql": SQL}), 0, queued_at, queued_at + timedelta(hours=1)
    )
    asked.queue.wait(late)
    asked.queue.judge(datetime.now(UTC))
    asked.pausing.turn(asked.queue)
    assert asked.pausing.explained == 0, "the last look was just now"
    assert asked.pausing.seconds_until_look() is not None, "but the next one is not forgotten"
    asked.pausing._next_at = 0
    asked.pausing.turn(asked.queue)
    assert asked.pausing.explained == 1
    assert asked.pausing.seconds_until_look() is not None, "as long as it stands there"
    asked.queue.leave("uid-late")
    asked.pausing._next_at = 0
    asked.pausing.turn(asked.queue)
    assert asked.pausing.seconds_until_look() is None


async def pauses_for(asked: JobAdmission) -> list[str] | None:
    """For whom the stream is asked to pause, once what was decided is done."""
    async with asked.workers.paused():
        pass
    attempt_now = asked.world.jobs["uid-s"].open_attempt
    assert attempt_now is not None
    return None if attempt_now.pause is None else [one.uid for one in attempt_now.pause.for_]


async def test_a_stream_is_asked_for_those_that_wait_for_it() -> None:
    asked = behind_a_stream("Metadata", 2, runs=True)
    asked.pausing.turn(asked.queue)
    assert await pauses_for(asked) == ["uid-w0", "uid-w1"]


@pytest.mark.parametrize("phase", [None, "Failed", "Suspended", "BackingOff"])
async def test_a_stream_is_asked_for_nobody_who_has_gone_or_waits_no_longer_since_it_was_decided(
    phase: str | None,
) -> None:
    asked = behind_a_stream("Metadata", 1, runs=True)
    asked.pausing.turn(asked.queue)
    if phase is None:
        asked.world.job_gone("uid-w0")
    else:
        asked.world.job_seen(job_body("w0", version=2, sql=SQL) | {"status": {"phase": phase}})
    assert await pauses_for(asked) is None


async def test_where_the_operator_fails_on_one_waiter_streams_pause_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = behind_a_stream("Metadata", 3, runs=True)
    to_ask = pauses.to_ask

    def fails(waiter: Waiter, *given: Any) -> tuple[str, ...]:
        if waiter.uid == "uid-w1":
            raise RuntimeError("boom")
        return to_ask(waiter, *given)

    monkeypatch.setattr(pauses, "to_ask", fails)
    asked.pausing.turn(asked.queue)
    assert await pauses_for(asked) == ["uid-w0", "uid-w2"]


def with_attempt(asked: JobAdmission, version: int, **changed: Any) -> None:
    """Changes the stream's attempt."""
    body = asked.world.jobs["uid-s"].body
    attempts = [body["status"]["attempts"][0] | changed]
    metadata = body["metadata"] | {"resourceVersion": str(version)}
    asked.world.job_seen(body | {"metadata": metadata, "status": body["status"] | {"attempts": attempts}})


async def test_a_clock_that_is_behind_gives_a_stream_no_shorter_turn() -> None:
    asked = behind_a_stream("Metadata", 1, runs=True)
    with_attempt(asked, 2, grantedAt=datetime.now(UTC).isoformat())
    asked.pausing.turn(asked.queue)
    assert await pauses_for(asked) is None


async def test_the_first_that_waits_is_looked_at_each_time_however_many_wait_behind_it() -> None:
    asked = behind_a_stream("Metadata", 200, runs=True)
    with_attempt(asked, 2, startedAt=datetime.now(UTC).isoformat())
    asked.pausing.turn(asked.queue)
    assert await pauses_for(asked) is None, "it is yet to have its turn"
    with_attempt(asked, 3, startedAt=(datetime.now(UTC) - timedelta(hours=1)).isoformat())
    asked.pausing._next_at = 0
    asked.pausing.turn(asked.queue)
    assert "uid-w0" in (await pauses_for(asked) or ())


def reading(number: int) -> Json:
    """A stream that reads the table whose metadata the others change, into one of its own."""
    given = spec(
        source={"format": "delta", "path": "/lake/orders"},
        table={"path": f"/lake/copies/{number}"},
        checkpoint=f"/lake/checkpoints/{number}",
    )
    given["stream"]["yield"] = "Metadata"
    return given


def before_streams(many: int) -> tuple[JobAdmission, JobView]:
    """An operator of which one job that changes metadata waits for many streams."""
    _, asked = admitting({})
    for number in range(many):
        given = reading(number)
        asked.world.job_seen(job_body(f"s{number}", **given))
        asked.queue.hold(f"uid-s{number}", [Holder(f"uid-s{number}", f"etl/s{number}", footprint(given))])
    asked.world.job_seen(job_body("w", sql=ADDS))
    queued_at = datetime.now(UTC)
    asked.queue.wait(Waiter("uid-w", "etl/w", footprint({"sql": ADDS}), 0, queued_at, queued_at))
    while asked.queue.judge(datetime.now(UTC)):
        pass
    return asked, asked.world.jobs["uid-w"]


def worked_out(asked: JobAdmission) -> AdmissionDecision:
    """What shapes are to each other is worked out in several looks."""
    looks = [asked.queue.explain("uid-w", MOST_IN_THE_WAY) for _ in range(6)]
    return looks[-1]


def test_a_job_that_changes_what_two_hundred_streams_read_has_all_of_them_asked() -> None:
    asked, waits = before_streams(200)
    decision = worked_out(asked)
    streams = {
        one.by.uid: pauses.RunningStream(one.by.uid, Yield.METADATA, one.by.footprint, had_its_turn=True)
        for one in decision.blocked_by
    }
    assert len(pauses.to_ask(decision.waiter, decision, streams, datetime.now(UTC))) == 200
    assert asked.pausing.said_to(waits, decision) == ""


def test_who_waits_for_more_streams_than_are_asked_is_told_that() -> None:
    asked, waits = before_streams(MOST_IN_THE_WAY + 1)
    said = asked.pausing.said_to(waits, worked_out(asked))
    assert "only for a job that waits for at most 256 of them" in said


@pytest.mark.parametrize("failure", [None, RuntimeError("boom")])
def test_a_stream_at_rest_on_which_the_operator_fails_keeps_nobody_from_anything(
    failure: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, asked = admitting({})
    ended = attempt(outcome=Outcome.PAUSED).model_dump(mode="json", by_alias=True, exclude_none=True)
    asked.world.job_seen(job_body("s", **spec()) | {"status": {"phase": "Paused", "attempts": [ended]}})
    assert asked.holders.of("uid-s") == ()
    assert asked.holders.to_read == {"uid-s"}, "its spec has to be read first"
    assert asked.world.jobs["uid-s"].footprint_from_spec is not None
    if failure is not None:

        def fails(_: JobView) -> Holder | None:
            raise failure

        monkeypatch.setattr(holders, "holder_at_rest", fails)
    assert [one.at_rest for one in asked.holders.of("uid-s")] == ([True] if failure is None else [])
    assert not asked.holders.frozen
    assert not asked.holders.to_read

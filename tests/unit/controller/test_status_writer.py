"""What follows from a transition is told once, whoever writes it."""

from datetime import UTC, datetime, timedelta
from re import fullmatch
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Outcome, PauseReason, Phase
from sluice.api.reasons import Reason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.engines import RuntimeProfile
from sluice.lifecycle.job.status import StatusChange
from unit.controller.bodies import job_body, merged
from unit.lifecycle.streaming import attempt, spec

LONG_AGO = datetime.now(UTC) - timedelta(minutes=5)


class Writing:
    """A stream that pauses, and a writer of its status; the API server and the Events are played."""

    def __init__(self) -> None:
        self.world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
        self.told: list[str] = []
        self.writes, self.dropped = 0, frozenset[str]()
        """How often a status was written, and the fields that the API server drops."""
        given: Any = self
        self._writer = StatusWriter(given, self.world, given, given)
        ended = attempt(outcome=Outcome.PAUSED, ended_at=LONG_AGO)
        self.world.job_seen(
            job_body("s", **spec())
            | {
                "status": {
                    "phase": "Paused",
                    "since": LONG_AGO.isoformat(),
                    "reason": Reason.YIELDED.value,
                    "attempts": [ended.model_dump(mode="json", by_alias=True, exclude_none=True)],
                    "pause": {"reason": PauseReason.YIELDS.value, "since": LONG_AGO.isoformat()},
                }
            }
        )

    epoch = 1

    async def patch(self, *given: Any, sub: str) -> Json:
        _, _, _, body = given
        before = self.world.jobs["uid-s"].body
        version = int(before["metadata"]["resourceVersion"]) + 1
        metadata = before["metadata"] | {"resourceVersion": str(version)}
        self.writes += 1
        kept = {name: value for name, value in body[sub].items() if name not in self.dropped}
        return before | {"metadata": metadata, sub: merged(before[sub], kept)}

    async def tell(self, _: Any, reason: str, message: str) -> None:
        self.told.append(f"{reason}: {message}")

    async def says(self, phase: Phase, reason: Reason = Reason.BLOCKED, more: str = "") -> None:
        await self._writer.write(self.world.jobs["uid-s"], StatusChange(phase, reason, f"{phase}{more}"))


@pytest.mark.parametrize("first", list(Phase))
async def test_that_a_pause_is_over_is_told_once_however_the_stream_goes_on(first: Phase) -> None:
    job = Writing()
    await job.says(first, Reason.EARLIER_ATTEMPT)
    for phase in (Phase.PENDING, Phase.WAITING, Phase.PENDING, Phase.WAITING, Phase.STARTING):
        await job.says(phase, Reason.HOLDER_UNREADABLE)
    goes_on = first in (Phase.PAUSED, Phase.PENDING, Phase.WAITING, Phase.STARTING)
    then = "it goes on" if first is Phase.STARTING else "it queues again"
    said = f"Resumed: its pause is over after [0-9]+.[0-9] s: {then}"
    assert len(job.told) == goes_on
    assert all(fullmatch(said, one) for one in job.told)


async def test_what_is_kept_is_written_again_at_once_also_by_the_next_leader() -> None:
    writing = Writing()
    for epoch in (1, 2, 2):
        writing.epoch = epoch
        await writing.says(Phase.PENDING, more=f" {writing.writes}")
    assert writing.writes == 3


async def test_what_a_definition_of_another_version_drops_is_written_again_ever_more_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where what is dropped is told by another moment each time, each answer would be followed by another write."""
    now = Now()
    monkeypatch.setattr("sluice.controller.reporting.status_writer.time", now)
    writing = Writing()
    writing.dropped, counted = frozenset({"message"}), list[int]()
    for seconds in (0, 1, 2, 3, 2, 8):
        now.at += seconds
        for look in range(10):
            await writing.says(Phase.PENDING, more=f" {now.at} {look}")
        counted.append(writing.writes)
    assert counted == [1, 1, 2, 2, 3, 4]
    await writing.says(Phase.WAITING)
    assert writing.writes == 5, "another phase is written at once"
    writing.dropped = frozenset()
    now.at += 100
    for look in range(3):
        await writing.says(Phase.WAITING, more=f" {look}")
    assert writing.writes == 8, "nothing is dropped any more"


class Now:
    at = 0.0

    def monotonic(self) -> float:
        return self.at

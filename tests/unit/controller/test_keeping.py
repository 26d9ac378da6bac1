"""How long a Lease is kept: by a clock that is given, and by the turns of the loop that acts. The API server is played."""

import asyncio
import logging
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.controller.leadership import election as module
from sluice.controller.leadership.election import (
    DURATION,
    GIVE_UP_AFTER,
    HANGS_AFTER,
    Election,
    LostLeadershipError,
)
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.uptime import uptime
from sluice.kube.client import ApiError, ConflictError


class Played:
    """A process, its clocks, and an API server with one Lease object."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.turns = 0
        self.hangs = False
        self.answers_after = 0.0
        self.refuses: list[float] = []
        self.renewed: list[float] = []
        self.led: list[bool] = []
        """Whether it led at each answer."""
        self.ends_at = float("inf")
        self.stored: Json = {
            "metadata": {"name": "sluice-leader", "namespace": "sluice", "resourceVersion": "1"},
            "spec": {},
        }
        kube: Any = self
        self.leadership = Election(
            kube, OperatorConditions(), "sluice", "sluice", turns=self._turns, now=lambda: self.now
        )

    def _turns(self) -> int:
        self.turns += not self.hangs
        return self.turns

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.ends_at:
            raise asyncio.CancelledError

    async def keep(self, seconds: float) -> None:
        """Keeps the leadership for so long, or until it gives up."""
        self.ends_at = self.now + seconds
        keeping = asyncio.create_task(self.leadership.keep())
        await asyncio.wait([keeping])

    async def acquire(self) -> Election:
        """Another process that waits for the lead, and the one that it is once it has it."""
        self.ends_at = float("inf")
        kube: Any = self
        waiting = Election(
            kube, OperatorConditions(), "sluice", "sluice", turns=self._turns, now=lambda: self.now
        )
        await waiting.acquire()
        return waiting

    async def get(self, *_: Any) -> Json:
        self.now += self.answers_after
        return self.stored

    async def replace(self, _: Any, __: str, ___: str, body: Json) -> Json:
        version = self.stored["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != version:
            raise ConflictError(409, "Conflict", "it is another one now")
        if self.refuses and self.refuses[0] <= self.now:
            self.refuses.pop(0)
            raise ApiError(429, "TooManyRequests", "later")
        self.renewed.append(self.now)
        self.now += self.answers_after
        self.led.append(self.leadership.leads())
        self.stored = body | {"metadata": body["metadata"] | {"resourceVersion": str(int(version) + 1)}}
        return self.stored

    def longest_gap(self) -> float:
        return max(after - before for before, after in zip(self.renewed, self.renewed[1:], strict=False))


@pytest.fixture
async def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    found = Played()
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=found.sleep))
    await found.leadership.acquire()
    found.led.clear()
    return found


async def test_whose_loop_turns_renews_for_ever(played: Played) -> None:
    await played.keep(600)
    assert played.now >= played.ends_at
    assert played.longest_gap() < GIVE_UP_AFTER / 2
    assert all(played.led)


async def test_whose_loop_is_busy_for_less_than_it_may_keeps_its_lease(played: Played) -> None:
    played.hangs = True
    await played.keep(HANGS_AFTER - 0.5)
    played.hangs = False
    assert len(played.renewed) > 1


async def test_whose_loop_hangs_renews_no_more_and_says_so_once(
    played: Played, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    played.hangs, hangs_from = True, played.now
    await played.keep(600)
    assert played.now < played.ends_at
    assert played.renewed[-1] <= hangs_from + HANGS_AFTER
    assert not played.leadership.leads()
    assert played.stored["spec"]["holderIdentity"] == played.leadership.identity
    assert [line.message for line in caplog.records if "has not turned for 5 s" in line.message] == [
        "leadership is lost: the acting loop has not turned for 5 s; the Lease sluice/sluice-leader is no longer renewed"
    ]


async def test_whose_process_was_stopped_for_less_than_it_may_does_not_hang(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stopped_for_six_seconds(_: float) -> None:
        monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=played.sleep))
        played.now += 6

    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=stopped_for_six_seconds))
    await played.keep(60)
    assert played.now >= played.ends_at
    assert all(played.led)


async def test_who_wakes_from_a_suspend_leads_no_more_before_it_does_anything(played: Played) -> None:
    played.now += DURATION
    assert not played.leadership.leads()
    with_whom = list(played.renewed)
    await played.keep(60)
    assert played.renewed == with_whom


async def test_answers_that_take_three_seconds_cost_nobody_the_lead(played: Played) -> None:
    played.answers_after = 3.0
    await played.keep(600)
    assert played.now >= played.ends_at
    assert len(played.led) > 100
    assert all(played.led)


@pytest.mark.parametrize("answers_after", [4.0, 5.0, 9.0, 14.0])
async def test_answers_that_take_longer_cost_the_lead_once(played: Played, answers_after: float) -> None:
    played.answers_after = answers_after
    await played.keep(600)
    assert not played.leadership.leads()
    played.ends_at = float("inf")
    await played.leadership.acquire()
    played.led.clear()
    await played.keep(1200)
    assert played.now >= played.ends_at
    assert len(played.led) > 50
    assert all(played.led)


async def test_a_lease_is_as_long_as_it_says_while_somebody_holds_it(played: Played) -> None:
    played.answers_after = 5.0
    await played.keep(600)
    played.ends_at = float("inf")
    await played.leadership.acquire()
    played.answers_after = 0.0
    await played.keep(60)
    assert played.stored["spec"]["leaseDurationSeconds"] == 20
    began = played.now
    assert (await played.acquire()).leads()
    assert began + 20 < played.renewed[-1] <= began + 21
    assert played.stored["spec"]["leaseDurationSeconds"] == 10


async def test_a_shorter_time_that_somebody_writes_over_the_holders_is_not_believed(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    played.stored["spec"] |= {"holderIdentity": "another", "leaseDurationSeconds": 40}
    began, sleep = played.now, played.sleep

    async def edited_meanwhile(seconds: float) -> None:
        monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=sleep))
        played.now += 5
        played.stored["spec"]["leaseDurationSeconds"] = 10
        played.stored["metadata"]["resourceVersion"] = "77"

    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=edited_meanwhile))
    await played.leadership.acquire()
    assert began + 45 < played.renewed[-1] <= began + 46


@pytest.mark.parametrize(("written", "waited"), [(1, 10), (10_000, 60), (None, 60), ("15", 60)])
async def test_whatever_somebody_writes_into_a_lease_it_is_over_one_day(
    played: Played, written: object, waited: float
) -> None:
    played.stored["spec"] = {"holderIdentity": "another", "leaseDurationSeconds": written}
    began = played.now
    await played.leadership.acquire()
    assert began + waited < played.renewed[-1] <= began + waited + 1


async def test_a_renewal_that_is_refused_is_tried_again_before_it_is_too_late(played: Played) -> None:
    played.refuses = [played.now, played.now, played.now]
    await played.keep(600)
    assert played.now >= played.ends_at
    assert played.refuses == []


async def test_what_is_written_while_the_lead_is_lost_does_not_bring_it_back(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = played.replace

    async def hangs_meanwhile(*of: Any) -> Json:
        monkeypatch.setattr(played, "replace", replace)
        played.hangs = True
        answer = await replace(*of)
        await played.keep(60)
        return answer

    monkeypatch.setattr(played, "replace", hangs_meanwhile)
    with pytest.raises(LostLeadershipError):
        await played.leadership.raise_epoch(0)
    assert not played.leadership.leads()


async def test_anothers_lease_is_over_when_it_was_seen_unchanged_for_its_whole_duration(
    played: Played,
) -> None:
    played.stored["spec"] |= {"holderIdentity": "another", "leaseDurationSeconds": int(DURATION)}
    began = played.now
    await played.leadership.acquire()
    assert began + DURATION < played.renewed[-1] <= began + DURATION + 1


@pytest.mark.skipif(sys.platform != "linux", reason="the clock is Linux's")
def test_suspended_time_counts() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= uptime() <= time.clock_gettime(time.CLOCK_BOOTTIME)

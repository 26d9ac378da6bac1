"""A job that can wait leaves others ahead of it for as long as it says, and nobody is passed by it who has waited longer since."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.admission import Holder, Waiter, decide
from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import footprint_of
from sluice.lifecycle.spec.yield_time import counts_from, yields_for

NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
AGE = timedelta(minutes=2)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
YIELDS = {"sluice.dev/age-after": "1h"}
REWRITE = footprint_of(DeltaWriteJobSpec(sql="DELETE FROM delta.`/a`"), {})


def waiter(uid: str, queued_at: datetime, annotations: Any = None, priority: int = 0) -> Waiter:
    since = counts_from(queued_at, AGE, annotations)
    return Waiter(uid, f"etl/{uid}", REWRITE, priority, since, since + AGE)


def first(waiters: list[Waiter], now: datetime) -> str:
    [granted] = [one.waiter.uid for one in decide(waiters, (), now, {}) if one.granted]
    return granted


NO_DURATIONS = ("", "soon", "1d", "1h\n", "-1h", "1" * 40 + "h", 3600, None)


@pytest.mark.parametrize(
    "annotations", [None, {}, [], *({"sluice.dev/age-after": said} for said in NO_DURATIONS)]
)
def test_what_is_no_duration_yields_for_no_time(annotations: Any) -> None:
    assert yields_for(annotations) == timedelta()
    assert counts_from(NOON, AGE, annotations) == NOON


def test_no_job_ages_sooner_by_its_own_word() -> None:
    assert counts_from(NOON, AGE, {"sluice.dev/age-after": "1s"}) == NOON
    assert counts_from(NOON, AGE, YIELDS) + AGE == NOON + HOUR


def test_all_others_go_ahead_until_its_time_has_come() -> None:
    yields = waiter("maintenance", NOON, YIELDS, priority=-1000)
    for waited in (MINUTE, 10 * MINUTE, HOUR - MINUTE):
        assert first([yields, waiter("new", NOON + waited)], NOON + waited) == "new"
    late = NOON + HOUR
    assert first([yields, waiter("new", late - MINUTE, priority=1000)], late) == "maintenance"


def test_from_then_on_nothing_that_conflicts_with_it_overtakes_it() -> None:
    yields, holder = waiter("maintenance", NOON, YIELDS, priority=-1000), Holder("h", "etl/h", REWRITE)
    late = NOON + HOUR
    [_, behind] = decide([yields, waiter("new", late)], [holder], late, {})
    assert [one.by.uid for one in behind.blocked_by] == ["h", "maintenance"]


def test_it_passes_none_that_waits_for_longer_than_it_takes_to_age() -> None:
    yields = waiter("maintenance", NOON, YIELDS, priority=-1000)
    others = [waiter("aged", NOON + HOUR - 3 * MINUTE, priority=-5)]
    assert first([yields, *others], NOON + HOUR) == "aged"


def test_with_nobody_in_its_way_it_goes_at_once() -> None:
    assert first([waiter("maintenance", NOON, YIELDS, priority=-1000)], NOON) == "maintenance"

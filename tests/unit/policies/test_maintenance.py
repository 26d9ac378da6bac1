"""Maintenance is due once at a time, whatever clocks and leaders do, and its finished jobs are cleared away."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.api.job_status import Phase
from sluice.policies.cron import Schedule
from sluice.policies.maintenance import (
    Decided,
    KnownMaintenance,
    MaintenanceJob,
    MaintenanceKind,
    MaintenanceSpec,
    NextRun,
    name_by_hand,
    name_of,
    planned,
)

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
THREE = datetime(2026, 11, 19, 3, tzinfo=UTC)
NIGHTLY = MaintenanceSpec(MaintenanceKind.OPTIMIZE, Schedule.parse("0 3 * * *", "UTC"))
ORDERS = KnownMaintenance("orders", "uid-1", decided=Decided(THREE - DAY, NIGHTLY.spelled))


def job(
    at: datetime, phase: Phase | None = Phase.SUCCEEDED, *, by_hand: bool = False, name: str = ""
) -> MaintenanceJob:
    return MaintenanceJob(
        name or name_of("orders", "uid-1", MaintenanceKind.OPTIMIZE, at), at, phase, by_hand
    )


def test_the_latest_run_is_due_and_is_kept_as_decided() -> None:
    plan = planned(NIGHTLY, ORDERS, NOON)
    assert plan.run is not None
    assert (plan.run.at, plan.run.by_hand) == (THREE, False)
    assert plan.decided == Decided(THREE, NIGHTLY.spelled)
    assert (plan.told, plan.goes, plan.look_again) == ((), (), THREE + DAY)


def test_what_is_decided_is_not_due_again() -> None:
    assert planned(NIGHTLY, replace(ORDERS, decided=Decided(THREE, NIGHTLY.spelled)), NOON) == NextRun(
        look_again=THREE + DAY
    )


def test_a_job_tells_of_its_run_where_a_leader_died_before_that_was_kept() -> None:
    assert planned(NIGHTLY, replace(ORDERS, jobs=(job(THREE),)), NOON).run is None
    assert planned(NIGHTLY, replace(ORDERS, decided=None, jobs=(job(THREE),)), NOON).run is None


def test_two_leaders_give_a_run_one_name_and_other_runs_other_ones() -> None:
    longest = "a.table" * 36
    names = {
        name_of(policy, uid, kind, at)
        for policy in ("orders", longest)
        for uid in ("uid-1", "uid-2")
        for kind in MaintenanceKind
        for at in (THREE, THREE + MINUTE)
    }
    names |= {
        name_by_hand("orders", "uid-1", kind, word)
        for kind in MaintenanceKind
        for word in ("optimize", "optimize.2")
    }
    assert len(names) == 20
    for name in names:
        assert len(name) <= 63
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)
    assert name_of("orders", "uid-1", MaintenanceKind.VACUUM, THREE).startswith("orders-vacuum-")


@pytest.mark.parametrize(
    ("decided", "told"),
    [
        (THREE - DAY, ()),
        (THREE - 2 * DAY, ("one run before it was missed",)),
        (THREE - 8 * DAY, ("7 runs before it were missed, which are not made up for one by one",)),
        (
            THREE - 900 * DAY,
            ("more than 100 runs before it were missed, which are not made up for one by one",),
        ),
    ],
)
def test_missed_runs_are_counted_and_one_does_for_all(decided: datetime, told: tuple[str, ...]) -> None:
    plan = planned(NIGHTLY, replace(ORDERS, decided=Decided(decided, NIGHTLY.spelled)), NOON)
    assert plan.run is not None
    assert (plan.run.at, plan.told) == (THREE, told)


def test_what_could_not_start_in_time_is_told_once_and_passed_over() -> None:
    wanted = replace(NIGHTLY, starting_deadline=2 * HOUR)
    plan = planned(wanted, replace(ORDERS, decided=Decided(THREE - 2 * DAY, wanted.spelled)), NOON)
    assert plan.run is None
    assert plan.told == (
        "the optimize of 2026-11-19 03:00 UTC could not be started within 2:00:00, and is passed over",
        "one run before it was missed",
    )
    assert planned(wanted, replace(ORDERS, decided=plan.decided), NOON).told == ()
    assert planned(wanted, ORDERS, THREE + 2 * HOUR).run is not None


def test_a_run_waits_for_the_one_before_it_and_is_made_then() -> None:
    busy = replace(ORDERS, jobs=(job(THREE - DAY, Phase.RUNNING),))
    waiting = planned(NIGHTLY, busy, NOON)
    assert (waiting.run, waiting.decided) == (None, None)
    assert waiting.told == (
        f"the optimize of 2026-11-19 03:00 UTC waits until {busy.jobs[0].name} has ended",
    )
    ended = planned(NIGHTLY, replace(ORDERS, jobs=(job(THREE - DAY, Phase.FAILED),)), NOON)
    assert ended.run is not None
    not_yet_judged = planned(NIGHTLY, replace(ORDERS, jobs=(job(THREE - DAY, None),)), NOON)
    assert not_yet_judged.run is None


def test_a_new_schedule_begins_now_and_not_with_what_it_would_have_had_before() -> None:
    for known in (
        KnownMaintenance("orders", "uid-1"),
        replace(ORDERS, decided=Decided(THREE - DAY, "0 1 * * * UTC")),
    ):
        plan = planned(NIGHTLY, known, NOON)
        assert plan == NextRun(decided=Decided(NOON, NIGHTLY.spelled), look_again=THREE + DAY)


def test_a_schedule_as_old_as_its_policy_has_missed_what_passed_before_anybody_looked() -> None:
    plan = planned(NIGHTLY, KnownMaintenance("orders", "uid-1", since=THREE - HOUR), NOON)
    assert plan.run is not None
    assert planned(NIGHTLY, KnownMaintenance("orders", "uid-1", since=THREE), NOON).run is None


def test_what_passed_while_it_was_suspended_is_not_made_up_for() -> None:
    suspended = replace(NIGHTLY, suspend=True)
    for known in (
        ORDERS,
        KnownMaintenance("orders", "uid-1", since=THREE - HOUR),
        KnownMaintenance("orders", "uid-1"),
    ):
        plan = planned(suspended, known, NOON)
        assert plan == NextRun(decided=Decided(NOON, suspended.spelled))
        later = replace(known, decided=plan.decided)
        assert planned(suspended, later, NOON + 3 * DAY) == NextRun()
        resumed = planned(NIGHTLY, later, NOON + 3 * DAY)
        assert (resumed.run, resumed.look_again) == (None, THREE + 4 * DAY)


def test_what_somebody_asks_for_is_made_now_and_once_even_while_it_is_suspended() -> None:
    for wanted in (NIGHTLY, replace(NIGHTLY, suspend=True)):
        known = replace(ORDERS, decided=Decided(THREE, wanted.spelled), asked="optimize.2")
        plan = planned(wanted, known, NOON)
        assert plan.run is not None
        assert (plan.run.at, plan.run.by_hand, plan.heeded, plan.decided) == (NOON, True, True, None)
        made = job(NOON, None, by_hand=True, name=plan.run.name)
        again = planned(wanted, replace(known, jobs=(made,)), NOON + MINUTE)
        assert (again.run, again.heeded) == (None, True)


def test_what_somebody_asks_for_waits_for_a_run_and_goes_before_the_next() -> None:
    busy = replace(ORDERS, jobs=(job(THREE - DAY, Phase.RUNNING),), asked="optimize")
    waiting = planned(NIGHTLY, busy, THREE - HOUR)
    assert (waiting.run, waiting.heeded) == (None, False)
    assert waiting.told == (
        f"the optimize that was asked for (optimize) waits until {busy.jobs[0].name} has ended",
    )
    plan = planned(NIGHTLY, replace(ORDERS, asked="optimize"), NOON)
    assert plan.run is not None
    assert (plan.run.by_hand, plan.decided) == (True, None)
    made = job(NOON, Phase.SUCCEEDED, by_hand=True, name=plan.run.name)
    assert planned(NIGHTLY, replace(ORDERS, jobs=(made,)), NOON).run is not None


def test_the_newest_finished_jobs_stay_and_those_that_run() -> None:
    jobs = (
        *(job(THREE - n * DAY) for n in range(1, 6)),
        *(job(THREE - n * DAY, Phase.FAILED) for n in range(6, 9)),
        job(THREE - 9 * DAY, Phase.SKIPPED),
        job(THREE - 10 * DAY, Phase.RUNNING),
    )
    gone = planned(NIGHTLY, replace(ORDERS, jobs=jobs), NOON).goes
    assert set(gone) == {job(THREE - n * DAY).name for n in (4, 5, 7, 8, 9)}
    kept = replace(NIGHTLY, kept_succeeded=0, kept_failed=0)
    assert len(planned(kept, replace(ORDERS, jobs=jobs), NOON).goes) == 9


def test_a_job_stays_until_its_run_is_kept_as_decided() -> None:
    none = replace(NIGHTLY, kept_succeeded=0)
    assert planned(none, replace(ORDERS, jobs=(job(THREE),)), NOON).goes == ()
    assert planned(none, replace(ORDERS, decided=None, jobs=(job(THREE),)), NOON).goes == ()
    asked = job(
        NOON, by_hand=True, name=name_by_hand("orders", "uid-1", MaintenanceKind.OPTIMIZE, "optimize")
    )
    assert planned(none, replace(ORDERS, jobs=(asked,), asked="optimize"), NOON).goes == ()
    assert planned(none, replace(ORDERS, jobs=(asked,)), NOON).goes == (asked.name,)


def test_a_clock_that_was_years_ahead_neither_stops_a_schedule_nor_lets_loose_what_it_passed() -> None:
    ahead = planned(NIGHTLY, ORDERS, NOON + 9000 * DAY)
    assert ahead.run is not None
    back = replace(ORDERS, decided=ahead.decided, jobs=(job(THREE - 3 * DAY),))
    plan = planned(NIGHTLY, back, NOON)
    assert (plan.run, plan.decided, plan.look_again) == (None, Decided(NOON, NIGHTLY.spelled), THREE + DAY)
    assert plan.told == (
        "the last optimize is said to be of 2051-07-11 03:00 UTC, which is still to come: a clock was wrong, and runs count from "
        "now on",
    )
    assert planned(NIGHTLY, replace(back, decided=plan.decided), THREE + DAY).run is not None


def test_a_clock_that_is_put_back_a_little_is_waited_for() -> None:
    known = replace(ORDERS, decided=Decided(THREE, NIGHTLY.spelled))
    for hours in range(1, 12):
        assert planned(NIGHTLY, known, THREE - hours * HOUR) == NextRun(look_again=THREE + DAY)
    assert planned(NIGHTLY, known, THREE).run is None


def test_a_schedule_that_never_comes_is_never_due() -> None:
    never = replace(NIGHTLY, schedule=Schedule.parse("0 0 30 2 *", "UTC"))
    assert planned(never, KnownMaintenance("orders", "uid-1", since=THREE - 900 * DAY), NOON) == NextRun()


_steps = st.one_of(
    st.tuples(st.just("passes"), st.integers(1, 3 * 24 * 60)),
    st.tuples(st.just("clock"), st.integers(-2 * 24 * 60, 2 * 24 * 60)),
    st.tuples(st.just("clock"), st.sampled_from((-5, 5, 30)).map(lambda years: years * 365 * 24 * 60)),
    st.tuples(st.just("ends"), st.sampled_from((0, 1))),
    st.tuples(st.just("dies"), st.just(0)),
    st.tuples(st.just("suspend"), st.sampled_from((0, 1))),
    st.tuples(st.just("asks"), st.integers(1, 3)),
)


@given(
    st.sampled_from(("0 3 * * *", "*/20 * * * *", "30 2 * * SUN", "0 0 1 * *")),
    st.sampled_from(("UTC", "America/St_Johns", "Africa/Cairo")),
    st.lists(_steps, max_size=20),
)
@settings(max_examples=40, deadline=None)
def test_nothing_that_clocks_and_leaders_do_makes_a_storm_or_stops_a_schedule(
    text: str, zone: str, steps: list[tuple[str, int]]
) -> None:
    wanted = MaintenanceSpec(MaintenanceKind.OPTIMIZE, Schedule.parse(text, zone), starting_deadline=None)
    known, now = KnownMaintenance("orders", "uid-1", since=NOON), NOON
    for what, value in [*steps, ("ends", 1), ("suspend", 0), ("passes", 1)]:
        dies = what == "dies"
        match what:
            case "passes" | "clock":
                now = now + value * MINUTE
            case "ends":
                ended = (Phase.FAILED, Phase.SUCCEEDED)[value]
                known = replace(known, jobs=tuple(replace(job, phase=ended) for job in known.jobs))
            case "suspend":
                wanted = replace(wanted, suspend=bool(value))
            case "asks":
                known = replace(known, asked=f"optimize.{value}")
        plan = planned(wanted, known, now)
        busy = any(not job.is_finished for job in known.jobs)
        if plan.run is not None:
            assert not busy
            assert plan.run.name not in {job.name for job in known.jobs}
            assert plan.run.by_hand or plan.run.at == wanted.schedule.last_before_or_at(now)
            made = MaintenanceJob(plan.run.name, plan.run.at, None, plan.run.by_hand)
            known = replace(known, jobs=(*known.jobs, made))
        assert not {job.name for job in known.jobs if not job.is_finished} & set(plan.goes)
        if not dies:
            known = replace(
                known,
                decided=plan.decided or known.decided,
                asked=None if plan.heeded else known.asked,
                jobs=tuple(job for job in known.jobs if job.name not in plan.goes),
            )
        again = planned(wanted, known, now)
        if plan.run is not None:
            assert again.run is None
            assert dies or again.decided is None
    # With a clock that goes on, the next run comes when the schedule has it.
    known = replace(known, jobs=tuple(replace(job, phase=Phase.SUCCEEDED) for job in known.jobs), asked=None)
    until = now + 70 * DAY
    while now < until:
        plan = planned(wanted, known, now)
        if plan.run is not None:
            break
        known = replace(known, decided=plan.decided or known.decided)
        assert plan.look_again is not None
        assert plan.look_again > now
        now = plan.look_again
    assert now < until


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_a_decision_of_the_end_of_time_is_told_in_each_zone(zone: str) -> None:
    wanted = MaintenanceSpec(MaintenanceKind.OPTIMIZE, Schedule.parse("0 3 * * *", zone))
    end = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    plan = planned(wanted, replace(ORDERS, decided=Decided(end, wanted.spelled)), NOON)
    assert plan.decided == Decided(NOON, wanted.spelled)
    assert plan.told

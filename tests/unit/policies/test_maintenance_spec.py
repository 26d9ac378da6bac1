"""What a policy wants of its maintenance, and what of it can't be, is told before anything is due."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.maintenance import MaintenancePlan
from sluice.policies.maintenance import MaintenanceKind, MaintenanceRun
from sluice.policies.maintenance_spec import MOST_YIELDED, MaintenanceSpecs, upkeeps_of, yields_for

THREE = datetime(2026, 11, 19, 3, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def upkeeps(**kinds: dict[str, Any]) -> MaintenanceSpecs:
    return upkeeps_of(MaintenancePlan.model_validate(kinds))


def test_a_policy_without_maintenance_wants_none() -> None:
    assert upkeeps_of(None) == upkeeps() == MaintenanceSpecs()


def test_all_that_the_spec_says_counts() -> None:
    found = upkeeps(
        optimize={"schedule": "@daily"},
        vacuum={
            "schedule": "0 4 * * SUN",
            "timeZone": "Europe/Berlin",
            "suspend": True,
            "startingDeadline": "90m",
            "successfulJobsHistoryLimit": 0,
            "failedJobsHistoryLimit": 7,
        },
    )
    assert found.problems == ()
    optimize, vacuum = found.by_kind[MaintenanceKind.OPTIMIZE], found.by_kind[MaintenanceKind.VACUUM]
    assert (optimize.suspend, optimize.starting_deadline) == (False, None)
    assert (optimize.kept_succeeded, optimize.kept_failed) == (3, 1)
    assert (vacuum.suspend, vacuum.starting_deadline) == (True, 90 * MINUTE)
    assert (vacuum.kept_succeeded, vacuum.kept_failed) == (0, 7)
    assert vacuum.schedule.zone.key == "Europe/Berlin"


@pytest.mark.parametrize(
    ("optimize", "place", "why"),
    [
        ({"schedule": "0 3 30 2 *"}, "spec.maintenance.optimize: ", "never runs"),
        ({"schedule": "0 9-3 * * *"}, "spec.maintenance.optimize: ", "'9-3' ends before it begins"),
        (
            {"schedule": "@daily", "timeZone": "Europe/Berln"},
            "spec.maintenance.optimize: ",
            "did you mean Europe/Berlin?",
        ),
        ({"schedule": "@daily", "timeZone": "localtime"}, "spec.maintenance.optimize: ", "no time zone"),
        (
            {"schedule": "@daily", "where": "date < :yesterday"},
            "spec.maintenance.optimize.where",
            "no parameter :yesterday",
        ),
    ],
)
def test_what_the_schema_lets_through_and_no_run_could_do_is_a_problem_of_its_kind_alone(
    optimize: dict[str, Any], place: str, why: str
) -> None:
    found = upkeeps(optimize=optimize, vacuum={"schedule": "@weekly"})
    [problem] = found.problems
    assert problem.startswith(place)
    assert why in problem
    assert list(found.by_kind) == [MaintenanceKind.VACUUM]


@pytest.mark.parametrize("kind", MaintenanceKind)
def test_a_job_lets_others_go_first_until_it_must_begin_or_the_next_run_is_due(kind: MaintenanceKind) -> None:
    often = upkeeps(**{kind: {"schedule": "*/20 * * * *"}}).by_kind[kind]
    run = MaintenanceRun("a", THREE)
    assert yields_for(often, run, THREE + MINUTE, None) == 19 * MINUTE
    assert yields_for(often, run, THREE + HOUR, None) == timedelta()
    soon = upkeeps(**{kind: {"schedule": "@daily", "startingDeadline": "10m"}}).by_kind[kind]
    assert yields_for(soon, run, THREE + MINUTE, None) == 9 * MINUTE
    seldom = upkeeps(**{kind: {"schedule": "@monthly"}}).by_kind[kind]
    assert yields_for(seldom, run, THREE, None) == MOST_YIELDED[kind]


def test_a_job_has_its_turn_long_before_it_times_out() -> None:
    weekly = upkeeps(optimize={"schedule": "@weekly"}).by_kind[MaintenanceKind.OPTIMIZE]
    run = MaintenanceRun("a", THREE)
    assert yields_for(weekly, run, THREE, 4 * HOUR) == 2 * HOUR
    assert yields_for(weekly, run, THREE, timedelta(days=30)) == MOST_YIELDED[MaintenanceKind.OPTIMIZE]


def test_what_somebody_asked_for_is_as_urgent_as_any_other_job() -> None:
    daily = upkeeps(optimize={"schedule": "@daily"}).by_kind[MaintenanceKind.OPTIMIZE]
    assert yields_for(daily, MaintenanceRun("a", THREE, by_hand=True), THREE, HOUR) == timedelta()

"""When a waiting job may start: guessed from the same work's past, or not at all."""

from datetime import UTC, datetime

import pytest

from sluice.api.base import Json
from sluice.online.queue.start_estimates import usual_times
from sluice.online.queue.table_queues import Policies, queues_of
from unit.online.job_bodies import behind, done, holding, job, waiting

NOW = datetime(2026, 11, 26, 10, tzinfo=UTC)
SINCE = "2026-11-26T09:59:00Z"
PAST = [
    done(f"past-{n}", "file:/a", granted_at="2026-11-25T10:00:00Z", ended_at=f"2026-11-25T10:0{n}:00Z")
    for n in (2, 3, 9)
]
"""Three minutes, in the middle."""


def at(minute: int) -> datetime:
    return NOW.replace(minute=minute)


def start_of(name: str, *jobs: Json) -> datetime | None:
    found = queues_of(jobs, Policies([]), NOW)
    return found.estimates.start(found.by_uid[name])


def test_a_job_starts_once_the_last_of_those_that_it_waits_for_has_ended_and_so_on_down_the_queue() -> None:
    jobs = (
        *PAST,
        holding("holds", "file:/a", granted_at=SINCE),
        waiting("next", "file:/a", queued_at=SINCE, blockedBy=behind("holds")),
        waiting("last", "file:/a", queued_at=SINCE, priority=-1, blockedBy=behind("holds", "next")),
    )
    assert start_of("next", *jobs) == at(2)
    assert start_of("last", *jobs) == at(5)


@pytest.mark.parametrize(
    "holder",
    [
        holding("holds", "file:/b", granted_at=SINCE),
        holding("holds", "file:/a", granted_at=SINCE, operation="Delete"),
        holding("holds", "file:/a", granted_at="2026-11-26T09:50:00Z"),
        job("holds", "file:/a", phase="Starting"),
        job("another", "file:/a", phase="Running"),
        waiting("holds", "file:/a", queued_at=SINCE),
    ],
    ids=["another table", "other work", "longer than usual", "not granted", "not seen", "waits, for nobody"],
)
def test_where_something_is_not_known_nothing_is_guessed(holder: Json) -> None:
    waiter = waiting("next", "file:/a", queued_at=SINCE, priority=-1, blockedBy=behind("holds"))
    assert start_of("next", *PAST, holder, waiter) is None


def test_where_there_are_more_in_the_way_than_are_named_nothing_is_guessed() -> None:
    waiter = waiting("next", "file:/a", queued_at=SINCE, blockedBy=behind("holds"), blockedByCount=2)
    assert start_of("next", *PAST, holding("holds", "file:/a", granted_at=SINCE), waiter) is None


def test_two_that_wait_for_each_other_by_stale_statuses_are_told_nothing() -> None:
    one = waiting("one", "file:/a", queued_at=SINCE, blockedBy=behind("other"))
    other = waiting("other", "file:/a", queued_at=SINCE, blockedBy=behind("one"))
    assert start_of("one", *PAST, one, other) is start_of("other", *PAST, one, other) is None


def test_runs_that_failed_tell_nothing_of_how_long_one_takes() -> None:
    failed = done("f", "file:/a", granted_at="2026-11-25T10:00:00Z", ended_at="2026-11-25T10:00:01Z")
    failed["status"]["phase"] = "Failed"
    [usual] = usual_times([*PAST, failed]).values()
    assert (usual.seconds, usual.runs) == (180, 3)

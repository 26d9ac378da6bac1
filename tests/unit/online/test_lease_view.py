"""Who holds leases, by what objects and Redis tell: each state, each witness that is missing, and each difference."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, Outcome
from sluice.leases import Grant, Lease
from sluice.lifecycle.evidence.lease_states import LeaseState
from sluice.online.leases.lease_view import LeaseView, Objects, RedisLeases, held
from unit.controller.bodies import job_body
from unit.lifecycle.objects import LEASE, NAME, RUNNING, TERMINATED, TOKEN, application, pod, told_there

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
GRANTED = datetime(2026, 11, 19, 9, tzinfo=UTC)
GRANT = Grant(LEASE, TOKEN)
OTHER = Grant(Lease("uid-b", 2, "hash", "etl/b", ("file:/lake/b",)), TOKEN + 1)
TOUCHED = {
    "table": "file:/lake/orders",
    "statement": 1,
    "operation": "Delete",
    "reads": "date = '1'",
    "writes": "false",
}


def attempt(**changed: Any) -> Attempt:
    given = {"number": 1, "token": TOKEN, "hash": "hash", "application": NAME, "granted_at": GRANTED}
    return Attempt.model_validate(given | changed)


def job(*attempts: Attempt, phase: str = "Running", **status: Any) -> Json:
    told = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in attempts]
    return job_body("a") | {"status": {"phase": phase, "attempts": told, "footprint": [TOUCHED]} | status}


def alone(objects: Objects, redis: RedisLeases | None = None) -> LeaseView:
    [found] = held(objects, redis, NOW)
    return found


def in_redis(*grants: Grant) -> RedisLeases:
    return RedisLeases({grant.lease.holder: grant for grant in grants})


def silent() -> Json:
    body = pod(RUNNING)
    body["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-19T11:00:00Z"},
        {"type": "ContainersReady", "status": "True"},
    ]
    return body


@pytest.mark.parametrize(
    ("applications", "pods", "state"),
    [
        ([], [], LeaseState.STARTING),
        ([application("SUBMITTED")], [], LeaseState.STARTING),
        ([application("RUNNING")], [pod(RUNNING)], LeaseState.RUNNING),
        ([application("RUNNING")], [silent()], LeaseState.LOST),
        ([application("COMPLETED")], [], LeaseState.LOST),
        ([application("FAILED")], [], LeaseState.ENDING),
        ([application("RUNNING")], [pod(TERMINATED)], LeaseState.ENDING),
    ],
)
def test_its_state_is_that_of_what_stands_for_it(
    applications: list[Json], pods: list[Json], state: LeaseState
) -> None:
    found = alone(Objects([job(attempt())], applications, pods))
    assert (found.state, found.holder, found.job, found.token) == (state, LEASE.holder, "etl/a", TOKEN)
    assert (found.since, found.in_kubernetes, found.in_redis) == (GRANTED, True, None)
    assert found.all_tables == ("file:/lake/orders",)
    assert found.footprint[0].reads == "date = '1'"


def test_what_is_over_holds_nothing_and_is_not_listed() -> None:
    over = job(attempt(outcome=Outcome.SUCCEEDED), phase="Succeeded", observedGeneration=1)
    assert (
        held(
            Objects([over], [application("COMPLETED", finalizers=None)], [pod(TERMINATED, finalizers=None)]),
            None,
            NOW,
        )
        == []
    )


def test_a_driver_is_listed_though_its_job_is_gone() -> None:
    found = alone(Objects([], [application("RUNNING")], [pod(RUNNING)]))
    assert (found.job, found.state, found.token) == ("etl/a", LeaseState.RUNNING, TOKEN)
    assert found.since == datetime(2026, 11, 19, 10, tzinfo=UTC)


def test_it_was_last_seen_when_its_driver_told_of_itself() -> None:
    told = pod(RUNNING)
    told["metadata"]["annotations"][names.ANNOTATION_PROGRESS] = (
        '{"statement": 1, "of": 3, "operation": "MERGE", "since": "2026-11-19T10:30:00Z"}'
    )
    running = alone(Objects([job(attempt())], [application("RUNNING")], [told]))
    assert running.last_seen == datetime(2026, 11, 19, 10, 30, tzinfo=UTC)
    lost = alone(Objects([job(attempt())], [application("RUNNING")], [silent()]))
    assert lost.last_seen == datetime(2026, 11, 19, 11, tzinfo=UTC)


def test_a_job_says_itself_why_its_driver_is_lost() -> None:
    lost = job(attempt(started_at=GRANTED), phase="Ending", message="it ran on node-1")
    assert alone(Objects([lost], [application("COMPLETED")], [])).message == "it ran on node-1"
    assert "its end was not seen" in (alone(Objects([], [application("COMPLETED")], [])).message or "")


def test_a_lost_driver_without_a_job_is_listed_with_the_command_that_declares_it_dead() -> None:
    lost = application("COMPLETED")
    assert "say so" not in (alone(Objects([], [lost], [])).message or ""), (
        "the operator has not told of it yet"
    )
    lost["metadata"]["annotations"] |= told_there()
    assert (alone(Objects([], [lost], [])).message or "").endswith(
        "its leases are held; once you know that it is dead, say so: kubectl annotate --overwrite "
        f"sparkapplication.sparkoperator.k8s.io -n etl {NAME} {names.ANNOTATION_DRIVER_DEAD}={NAME}@2026-11-19T10:30:00.123456Z"
    )


def test_what_nobody_can_read_is_listed_with_the_reason() -> None:
    record = application("RUNNING", annotations=None)
    [of_object] = held(Objects([], [record], []), None, NOW)
    assert (of_object.state, of_object.job, of_object.holder) == (
        LeaseState.UNREADABLE,
        "SparkApplication etl/a-1",
        "uid-a/1",
    )
    assert names.ANNOTATION_LEASE in (of_object.message or "")
    status = job_body("a") | {"status": {"phase": "Running", "attempts": "none"}}
    of_status = alone(Objects([status]))
    assert (of_status.state, of_status.job, of_status.attempt) == (LeaseState.UNREADABLE, "etl/a", None)
    assert "status.attempts" in (of_status.message or "")
    judged = alone(Objects([job(attempt())], [application() | {"status": 7}], []))
    assert (judged.state, judged.job) == (LeaseState.UNREADABLE, "etl/a")


def test_what_nothing_explains_is_listed_without_redis_too() -> None:
    found = alone(Objects(unexplained=[GRANT]))
    assert (found.state, found.in_kubernetes, found.all_tables) == (
        LeaseState.UNEXPLAINED,
        False,
        LEASE.tables,
    )
    assert found.may_be_revoked
    assert alone(Objects(unexplained=[GRANT]), in_redis(GRANT)).in_redis
    explained = alone(Objects([job(attempt())], [application("RUNNING")], [pod(RUNNING)], [GRANT]))
    assert explained.state is LeaseState.RUNNING
    alone_again = alone(Objects([job(attempt())], unexplained=[GRANT]))
    assert (alone_again.state, alone_again.may_be_revoked) == (LeaseState.UNEXPLAINED, True)


def test_where_both_witnesses_agree_there_is_no_difference() -> None:
    found = alone(Objects([job(attempt())], [application("RUNNING")], [pod(RUNNING)]), in_redis(GRANT))
    assert (found.in_kubernetes, found.in_redis, found.differences) == (True, True, ())


@pytest.mark.parametrize(
    ("redis", "is_there", "said"),
    [
        (in_redis(), False, "Redis does not hold it"),
        (
            in_redis(replace(GRANT, token=TOKEN + 5)),
            True,
            f"its objects say token {TOKEN}, Redis says {TOKEN + 5}",
        ),
        (
            in_redis(replace(GRANT, lease=replace(LEASE, tables=("file:/x",)))),
            True,
            "Redis says that it is on file:/x",
        ),
        (
            RedisLeases({}, {}, {LEASE.holder: "the lease cannot be read"}),
            True,
            "Redis: the lease cannot be read",
        ),
    ],
)
def test_where_they_differ_both_are_told(redis: RedisLeases, said: str, *, is_there: bool) -> None:
    found = alone(Objects([job(attempt())], [application("RUNNING")], [pod(RUNNING)]), redis)
    assert (found.state, found.in_redis) == (LeaseState.RUNNING, is_there)
    [told] = found.differences
    assert told.startswith(said)


def test_what_was_granted_or_released_during_the_look_is_no_difference() -> None:
    passing = RedisLeases({}, {LEASE.holder: GRANT})
    assert alone(Objects([job(attempt())], [application("RUNNING")], []), passing).differences == ()
    assert held(Objects(), passing, NOW) == []


@pytest.mark.parametrize(
    ("jobs", "state", "said"),
    [
        ([], LeaseState.UNEXPLAINED, "no object is there"),
        ([job(phase="Waiting")], LeaseState.STARTING, "just been granted"),
        (
            [job(attempt(outcome=Outcome.FAILED), phase="Failed", observedGeneration=1)],
            LeaseState.ENDING,
            "about to be released",
        ),
        ([job_body("a") | {"status": {"phase": 7}}], LeaseState.UNREADABLE, "status.phase"),
    ],
)
def test_what_redis_alone_holds_is_listed_with_what_is_known_of_its_job(
    jobs: list[Json], state: LeaseState, said: str
) -> None:
    found = {one.holder: one for one in held(Objects(jobs), in_redis(GRANT), NOW)}[LEASE.holder]
    assert (found.state, found.in_kubernetes, found.in_redis) == (state, False, True)
    assert said in (found.message or "")
    assert not found.may_be_revoked


def test_a_line_of_redis_that_nobody_can_read_hides_no_other() -> None:
    broken = RedisLeases({OTHER.lease.holder: OTHER}, {}, {"uid-c/1": "the lease of uid-c/1 cannot be read"})
    first, second = held(Objects(), broken, NOW)
    assert (first.holder, first.state) == (OTHER.lease.holder, LeaseState.UNEXPLAINED)
    assert (second.holder, second.state) == ("uid-c/1", LeaseState.UNREADABLE)


@pytest.mark.parametrize(
    ("phase", "reason", "state"),
    [
        ("Starting", "Admitted", LeaseState.STARTING),
        ("Running", "DriverRunning", LeaseState.RUNNING),
        ("Ending", "DriverLost", LeaseState.LOST),
        ("Ending", "Ended", LeaseState.ENDING),
        ("Failed", "RunFailed", LeaseState.UNKNOWN),
    ],
)
@pytest.mark.parametrize("missing", ["applications", "pods"])
def test_who_may_not_list_drivers_is_told_what_the_statuses_say(
    missing: str, phase: str, reason: str, state: LeaseState
) -> None:
    """Without them a driver that runs would look lost."""
    told = job(attempt(started_at=GRANTED), phase=phase, reason=reason)
    objects = Objects([told], None if missing == "applications" else (), None if missing == "pods" else ())
    found = alone(objects)
    assert (found.state, found.since, found.last_seen) == (state, GRANTED, GRANTED)


def test_who_may_not_list_jobs_is_not_told_that_nothing_explains_them() -> None:
    found = alone(Objects(None, (), ()), in_redis(GRANT))
    assert (found.state, found.in_kubernetes) == (LeaseState.UNKNOWN, None)


def test_leases_stand_in_the_order_in_which_they_were_granted() -> None:
    late = Grant(Lease("uid-c", 1, "hash", "etl/c", ("file:/lake/c",)), TOKEN + 9)
    assert [one.job for one in held(Objects(), in_redis(late, OTHER, GRANT), NOW)] == [
        "etl/a",
        "etl/b",
        "etl/c",
    ]

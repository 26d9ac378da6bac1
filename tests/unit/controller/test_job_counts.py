"""How many jobs are where, and who has waited longest, follows each change of a job."""

from datetime import UTC, datetime

from sluice.api.base import Json
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.job_counts import OF_STREAMS, JobCounts
from sluice.engines import RuntimeProfile
from sluice.lifecycle.job.status import NEED_A_PERSON
from unit.controller.bodies import job_body, policy_body


def _job(name: str, phase: str, reason: str = "Blocked", queued_at: object = None) -> Json:
    return job_body(name) | {"status": {"phase": phase, "reason": reason, "queuedAt": queued_at}}


def _at(second: int) -> datetime:
    return datetime(2026, 11, 19, 10, 0, second, tzinfo=UTC)


def _waiting(name: str, second: int) -> Json:
    return _job(name, "Waiting", queued_at=_at(second).isoformat().replace("+00:00", "Z"))


def test_a_job_that_needs_a_person_counts_by_its_reason_until_that_is_over() -> None:
    tally = JobCounts()
    assert tally.need_a_person == dict.fromkeys(NEED_A_PERSON, 0), "each is there before it happens"
    lost, failed = _job("a", "Ending", "DriverLost"), _job("a", "Failed", "DriverLost")
    tally.follow(None, lost)
    tally.follow(None, _job("b", "Running", "OperatorFailed"))
    assert +tally.need_a_person == {"DriverLost": 1, "OperatorFailed": 1}
    tally.follow(lost, failed)
    assert +tally.need_a_person == {"OperatorFailed": 1}, "a job that has ended waits for nobody"


def test_the_longest_wait_is_that_of_the_oldest_that_still_waits() -> None:
    tally = JobCounts()
    assert tally.oldest_queued_at is None
    for name, second in (("b", 20), ("a", 10), ("c", 30)):
        tally.follow(None, _waiting(name, second))
    assert tally.oldest_queued_at == _at(10)
    tally.follow(_waiting("a", 10), _job("a", "Starting"))
    tally.follow(_waiting("b", 20), None)
    assert tally.oldest_queued_at == _at(30)
    tally.follow(_job("a", "Starting"), _waiting("a", 10))
    assert tally.oldest_queued_at == _at(10)


def test_who_gives_way_to_streams_for_a_moment_goes_on_waiting() -> None:
    tally = JobCounts()
    gives_way = _job("a", "BackingOff", "PauseExceeded", queued_at=_at(10).isoformat())
    tally.follow(None, gives_way)
    assert tally.oldest_queued_at == _at(10)
    tally.follow(gives_way, _job("a", "BackingOff", "Retrying", queued_at=_at(10).isoformat()))
    assert tally.oldest_queued_at is None


def test_nobody_has_to_ask_for_the_longest_wait_to_keep_it_small() -> None:
    tally = JobCounts()
    for number in range(10_000):
        waiting = _waiting(f"a{number}", number % 60)
        tally.follow(None, waiting)
        tally.follow(waiting, _job(f"a{number}", "Running"))
    assert len(tally.waiting.entries) < 200
    tally.follow(None, _waiting("last", 5))
    assert tally.oldest_queued_at == _at(5)


def _stream(name: str, phase: str, reason: str, **status: object) -> Json:
    told = {"phase": phase, "reason": reason} | status
    return job_body(name, sql=None, stream={"trigger": {"processingTime": "1 minute"}}) | {"status": told}


def test_a_stream_counts_by_its_phase_and_reason_until_it_has_ended() -> None:
    tally = JobCounts()
    assert tally.streams == dict.fromkeys(OF_STREAMS, 0), "each is there before it happens"
    runs, stops = _stream("a", "Running", "Streaming"), _stream("a", "Running", "PauseNotHeeded")
    tally.follow(None, runs)
    tally.follow(None, _job("b", "Running", "DriverRunning"))
    tally.follow(runs, stops)
    assert +tally.streams == {("Running", "PauseNotHeeded"): 1}
    tally.follow(stops, _stream("a", "Running", "made up"))
    assert +tally.streams == {("Running", "other"): 1}
    tally.follow(_stream("a", "Running", "made up"), _stream("a", "Failed", "CheckpointInUse"))
    assert +tally.streams == {}


def test_the_longest_pause_is_that_of_the_stream_that_has_paused_longest() -> None:
    tally = JobCounts()
    long, short = (
        _stream(name, "Paused", "Yielded", since=_at(second).isoformat())
        for name, second in (("a", 10), ("b", 20))
    )
    tally.follow(None, long)
    tally.follow(None, short)
    assert tally.paused.at == _at(10)
    tally.follow(long, _stream("a", "Pending", "Restarting", since=_at(40).isoformat()))
    assert tally.paused.at == _at(20)
    tally.follow(short, None)
    assert tally.paused.at is None


def test_failures_in_a_row_count_until_a_batch_has_ended() -> None:
    tally = JobCounts()
    fails, starts = (
        _stream("a", "BackingOff", "Retrying", retries=5),
        _stream("a", "Starting", "Admitted", retries=5),
    )
    tally.follow(None, fails)
    tally.follow(None, _stream("b", "BackingOff", "Retrying", retries=2))
    tally.follow(None, _job("c", "BackingOff", "Retrying") | {})
    assert tally.failures_in_a_row == 5
    tally.follow(fails, starts)
    assert tally.failures_in_a_row == 5, "nothing has been done yet"
    tally.follow(starts, _stream("a", "Running", "Streaming", retries=5))
    assert tally.failures_in_a_row == 2


def test_a_status_that_somebody_made_up_counts_for_nothing() -> None:
    tally = JobCounts()
    for number, queued_at in enumerate(("never", None, 5, ["x"], "2026-11-19T10:00:00")):
        tally.follow(None, _job(f"a{number}", "Waiting", reason=["x"], queued_at=queued_at))  # type: ignore[arg-type]
    assert tally.phases["Waiting"] == 5
    assert not +tally.need_a_person
    assert tally.oldest_queued_at == _at(0), "a time without a zone is UTC"


def test_what_is_kept_of_a_job_is_enough_to_count_it() -> None:
    world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
    world.job_seen(_waiting("a", 10))
    world.job_seen(_job("b", "Ending", "DriverLost"))
    assert (world.tally.oldest_queued_at, +world.tally.need_a_person) == (_at(10), {"DriverLost": 1})
    world.job_gone("uid-a")
    world.job_gone("uid-b")
    assert (world.tally.oldest_queued_at, +world.tally.need_a_person) == (None, {})


def _policy(name: str, version: int, condition: str, reason: object) -> Json:
    condition_of = {
        "type": condition,
        "status": "True",
        "message": "",
        "lastTransitionTime": "2026-11-19T10:00:00Z",
    }
    status = {"reason": reason, "conditions": [condition_of]}
    return policy_body(name, version=version) | {"status": status}


def test_policies_count_by_the_condition_that_is_true_and_its_reason() -> None:
    world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
    world.policy_seen(policy_body("new"))
    world.policy_seen(_policy("a", 1, "Stalled", "Drifted"))
    world.policy_seen(_policy("b", 1, "Stalled", "Drifted"))
    world.policy_seen(_policy("odd", 1, "Stalled", ["x"]))
    counts = world.tally.policies
    assert +counts == {("New", "New"): 1, ("Stalled", "Drifted"): 2, ("Stalled", "other"): 1}
    world.policy_seen(_policy("a", 2, "Ready", "AsWanted"))
    world.policy_gone("policy-b")
    assert +counts == {("New", "New"): 1, ("Stalled", "other"): 1, ("Ready", "AsWanted"): 1}

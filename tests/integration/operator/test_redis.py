"""A Redis that comes late, forgets, hangs or is not fit: nothing runs twice beside what it conflicts with."""

from collections.abc import Callable

import pytest

from integration.leases.redis_process import RedisProcess
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually


def test_a_redis_that_comes_later_is_waited_for(
    cluster: Played, operators: StartOperator, redis: RedisProcess
) -> None:
    redis.service.kill()
    operators()
    cluster.apply("early", append("/lake/early"))

    def is_named() -> bool:
        status = cluster.status("early")
        told = status.get("message", "")
        return status.get("reason") == "LeasesUnavailable" and "Redis" in told and str(redis.port) in told

    eventually(is_named, "it says which Redis it waits for")
    assert cluster.applications() == []
    redis.service.start()
    cluster.start("early").succeeds("file:/lake/early")
    cluster.reaches("early", "Succeeded")


def _emptied(redis: RedisProcess) -> None:
    with redis.client() as client:
        client.flushall()


def _restarted(redis: RedisProcess) -> None:
    redis.restart_from(None)


def _set_back(redis: RedisProcess) -> None:
    redis.restart_from("before")


@pytest.mark.parametrize("forget", [_emptied, _restarted, _set_back])
def test_a_redis_that_forgets_in_the_middle_of_a_run_grants_nothing_twice(
    cluster: Played, operator: OperatorProcess, redis: RedisProcess, forget: Callable[[RedisProcess], None]
) -> None:
    redis.save("before")
    holder = cluster.apply("holder", rewrite("/lake/forgotten"))
    driver = cluster.start("holder")
    cluster.reaches("holder", "Running")
    forget(redis)
    waiter = cluster.apply("waiter", rewrite("/lake/forgotten"))
    free = cluster.apply("free", rewrite("/lake/elsewhere"))
    eventually(lambda: cluster.applications_of(free), "what conflicts with nobody goes on")
    cluster.reaches("waiter", "Waiting")
    assert cluster.applications_of(waiter) == []
    assert f"{holder}/1" in cluster.holders()
    operator.says("the lease table was rebuilt with 1 leases")
    driver.succeeds("file:/lake/forgotten")
    cluster.reaches("holder", "Succeeded")
    cluster.start("waiter").succeeds("file:/lake/forgotten", 2)
    cluster.reaches("waiter", "Succeeded")
    assert len(cluster.applications()) == 3


def test_a_redis_that_hangs_stops_grants_but_not_outcomes(
    cluster: Played, operator: OperatorProcess, redis: RedisProcess
) -> None:
    uid = cluster.apply("runs", append("/lake/hang"))
    driver = cluster.start("runs")
    cluster.reaches("runs", "Running")
    cluster.apply("waits", rewrite("/lake/hang"))
    waits = cluster.reaches("waits", "Waiting")
    eventually(lambda: cluster.events_of("waits") == ["Queued"], "an Event tells that it waits")
    cluster.operator_tells("LeaseTableUsable", "True")
    before = cluster.objects.version()
    redis.service.freeze()
    told = cluster.operator_tells("LeaseTableUsable", "False")
    assert told["reason"] == "RedisFails"
    assert "nothing is granted" in told["message"]
    eventually(lambda: "NotLeaseTableUsable" in cluster.events_of_the_operator(), "an Event tells it")
    assert cluster.status("waits") == waits
    other = cluster.apply("other", rewrite("/lake/hang"))
    eventually(lambda: cluster.status("other").get("reason") == "LeasesUnavailable", "arrivals say so")
    redis.service.thaw()
    again = cluster.operator_tells("LeaseTableUsable", "True")
    assert again["lastTransitionTime"] >= told["lastTransitionTime"]
    cluster.reaches("other", "Waiting")
    eventually(lambda: "LeaseTableUsable" in cluster.events_of_the_operator(), "its end is told, too")
    assert cluster.status("waits") == waits
    assert [line for line in cluster.writes_since(before) if line.endswith(" waits")] == []
    assert cluster.events_of("waits") == ["Queued"]
    assert cluster.applications_of(other) == []
    cluster.delete("other")
    cluster.delete("waits")
    redis.service.freeze()
    driver.succeeds("file:/lake/hang")
    cluster.reaches("runs", "Succeeded")
    cluster.operator_tells(
        "LeaseTableUsable", "False"
    )  # who comes before that still waits for the lease that can't be released
    late = cluster.apply("late", rewrite("/lake/hang"))
    eventually(lambda: cluster.status("late").get("reason") == "LeasesUnavailable", "the status says so")
    assert cluster.applications_of(late) == []
    redis.service.thaw()
    cluster.start("late").succeeds("file:/lake/hang", 2)
    cluster.reaches("late", "Succeeded")
    assert f"{uid}/1" not in cluster.holders()


def test_a_redis_that_may_evict_leases_is_named_in_the_status(
    cluster: Played, operators: StartOperator, redis: RedisProcess
) -> None:
    with redis.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        operators()
        cluster.apply("evictable", append("/lake/evictable"))
        eventually(
            lambda: "noeviction" in cluster.status("evictable").get("message", ""), "the status says it"
        )
        client.config_set("maxmemory-policy", "noeviction")
    cluster.start("evictable").succeeds("file:/lake/evictable")
    cluster.reaches("evictable", "Succeeded")


def test_a_redis_that_is_full_grants_nothing_and_says_so(
    cluster: Played, operator: OperatorProcess, redis: RedisProcess
) -> None:
    """Its leases are never evicted for new ones; those that are held end as ever."""
    held = cluster.apply("before", rewrite("/lake/before"))
    driver = cluster.start("before")
    cluster.reaches("before", "Running")
    assert f"{held}/1" in cluster.holders()
    epoch = operator.metric("sluice_epoch")
    with redis.client() as client:
        client.config_set("maxmemory", "1mb")
        cluster.apply("full", rewrite("/lake/full"))
        eventually(
            lambda: "maxmemory" in cluster.status("full").get("message", ""),
            "the status says it",
            show=lambda: cluster.status("full"),
        )
        assert cluster.operator_tells("LeaseTableUsable", "False")["reason"] == "RedisFull"
        driver.succeeds("file:/lake/before")
        cluster.reaches("before", "Succeeded")
        eventually(lambda: f"{held}/1" not in cluster.holders(), "its lease is released")
        assert operator.metric("sluice_epoch") == epoch
        client.config_set("maxmemory", "0")
    cluster.start("full").succeeds("file:/lake/full")
    cluster.reaches("full", "Succeeded")
    cluster.operator_tells("LeaseTableUsable", "True")
    assert operator.running
    assert all("exception" not in entry for entry in operator.entries())


def test_a_new_leader_finds_its_way_with_a_redis_that_is_full(
    cluster: Played, operator: OperatorProcess, operators: StartOperator, redis: RedisProcess
) -> None:
    cluster.apply("before", rewrite("/lake/before"))
    driver = cluster.start("before")
    cluster.reaches("before", "Running")
    with redis.client() as client:
        client.config_set("maxmemory", "1mb")
        operator.stop()
        operators("successor").says("the lease table was rebuilt with 1 leases")
        driver.succeeds("file:/lake/before")
        cluster.reaches("before", "Succeeded")
        eventually(lambda: not cluster.holders(), "its lease is released")

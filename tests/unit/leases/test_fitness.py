"""Whether a Redis can keep leases is read from what its INFO says, and what it does not say counts against it."""

from typing import Any

import pytest

from sluice.leases.fitness import unfit

WELL = {
    "run_id": "5c7d",
    "redis_version": "7.2.4",
    "cluster_enabled": 0,
    "role": "master",
    "maxmemory_policy": "noeviction",
}


@pytest.mark.parametrize(
    "more",
    [
        {"redis_mode": "standalone"},
        {"redis_version": "6.2.0"},
        {"redis_version": "8.0.1"},
        {"redis_version": "255.255.255"},
        {"server_name": "valkey", "valkey_version": "9.1.2", "server_mode": "standalone"},
    ],
)
def test_a_redis_or_valkey_that_keeps_what_it_is_told_is_fit(more: dict[str, Any]) -> None:
    assert unfit(WELL | more) is None


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"redis_version": "6.0.16"}, "its version is 6.0.16: 6.2 or later is needed"),
        ({"redis_version": "5.0"}, "6.2 or later"),
        ({"run_id": None}, "no run_id"),
        ({"cluster_enabled": None}, "it is a Redis Cluster"),
        ({"redis_version": "unknown"}, "6.2 or later"),
        ({"redis_version": None}, "6.2 or later"),
        ({"redis_mode": "cluster"}, "it is a Redis Cluster"),
        ({"cluster_enabled": 1}, "it is a Redis Cluster"),
        ({"server_mode": "cluster"}, "it is a Redis Cluster"),
        ({"server_mode": "sentinel"}, "redis+sentinel://HOST:PORT/MASTER"),
        ({"redis_mode": "sentinel", "maxmemory_policy": None}, "redis+sentinel://HOST:PORT/MASTER"),
        ({"role": "slave", "master_host": "10.0.0.7", "master_port": 6379}, "a replica of 10.0.0.7:6379"),
        ({"role": "slave"}, "it is a replica, which takes no leases"),
        ({"role": None}, "it is a replica"),
        ({"maxmemory_policy": "allkeys-lru"}, "maxmemory-policy is allkeys-lru: set it to noeviction"),
        ({"maxmemory_policy": None}, "set it to noeviction"),
    ],
)
def test_one_that_could_lose_or_refuse_leases_is_not(more: dict[str, Any], says: str) -> None:
    assert says in (unfit(WELL | more) or "")

"""A Redis that could lose leases, or takes none, is refused by what a real one says of itself."""

from pathlib import Path

import pytest
from redis.asyncio import Redis

from devenv.ports import free_ports
from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from integration.leases.redis_process import RedisProcess, running_redis
from integration.leases.sentinels import watched_redis
from sluice.leases import LeaseStore
from sluice.leases.fitness import UnfitError


def store_in(redis: Redis) -> LeaseStore:
    return LeaseStore(redis, "test", "cluster/ns/test")


async def unfit(url: str) -> str:
    async with Redis.from_url(url, decode_responses=True) as redis:
        with pytest.raises(UnfitError) as error:
            await store_in(redis).check_fitness()
    return str(error.value)


async def test_a_redis_that_may_evict_leases_is_not_used(store: LeaseStore, redis: Redis) -> None:
    await store.check_fitness()
    await redis.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(UnfitError, match="allkeys-lru: set it to noeviction"):
        await store.check_fitness()


async def test_a_cluster_is_not_used(tmp_path: Path) -> None:
    """By default the cluster's own port lies where the kernel takes ports of outgoing connections from."""
    [bus] = free_ports(1)
    cluster_options = {"cluster_enabled": "yes", "cluster_port": str(bus)}
    with running_redis(ensure_redis_server(cache()), tmp_path, **cluster_options) as cluster:
        assert "it is a Redis Cluster" in await unfit(cluster.url)


async def test_neither_a_replica_nor_a_sentinel_is_used(tmp_path: Path) -> None:
    with watched_redis(ensure_redis_server(cache()), tmp_path, sentinels=1) as watched:
        master, replica = watched.servers
        assert f"it is a replica of 127.0.0.1:{master.port}" in await unfit(replica.url)
        [sentinel] = watched.sentinels
        assert "it is a Sentinel" in await unfit(f"redis://127.0.0.1:{sentinel.port}")


async def test_one_that_became_fit_is_found_by_a_new_connection(server: RedisProcess, redis: Redis) -> None:
    """Behind one name there may be another server by then."""
    first = await redis.client_id()
    with server.client() as other:
        other.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(UnfitError):
        await store_in(redis).check_fitness()
    assert await redis.client_id() != first

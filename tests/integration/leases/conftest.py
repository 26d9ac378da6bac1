"""A Redis of these tests' own, empty for each."""

from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis

from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from integration.leases.redis_process import RedisProcess, running_redis
from sluice.leases import LeaseStore


@pytest.fixture(scope="module")
def redis_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    with running_redis(ensure_redis_server(cache()), tmp_path_factory.mktemp("redis")) as process:
        yield process


@pytest.fixture
def server(redis_process: RedisProcess) -> RedisProcess:
    """Running and empty, whatever the last test did to it."""
    redis_process.service.thaw()
    redis_process.service.start()
    with redis_process.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "0")
        client.flushall()
        client.script_flush()
    return redis_process


@pytest.fixture
async def redis(server: RedisProcess) -> AsyncIterator[Redis]:
    async with Redis.from_url(server.url, decode_responses=True, socket_timeout=2) as client:
        yield client


@pytest.fixture
async def store(redis: Redis) -> LeaseStore:
    """The store of a leader in epoch 1, with nothing held."""
    made = LeaseStore(redis, "test", "cluster/ns/test")
    await made.rebuild(1, [])
    return made

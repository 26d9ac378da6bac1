"""A Redis that has reached its maxmemory grants nothing; leases end, and leaders follow one another, as ever."""

import asyncio
from collections.abc import AsyncIterator
from types import NoneType

import pytest
from redis.asyncio import Redis

from sluice.leases import FullError, Lease, LeaseStore, Reach, StaleError
from sluice.leases.changes import version_keys

LEASE = Lease("a", 1, "h", "etl/a", ("file:/t", "file:/u"))
OTHER = Lease("b", 1, "h", "etl/b", ("file:/t",))
THIRD = Lease("c", 1, "h", "etl/c", ("file:/v",))
LAST = Lease("d", 1, "h", "etl/d", ("file:/w",))


@pytest.fixture
async def full(store: LeaseStore, redis: Redis) -> AsyncIterator[LeaseStore]:
    """A leader's store that has granted LEASE; since then Redis is full."""
    await store.grant(LEASE)
    await redis.config_set("maxmemory", "1kb")
    yield store
    await redis.config_set("maxmemory", "0")


async def test_a_full_redis_grants_nothing_and_changes_nothing(full: LeaseStore, redis: Redis) -> None:
    before = await redis.hgetall("sluice:{test}:versions")
    with pytest.raises(FullError, match="maxmemory"):
        await full.grant(Lease("b", 1, "h", "etl/b", ("file:/v",)))
    assert await redis.hgetall("sluice:{test}:versions") == before
    assert list((await full.former()).values) == ["a/1"]


async def test_a_full_redis_takes_releases_and_the_next_leader(full: LeaseStore, redis: Redis) -> None:
    late = LeaseStore(redis, "test", "cluster/ns/test")
    await full.release(LEASE)
    assert (await full.former()).values == {}
    await full.note_beat(7)
    assert (await full.former()).beat == 7
    await full.check_memory()
    await late.rebuild(2, [])
    await redis.config_set("maxmemory", "0")
    await late.grant(OTHER)


async def test_a_full_redis_takes_releases_that_come_together_with_grants(full: LeaseStore) -> None:
    """Each of them alone, and as one request with a grant before it."""
    asked = (full.grant(OTHER), full.grant(THIRD), full.release(LEASE), full.grant(LAST))
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in found] == [FullError, FullError, NoneType, FullError]
    assert (await full.former()).values == {}
    assert full.held == []


async def test_a_release_by_a_full_redis_is_told_apart_like_any_other(full: LeaseStore, redis: Redis) -> None:
    await full.release(LEASE)
    await redis.config_set("maxmemory", "0")
    await redis.hset("sluice:{test}:versions", version_keys(OTHER)[0], "another's")
    with pytest.raises(StaleError):
        await full.grant(OTHER)


async def test_a_full_redis_is_told_how_far_a_holder_reaches(full: LeaseStore) -> None:
    reach = Reach({}, {}, frozenset(), frozenset({7}), frozenset({9}), edition=1, names="n", lasts=True)
    full.learn(LEASE, reach)
    await full.note_learned()
    assert (await full.former()).readable["a/1"].reach == reach

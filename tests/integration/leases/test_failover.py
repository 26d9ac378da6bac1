"""Behind Sentinels another server takes over, which may have forgotten the latest: the leader's store finds it, and rebuilds."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.asyncio.sentinel import MasterNotFoundError
from redis.exceptions import RedisError

from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from integration.leases.sentinels import Watched, watched_redis
from integration.waiting import eventually
from sluice.leases import ForgottenError, Lease, LeaseStore
from sluice.leases.clients import client
from sluice.leases.endpoint import Endpoint

LEASE = Lease("a", 1, "h", "etl/a", ("file:/t",))
OTHER = Lease("b", 1, "h", "etl/b", ("file:/t",))


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with watched_redis(ensure_redis_server(cache()), tmp_path) as made:
        yield made


@pytest.fixture
async def redis(watched: Watched) -> AsyncIterator[Redis]:
    made = client(Endpoint.of(watched.url), Redis, patience=2)
    yield made
    await made.aclose()


@pytest.fixture
async def store(redis: Redis) -> LeaseStore:
    """The store of a leader in epoch 1, which has granted LEASE."""
    made = LeaseStore(redis, "test", "cluster/ns/test")
    await made.check_fitness()
    await made.rebuild(1, [])
    await made.grant(LEASE)
    return made


async def forgotten(store: LeaseStore) -> ForgottenError:
    """How the leader learns that another server answers. Until one does, it only fails to ask."""
    async with asyncio.timeout(60):
        while True:
            try:
                await store.check_memory()
            except ForgottenError as error:
                return error
            except (RedisError, OSError):
                await asyncio.sleep(0.1)


async def test_a_new_master_is_found_and_rebuilt(watched: Watched, store: LeaseStore) -> None:
    former, heir = watched.servers
    held = store.granted(LEASE)
    assert held is not None
    former.service.kill()
    with pytest.raises(RedisError):
        await store.grant(OTHER)
    assert not store.holds("b", 1)
    assert "restarted or replaced" in str(await forgotten(store))
    assert watched.master() is heir
    await asyncio.to_thread(watched.keep_master)
    await store.check_fitness()
    await store.rebuild(2, [held])
    await store.release(LEASE)
    granted = await store.grant(OTHER)
    with watched.client(heir) as asked:
        assert [*asked.hgetall("sluice:{test}:leases")] == ["b/1"]
    await asyncio.to_thread(former.service.start)
    await asyncio.to_thread(
        eventually, lambda: watched.copies(former), "the former master copies the new one"
    )
    await store.check_memory()
    assert store.granted(OTHER) == granted


async def test_a_master_that_became_a_replica_grants_nothing(watched: Watched, store: LeaseStore) -> None:
    former, heir = watched.servers
    await asyncio.to_thread(watched.fail_over)
    await asyncio.to_thread(
        eventually, lambda: watched.master() is heir and watched.copies(former), "the replica is the master"
    )
    with watched.client(heir) as asked:
        before = asked.hgetall("sluice:{test}:leases")
        with pytest.raises((ForgottenError, RedisError)):
            await store.check_memory()
        assert asked.hgetall("sluice:{test}:leases") == before
    assert "restarted or replaced" in str(await forgotten(store))
    await store.check_fitness()
    await store.rebuild(2, [])
    assert (await store.grant(OTHER)).lease == OTHER


async def test_what_a_new_master_had_not_copied_is_rebuilt_from_the_leader(
    watched: Watched, store: LeaseStore
) -> None:
    former, heir = watched.servers
    await asyncio.to_thread(
        eventually,
        lambda: "a/1" in watched.client(heir).hgetall("sluice:{test}:leases"),
        "the replica has the first lease",
    )
    heir.save("before")
    heir.service.kill()
    await store.release(LEASE)
    late = await store.grant(OTHER)
    former.service.kill()
    await asyncio.to_thread(heir.restart_from, "before")
    await forgotten(store)
    assert list((await store.former()).values) == ["a/1"]
    await store.rebuild(2, [late])
    assert list((await store.former()).values) == ["b/1"]


async def test_a_sentinel_that_is_gone_or_hangs_is_passed_over(watched: Watched, store: LeaseStore) -> None:
    first, second, _ = watched.sentinels
    first.service.kill()
    second.service.freeze()
    other = client(Endpoint.of(watched.url), Redis, patience=2)
    try:
        assert await other.get("sluice:{test}:epoch") == "1"
        assert await other.get("sluice:{test}:epoch") == "1"
    finally:
        await other.aclose()
        second.service.thaw()


async def test_why_no_sentinel_names_a_master_is_told_of_each(watched: Watched) -> None:
    first, second, third = watched.sentinels
    first.service.kill()
    url = watched.url.replace("/lake/0", "/sea/0")
    redis = client(Endpoint.of(url), Redis, patience=2)
    with pytest.raises(MasterNotFoundError) as error:
        await redis.ping()
    await redis.aclose()
    said = str(error.value)
    assert said.startswith("no Sentinel names a master called sea: ")
    assert f"127.0.0.1:{first.port} does not tell (" in said
    for one in (second, third):
        assert f"127.0.0.1:{one.port} knows no such master, but lake" in said


async def test_a_closed_client_leaves_no_connection_to_any_sentinel(watched: Watched) -> None:
    def connected() -> int:
        """How many clients have asked a Sentinel for masters and are still there, without the one that looks."""
        found = 0
        for one in watched.sentinels:
            with SyncRedis(port=one.port, decode_responses=True) as asked:
                found += sum(other["cmd"].startswith("sentinel") for other in asked.client_list())
        return found

    redis = client(Endpoint.of(watched.url), Redis, patience=2)
    await redis.ping()
    assert await asyncio.to_thread(connected) == 1
    await redis.aclose()
    await asyncio.to_thread(eventually, lambda: connected() == 0, "no connection is left")


async def test_the_sentinels_have_the_login_of_redis_if_the_url_says_so(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("secret", encoding="utf-8")
    with watched_redis(
        ensure_redis_server(cache()), tmp_path / "redis", sentinels=1, password="secret"
    ) as watched:
        url = f"{watched.url}?password_file={file}"
        redis = client(Endpoint.of(f"{url}&sentinel_auth=1"), Redis, patience=2)
        made = LeaseStore(redis, "test", "cluster/ns/test")
        await made.rebuild(1, [])
        await made.grant(LEASE)
        await redis.aclose()
        redis = client(Endpoint.of(url), Redis, patience=2)
        with pytest.raises(MasterNotFoundError, match="set sentinel_auth=1 if it is that of Redis"):
            await redis.ping()
        await redis.aclose()

"""What the lease table promises, on a real Redis that is killed, emptied and set back."""

import asyncio
import os
import signal
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff
from redis.exceptions import RedisError

from integration.leases.redis_process import RedisProcess
from sluice.leases import (
    Epochs,
    ForgottenError,
    Grant,
    Lease,
    LeaseStore,
    OtherInstallationError,
    Reach,
    RefusedError,
    StaleError,
)
from sluice.leases.changes import MOST_VERSIONS, version_key, version_keys
from sluice.leases.keys import Keys
from sluice.leases.store import TakenError
from sluice.leases.stored_state import AdoptedMeanwhileError, DamagedTableError, adopt, former


def lease(uid: str, *tables: str, attempt: int = 1, hash_: str = "h") -> Lease:
    return Lease(uid, attempt, hash_, f"etl/{uid}", tables or ("file:/t",))


async def state(redis: Redis) -> dict[str | bytes, Any]:
    keys = sorted(await redis.keys("*"))
    kinds = [await redis.type(key) for key in keys]
    return {
        key: await (redis.hgetall(key) if kind == "hash" else redis.get(key))
        for key, kind in zip(keys, kinds, strict=True)
    }


REACH = Reach(
    {"file:/t": "7d1f"},
    {"file:/r": "1d"},
    frozenset({"file:/r"}),
    frozenset({7, 1 << 40}),
    frozenset({9}),
    edition=1,
    names="n",
    lasts=True,
)


async def test_how_far_a_holder_reaches_is_there_for_the_next_leader(store: LeaseStore, redis: Redis) -> None:
    reaching = await store.grant(lease("a"), REACH)
    await store.grant(lease("b", "file:/u"))
    found = await store.former()
    assert {holder: grant.reach for holder, grant in found.readable.items()} == {"a/1": REACH, "b/1": None}
    assert found.grants == list(found.readable.values())
    assert {one.uid for one in found.hints} == {"a", "b"}
    successor = LeaseStore(redis, "test", "cluster/ns/test")
    await successor.rebuild(store.epoch + 1, found.readable.values())
    granted = successor.granted(lease("a"))
    assert granted is not None
    assert granted.is_the_same_as(reaching)
    assert granted.reach == REACH
    again = (await successor.former()).readable
    assert {holder: grant.reach for holder, grant in again.items()} == {"a/1": REACH, "b/1": None}
    successor.learn(lease("b", "file:/u"), REACH)
    await successor.note_learned()
    await successor.release(lease("a"))
    assert (await successor.former()).readable["b/1"].reach == REACH
    assert "a/1" not in (await successor.former()).values


async def test_what_is_learned_of_a_holder_that_went_or_came_anew_is_not_noted(
    store: LeaseStore, redis: Redis
) -> None:
    for uid in ("gone", "anew"):
        await store.grant(lease(uid, f"file:/{uid}"))
        store.learn(lease(uid, f"file:/{uid}"), REACH)
    await store.release(lease("gone", "file:/gone"))
    await redis.hset(Keys("test").leases, "anew/1", f"1 9\nrequest\n{lease('anew').to_json()}")
    before = await state(redis)
    await store.note_learned()
    assert await state(redis) == before


async def test_tables_that_were_granted_once_leave_a_bounded_part_of_redis(
    store: LeaseStore, redis: Redis
) -> None:
    """Otherwise any author of jobs could fill it, and the leader's memory, with tables that are none."""
    for job in range(40):
        granted = lease(f"{job}", *(f"file:/lake/{job}/{number}" for number in range(1000)))
        await store.grant(granted)
        await store.release(granted)
    assert await redis.hlen("sluice:{test}:versions") <= MOST_VERSIONS
    assert len(store._versions) <= MOST_VERSIONS
    assert (await redis.memory_usage("sluice:{test}:versions") or 0) < 4_000_000


async def test_tables_that_share_a_version_are_granted_and_released_like_others(store: LeaseStore) -> None:
    found: dict[str, int] = {}
    other = next(n for n in range(MOST_VERSIONS + 1) if found.setdefault(version_key(f"file:/{n}"), n) != n)
    one = found[version_key(f"file:/{other}")]
    both = lease("both", f"file:/{one}", f"file:/{other}")
    apart = [lease("one", f"file:/{one}"), lease("other", f"file:/{other}")]
    assert len(version_keys(both)) == 1
    await asyncio.gather(*map(store.grant, (both, *apart)))
    await asyncio.gather(
        store.release(both), store.release(apart[0]), store.grant(lease("last", f"file:/{one}"))
    )
    assert {one.uid for one in store.held} == {"other", "last"}
    await store.release(apart[1])
    await store.check_memory()


async def test_a_grant_asked_for_twice_is_one_grant(store: LeaseStore, redis: Redis) -> None:
    first = await store.grant(lease("a"))
    before = await state(redis)
    assert await store.grant(lease("a")) == first
    assert await state(redis) == before
    assert (await store.grant(lease("b"))).token > first.token


async def test_a_grant_under_another_hash_is_refused_until_released(store: LeaseStore) -> None:
    await store.grant(lease("a"))
    with pytest.raises(RefusedError, match="etl/a"):
        await store.grant(lease("a", hash_="other"))
    await store.release(lease("a"))
    await store.grant(lease("a", hash_="other"))


async def test_a_release_asked_for_twice_is_one_release(store: LeaseStore, redis: Redis) -> None:
    await store.grant(lease("a"))
    await store.release(lease("a"))
    before = await state(redis)
    await store.release(lease("a"))
    assert await state(redis) == before
    assert store.held == []


async def test_all_tables_or_none(store: LeaseStore, redis: Redis) -> None:
    await store.grant(lease("a", "file:/1"))
    await redis.hset(
        "sluice:{test}:versions", version_key("file:/2"), "another's"
    )  # a history that this leader has not left
    before = await state(redis)
    with pytest.raises(StaleError, match="file:/2"):
        await store.grant(lease("b", "file:/1", "file:/2"))
    assert await state(redis) == before
    assert not store.holds("b", 1)


async def test_a_token_of_a_later_epoch_is_always_higher(store: LeaseStore) -> None:
    tokens = [(await store.grant(lease(str(number)))).token for number in range(3)]
    await store.rebuild(2, [Grant(lease("0"), tokens[0])])
    tokens.append((await store.grant(lease("3"))).token)
    assert tokens == sorted(set(tokens))
    assert Epochs.of(tokens[-1]) == 2


async def test_a_rebuilt_lease_keeps_its_token(store: LeaseStore) -> None:
    first = await store.grant(lease("a"))
    await store.rebuild(2, [first])
    assert (await store.former()).grants == [first]
    assert await store.grant(lease("a")) == first
    assert (await store.grant(lease("b"))).token != first.token


async def test_a_redis_that_was_emptied_grants_and_releases_nothing(store: LeaseStore, redis: Redis) -> None:
    await store.grant(lease("a"))
    await redis.flushall()
    with pytest.raises(ForgottenError):
        await store.grant(lease("b"))
    with pytest.raises(ForgottenError):
        await store.release(lease("a"))
    with pytest.raises(ForgottenError):
        await store.check_memory()
    assert await state(redis) == {}
    assert store.holds("a", 1)


async def test_a_restarted_redis_is_noticed_even_if_it_kept_everything(
    store: LeaseStore, server: RedisProcess
) -> None:
    await store.grant(lease("a"))
    server.save("all")
    await asyncio.to_thread(server.restart_from, "all")
    with pytest.raises((ForgottenError, RedisError)):
        await store.check_memory()
    with pytest.raises(ForgottenError, match="restarted"):
        await store.check_memory()


async def test_an_older_snapshot_of_the_same_epoch_grants_nothing_on_what_it_forgot(
    store: LeaseStore, server: RedisProcess
) -> None:
    await store.grant(lease("a"))
    server.save("older")
    await store.grant(lease("b"))
    await store.release(lease("b"))
    await asyncio.to_thread(server.restart_from, "older")
    for _ in range(3):
        with pytest.raises((StaleError, RedisError)):
            await store.grant(lease("c"))
    assert not store.holds("c", 1)


async def test_a_token_is_never_given_twice_by_an_older_snapshot(
    store: LeaseStore, server: RedisProcess
) -> None:
    await store.grant(lease("a", "file:/1"))
    server.save("older")
    await store.grant(lease("b", "file:/2"))
    await asyncio.to_thread(server.restart_from, "older")
    with pytest.raises((StaleError, RedisError)):
        await store.grant(lease("c", "file:/3"))
    with pytest.raises((StaleError, RedisError)):
        await store.grant(lease("d", "file:/3"))
    assert not store.holds("c", 1)
    assert not store.holds("d", 1)


class Delayed(LeaseStore):
    """A leader's request that it decided on at the beginning of its epoch, and that lands only now."""

    def __init__(self, redis: Redis, epoch: int) -> None:
        super().__init__(redis, "test", "cluster/ns/test")
        self._epoch = epoch


async def test_a_late_grant_does_not_hide_that_redis_went_back(
    store: LeaseStore, redis: Redis, server: RedisProcess
) -> None:
    """An equal number of grants doesn't prove that they are the same ones."""
    server.save("empty")
    await store.grant(lease("a"))
    await asyncio.to_thread(server.restart_from, "empty")
    with pytest.raises(RedisError):
        await redis.ping()
    await Delayed(redis, store.epoch).grant(lease("b"))
    with pytest.raises(StaleError):
        await store.grant(lease("c"))
    assert not store.holds("c", 1)


@pytest.mark.parametrize("then", ["grants", "releases"])
async def test_a_late_copy_of_the_rebuild_does_not_hide_that_redis_was_emptied(
    store: LeaseStore, redis: Redis, then: str
) -> None:
    """It brings the table back as it was then, under the epoch that its leader is in."""
    first = await store.grant(lease("a"))
    await store.rebuild(2, [first])
    await store.check_memory()
    if then == "grants":
        await store.grant(lease("b", "file:/2"))
    else:
        await store.release(lease("a"))
    await store.check_memory()
    await redis.flushall()
    await Delayed(redis, 1).rebuild(2, [first])
    with pytest.raises(ForgottenError, match="all that was granted and released in epoch 2"):
        await store.check_memory()


async def test_an_older_decisions_grant_does_not_answer_for_a_newer_one(
    store: LeaseStore, redis: Redis, server: RedisProcess
) -> None:
    server.save("empty")
    await store.grant(lease("a"))
    await asyncio.to_thread(server.restart_from, "empty")
    with pytest.raises(RedisError):
        await redis.ping()
    await Delayed(redis, store.epoch).grant(lease("b"))
    with pytest.raises(RefusedError, match="another request"):
        await store.grant(lease("b"))
    assert not store.holds("b", 1)


async def test_a_release_frees_only_the_grant_that_it_names(
    store: LeaseStore, redis: Redis, server: RedisProcess
) -> None:
    """The same attempt may be granted once more, by a Redis that forgot the first time."""
    await store.grant(lease("b", "file:/2"))
    server.save("without a")
    late = Delayed(redis, store.epoch)
    await store.grant(lease("a"))
    await asyncio.to_thread(server.restart_from, "without a")
    with pytest.raises(RedisError):
        await redis.ping()
    await redis.incr("sluice:{test}:counter")
    await late.grant(lease("a"))
    before = await state(redis)
    with pytest.raises(StaleError):
        await store.release(lease("a"))
    assert await state(redis) == before


async def test_a_release_notices_a_redis_that_went_back(store: LeaseStore, server: RedisProcess) -> None:
    await store.grant(lease("a"))
    server.save("older")
    for name in ("b", "c"):
        await store.grant(lease(name))
    await asyncio.to_thread(server.restart_from, "older")
    with pytest.raises((StaleError, RedisError)):
        await store.release(lease("c"))
    with pytest.raises((StaleError, RedisError)):
        await store.release(lease("c"))


async def test_a_known_attempt_never_gets_anothers_token_from_an_older_snapshot(
    store: LeaseStore, redis: Redis, server: RedisProcess
) -> None:
    server.save("older")
    await store.grant(lease("a", "file:/1"))
    await store.grant(lease("b", "file:/2"))
    await asyncio.to_thread(server.restart_from, "older")
    with pytest.raises(RedisError):
        await redis.ping()
    with pytest.raises(StaleError, match="token"):
        await store.grant(lease("b", "file:/3"))


async def test_an_older_snapshot_of_an_older_epoch_serves_only_the_older_leader(
    store: LeaseStore, redis: Redis, server: RedisProcess
) -> None:
    server.save("epoch-1")
    successor = LeaseStore(redis, "test", "cluster/ns/test")
    await successor.rebuild(2, [])
    await asyncio.to_thread(server.restart_from, "epoch-1")
    with pytest.raises((ForgottenError, RedisError)):
        await successor.grant(lease("a"))
    with pytest.raises(ForgottenError, match="epoch 1"):
        await successor.grant(lease("a"))
    await successor.rebuild(3, [])
    with pytest.raises(ForgottenError, match="epoch 3"):
        await store.grant(lease("a"))


async def test_of_two_leaders_only_the_later_one_is_served(store: LeaseStore, redis: Redis) -> None:
    held = await store.grant(lease("a"))
    successor = LeaseStore(redis, "test", "cluster/ns/test")
    await successor.rebuild(2, [held])
    before = await state(redis)
    for stale in (store.grant(lease("b")), store.release(lease("a")), store.check_memory()):
        with pytest.raises(ForgottenError):
            await stale
    with pytest.raises(ForgottenError, match="epoch 1 is over"):
        await store.rebuild(1, [])
    assert await state(redis) == before


async def test_an_epoch_is_built_once(store: LeaseStore, redis: Redis) -> None:
    """Two leaders that came to the same number, each without knowing of the other."""
    await store.grant(lease("a"))
    before = await state(redis)
    with pytest.raises(ForgottenError):
        await LeaseStore(redis, "test", "cluster/ns/test").rebuild(1, [])
    assert await state(redis) == before


async def test_deployments_share_a_redis_without_seeing_each_other(store: LeaseStore, redis: Redis) -> None:
    await store.grant(lease("a"))
    other = LeaseStore(redis, "other", "cluster/ns/other")
    await other.rebuild(7, [])
    await other.grant(lease("a", hash_="x"))
    assert [grant.lease.hash for grant in (await store.former()).grants] == ["h"]
    await store.check_memory()


async def test_no_lease_key_ever_expires(store: LeaseStore, redis: Redis) -> None:
    await store.grant(lease("a"))
    assert {await redis.ttl(key) for key in await redis.keys("*")} == {-1}


async def test_scripts_that_redis_forgot_are_sent_again(store: LeaseStore, redis: Redis) -> None:
    await redis.script_flush()
    await store.grant(lease("a"))
    await redis.script_flush()
    await store.release(lease("a"))


async def test_a_grant_whose_answer_came_too_late_is_the_same_grant(server: RedisProcess) -> None:
    """Redis hangs, the client gives up and asks again: both requests are carried out, and are one grant."""
    asked_three_times = asyncio.Event()

    class Noticing(ConstantBackoff):
        def compute(self, failures: int) -> float:
            if failures >= 2:
                asked_three_times.set()
            return super().compute(failures)

    retry = Retry(Noticing(0.1), 1000)
    async with Redis.from_url(
        server.url, decode_responses=True, socket_timeout=0.3, retry=retry
    ) as impatient:
        store = LeaseStore(impatient, "test", "cluster/ns/test")
        await store.rebuild(1, [])
        assert server.service.process is not None
        os.kill(server.service.process.pid, signal.SIGSTOP)
        asking = asyncio.create_task(store.grant(lease("a")))
        await asyncio.wait_for(asked_three_times.wait(), 120)
        os.kill(server.service.process.pid, signal.SIGCONT)
        first = await asking
        assert await store.grant(lease("a")) == first
        assert [grant.lease.uid for grant in (await store.former()).grants] == ["a"]
        await store.grant(lease("b"))


async def test_a_rebuild_leaves_nothing_that_it_was_not_given(store: LeaseStore) -> None:
    kept = await store.grant(lease("a"))
    await store.grant(lease("b", "file:/u"))
    await store.rebuild(2, [kept])
    assert (await store.former()).grants == [kept]
    await store.check_memory()


async def test_many_leases_are_rebuilt_in_one_step(store: LeaseStore) -> None:
    grants = [Grant(lease(str(n), f"s3://lake/{n}"), Epochs.token(1, n)) for n in range(5000)]
    await store.rebuild(2, grants)
    assert sorted(grant.token for grant in (await store.former()).grants) == [grant.token for grant in grants]


async def test_a_redis_of_another_installation_is_refused_by_every_script_and_both_are_named(
    store: LeaseStore, redis: Redis
) -> None:
    held = await store.grant(lease("a"))
    before = await state(redis)
    other = LeaseStore(redis, "test", "elsewhere/ns/test")
    for refused in (other.rebuild(2, []), other.grant(lease("b")), other.note_beat(1)):
        with pytest.raises(OtherInstallationError, match=r"cluster/ns/test.*elsewhere/ns/test.*sluice adopt"):
            await refused
    assert await state(redis) == before
    assert await store.grant(lease("a")) == held


async def test_who_rebuilds_first_is_whose_redis_it_is(redis: Redis) -> None:
    first, second = (LeaseStore(redis, "test", f"{cluster}/ns/test") for cluster in ("one", "two"))
    assert (await first.former()).installation is None
    await first.rebuild(1, [])
    assert (await first.former()).installation == "one/ns/test"
    with pytest.raises(OtherInstallationError):
        await second.rebuild(5, [])


async def test_what_stood_there_before_it_was_adopted_is_no_ground_for_a_rebuild(
    store: LeaseStore, redis: Redis
) -> None:
    """Else leases that no object explains would be let go: what was read doesn't say that they are another's."""
    await store.grant(lease("a"))
    heir = LeaseStore(redis, "test", "rebuilt/ns/test")
    with pytest.raises(OtherInstallationError, match="sluice adopt"):
        await heir.former()
    await adopt(redis, Keys("test"), await former(redis, Keys("test")), "rebuilt/ns/test")
    assert (await heir.former()).adopted_from == "cluster/ns/test"


async def test_what_is_adopted_keeps_its_leases_and_refuses_who_had_it(
    store: LeaseStore, redis: Redis
) -> None:
    held = await store.grant(lease("a"))
    keys, heir = Keys("test"), "rebuilt/ns/test"
    seen = await former(redis, keys)
    await adopt(redis, keys, seen, heir)
    await adopt(redis, keys, seen, heir)  # asked twice is adopted once
    found = await former(redis, keys)
    assert (found.installation, found.adopted_from, found.grants) == (heir, "cluster/ns/test", [held])
    asked = (
        store.grant(lease("b")),
        store.release(lease("a")),
        store.check_memory(),
        store.rebuild(9, []),
    )
    for refused in asked:
        with pytest.raises(OtherInstallationError, match=heir):
            await refused
    successor = LeaseStore(redis, "test", heir)
    await successor.rebuild(2, [held])
    assert (await successor.former()).adopted_from is None


async def test_what_another_has_adopted_meanwhile_is_not_adopted(store: LeaseStore, redis: Redis) -> None:
    keys = Keys("test")
    seen = await former(redis, keys)
    await adopt(redis, keys, seen, "quick/ns/test")
    with pytest.raises(AdoptedMeanwhileError, match="quick/ns/test"):
        await adopt(redis, keys, seen, "slow/ns/test")


async def test_how_far_the_leader_came_is_remembered_until_a_rebuild_says_otherwise(
    store: LeaseStore, redis: Redis
) -> None:
    await store.note_beat(7)
    assert (await store.former()).beat == 7
    successor = LeaseStore(redis, "test", "cluster/ns/test")
    await successor.rebuild(2, [], beat=3)
    assert (await store.former()).beat == 3
    with pytest.raises(ForgottenError):
        await store.note_beat(8)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("epoch", "abc"),
        ("epoch", "1" + "0" * 20),
        ("epoch", str(Epochs.END - 1)),
        ("epoch", b"\xff"),
        ("beat", "-1"),
        ("leases", "no hash"),
    ],
)
async def test_what_somebody_wrote_over_the_table_is_named_and_taken_for_nothing(
    store: LeaseStore, redis: Redis, key: str, text: str | bytes
) -> None:
    await store.grant(lease("a"))
    await redis.set(f"sluice:{{test}}:{key}", text)
    with pytest.raises(DamagedTableError, match=r"sluice:\{test\}.*delete that key"):
        await store.former()
    await redis.delete(f"sluice:{{test}}:{key}")
    await store.former()


def of_run(uid: str, table: str, run: str = "etl/daily") -> Lease:
    return Lease(uid, 1, "h", f"etl/{uid}", (table,), run=run)


async def test_a_run_has_one_holder_whatever_tables_they_write(store: LeaseStore, redis: Redis) -> None:
    first = await store.grant(of_run("a", "file:/t"))
    assert await store.grant(of_run("a", "file:/t")) == first
    before = await state(redis)
    with pytest.raises(TakenError, match=r"etl/b: run etl/daily is held by a/1"):
        await store.grant(of_run("b", "file:/u"))
    assert await state(redis) == before
    await store.grant(of_run("c", "file:/u", run="etl/weekly"))
    await store.release(first.lease)
    await store.grant(of_run("b", "file:/u"))


async def test_redis_refuses_a_second_holder_of_a_run_to_a_leader_that_forgot_the_first(
    store: LeaseStore, redis: Redis
) -> None:
    held = await store.grant(of_run("a", "file:/t"))
    store._rights.clear()
    before = await state(redis)
    with pytest.raises(TakenError, match=r"run etl/daily is held by a/1, as Redis tells"):
        await store.grant(of_run("b", "file:/u"))
    assert await state(redis) == before
    successor = LeaseStore(redis, "test", "cluster/ns/test")
    await successor.rebuild(store.epoch + 1, [held])
    with pytest.raises(TakenError):
        await successor.grant(of_run("b", "file:/u"))
    await successor.release(held.lease)
    await successor.grant(of_run("b", "file:/u"))
    await successor.rebuild(successor.epoch + 1, [])
    assert await redis.hgetall("sluice:{test}:rights") == {}


async def test_a_redis_that_was_emptied_refuses_a_second_holder_once_it_is_rebuilt(
    store: LeaseStore, redis: Redis
) -> None:
    held = await store.grant(of_run("a", "file:/t"))
    await redis.flushall()
    await store.rebuild(store.epoch + 1, [held])
    store._rights.clear()
    before = await state(redis)
    with pytest.raises(TakenError, match=r"run etl/daily is held by a/1, as Redis tells"):
        await store.grant(of_run("b", "file:/u"))
    assert await state(redis) == before
    await store.grant(of_run("b", "file:/u", run="etl/weekly"))


async def test_a_run_is_freed_only_by_the_grant_that_holds_it(store: LeaseStore, redis: Redis) -> None:
    held = await store.grant(of_run("a", "file:/t"))
    await redis.hset("sluice:{test}:rights", "run etl/daily", "b/1")
    await store.release(held.lease)
    assert await redis.hgetall("sluice:{test}:rights") == {"run etl/daily": "b/1"}


async def test_two_holders_of_one_run_that_a_rebuild_has_found_both_hold_it_until_the_last_is_gone(
    store: LeaseStore, redis: Redis
) -> None:
    """Objects that came back may show two. Nobody else gets the run before both are over, whichever goes first."""
    for order in ((0, 1), (1, 0)):
        found = [Grant(of_run(uid, f"file:/{uid}"), Epochs.token(1, n + 1)) for n, uid in enumerate("ab")]
        await store.rebuild(store.epoch + 1, found)
        first, second = (found[number].lease for number in order)
        await store.release(first)
        with pytest.raises(TakenError):
            await store.grant(of_run("c", "file:/c"))
        await store.release(second)
        held = await store.grant(of_run("c", "file:/c"))
        await store.release(held.lease)
        assert await redis.hgetall("sluice:{test}:rights") == {}

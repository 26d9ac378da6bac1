"""What many ask for at once goes to Redis as one request, and each gets an answer of its own."""

import asyncio
from random import Random

import pytest
from redis.asyncio import Redis

from sluice.leases import ForgottenError, Grant, Lease, LeaseStore, StaleError
from sluice.leases.changes import AT_ONCE, OrderedRequests, version_keys
from sluice.leases.store import TakenError


def lease(uid: str, *tables: str, run: str | None = None) -> Lease:
    return Lease(uid, 1, "h", f"etl/{uid}", tables or ("file:/t",), run=run)


async def requests(redis: Redis) -> int:
    """The scripts that Redis has run."""
    told = await redis.info("commandstats")
    return int(told.get("cmdstat_evalsha", {"calls": 0})["calls"])


async def test_what_is_asked_for_at_once_is_one_request(store: LeaseStore, redis: Redis) -> None:
    await store.grant(lease("first"))  # the script is there now
    before = await requests(redis)
    grants = await asyncio.gather(*(store.grant(lease(f"{number}")) for number in range(AT_ONCE)))
    assert await requests(redis) == before + 1
    tokens = [grant.token for grant in grants]
    assert tokens == sorted(set(tokens))
    await asyncio.gather(*(store.release(grant.lease) for grant in grants), store.grant(lease("last")))
    assert await requests(redis) == before + 3, "as many as fit into one, and one more"
    assert {one.uid for one in store.held} == {"first", "last"}
    assert {grant.lease.uid for grant in (await store.former()).grants} == {"first", "last"}


async def test_what_is_asked_for_meanwhile_waits_for_the_answer(store: LeaseStore, redis: Redis) -> None:
    under_way: set[int] = set()
    most = 0
    sent = store._send

    async def counted(changes):  # type: ignore[no-untyped-def]
        nonlocal most
        under_way.add(id(changes))
        most = max(most, len(under_way))
        try:
            return await sent(changes)
        finally:
            under_way.discard(id(changes))

    store._changes = OrderedRequests(counted)

    async def come_and_go(number: int) -> None:
        for turn in range(5):
            grant = await store.grant(lease(f"{number}-{turn}", f"file:/{number % 3}", f"file:/of/{turn}"))
            await asyncio.sleep(0)
            await store.release(grant.lease)

    await asyncio.gather(*map(come_and_go, range(16)))
    assert most == 1
    assert store.held == []
    await store.grant(lease("a", *(f"file:/{number}" for number in range(5))))


async def test_one_that_is_refused_keeps_nobody_else_from_what_it_asked_for(store: LeaseStore) -> None:
    asked = [
        lease("a", run="etl/daily"),
        lease("b", run="etl/daily"),
        lease("c", "file:/u"),
        lease("d", "\ud800"),
    ]
    first, second, third, fourth = await asyncio.gather(*map(store.grant, asked), return_exceptions=True)
    assert isinstance(first, Grant)
    assert isinstance(second, TakenError)
    assert isinstance(third, Grant)
    assert isinstance(fourth, UnicodeError)
    assert [one.uid for one in store.held] == ["a", "c"]


async def test_who_gives_up_waiting_has_been_granted_all_the_same(store: LeaseStore) -> None:
    """The leader's memory must know of whatever Redis has granted."""
    asking = [asyncio.create_task(store.grant(lease(uid))) for uid in ("a", "b")]
    await asyncio.sleep(0)
    asking[0].cancel()
    await asking[1]
    assert [one.uid for one in store.held] == ["a", "b"]


async def test_what_was_decided_on_in_an_epoch_that_is_over_is_not_sent(store: LeaseStore) -> None:
    held = await store.grant(lease("a"))
    decided = [asyncio.create_task(store.release(held.lease)), asyncio.create_task(store.grant(lease("b")))]
    rebuilding = asyncio.create_task(store.rebuild(2, [held]))
    await asyncio.sleep(0)
    store._epoch = 2  # as if the rebuild were done before they are sent
    outcomes = await asyncio.gather(*decided, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["epoch 1, in which this was decided on, is over"] * 2
    assert all(isinstance(outcome, ForgottenError) for outcome in outcomes)
    await rebuilding
    assert [grant.lease.uid for grant in (await store.former()).grants] == ["a"]


@pytest.mark.parametrize("seed", range(5))
async def test_memory_and_redis_stay_the_same_whatever_comes_together(
    store: LeaseStore, redis: Redis, seed: int
) -> None:
    """And a Redis that went back is found out by whoever comes next, in company or alone."""
    chance = Random(seed)  # noqa: S311 - repeatable chance is what is wanted
    held: list[Lease] = []
    for turn in range(30):
        leaving = [held.pop(chance.randrange(len(held))) for _ in range(chance.randint(0, len(held)))]
        runs = [None, None, f"etl/{turn}"]
        coming = [
            lease(
                f"{turn}-{number}",
                *chance.sample(["a", "b", "c", "d"], 2),
                run=chance.choice(runs) if number == 0 else None,
            )
            for number in range(chance.randint(0, 5))
        ]
        both = [*(store.release(one) for one in leaving), *(store.grant(one) for one in coming)]
        chance.shuffle(both)
        await asyncio.gather(*both)
        held += coming
        assert {grant.lease for grant in (await store.former()).grants} == set(held) == set(store.held)
        rights = {right: one.holder for one in held for right in one.rights}
        assert await redis.hgetall("sluice:{test}:rights") == rights
    await store.grant(lease("z", "a", "b", "c", "d"))
    (version,) = version_keys(lease("x", "c"))
    await redis.hset("sluice:{test}:versions", version, "what it was before")
    outcomes = await asyncio.gather(
        store.release(lease("z")),
        store.grant(lease("y", "a")),
        store.grant(lease("x", "c")),
        return_exceptions=True,
    )
    assert any(isinstance(outcome, StaleError) for outcome in outcomes)

"""The tables of policies are looked at now and then and for reasons, few at a time; a look that fails is made again."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.table_observations import IN_ALL, TableObservations
from sluice.tables import TableKey, key_of_path, unread
from sluice.tables.table_observation import TableObservation, TableState
from unit.controller.bodies import PARTITIONED, policy_body

NEVER = 3600.0


class Lake:
    """What looks see, and who was looked at."""

    def __init__(self) -> None:
        self.looked: list[str] = []
        self.troubles: dict[str, str] = {}
        self.error: Exception | None = None
        self.versions: dict[str, int] = {}
        self.hangs: dict[str, threading.Event] = {}
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def look(self, key: TableKey) -> TableObservation:
        with self._lock:
            self.looked.append(key.text)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if key.text in self.hangs:
                self.hangs[key.text].wait(30)
            if self.error is not None:
                raise self.error
            why = self.troubles.get(key.text)
            state = TableState(unread=why, version=self.versions.get(key.text, 0))
            return TableObservation(datetime.now(UTC), state, PARTITIONED if why is None else unread(why))
        finally:
            with self._lock:
                self.at_once -= 1


def world_of(*names: str, **more: Any) -> ClusterCache:
    world = ClusterCache({})
    for name in names:
        world.policy_seen(policy_body(name, table={"path": f"/lake/{name}"}, **more))
    world.heed_policies()
    return world


@asynccontextmanager
async def looking(world: ClusterCache, lake: Lake, **more: float) -> AsyncIterator[TableObservations]:
    settings = {"every": NEVER, "least_pause": 0.0, "again": 0.01} | more
    looks = TableObservations(world, lake.look, **settings)
    running = asyncio.create_task(looks.run())
    try:
        yield looks
    finally:
        for hanging in lake.hangs.values():
            hanging.set()
        running.cancel()
        await asyncio.wait({running})
        looks.close()


async def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not look():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def test_a_new_policy_is_looked_at_at_once_and_who_listens_is_told() -> None:
    lake, told = Lake(), list[str]()
    async with looking(world_of("a", "b"), lake) as looks:
        looks.listen(told.append)
        await until(lambda: len(told) == 2)
        assert sorted(told) == ["policy-a", "policy-b"]
        seen = looks.of("policy-a")
        assert seen is not None
        assert seen.state.version == 0
        assert looks.key_of("policy-a") == key_of_path("/lake/a")
        assert looks.of("policy-c") is None


async def test_each_is_looked_at_again_after_the_interval() -> None:
    lake = Lake()
    async with looking(world_of("a"), lake, every=0.05):
        await until(lambda: len(lake.looked) > 3)


async def test_a_job_that_may_have_changed_a_table_has_that_one_looked_at_again() -> None:
    lake = Lake()
    async with looking(world_of("a", "b"), lake) as looks:
        await until(lambda: looks.of("policy-a") is not None and looks.of("policy-b") is not None)
        looks.changed([key_of_path("/lake/b")])
        await until(lambda: lake.looked.count("file:/lake/b") == 2)
        assert lake.looked.count("file:/lake/a") == 1


async def test_a_table_that_a_job_changes_while_it_is_looked_at_is_looked_at_again() -> None:
    lake, hangs = Lake(), threading.Event()
    lake.hangs["file:/lake/a"] = hangs
    async with looking(world_of("a"), lake) as looks:
        await until(lambda: lake.looked == ["file:/lake/a"])
        looks.changed([key_of_path("/lake/a")])
        hangs.set()
        await until(lambda: len(lake.looked) == 2)


async def test_a_look_counts_as_after_all_runs_only_if_it_began_after_them() -> None:
    lake, hangs, world = Lake(), threading.Event(), world_of("a", "b")
    async with looking(world, lake) as looks:
        assert looks.after_all_runs("policy-a") is None
        await until(lambda: looks.after_all_runs("policy-a") is not None)
        await until(lambda: looks.after_all_runs("policy-b") is not None)
        told = list[bool]()
        looks.listen(lambda uid: told.append(looks.after_all_runs(uid) is not None))
        lake.hangs["file:/lake/a"] = hangs
        looks.soon("policy-a")
        await until(lambda: lake.looked.count("file:/lake/a") == 2)
        looks.changed([key_of_path("/lake/a")])
        assert looks.after_all_runs("policy-a") is None
        assert looks.after_all_runs("policy-b") is not None
        del lake.hangs["file:/lake/a"]
        hangs.set()
        await until(lambda: len(told) == 2)
        assert told == [False, True], "the first of them began before the run had ended"
        assert lake.looked.count("file:/lake/a") == 3


async def test_who_asks_for_a_look_after_all_runs_has_the_next_one_come_at_once_and_one_alone() -> None:
    lake, world = Lake(), ClusterCache({})
    body = policy_body("a", table={"path": "/lake/a"})
    world.policy_seen(body | {"status": {"observedGeneration": 1}})
    world.heed_policies()
    async with looking(world, lake, spread=NEVER) as looks:
        await until(lambda: looks.after_all_runs("policy-a") is not None)
        await asyncio.sleep(0.05)
        assert lake.looked == ["file:/lake/a"]


async def test_what_could_not_be_read_is_no_look_after_all_runs_and_is_tried_again_for_who_asks() -> None:
    lake = Lake()
    lake.troubles["file:/lake/a"] = "no answer"
    async with looking(world_of("a"), lake) as looks:
        await until(lambda: looks.of("policy-a") is not None)
        assert looks.after_all_runs("policy-a") is None
        await until(lambda: len(lake.looked) == 2)
        del lake.troubles["file:/lake/a"]
        await until(lambda: looks.after_all_runs("policy-a") is not None)


async def test_two_looks_at_one_table_are_apart_however_many_jobs_change_it() -> None:
    lake = Lake()
    async with looking(world_of("a"), lake, least_pause=NEVER) as looks:
        await until(lambda: looks.of("policy-a") is not None)
        for _ in range(5):
            looks.changed([key_of_path("/lake/a")])
            await asyncio.sleep(0.01)
        assert lake.looked == ["file:/lake/a"]


async def test_a_changed_policy_has_its_table_looked_at_again_and_one_about_another_table_begins_anew() -> (
    None
):
    lake, world = Lake(), world_of("a")
    async with looking(world, lake) as looks:
        await until(lambda: looks.of("policy-a") is not None)
        world.policy_seen(
            policy_body("a", version=2, generation=2, table={"path": "/lake/a"}, partitionBy=[])
        )
        world.heed_policies()
        await until(lambda: len(lake.looked) == 2)
        world.policy_seen(policy_body("a", version=3, generation=3, table={"path": "/lake/other"}))
        world.heed_policies()
        await until(lambda: lake.looked[-1] == "file:/lake/other")


async def test_a_policy_that_does_not_count_or_is_gone_is_not_looked_at() -> None:
    lake, world = Lake(), world_of("a")
    world.policy_seen(policy_body("second", created="11:00:00", table={"path": "/lake/a"}))
    world.policy_seen(policy_body("strange", table={"nothing": 1}))
    world.heed_policies()
    async with looking(world, lake, every=0.02) as looks:
        await until(lambda: len(lake.looked) > 3)
        assert set(lake.looked) == {"file:/lake/a"}
        assert looks.of("policy-second") is None
        world.policy_gone("policy-a")
        world.heed_policies()
        await until(lambda: looks.of("policy-a") is None)


async def test_a_failed_look_is_made_again_before_it_counts() -> None:
    lake, told = Lake(), list[str | None]()
    async with looking(world_of("a"), lake) as looks:
        await until(lambda: looks.of("policy-a") is not None)
        looks.listen(lambda uid: told.append(looks.of(uid).state.unread))  # type: ignore[union-attr]
        lake.troubles["file:/lake/a"] = "no answer"
        looks.soon("policy-a")
        await until(lambda: len(told) == 2)
        assert told == [None, "no answer"]


async def test_the_first_look_counts_though_it_failed() -> None:
    lake = Lake()
    lake.error = RuntimeError("broken")
    async with looking(world_of("a"), lake) as looks:
        await until(lambda: looks.of("policy-a") is not None)
        seen = looks.of("policy-a")
        assert seen is not None
        assert "broken" in str(seen.state.unread)


async def test_a_store_that_hangs_is_told_in_time_and_holds_up_its_own_tables_only() -> None:
    lake, world = Lake(), ClusterCache({})
    lake.hangs["file:/stuck/a"] = threading.Event()
    world.policy_seen(policy_body("a", table={"path": "/stuck/a"}))
    world.policy_seen(policy_body("b", table={"path": "/lake/b"}))
    world.heed_policies()
    async with looking(world, lake, every=0.05, patience=0.1) as looks:
        await until(lambda: looks.of("policy-a") is not None)
        seen = looks.of("policy-a")
        assert seen is not None
        assert "did not answer" in str(seen.state.unread)
        await until(lambda: lake.looked.count("file:/lake/b") > 5)
        assert lake.looked.count("file:/stuck/a") == 1
        lake.hangs["file:/stuck/a"].set()
        await until(lambda: looks.of("policy-a").state.unread is None)  # type: ignore[union-attr]


async def test_those_whose_turn_has_not_come_in_a_store_that_answers_are_not_told_as_unread() -> None:
    class Slow(Lake):
        def look(self, key: TableKey) -> TableObservation:
            time.sleep(0.02)
            return super().look(key)

    names, told = [f"t{number}" for number in range(60)], list[str | None]()
    async with looking(world_of(*names), Slow(), patience=0.2) as looks:
        looks.listen(lambda uid: told.append(looks.of(uid).state.unread))  # type: ignore[union-attr]
        await until(lambda: len(told) == len(names))
    assert set(told) == {None}


async def test_those_whose_turn_does_not_come_in_a_store_that_hangs_are_told_as_unread() -> None:
    lake, names = Lake(), [f"t{number}" for number in range(6)]
    lake.hangs = {f"file:/lake/{name}": threading.Event() for name in names}
    async with looking(world_of(*names), lake, patience=0.5) as looks:
        await until(lambda: all(looks.is_to_come(f"policy-{name}") for name in names))
        await until(lambda: all(looks.of(f"policy-{name}") is not None for name in names))
        assert not any(looks.is_to_come(f"policy-{name}") for name in names)
        seen = [looks.of(f"policy-{name}") for name in names]
        assert all("did not answer" in str(one.state.unread) for one in seen if one is not None)


async def test_few_tables_are_looked_at_at_a_time() -> None:
    names = [f"t{number}" for number in range(40)]
    lake, world = Lake(), ClusterCache({})
    for name in names:
        world.policy_seen(policy_body(name, table={"path": f"/{name}/table"}))
    world.heed_policies()
    async with looking(world, lake) as looks:
        await until(lambda: all(looks.of(f"policy-{name}") is not None for name in names))
        assert lake.most_at_once <= IN_ALL
        assert looks.looks == 40


async def test_policies_that_were_told_of_already_are_not_all_looked_at_at_once() -> None:
    lake, world = Lake(), ClusterCache({})
    for number in range(50):
        body = policy_body(f"t{number}", table={"path": f"/lake/t{number}"})
        world.policy_seen(body | {"status": {"observedGeneration": 1}})
    world.policy_seen(policy_body("new", table={"path": "/lake/new"}))
    world.heed_policies()
    async with looking(world, lake, spread=NEVER) as looks:
        await until(lambda: looks.of("policy-new") is not None)
        assert len(lake.looked) < 10


async def test_who_listens_and_fails_ends_no_looks(caplog: pytest.LogCaptureFixture) -> None:
    lake, told = Lake(), list[str]()

    def fails(_: str) -> None:
        raise KeyError("x")

    async with looking(world_of("a"), lake, every=0.02) as looks:
        looks.listen(fails)
        looks.listen(told.append)
        await until(lambda: len(told) > 2)
    assert "the operator failed on what it saw of file:/lake/a" in caplog.text


async def test_a_policy_that_names_another_table_does_not_wait_for_the_one_that_hangs() -> None:
    lake = Lake()
    lake.hangs["file:/lake/a"] = threading.Event()
    world = world_of("a")
    async with looking(world, lake) as looks:
        await until(lambda: lake.looked == ["file:/lake/a"])
        world.policy_seen(policy_body("a", version=2, generation=2, table={"path": "/other/b"}))
        world.heed_policies()
        await until(lambda: looks.of("policy-a") is not None)
        assert looks.key_of("policy-a") == key_of_path("/other/b")
        lake.hangs["file:/lake/a"].set()
        looks.changed([key_of_path("/other/b")])
        await until(lambda: lake.looked.count("file:/other/b") == 2)


async def test_a_policy_that_is_created_again_while_its_table_hangs_has_it_looked_at() -> None:
    lake = Lake()
    lake.hangs["file:/lake/a"] = threading.Event()
    world = world_of("a")
    async with looking(world, lake) as looks:
        await until(lambda: lake.looked == ["file:/lake/a"])
        again = policy_body("a", version=2, table={"path": "/lake/a"})
        world.policy_seen(again | {"metadata": again["metadata"] | {"uid": "again"}})
        world.heed_policies()
        await until(lambda: len(lake.looked) == 2)
        lake.hangs["file:/lake/a"].set()
        await until(lambda: looks.of("again") is not None)
        looks.changed([key_of_path("/lake/a")])
        await until(lambda: len(lake.looked) == 3)

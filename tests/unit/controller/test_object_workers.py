"""Many jobs at once, one thing after another for each, and no namespace behind another's thousands."""

import asyncio
from collections.abc import Awaitable
from functools import partial

from sluice.controller.process.object_workers import ObjectWorkers


class Doing:
    """Steps that take as long as they are let."""

    def __init__(self, *, most: int = 64) -> None:
        self.log: list[str] = []
        self.under_way: set[str] = set()
        self.most_at_once = 0
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.idle: list[str] = []
        self.workers = ObjectWorkers(self.guard, most=most)
        self.workers.serve(partial(self.do, "step"), self.idle.append)

    async def guard(self, _: str, doing: Awaitable[None]) -> None:
        await doing

    async def do(self, what: str, uid: str) -> None:
        assert uid not in self.under_way, "one thing at a time for each job"
        self.under_way.add(uid)
        self.most_at_once = max(self.most_at_once, len(self.under_way))
        self.log.append(f"{what} {uid}")
        await asyncio.sleep(0)
        await self.goes_on.wait()
        self.under_way.discard(uid)

    async def end(self) -> None:
        self.goes_on.set()
        async with self.workers.paused():
            pass


async def test_jobs_are_worked_on_beside_one_another_up_to_a_bound() -> None:
    doing = Doing(most=3)
    doing.goes_on.clear()
    for number in range(10):
        doing.workers.ask(f"job-{number}", "etl")
    await asyncio.sleep(0.01)
    assert doing.workers.count == 3
    await _until_idle(doing, 10)
    assert doing.most_at_once == 3
    assert len(doing.log) == 10


async def test_a_step_that_is_asked_for_while_one_is_under_way_follows_it_once() -> None:
    """The one under way may have looked before something changed."""
    doing = Doing()
    doing.goes_on.clear()
    doing.workers.ask("a", "etl")
    await asyncio.sleep(0.01)
    for _ in range(5):
        doing.workers.ask("a", "etl")
    await _until_idle(doing, 1)
    assert doing.log == ["step a", "step a"]
    assert doing.idle == ["a"]


async def test_what_was_decided_on_a_job_comes_before_its_steps_and_before_other_jobs() -> None:
    doing = Doing(most=1)
    doing.goes_on.clear()
    for uid in ("a", "b", "c"):
        doing.workers.ask(uid, "etl")
    doing.workers.do("c", partial(doing.do, "begin", "c"))
    assert doing.workers.is_busy("c")
    await asyncio.sleep(0.01)
    await _until_idle(doing, 3)
    assert doing.log == ["step a", "begin c", "step c", "step b"]


async def test_a_namespace_with_few_jobs_does_not_wait_behind_one_with_thousands() -> None:
    doing = Doing(most=1)
    doing.goes_on.clear()
    for number in range(1000):
        doing.workers.ask(f"many-{number}", "many")
    doing.workers.ask("few-0", "few")
    doing.workers.ask("few-1", "few")
    await _until_idle(doing, 1002)
    assert {"step few-0", "step few-1"} <= set(doing.log[:5])


async def test_while_paused_nothing_is_under_way_and_nothing_begins() -> None:
    doing = Doing()
    doing.workers.ask("a", "etl")
    async with doing.workers.paused():
        assert doing.workers.count == 0
        before = list(doing.log)
        doing.workers.ask("b", "etl")
        doing.workers.do("c", partial(doing.do, "begin", "c"))
        await asyncio.sleep(0.01)
        assert doing.log == before
    await _until_idle(doing, 3)
    assert {"begin c", "step b"} <= set(doing.log)


async def test_what_was_decided_and_did_not_begin_is_forgotten_with_its_epoch() -> None:
    """A rebuild knows nothing of it: what was granted is no lease any more."""
    doing = Doing()
    async with doing.workers.paused():
        doing.workers.do("a", partial(doing.do, "begin", "a"))
        doing.workers.ask("a", "etl")
        doing.workers.forget_decided()
        assert not doing.workers.is_busy("a")
    await _until_idle(doing, 1)
    assert doing.log == ["step a"]


async def test_at_the_end_nothing_is_left_under_way() -> None:
    doing = Doing()
    doing.goes_on.clear()
    doing.workers.ask("a", "etl")
    await asyncio.sleep(0.01)
    await doing.workers.close()
    assert doing.workers.count == 0


async def _until_idle(doing: Doing, jobs: int) -> None:
    doing.goes_on.set()
    for _ in range(10_000):
        if len(doing.idle) >= jobs:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{len(doing.idle)} of {jobs} jobs came to their end")

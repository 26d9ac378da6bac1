"""Long specs are read beside the acting loop, which goes on with what it knows."""

import asyncio
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import pytest

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.readers.spec_reader import SpecReader
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError, texts_of
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.spec.read_requests import READ_AT_ONCE, SpecAnswer, SpecQuestion, reader
from sluice.predicates import Table
from sluice.processes.child import Death, DeathCause, DeathError, NoAnswerError
from sluice.processes.pool import QuarantineError, Suspect
from sluice.tables import Names, TableFacts, key_of_name, key_of_path
from unit.controller.bodies import job_body

ANSWERS_WITHIN = 60.0
LONG = "/* " + "x" * READ_AT_ONCE + " */"
OUT_OF_MEMORY = Death(DeathCause.MEMORY, "needed more than 160 MiB of memory")


class Process:
    """Reads as the process does, when it is let; or fails."""

    def __init__(self) -> None:
        self.questions: list[SpecQuestion] = []
        self.fails: list[NoAnswerError] = []
        self.may_read = threading.Event()
        self.may_read.set()
        self._read = reader()

    def close(self) -> None: ...

    def ask(self, key: Hashable, question: object, *, lane: int) -> object:
        assert isinstance(question, SpecQuestion)
        assert (key, lane) == (question.key, 0)
        self.questions.append(question)
        assert self.may_read.wait(ANSWERS_WITHIN)
        if self.fails:
            raise self.fails.pop(0)
        return self._read(question)


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def world() -> ClusterCache:
    return ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})


@pytest.fixture
def specs(world: ClusterCache, process: Process) -> Iterator[SpecReader]:
    pool: Any = process
    found = SpecReader(world, pool)
    yield found
    found.close()


@pytest.fixture
def reads_nothing_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the operator fail where it would read a spec on its loop."""
    before = threading.get_ident()

    def refuse(*args: object) -> object:
        assert threading.get_ident() != before, "a long spec was read on the loop"
        return texts_of(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("sluice.lifecycle.spec.compiled_spec.texts_of", refuse)


def arrives(world: ClusterCache, name: str, namespace: str = "etl") -> str:
    body = job_body(name, sql=f"DELETE FROM delta.`/lake/{name}` WHERE id = 1 {LONG}")
    body["metadata"]["namespace"] = namespace
    world.job_seen(body)
    return f"uid-{name}"


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(ANSWERS_WITHIN):
        while not holds():  # noqa: ASYNC110 - a thread makes it so
            await asyncio.sleep(0.01)


async def has_read(specs: SpecReader, world: ClusterCache, uid: str) -> JobView:
    await until(lambda: specs.has_read(world.jobs[uid]))
    return world.jobs[uid]


@pytest.mark.usefixtures("reads_nothing_itself")
async def test_a_long_spec_is_read_by_the_process_and_then_with_what_is_known_of_its_tables(
    specs: SpecReader, world: ClusterCache, process: Process
) -> None:
    uid = arrives(world, "a")
    assert not world.jobs[uid].is_read
    job = await has_read(specs, world, uid)
    (key,) = job.tables
    facts = TableFacts(Table.of({"id": "bigint"}, ["id"]))
    world.table_seen(key, facts)
    assert not world.jobs[uid].is_read_with_facts
    job = await has_read(specs, world, uid)
    assert job.is_read_with_facts
    assert [one.facts for one in job.footprint.tables] == [facts]
    assert "id" in job.footprint.tables[0].reads_text
    assert job.unrepeatable is None
    assert job.hashes.are(job.spec_hash)
    assert len(process.questions) == 2
    assert uid in world.take_changes()


@pytest.mark.parametrize("is_concerned", [False, True])
async def test_an_answer_counts_while_none_of_the_jobs_names_leads_elsewhere(
    specs: SpecReader, world: ClusterCache, *, is_concerned: bool
) -> None:
    """Names change with each run that reports one: no long job would ever be read."""
    world.job_seen(job_body("named", sql=f"DELETE FROM sales.orders WHERE id = 1 {LONG}"))
    job = await has_read(specs, world, "uid-named")
    (key,) = job.tables
    world.table_seen(key, TableFacts(Table.of({"id": "bigint"})))
    question = world.jobs["uid-named"].to_read
    assert question is not None
    name = key_of_name("sales.orders" if is_concerned else "sales.others")
    elsewhere = Names(reported={name: frozenset([key_of_path("/lake/elsewhere")])})
    after = world.jobs["uid-named"].renamed(elsewhere, is_concerned=is_concerned)
    found = reader()(question)
    assert isinstance(found, SpecAnswer)
    after.take(question, found)
    assert after.is_soon_worked_out is not is_concerned


@pytest.mark.usefixtures("reads_nothing_itself")
async def test_what_changes_while_it_is_read_is_read_again(
    specs: SpecReader, world: ClusterCache, process: Process
) -> None:
    uid = arrives(world, "a")
    process.may_read.clear()
    assert not specs.has_read(world.jobs[uid])
    await until(lambda: process.questions)
    world.job_seen(job_body("a", version=200, generation=2, sql=f"DELETE FROM delta.`/lake/other` {LONG}"))
    process.may_read.set()
    job = await has_read(specs, world, uid)
    assert job.tables == (key_of_path("/lake/other"),)


async def test_a_short_spec_is_not_for_the_process(
    specs: SpecReader, world: ClusterCache, process: Process
) -> None:
    world.job_seen(job_body("short", sql="DELETE FROM delta.`/lake/t`"))
    assert specs.has_read(world.jobs["uid-short"])
    assert not process.questions


@pytest.mark.usefixtures("reads_nothing_itself")
async def test_a_short_spec_is_held_against_a_wide_table_by_the_process(
    specs: SpecReader, world: ClusterCache, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sluice.lifecycle.spec.compiled_spec.texts_of", texts_of
    )  # the spec alone is read on the loop
    erases = "DELETE FROM delta.`/lake/t` WHERE day = DATE '2026-11-29'; "
    world.job_seen(job_body("short", sql=erases * 5))
    job = world.jobs["uid-short"]
    assert specs.has_read(job)
    (key,) = job.tables
    columns = {"day": "date"} | {f"c{number}": "int" for number in range(9_000)}
    is_quick = []
    for known in ({"day": "date"}, columns):
        world.table_seen(key, TableFacts(Table.of(known, ["day"])))
        is_quick.append(world.jobs["uid-short"].is_read_with_facts)
    assert is_quick == [True, False]
    job = await has_read(specs, world, "uid-short")
    assert job.is_read_with_facts
    assert "day" in job.footprint.tables[0].reads_text
    assert len(process.questions) == 1


@pytest.mark.usefixtures("reads_nothing_itself")
async def test_a_long_job_that_its_tables_refuse_may_do_anything_to_them_and_is_not_read_again_for_that(
    specs: SpecReader, world: ClusterCache
) -> None:
    uid = arrives(world, "a")
    (key,) = (await has_read(specs, world, uid)).tables
    world.table_seen(key, TableFacts(Table.of({"other": "bigint"})))
    job = await has_read(specs, world, uid)
    assert "id" in (job.refusal or "")
    (found,) = job.footprint.tables
    assert (found.table, found.removes.is_everything, found.blind) == (key, True, False)
    assert job.footprint.reads.any_table
    assert job.whatever_its_tables_are.tables[0].removes.is_everything


@pytest.mark.usefixtures("reads_nothing_itself")
async def test_a_job_that_was_begun_is_read_with_its_tables_before_the_next_one_of_its_namespace(
    specs: SpecReader, world: ClusterCache, process: Process
) -> None:
    first = arrives(world, "first")
    (key,) = (await has_read(specs, world, first)).tables
    process.may_read.clear()
    others = [arrives(world, f"other-{number}") for number in range(3)]
    for uid in others:
        assert not specs.has_read(world.jobs[uid])
    await until(lambda: len(process.questions) == 2)
    world.table_seen(key, TableFacts(Table.of({"id": "bigint"})))
    assert not specs.has_read(world.jobs[first])
    process.may_read.set()
    await has_read(specs, world, others[-1])
    assert process.questions[2].names is not None
    assert world.jobs[first].is_read_with_facts


async def test_a_job_that_comes_while_the_last_reading_ends_is_read(
    specs: SpecReader, world: ClusterCache
) -> None:
    """It was added to the turns of a task that had ended, and waited until it was asked for again."""
    first, second = arrives(world, "first"), arrives(world, "second")
    assert not specs.has_read(world.jobs[first])
    marked: list[str] = []

    def asks_for_the_second(uid: str) -> None:
        marked.append(uid)
        asyncio.get_running_loop().call_soon(specs.has_read, world.jobs[second])

    world.mark = asks_for_the_second  # type: ignore[method-assign]
    await until(lambda: marked)
    await until(lambda: world.jobs[second].is_read)


async def test_equal_jobs_share_what_was_read(
    specs: SpecReader, world: ClusterCache, process: Process
) -> None:
    for name in ("a", "b"):
        world.job_seen(job_body(name, sql=f"DELETE FROM delta.`/lake/t` WHERE id = 1 {LONG}"))
    first, second = [await has_read(specs, world, f"uid-{name}") for name in ("a", "b")]
    assert first.footprint_from_spec is second.footprint_from_spec
    world.table_seen(key_of_path("/lake/t"), TableFacts(Table.of({"id": "bigint"})))
    first, second = [await has_read(specs, world, f"uid-{name}") for name in ("a", "b")]
    assert first.footprint is second.footprint
    assert len(process.questions) == 2
    world.table_seen(key_of_path("/lake/t"), TableFacts(Table.of({"id": "int"})))
    await has_read(specs, world, "uid-a")
    assert len(process.questions) == 3


async def test_namespaces_take_turns(specs: SpecReader, world: ClusterCache, process: Process) -> None:
    process.may_read.clear()
    uids = [arrives(world, f"a{number}") for number in range(5)]
    uids.append(arrives(world, "other", "other"))
    for uid in uids:
        assert not specs.has_read(world.jobs[uid])
    process.may_read.set()
    for uid in uids:
        await has_read(specs, world, uid)
    assert "other" in [one.namespace for one in process.questions[:3]]


async def test_a_spec_that_costs_the_process_its_life_is_asked_again_and_refused_once_it_is_in_quarantine(
    specs: SpecReader, world: ClusterCache, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.controller.readers.spec_reader.ASK_AGAIN", 0.01)
    uid = arrives(world, "a")
    process.fails = [DeathError(OUT_OF_MEMORY), QuarantineError(Suspect(2, OUT_OF_MEMORY, at=0.0))]
    job = await has_read(specs, world, uid)
    with pytest.raises(
        NotUnderstoodError, match=r"its reader needed more than 160 MiB .* write it as several jobs"
    ):
        _ = job.footprint_from_spec
    assert specs.has_read(job), "it is not asked for again"


async def test_a_job_whose_spec_was_in_quarantine_is_over_for_the_next_leader(world: ClusterCache) -> None:
    refused = {"phase": "Failed", "reason": "NotUnderstood", "observedGeneration": 1}
    world.job_seen(job_body("a", sql=f"DELETE FROM delta.`/lake/a` {LONG}") | {"status": refused})
    assert world.is_done_with("uid-a"), "the loop forgets it, and asks no process about its spec"


async def test_a_job_that_is_gone_is_not_read(
    specs: SpecReader, world: ClusterCache, process: Process
) -> None:
    process.may_read.clear()
    first, second = arrives(world, "a"), arrives(world, "b")
    assert not specs.has_read(world.jobs[first])
    assert not specs.has_read(world.jobs[second])
    world.job_gone(second)
    process.may_read.set()
    await has_read(specs, world, first)
    await until(lambda: specs._reading is None)
    assert [one.spec for one in process.questions] == [world.jobs[first].body["spec"]]

"""What a run committed is asked of its tables' logs, and nothing else has to wait meanwhile."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.api.job_status import MAX_FOOTPRINTS, Attempt
from sluice.controller.readers.run_commits import Commits, RunCommits
from sluice.engines import RuntimeProfile
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.job.job_view import JobView
from sluice.tables.log import LogUnreadableError, RunQuestion, StampedCommit
from unit.controller.bodies import job_body

BEGUN = datetime.now(UTC)
ATTEMPT = Attempt(number=1, token=1, hash="x", application="a-1", granted_at=BEGUN)


class Logs:
    """What answers in place of the processes: a store hangs until it is thawed."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.thaws = threading.Event()

    def __call__(self, question: RunQuestion) -> Commits:
        self.asked.append(question.key.text)
        if "/hangs/" in question.key.text:
            self.thaws.wait(120)
            raise LogUnreadableError(f"{question.key}: its log did not answer within 15 s")
        return [StampedCommit(1, "WRITE", 1)]


@pytest.fixture
def logs() -> Iterator[Logs]:
    found = Logs()
    yield found
    found.thaws.set()


def _job(name: str, log: Path) -> JobView:
    touched = {"table": f"file:{log}", "statement": 1, "operation": "DELETE", "reads": "", "writes": ""}
    return JobView(job_body(name) | {"status": {"footprint": [touched]}}, {}, BEGUN)


async def _said(
    logs: RunCommits, answered: "asyncio.Queue[str]", job: JobView, attempt: Attempt
) -> LogFindings:
    assert logs.ask(job, attempt) is None
    assert await answered.get() == job.uid
    said = logs.ask(job, attempt)
    assert said is not None
    return said


async def test_a_store_that_hangs_has_one_log_asked_at_a_time_and_others_have_their_turn(
    logs: Logs, tmp_path: Path
) -> None:
    """Six drivers killed while a storage hung kept an unrelated job waiting for the six of them in turn."""
    answered = asyncio.Queue[str]()
    runs = RunCommits(logs, answered.put_nowait)
    stuck = [_job(f"stuck-{number}", tmp_path / "hangs" / f"t{number}") for number in range(6)]
    well = _job("well", tmp_path / "answers" / "t")
    assert [runs.ask(job, ATTEMPT) for job in stuck] == [None] * 6
    told = await _said(runs, answered, well, ATTEMPT)
    assert [commit.version for commit in told.commits] == [1]
    assert [runs.ask(job, ATTEMPT) for job in stuck] == [None] * 6
    assert len(logs.asked) == 2, "of a store that hangs, one log is asked at a time"
    logs.thaws.set()
    assert {await answered.get() for _ in stuck} == {job.uid for job in stuck}
    for job in stuck:
        said = runs.ask(job, ATTEMPT)
        assert said is not None
        assert "its log did not answer within 15 s" in str(said)
    runs.forget(well, ATTEMPT)
    assert runs.ask(well, ATTEMPT) is None, "it is asked anew"
    runs.close()


async def test_a_namespace_whose_stores_hang_leaves_a_place_to_others(logs: Logs, tmp_path: Path) -> None:
    answered = asyncio.Queue[str]()
    runs = RunCommits(logs, answered.put_nowait)
    stuck = [_job(f"stuck-{number}", tmp_path / f"{number}" / "hangs" / "t") for number in range(20)]
    assert [runs.ask(job, ATTEMPT) for job in stuck] == [None] * 20
    body = _job("well", tmp_path / "answers" / "t").body
    elsewhere = JobView(body | {"metadata": body["metadata"] | {"namespace": "elsewhere"}}, {}, BEGUN)
    await _said(runs, answered, elsewhere, ATTEMPT)
    assert len(logs.asked) == 3
    logs.thaws.set()
    assert {await answered.get() for _ in stuck} == {job.uid for job in stuck}
    runs.close()


async def test_the_logs_of_all_tables_are_asked_though_a_status_has_no_room_for_all(logs: Logs) -> None:
    """A killed driver's commits to the tables of its last statements were "nothing"."""
    many = MAX_FOOTPRINTS + 6
    tables = [f"/lake/t{number}" for number in range(many)]
    body = job_body("many", sql="; ".join(f"DELETE FROM delta.`{table}`" for table in tables))
    profiles = {"default": RuntimeProfile(spark_version="4.2.0")}
    shown = [
        entry.model_dump(mode="json", by_alias=True) for entry in JobView(body, profiles, BEGUN).recorded
    ]
    job = JobView(body | {"status": {"footprint": shown}}, profiles, BEGUN)
    answered = asyncio.Queue[str]()
    runs = RunCommits(logs, answered.put_nowait)
    said = await _said(runs, answered, job, ATTEMPT.model_copy(update={"hash": job.spec_hash}))
    assert ({one.table for one in said.commits}, said.unread) == ({f"file:{table}" for table in tables}, ())
    edited = ATTEMPT.model_copy(update={"hash": "of another spec", "number": 2})
    other = await _said(runs, answered, job, edited)
    assert "the tables of the others are not known any more: its spec has changed" in str(other)
    runs.close()


@pytest.mark.parametrize("error", [LogUnreadableError("why not"), ValueError("why not")])
async def test_a_log_that_cannot_be_read_does_not_keep_an_attempt_open(
    tmp_path: Path, error: Exception
) -> None:
    def fails(_: RunQuestion) -> Commits:
        raise error

    answered = asyncio.Queue[str]()
    runs = RunCommits(fails, answered.put_nowait)
    said = await _said(runs, answered, _job("a", tmp_path / "t"), ATTEMPT)
    assert "what it committed is not known" in str(said)
    assert "why not" in str(said)
    runs.close()

"""Tables' logs are read by child processes, so that no log takes the operator's memory or keeps it from other tables."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from sluice.controller.readers.table_processes import TableProcesses
from sluice.processes.child import DeathCause
from sluice.processes.limits import Limits
from sluice.tables import TableFacts, TableKey, key_of_name, key_of_path
from sluice.tables.log import FoundCommit, LogUnreadableError, RunQuestion, StampedCommit
from sluice.tables.open_tables import OpenTables
from sluice.tables.table_observation import TableObservation
from sluice.tables.table_observer import TableObserver
from unit.tables.hostile_logs import equal_rows_in_checkpoint, large_line_in_commit
from unit.tables.lake import column, commit, metadata, orders

LIMITS = Limits(memory_mib=160, cpu_seconds=60, patience=120, answer_mib=8, threads=16, stack_mib=1)
MOST_MEMORY = 50 << 20
"""Bytes that a hostile log may cost the process that has it read."""


@pytest.fixture
def reads() -> Iterator[TableProcesses]:
    processes = TableProcesses(LIMITS)
    yield processes
    processes.close()


@pytest.fixture
def key(tmp_path: Path) -> TableKey:
    orders(tmp_path / "t")
    return key_of_path(str(tmp_path / "t"))


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def own_memory() -> int:
    return int(psutil.Process().memory_info().rss)


def test_facts_are_those_of_the_log_and_the_same_object_until_the_log_changes(
    reads: TableProcesses, key: TableKey, tmp_path: Path
) -> None:
    first = reads.facts(key)
    assert first == OpenTables().facts(key)
    assert reads.facts(key) is first
    commit(tmp_path / "t", 1)
    assert reads.facts(key) is first, "a commit that changes no fact"
    commit(tmp_path / "t", 2, metadata(column("id", "long")))
    assert [one.name for one in reads.facts(key).columns.columns] == ["id"]


def test_facts_are_the_same_object_when_another_process_reads_them(
    reads: TableProcesses, key: TableKey
) -> None:
    before = children()
    first = reads.facts(key)
    (child,) = children() - before
    os.kill(child, signal.SIGKILL)
    assert reads.facts(key) is first
    assert reads.deaths == {DeathCause.OTHER: 1}


def test_a_look_is_that_of_the_log_and_what_did_not_change_is_the_same(
    reads: TableProcesses, key: TableKey, tmp_path: Path
) -> None:
    first = reads.look(key)
    assert (first.state, first.files) == ((there := TableObserver().look(key)).state, there.files)
    again = reads.look(key)
    assert again.at > first.at
    assert (again.state, again.files, again.history) == (first.state, first.files, first.history)
    assert again.files is first.files
    commit(tmp_path / "t", 1)
    assert reads.look(key).state.version == 1


def stamped(table: Path, version: int, uid: str, attempt: int) -> None:
    stamp = json.dumps({"sluice": {"uid": uid, "attempt": attempt, "statement": version}})
    line = json.dumps({"commitInfo": {"timestamp": version, "operation": "WRITE", "userMetadata": stamp}})
    (table / "_delta_log" / f"{version:020}.json").write_text(line + "\n", encoding="utf-8")


def test_the_commits_of_one_attempt_are_told_in_their_order(
    reads: TableProcesses, key: TableKey, tmp_path: Path
) -> None:
    for version, uid, attempt in ((1, "a", 1), (2, "b", 1), (3, "a", 2), (4, "a", 1)):
        stamped(tmp_path / "t", version, uid, attempt)
    asked = RunQuestion(key, "a", 1, datetime.now(UTC))
    expected = [StampedCommit(1, "WRITE", 1), StampedCommit(4, "WRITE", 4)]
    assert reads.commits(asked) == expected
    of_application = reads.commits(replace(asked, is_application=True))
    assert [one.version for one in of_application if isinstance(one, FoundCommit) and one.is_own] == [1, 4]
    assert not reads.commits(replace(asked, key=key_of_path(str(tmp_path / "none"))))
    with pytest.raises(LogUnreadableError, match="does not know ftp"):
        reads.commits(replace(asked, key=key_of_path("ftp://lake/orders")))


def test_a_log_that_takes_too_much_memory_does_not_tell_of_a_run_and_says_why(
    reads: TableProcesses, tmp_path: Path
) -> None:
    large_line_in_commit(tmp_path / "hostile", 300)
    hostile, at_first = key_of_path(str(tmp_path / "hostile")), own_memory()
    with pytest.raises(
        LogUnreadableError, match=f"the log of {hostile} cannot be read: its reader needed more than 160 MiB"
    ):
        reads.commits(RunQuestion(hostile, "a", 1, datetime.now(UTC)))
    assert own_memory() - at_first < MOST_MEMORY


def test_facts_and_looks_have_a_process_each(reads: TableProcesses, key: TableKey) -> None:
    before = children()
    reads.facts(key)
    assert len(children() - before) == 1
    reads.look(key)
    assert len(children() - before) == 2


def test_a_log_of_many_commits_without_a_checkpoint_is_read(
    reads: TableProcesses, key: TableKey, tmp_path: Path
) -> None:
    for version in range(1, 600):
        commit(tmp_path / "t", version)
    assert (reads.facts(key).unread, reads.look(key).state.version) == (None, 599)


@pytest.mark.parametrize("where", ["none", "broken"])
def test_what_cannot_be_read_is_told_as_without_a_process(
    reads: TableProcesses, tmp_path: Path, where: str
) -> None:
    commit(tmp_path / "broken", 0)
    key = key_of_path(str(tmp_path / where))
    assert reads.facts(key) == OpenTables().facts(key)
    assert reads.look(key).state == TableObserver().look(key).state
    name = key_of_name("sales.orders")
    assert reads.facts(name) == OpenTables().facts(name)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda path: equal_rows_in_checkpoint(path, 4_000_000), id="checkpoint"),
        pytest.param(lambda path: large_line_in_commit(path, 300), id="commit"),
    ],
)
def test_a_log_that_takes_too_much_memory_counts_as_unread_and_others_are_read_meanwhile(
    reads: TableProcesses, key: TableKey, tmp_path: Path, write: Callable[[Path], None]
) -> None:
    write(tmp_path / "hostile")
    hostile = key_of_path(str(tmp_path / "hostile"))
    assert reads.facts(key).unread is None
    at_first = own_memory()
    with ThreadPoolExecutor(2) as beside:
        reading: tuple[Callable[[TableKey], TableFacts | TableObservation], ...] = (reads.facts, reads.look)
        answers = [beside.submit(read, hostile) for read in reading]
        served = 0
        while not all(answer.done() for answer in answers):
            assert reads.facts(key).unread is None
            served += 1
            assert own_memory() - at_first < MOST_MEMORY
        facts, look = (answer.result() for answer in answers)
    assert served > 10
    assert isinstance(facts, TableFacts)
    assert isinstance(look, TableObservation)
    expected = (
        f"the log of {hostile} cannot be read: its reader needed more than 160 MiB of memory: run OPTIMIZE and write a "
        "checkpoint, so that the log names fewer files, or raise the operator's memory limit"
    )
    assert (facts.unread, look.state.unread, look.facts.unread) == (expected,) * 3

    deaths, processes = reads.deaths.copy(), children()
    assert set(deaths) == {DeathCause.MEMORY}
    for _ in range(3):
        assert reads.facts(hostile).unread == expected
        assert reads.look(hostile).state.unread == expected
    assert reads.deaths == deaths, "it costs no process any more"
    assert children() <= processes
    assert reads.facts(key).unread is None

"""Several drivers on one folder: with hard links every append that was acknowledged is there.

Whoever wants the same version at the same moment is no matter of luck: each writer is held just before its commit until
all of them stand there.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
from pyspark.sql import SparkSession

from held_commits import HELD_LINK, held_in
from integration.runner import append_race
from integration.runner.append_race import ANSWERS, COMMANDS
from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import DELTA_SETTINGS, at, submit_file
from integration.warm_drivers.server import WarmDrivers

WRITERS = 4
ANSWER_SECONDS = 240
GATED = "dev.sluice.delta.GatedLogStore"
"""The session of all tests has the gate in front of the held one."""


@dataclass(frozen=True)
class Writer:
    commands: IO[bytes]
    answers: IO[bytes]

    def append(self, tag: str) -> None:
        self.commands.write(f"{tag}\n".encode())

    def has_answered(self, seconds: float = 0) -> bool:
        return bool(select.select([self.answers], [], [], seconds)[0])

    def answer(self) -> Any:
        assert self.has_answered(ANSWER_SECONDS), f"a writer gave no answer in {ANSWER_SECONDS} s"
        return json.loads(self.answers.readline())


@pytest.mark.parametrize("rounds", [3, pytest.param(8, marks=pytest.mark.long)])
def test_appends_of_drivers_that_want_the_same_version_are_all_there(
    spark: SparkSession, warm: WarmDrivers, tmp_path: Path, freezes: Path, rounds: int
) -> None:
    """Two writers in this process and two in another."""
    table = tmp_path / "table"
    # A checkpoint costs a driver, and each that reads it, as much as ten appends, and adds nothing to the race.
    spark.sql(
        f"CREATE TABLE {at(table)} (id INT) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '100')"
    )
    settings = {**DELTA_SETTINGS, **held_in(freezes)}
    with ThreadPoolExecutor(1) as threads, pipes(tmp_path) as (writers, folders):
        here = threads.submit(append_race.write, spark, table, folders[:2])
        there = submit_file(
            tmp_path,
            Path(append_race.__file__),
            [str(table), *map(str, folders[2:])],
            settings,
            command=[warm.spark_submit],
        )
        assert [writer.answer()["logStore"] for writer in writers] == [GATED, GATED, HELD_LINK, HELD_LINK]
        appended = [tag for number in range(rounds) for tag in race(writers, table, freezes, number)]
        for writer in writers:
            writer.commands.close()
        here.result(ANSWER_SECONDS)
        assert there.ended() == 0, (tmp_path / "stderr").read_text()
    assert sorted(stamps(table)) == sorted(appended)
    assert len(appended) == WRITERS * rounds
    assert spark.table(at(table)).count() == WRITERS * rounds


@contextmanager
def pipes(folder: Path) -> Iterator[tuple[Sequence[Writer], Sequence[Path]]]:
    """The test's ends of the writers' pipes, and the folders with the pipes."""
    folders = [folder / f"writer-{number}" for number in range(WRITERS)]
    with ExitStack() as opened:
        writers = []
        for one in folders:
            one.mkdir()
            ends = []
            for name in (COMMANDS, ANSWERS):
                os.mkfifo(one / name)
                # Open for reading and writing: neither side waits in open() for the other.
                ends.append(opened.enter_context((one / name).open("r+b", buffering=0)))
            writers.append(Writer(*ends))
        yield writers, folders


def race(running: Sequence[Writer], table: Path, freezes: Path, number: int) -> list[str]:
    """All writers stand before the commit of one version, and then go on; the stamps of what they appended."""
    tags = [f"round-{number}-{index}" for index in range(len(running))]
    held = [Freeze(freezes, tag) for tag in tags]
    try:
        for writer, tag in zip(running, tags, strict=True):
            writer.append(tag)
        wait_for(
            lambda: all(freeze.is_reached() for freeze in held) or any(one.has_answered() for one in running),
            "all writers to stand before their commit",
        )
        assert not [writer.answer() for writer in running if writer.has_answered()], "came to no commit"
        assert versions_in_hand(table) == [1 + number * len(running)] * len(running)
    finally:
        for freeze in held:
            freeze.lift()
    assert [writer.answer() for writer in running] == [{"refused": None}] * len(running)
    return tags


def versions_in_hand(table: Path) -> list[int]:
    """Returns the versions of the commits that are written, but haven't got their name yet."""
    return [int(file.name.split(".")[1]) for file in (table / "_delta_log").glob(".*.json.*.tmp")]


def stamps(table: Path) -> Iterator[str]:
    """Yields the stamps of all commits that the log holds."""
    for commit in (table / "_delta_log").glob("*.json"):
        for line in commit.read_text().splitlines():
            stamp = json.loads(line).get("commitInfo", {}).get("userMetadata")
            if stamp is not None:
                yield stamp

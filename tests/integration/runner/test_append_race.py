"""Several drivers on one folder: with hard links every append that was acknowledged is there.

Whoever wants the same version at the same moment is no matter of luck: each driver is held just before its commit until
all of them stand there.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
from pyspark.sql import SparkSession

from integration.runner import append_race
from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import at

DRIVERS = 4
ANSWER_SECONDS = 240


@dataclass(frozen=True)
class Driver:
    process: subprocess.Popen[bytes]
    commands: IO[bytes]
    answers: IO[bytes]
    stderr: Path

    def append(self, tag: str) -> None:
        self.commands.write(f"{tag}\n".encode())

    def has_answered(self, seconds: float = 0) -> bool:
        return bool(select.select([self.answers], [], [], seconds)[0])

    def answer(self) -> Any:
        assert self.has_answered(ANSWER_SECONDS), (
            f"a driver gave no answer in {ANSWER_SECONDS} s: {self.told()}"
        )
        line = self.answers.readline()
        assert line, f"a driver ended with {self.process.wait(60)}: {self.told()}"
        return json.loads(line)

    def told(self) -> str:
        return self.stderr.read_text()[-2000:]


@pytest.mark.parametrize("rounds", [3, pytest.param(8, marks=pytest.mark.long)])
def test_appends_of_drivers_that_want_the_same_version_are_all_there(
    spark: SparkSession, tmp_path: Path, rounds: int
) -> None:
    table, freezes = tmp_path / "table", tmp_path / "freezes"
    freezes.mkdir()
    with drivers(table, freezes, tmp_path) as running:
        # A checkpoint costs a driver, and each that reads it, as much as ten appends, and adds nothing to the race.
        spark.sql(
            f"CREATE TABLE {at(table)} (id INT) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '100')"
        )
        assert {driver.answer()["logStore"] for driver in running} == {"dev.sluice.delta.LinkLogStore"}
        appended = [tag for number in range(rounds) for tag in race(running, table, freezes, number)]
    assert sorted(stamps(table)) == sorted(appended)
    assert len(appended) == DRIVERS * rounds
    assert spark.table(at(table)).count() == DRIVERS * rounds


def race(running: list[Driver], table: Path, freezes: Path, number: int) -> list[str]:
    """All drivers stand before the commit of one version, and then go on; the stamps of what they appended."""
    tags = [f"round-{number}-{index}" for index in range(len(running))]
    held = [Freeze(freezes, tag) for tag in tags]
    for driver, tag in zip(running, tags, strict=True):
        driver.append(tag)
    wait_for(
        lambda: all(freeze.is_reached() for freeze in held) or any(d.has_answered() for d in running),
        "all drivers to stand before their commit",
    )
    assert not [driver.answer() for driver in running if driver.has_answered()], "came to no commit"
    assert versions_in_hand(table) == [1 + number * len(running)] * len(running)
    for freeze in held:
        freeze.lift()
    assert [driver.answer() for driver in running] == [{"refused": None}] * len(running)
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


@contextmanager
def drivers(table: Path, freezes: Path, folder: Path) -> Iterator[list[Driver]]:
    with ExitStack() as ends:
        yield [ends.enter_context(driver(table, freezes, folder / f"stderr-{n}")) for n in range(DRIVERS)]


@contextmanager
def driver(table: Path, freezes: Path, stderr: Path) -> Iterator[Driver]:
    process = start(table, freezes, stderr)
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        try:
            yield Driver(process, process.stdin, process.stdout, stderr)
        finally:
            process.kill()
            process.wait(60)


def start(table: Path, freezes: Path, stderr: Path) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root.parent / "spark-images" / "runner" / "src")])
    with stderr.open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, append_race.__file__, str(table), str(freezes)],
            env={**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable},
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )

"""Several drivers on one folder: with hard links every append that was acknowledged is there.

Beside it, what Delta's own LogStore for file: loses on the same machine, printed; it may lose nothing on a lucky day,
so nothing is asserted of it, and fewer appends do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner import append_race
from integration.runner.freezing import wait_for
from integration.runner.jobs import at

DRIVERS = 8
APPENDS = 25
APPENDS_BESIDE = 8


OURS = "dev.sluice.delta.LinkLogStore"
DELTAS = "io.delta.storage.LocalLogStore"


@dataclass(frozen=True)
class Race:
    acknowledged: set[str]
    refused: list[str]
    present: set[str]
    log_stores: set[str]


@pytest.mark.timeout(3600)
def test_appends_of_eight_drivers_are_all_there(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    linked, renamed = tmp_path / "link", tmp_path / "rename"
    for folder in (linked, renamed):
        folder.mkdir()
        spark.sql(f"CREATE TABLE {at(folder / 'table')} (id INT) USING delta")
    races = [(linked, OURS, APPENDS), (renamed, DELTAS, APPENDS_BESIDE)]
    with drivers(races, tmp_path / "stderr") as processes:
        ours = race(linked, processes)
        deltas = race(renamed, processes)
    with capsys.disabled():
        print()
        for outcome in (ours, deltas):
            lost = len(outcome.acknowledged - outcome.present)
            print(
                f"{'; '.join(outcome.log_stores)}: {DRIVERS} drivers, {len(outcome.acknowledged)} appends acknowledged,"
                f" {lost} of them lost, {len(outcome.refused)} refused"
            )
    assert ours.refused == []
    assert len(ours.acknowledged) == DRIVERS * APPENDS
    assert ours.present == ours.acknowledged
    assert spark.table(at(linked / "table")).count() == DRIVERS * APPENDS
    assert (ours.log_stores, deltas.log_stores) == ({OURS}, {DELTAS})


def race(folder: Path, processes: list[subprocess.Popen[bytes]]) -> Race:
    def all_have(suffix: str) -> bool:
        gone = [process.returncode for process in processes if process.poll() not in (None, 0)]
        assert not gone, f"drivers ended with {gone}: {(folder.parent / 'stderr').read_text()[-2000:]}"
        return len(list(folder.glob(f"*.{suffix}"))) == DRIVERS

    def commits() -> int:
        return len(list((folder / "table" / "_delta_log").glob("*.json")))

    def more_than(before: int) -> Callable[[], bool]:
        return lambda: all_have("json") or commits() > before

    wait_for(lambda: all_have("ready"), "the drivers to start", 900)
    (folder / "go").touch()
    while not all_have("json"):
        wait_for(more_than(commits()), "the next append")
    reports = [json.loads(report.read_text()) for report in folder.glob("*.json")]
    return Race(
        acknowledged={tag for report in reports for tag in report["acknowledged"]},
        refused=[line for report in reports for line in report["refused"]],
        present=set(tags(folder / "table" / "_delta_log")),
        log_stores={name for report in reports for name in report["logStores"]},
    )


@contextmanager
def drivers(races: list[tuple[Path, str, int]], errors: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root.parent / "spark-images" / "runner" / "src")])
    places = json.dumps([(str(folder), log_store, appends) for folder, log_store, appends in races])
    with errors.open("wb") as stderr:
        processes = [
            subprocess.Popen(
                [sys.executable, append_race.__file__, str(worker), places],
                env={**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
            for worker in range(DRIVERS)
        ]
        try:
            yield processes
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(30)


def tags(log: Path) -> Iterator[str]:
    """The stamps of all commits that the log holds."""
    for commit in log.glob("*.json"):
        for line in commit.read_text().splitlines():
            stamp = json.loads(line).get("commitInfo", {}).get("userMetadata")
            if stamp is not None:
                yield stamp

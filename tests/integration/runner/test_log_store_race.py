"""Two drivers make the same version at the same moment: one of them must be told, or its commit is lost.

Each has found that the version isn't there before either goes on; the ends of the pipes that they read release them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from integration.runner.freezing import wait_for
from integration.runner.log_store import (
    DELTAS_DEFAULT,
    DELTAS_LOCAL,
    HADOOPS_FILES,
    OURS,
    HeldAtRename,
    LogStore,
    raised,
)

ROUNDS = 25
WRITERS = ("first", "second")


@dataclass(frozen=True)
class Race:
    acknowledged: set[str]
    told: list[str]
    present: list[str]
    """The lines of the commit that is there."""


def test_of_two_commits_by_hard_links_one_is_there_and_the_other_is_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    stores = {name: LogStore(spark, OURS) for name in WRITERS}
    pipe = new_pipe(tmp_path / "pipe")
    for outcome in races(stores, tmp_path, dict.fromkeys(WRITERS, pipe)):
        assert len(outcome.acknowledged) == 1
        assert outcome.present == list(outcome.acknowledged)
        assert outcome.told == ["java.nio.file.FileAlreadyExistsException"]


def test_of_two_commits_by_deltas_own_renames_the_first_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    """What hard links are for. If this fails, Delta has mended it, and ours may not be needed any more.

    By Delta's default, which looks whether the version is there right before it renames, few commits are lost by chance: 1 of 300
    versions that two to eight writers made at once. So its writers are held between the look and the rename.
    """
    # One store for each, as two drivers have: it is locked against itself.
    stores = {name: HeldAtRename(spark, DELTAS_DEFAULT) for name in WRITERS}
    assert_the_first_is_lost(stores, tmp_path)


def test_of_two_commits_by_deltas_renames_for_local_paths_the_first_is_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    stores = {name: LogStore(spark, DELTAS_LOCAL, HADOOPS_FILES) for name in WRITERS}
    assert_the_first_is_lost(stores, tmp_path)


def assert_the_first_is_lost(stores: Mapping[str, LogStore], folder: Path) -> None:
    pipes = {name: new_pipe(folder / name) for name in WRITERS}
    for outcome in races(stores, folder, pipes):
        assert outcome == Race(acknowledged=set(WRITERS), told=[], present=[WRITERS[-1]])


def new_pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def races(stores: Mapping[str, LogStore], folder: Path, pipes: Mapping[str, Path]) -> list[Race]:
    log = folder / "_delta_log"
    log.mkdir()
    with ThreadPoolExecutor(len(WRITERS)) as threads:
        return [race(stores, log / f"{version:020}.json", pipes, threads) for version in range(ROUNDS)]


def race(
    stores: Mapping[str, LogStore], commit: Path, pipes: Mapping[str, Path], threads: ThreadPoolExecutor
) -> Race:
    """Lets the writers of one pipe go on together, and those of the next pipe when these have ended."""
    with ExitStack() as opened:
        # Open for reading, too: thus neither this nor a writer waits in open() for the other side.
        ends = {
            pipe: opened.enter_context(pipe.open("r+b", buffering=0))
            for pipe in dict.fromkeys(pipes.values())
        }
        writing = {
            name: threads.submit(store.write_held_by, pipes[name], commit, [name])
            for name, store in stores.items()
        }
        wait_for(
            lambda: held(stores, commit) or any(one.done() for one in writing.values()),
            f"both to begin with {commit.name}",
        )
        ended_early = [name for name, written in writing.items() if written.done()]
        assert not ended_early, f"{ended_early} ended before the other had begun: {writing}"
        told = []
        for pipe, end in ends.items():
            end.close()
            told += [(name, refusal(writing[name])) for name in stores if pipes[name] == pipe]
    return Race(
        acknowledged={name for name, reason in told if reason is None},
        told=[reason for _, reason in told if reason is not None],
        present=commit.read_text().splitlines(),
    )


def held(stores: Mapping[str, LogStore], commit: Path) -> bool:
    """Whether each writer waits for the end of its pipe."""
    endings = [store.held_as for store in stores.values()]
    return all(
        len(list(commit.parent.glob(f".{commit.name}.*.{ending}"))) == endings.count(ending)
        for ending in endings
    )


def refusal(written: Future[None]) -> str | None:
    try:
        written.result(timeout=240)
    except Py4JJavaError as error:
        return raised(error)
    return None

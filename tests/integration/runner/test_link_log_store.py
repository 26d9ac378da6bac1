"""The LogStore for file: paths makes a commit's file once and whole, and replaces other files whole."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from integration.runner.log_store import OURS, LogStore, raised


@pytest.fixture
def store(spark: SparkSession) -> LogStore:
    return LogStore(spark, OURS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A name with a space, a percent sign and a letter beyond ASCII: paths are no URIs."""
    folder = tmp_path / "a b%20ü" / "_delta_log"
    folder.mkdir(parents=True)
    return folder


def test_a_commit_is_written_once_and_the_second_writer_is_told(store: LogStore, log: Path) -> None:
    commit = log / "00000000000000000000.json"
    store.write(commit, ['{"a":"ü"}', "{}"])
    with pytest.raises(Py4JJavaError) as error:
        store.write(commit, ["{}"])
    assert raised(error.value) == "java.nio.file.FileAlreadyExistsException"
    assert commit.read_text() == '{"a":"ü"}\n{}\n'
    assert store.read(commit) == ['{"a":"ü"}', "{}"]
    assert [entry.name for entry in log.iterdir()] == [commit.name]


def test_an_overwrite_replaces_the_whole_and_takes_the_old_checksum_along(store: LogStore, log: Path) -> None:
    pointer, checksum = log / "_last_checkpoint", log / "._last_checkpoint.crc"
    pointer.write_text("old and longer\n")
    checksum.write_bytes(b"crc of the old")
    store.write(pointer, ["new"], overwrite=True)
    assert pointer.read_text() == "new\n"
    assert [entry.name for entry in log.iterdir()] == [pointer.name]
    store.write(log / "fresh", ["first"], overwrite=True)
    assert (log / "fresh").read_text() == "first\n"


def test_a_checksum_that_a_removed_commit_left_does_not_spoil_the_next_of_its_name(
    store: LogStore, log: Path
) -> None:
    commit = log / "00000000000000000001.json"
    (log / f".{commit.name}.crc").write_bytes(b"stale")
    store.write(commit, ["{}"])
    assert [entry.name for entry in log.iterdir()] == [commit.name]


def test_a_listing_is_sorted_from_the_name_on_and_shows_no_hidden_file(store: LogStore, log: Path) -> None:
    for name in (
        "00000000000000000002.json",
        "00000000000000000000.json",
        "00000000000000000001.json",
        "_last_checkpoint",
    ):
        store.write(log / name, ["{}"])
    (log / ".00000000000000000003.json.1b4e.tmp").touch()
    assert store.list_from(log / "00000000000000000001.json") == [
        "00000000000000000001.json",
        "00000000000000000002.json",
        "_last_checkpoint",
    ]
    assert store.list_from(log / "\x01")[0] == "00000000000000000000.json"


def test_a_listing_deletes_what_drivers_left_that_died_a_day_ago(store: LogStore, log: Path) -> None:
    unfinished = ".00000000000000000003.json.{}432e2c3-c8ee-44ec-a120-4e2f0f90cad1.tmp"
    abandoned, fresh = log / unfinished.format(1), log / unfinished.format(2)
    others = [log / ".00000000000000000003.json.tmp", log / ".00000000000000000003.crc.1432e2c3.tmp"]
    for file in (abandoned, fresh, *others):
        file.touch()
    yesterday = time.time() - 25 * 3600
    for file in (abandoned, *others):
        os.utime(file, (yesterday, yesterday))
    assert store.list_from(log / "0") == []
    assert sorted(log.iterdir()) == sorted([fresh, *others])


def test_what_is_not_there_is_a_missing_file_as_delta_knows_it(store: LogStore, log: Path) -> None:
    for attempt in (
        lambda: store.read(log / "absent.json"),
        lambda: store.write(log / "absent" / "0.json", ["{}"]),
        lambda: store.write(log / "absent" / "pointer", ["{}"], overwrite=True),
        lambda: store.list_from(log / "absent" / "0.json"),
    ):
        with pytest.raises(Py4JJavaError) as error:
            attempt()
        assert raised(error.value) == "java.io.FileNotFoundException"


def test_lines_that_fail_while_they_are_written_leave_nothing(store: LogStore, log: Path) -> None:
    with pytest.raises(Py4JJavaError):
        store.write(log / "00000000000000000000.json", ["{}", None])  # type: ignore[list-item]
    assert list(log.iterdir()) == []


def test_paths_are_resolved_and_partial_writes_called_visible(store: LogStore, log: Path) -> None:
    assert store.resolve("/lake/t") == "file:/lake/t"
    assert store.shows_partial_writes(log) is True

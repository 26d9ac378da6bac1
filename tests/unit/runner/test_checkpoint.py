"""Whose a checkpoint is: another source, or none of the same tables, is another stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError

from sluice_runner.catalogs import Name
from sluice_runner.checkpoint import (
    Checkpoint,
    CheckpointInATableError,
    Owner,
    Place,
    _is_hidden,
    parsed,
    places_of,
)
from sluice_runner.tables import Table, UnreachableStorageError
from unit.runner.test_exception_chains import JavaError

REFUSED_BY_S3 = "java.nio.file.AccessDeniedException"
ORDERS = Place("s3a://lake/orders", "6b1f")
ITEMS = Place("s3a://lake/items", "77aa")
OURS = Owner("sales/orders", (ORDERS,), "delta", "s3://lake/raw")


def test_what_is_written_is_read_again() -> None:
    assert parsed(OURS.text()) == OURS
    assert parsed(replace(OURS, path=None, targets=()).text()) == replace(OURS, path=None, targets=())
    assert parsed(replace(OURS, checkpoint="s3a://lake/c").text()) == replace(OURS, checkpoint="s3a://lake/c")


@pytest.mark.parametrize(
    ("known", "here", "is_elsewhere"),
    [
        ("s3a://lake/c", "s3a://lake/c", False),
        ("s3a://lake/c", "s3://lake//c/", False),
        ("s3a://lake/c", "s3a://lake/c2", True),
        ("s3a://lake/c", "s3a://backup/c", True),
        (None, "s3a://lake/c", False),
    ],
)
def test_a_checkpoint_that_says_of_itself_that_it_lies_elsewhere_is_a_copy(
    known: str | None, here: str, is_elsewhere: bool
) -> None:
    assert replace(OURS, checkpoint=known).is_elsewhere(replace(OURS, checkpoint=here)) is is_elsewhere


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"version":2}',
        '{"version":1,"job":"a"}',
        OURS.text().replace("location", "x"),
        OURS.text().replace('"s3://lake/raw"', "7"),
        OURS.text().replace('"s3://lake/raw"', "[]"),
        OURS.text().replace('"6b1f"', "{}"),
        replace(OURS, checkpoint="s3a://lake/c").text().replace('"s3a://lake/c"', "7"),
    ],
)
def test_what_sluice_did_not_write_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parsed(text)


@pytest.mark.parametrize(
    "other",
    [
        replace(OURS, job="sales/orders-2"),
        replace(OURS, path="s3a://lake//raw/"),
        replace(OURS, targets=(Place("s3://lake/orders/"),)),
        replace(OURS, targets=(Place("s3://lake/moved", "6b1f"),)),
        replace(OURS, targets=(ITEMS, ORDERS)),
        replace(OURS, targets=()),
        replace(OURS, format="DELTA"),
    ],
)
def test_another_spelling_a_moved_table_and_one_table_more_are_the_same_stream(other: Owner) -> None:
    assert OURS.why_not(other) is None


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (replace(OURS, path="s3://lake/raw2"), "reads s3://lake/raw, and this one s3://lake/raw2"),
        (replace(OURS, path=None), "reads s3://lake/raw, and this one None"),
        (replace(OURS, format="kafka"), "reads delta, and this one kafka"),
        (replace(OURS, targets=(ITEMS,)), "writes s3a://lake/orders, and this one s3a://lake/items"),
        (
            replace(OURS, targets=(Place("s3://lake/orders2"),)),
            "writes s3a://lake/orders, and this one s3://lake/orders2",
        ),
    ],
)
def test_another_source_or_none_of_its_tables_is_another_stream(other: Owner, told: str) -> None:
    assert OURS.why_not(other) == told


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("_checkpoints", True),
        (".state", True),
        ("state", False),
        ("_p=1", False),
        ("_change_data", False),
        ("_delta_index", False),
    ],
)
def test_vacuum_passes_by_what_begins_with_an_underscore_or_a_dot_but_deltas_own_and_partitions(
    name: str, hidden: bool
) -> None:
    assert _is_hidden(name) is hidden


@dataclass(frozen=True)
class Found:
    location: str

    def id(self) -> str:
        return f"id of {self.location}"


def test_a_table_that_is_not_there_yet_is_known_by_its_path() -> None:
    there = {("delta", "s3://lake/orders"): "s3a://lake/orders", ("sales", "items"): "s3a://lake/items"}

    def find(name: Name) -> Sequence[Table]:
        return [cast("Table", Found(there[name]))] if name in there else []

    names: list[Name] = [
        *there,
        *there,
        ("delta", "/new"),
        ("DELTA", "/newer"),
        ("sales", "new"),
        ("delta", "new"),
    ]
    assert list(places_of(names, find, lambda path: f"s3a://lake{path}")) == [
        Place("s3a://lake/orders", "id of s3a://lake/orders"),
        Place("s3a://lake/items", "id of s3a://lake/items"),
        Place("s3a://lake/new"),
        Place("s3a://lake/newer"),
    ]


def test_a_table_on_storage_that_nobody_knows_is_told_by_its_path() -> None:
    def fail(_path: str) -> str:
        error = Py4JJavaError.__new__(Py4JJavaError)
        error.java_exception = JavaError("org.apache.hadoop.fs.UnsupportedFileSystemException", "nowhere")
        raise error

    with pytest.raises(UnreachableStorageError, match="whether nowhere://lake/t is a Delta table"):
        list(places_of([("delta", "nowhere://lake/t")], lambda _name: [], fail))


class JavasPath:
    """A path as Hadoop has it."""

    def __init__(self, above: JavasPath | str, name: str = "") -> None:
        self.place: str = f"{above.place.rstrip('/')}/{name}" if isinstance(above, JavasPath) else above

    def getName(self) -> str:  # noqa: N802 - as in Java
        return self.place.rpartition("/")[2]

    def getParent(self) -> JavasPath | None:  # noqa: N802 - as in Java
        return None if self.place == "/" else JavasPath(self.place.rpartition("/")[0] or "/")

    def getFileSystem(self, files: Files) -> Files:  # noqa: N802 - as in Java
        return files

    def toString(self) -> str:  # noqa: N802 - as in Java
        return self.place


class Files:
    """A file system with these files, which refuses to tell of some others."""

    def __init__(self, *there: str, refuses: Sequence[str] = (), by: str = REFUSED_BY_S3) -> None:
        self._there, self._refuses, self._by = there, refuses, by

    def makeQualified(self, path: JavasPath) -> JavasPath:  # noqa: N802 - as in Java
        return path

    def exists(self, path: JavasPath) -> bool:
        if path.place in self._refuses:
            error = Py4JJavaError.__new__(Py4JJavaError)
            error.java_exception = JavaError("java.io.IOException", "HEAD", JavaError(self._by, "403"))
            raise error
        return path.place in self._there


class Written(Files):
    """One that keeps what is written to it."""

    def __init__(self, *there: str) -> None:
        super().__init__(*there)
        self.texts: dict[str, str] = {}

    def create(self, path: JavasPath, _overwrite: bool) -> Any:
        def write(content: bytes) -> None:
            self.texts[path.place] = content.decode()

        return SimpleNamespace(write=write, close=lambda: None)

    def delete(self, path: JavasPath, _all: bool) -> None:
        self.texts.pop(path.place, None)

    def rename(self, path: JavasPath, to: JavasPath) -> bool:
        self.texts[to.place] = self.texts.pop(path.place)
        return True


def checkpoint_at(place: str, files: Files) -> Checkpoint:
    found = Checkpoint.__new__(Checkpoint)
    found._path_of, found._location, found._path, found._conf = JavasPath, place, JavasPath(place), files
    return found


def test_what_a_checkpoint_tells_of_tables_stays_where_the_stream_knows_of_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Checkpoint, "_read", lambda _self, _files: OURS.text())
    checkpoint_at("/lake/c", Files("/lake/c/sluice.json")).keep(replace(OURS, targets=()))


def test_a_checkpoint_in_which_nothing_has_begun_is_of_who_begins_now_whatever_it_told() -> None:
    another = replace(OURS, targets=(), path="s3://lake/another")
    files = Written("/lake/c/sluice.json")
    checkpoint_at("/lake/c", files).claim(another)
    assert parsed(files.texts["/lake/c/sluice.json"]) == replace(another, checkpoint="/lake/c")
    begun = Written("/lake/c/sluice.json", "/lake/c/offsets")
    checkpoint_at("/lake/c", begun).claim(another)
    assert begun.texts == {}


def test_folders_above_a_checkpoint_that_the_driver_may_not_see_are_no_tables() -> None:
    files = Files(refuses=["/lake/_delta_log", "/_delta_log"])
    checkpoint_at("/lake/states/c", files).refuse(OURS)


@pytest.mark.parametrize(
    ("refused", "by"),
    [
        ("/lake/states/c/_delta_log", REFUSED_BY_S3),
        ("/lake/states/c/sluice.json", REFUSED_BY_S3),
        ("/lake/_delta_log", "java.net.UnknownHostException"),
    ],
)
def test_a_checkpoint_that_can_not_be_looked_into_is_refused(refused: str, by: str) -> None:
    with pytest.raises(
        UnreachableStorageError, match=r"^the checkpoint /lake/states/c could not be looked into"
    ):
        checkpoint_at("/lake/states/c", Files(refuses=[refused], by=by)).refuse(OURS)


@pytest.mark.parametrize("place", ["/lake/t/c", "/lake/t", "/lake/t/_delta_log/c", "/lake/t/p=1/c"])
def test_a_table_above_is_found_beside_folders_that_the_driver_may_not_see(place: str) -> None:
    files = Files("/lake/t/_delta_log", refuses=["/lake/_delta_log", "/lake/t/p=1/_delta_log"])
    with pytest.raises(CheckpointInATableError, match="lies in the folder of the table /lake/t,"):
        checkpoint_at(place, files).refuse(OURS)

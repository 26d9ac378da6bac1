"""The file that is sent: what is in it, in which order, and how large it may become."""

import io
import json
import tarfile
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.online.bundle import archive
from sluice.online.bundle.archive import Bundle
from sluice.online.bundle.masked_objects import ObjectMasking


def bundle() -> Bundle:
    return Bundle("etl/nightly", datetime(2026, 11, 27, tzinfo=UTC), "sluice 0", ObjectMasking())


def unpacked(content: bytes) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as packed:
        files = {entry.name: packed.extractfile(entry) for entry in packed.getmembers()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


def manifest(content: bytes) -> Any:
    return json.loads(unpacked(content)["b/manifest.json"])


def test_a_bundle_lists_what_is_in_it_and_what_is_not() -> None:
    made = bundle()
    made.add("z.log", "a log", "one\n", note="its end")
    made.add("a.json", "the job", {"a": 1})
    made.lacks("Events", "you may not")
    made.lacks("Events", "you may not")
    content = made.packed("b")
    assert list(unpacked(content)) == ["b/manifest.json", "b/a.json", "b/z.log"]
    assert json.loads(unpacked(content)["b/a.json"]) == {"a": 1}
    told = manifest(content)
    assert [(row["file"], row["what"], row["bytes"], row["note"]) for row in told["files"]] == [
        ("a.json", "the job", 13, ""),
        ("z.log", "a log", 4, "its end"),
    ]
    assert told["notCollected"] == [{"what": "Events", "why": "you may not"}]
    assert told["leftOut"]


def test_the_same_parts_make_the_same_file_whatever_order_they_came_in() -> None:
    one, other = bundle(), bundle()
    one.add("a.log", "a", "x")
    one.add("b.log", "b", "y")
    other.add("b.log", "b", "y")
    other.add("a.log", "a", "x")
    assert one.packed("b") == other.packed("b")


def test_a_secret_that_is_found_late_is_left_out_of_what_came_before() -> None:
    made = bundle()
    made.add("a.log", "a log", "it says hunter2hunter2\n")
    made.add("pod.json", "a pod", {"env": [{"name": "PASSWORD", "value": "hunter2hunter2"}]})
    made.lacks("more", "refused: hunter2hunter2")
    assert "hunter2" not in "".join(unpacked(made.packed("b")).values())


def test_what_would_make_it_too_large_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 100)
    monkeypatch.setattr(archive, "MOST_BYTES_OF_OBJECT", 50)
    made = bundle()
    made.add("big.json", "a big one", {"a": "x" * 60})
    made.add("one.log", "a log", "x" * 70)
    made.add("two.log", "another log", "x" * 40)
    made.add("three.log", "a third log", "x" * 20)
    content = made.packed("b")
    assert set(unpacked(content)) == {"b/manifest.json", "b/one.log", "b/three.log"}
    why = {row["what"]: row["why"] for row in manifest(content)["notCollected"]}
    assert why["a big one (big.json)"].startswith("it is too large: ")
    assert why["another log (two.log)"] == "the bundle would be larger than 100 bytes"

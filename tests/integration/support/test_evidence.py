"""A failed test leaves one file, whatever the test wrote and whoever cannot tell anything any more."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from integration import evidence


class Telling:
    def evidence(self) -> Iterator[evidence.Part]:
        yield "what the operator knew", "three leases"


class Silent:
    def evidence(self) -> Iterator[evidence.Part]:
        raise ConnectionRefusedError("nobody listens")


def _report(**changes: Any) -> Any:
    given = {"failed": True, "when": "call", "duration": 1.5, "longreprtext": "assert 1 == 2"}
    return SimpleNamespace(
        **{**given, "sections": [("Captured stdout call", "half a \ud83d sign")], **changes}
    )


def _item(tmp_path: Path, **fixtures: object) -> Any:
    return SimpleNamespace(
        nodeid="tests/integration/operator/test_x.py::test_y[a/b ü]",
        funcargs={"tmp_path": tmp_path, **fixtures},
    )


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "not-there-yet"
    monkeypatch.setenv(evidence.FOLDER, str(folder))
    return folder


def test_one_file_tells_what_all_parts_know(tmp_path: Path, kept: Path) -> None:
    (tmp_path / "drivers" / "d1").mkdir(parents=True)
    (tmp_path / "drivers" / "d1" / "driver.log").write_bytes(b"the driver's \xff words")
    evidence.write(_item(tmp_path, silent=Silent(), telling=Telling(), other=7), _report())
    [file] = kept.iterdir()
    assert file.name == "integration-operator-test_x.py-test_y-a-b.txt"
    text = file.read_text(encoding="utf-8")
    for told in (
        "assert 1 == 2",
        "half a \\ud83d sign",
        "what the operator knew\nthree leases",
        "silent could not be asked\nConnectionRefusedError('nobody listens')",
        "drivers/d1/driver.log\nthe driver's \\xff words",
    ):
        assert told in text


def test_nothing_is_kept_of_what_passed(tmp_path: Path, kept: Path) -> None:
    evidence.write(_item(tmp_path), _report(failed=False))
    assert not kept.exists()


def test_what_fails_after_the_test_is_added(tmp_path: Path, kept: Path) -> None:
    evidence.write(_item(tmp_path), _report())
    evidence.write(_item(tmp_path), _report(when="teardown", longreprtext="a driver still runs"))
    [file] = kept.iterdir()
    text = file.read_text(encoding="utf-8")
    assert text.index("assert 1 == 2") < text.index("a driver still runs")


def test_nothing_is_kept_unless_somebody_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(evidence.FOLDER, raising=False)
    evidence.write(_item(tmp_path, telling=Telling()), _report())
    assert list(tmp_path.iterdir()) == []


def test_of_a_long_log_the_end_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "operator.log"
    log.write_bytes(b"begin\n" + b"." * evidence.LOG_BYTES + b"end")
    assert evidence.end_of(log).endswith("end")
    assert "begin" not in evidence.end_of(log)

"""The newest ten runs are kept, the newest ten in which a test failed, and those that go on."""

import time
from pathlib import Path

import pytest

from devenv.testing import results


def test_the_newest_runs_stay_and_older_ones_go(tmp_path: Path) -> None:
    old = [tmp_path / "results" / f"20200101-0000{number:02}-1" for number in range(12)]
    for folder in old:
        folder.mkdir(parents=True)
    new = results.begin(tmp_path)
    assert new.evidence.is_dir()
    assert [folder.exists() for folder in old] == [False] * 3 + [True] * 9


def test_a_run_that_goes_on_keeps_its_folder_whatever_begins_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "strftime", lambda _format: "20200101-000000")
    long = results.begin(tmp_path)
    for number in range(12):
        (tmp_path / "results" / f"20200101-0001{number:02}-1").mkdir()
    monkeypatch.undo()
    results.begin(tmp_path)
    assert long.evidence.is_dir()
    assert len(list((tmp_path / "results").iterdir())) == results.KEPT + 1


def test_a_run_in_which_a_test_failed_is_not_swept_away_by_runs_in_which_none_did(tmp_path: Path) -> None:
    failed = tmp_path / "results" / "20190101-000000-1"
    failed.mkdir(parents=True)
    (failed / "runner.failed.txt").touch()
    for number in range(12):
        (tmp_path / "results" / f"20200101-0000{number:02}-1").mkdir()
    results.begin(tmp_path)
    assert failed.exists()
    assert len(list((tmp_path / "results").iterdir())) == results.KEPT + 1

"""The newest ten runs are kept."""

from pathlib import Path

from devenv.testing import results


def test_the_newest_runs_stay_and_older_ones_go(tmp_path: Path) -> None:
    old = [tmp_path / "results" / f"20200101-0000{number:02}-1" for number in range(12)]
    for folder in old:
        folder.mkdir(parents=True)
    new = results.begin(tmp_path)
    assert new.evidence.is_dir()
    assert [folder.exists() for folder in old] == [False] * 3 + [True] * 9

"""What a test file costs is remembered from runs of all of it, longer than their results are kept."""

import json
from pathlib import Path

from devenv.testing import results, times
from devenv.testing.results import Results


def ran(kept: Results, section: str, **seconds: float) -> None:
    lines = [
        {
            "test": f"{name}.py::test_{number}",
            "when": "call",
            "outcome": "passed",
            "seconds": took / 2,
            "text": "",
        }
        for name, took in seconds.items()
        for number in range(2)
    ]
    kept.records(section).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def test_the_newest_run_of_a_file_counts_and_other_files_keep_theirs(tmp_path: Path) -> None:
    assert times.read(tmp_path) == {}
    kept = results.begin(tmp_path)
    ran(kept, "unit", a=2.0, b=3.0)
    times.note(tmp_path, kept)
    ran(kept, "unit", a=5.0)
    times.note(tmp_path, kept)
    assert times.read(tmp_path) == {"a.py": 5.0, "b.py": 3.0}


def test_a_second_run_of_single_tests_says_nothing_of_their_file(tmp_path: Path) -> None:
    kept = results.begin(tmp_path)
    ran(kept, "unit", a=2.0)
    ran(kept, "unit.again", a=0.1)
    times.note(tmp_path, kept)
    assert times.read(tmp_path) == {"a.py": 2.0}


def test_a_torn_file_is_no_knowledge(tmp_path: Path) -> None:
    (tmp_path / "test-seconds.json").write_text("{", encoding="utf-8")
    assert times.read(tmp_path) == {}

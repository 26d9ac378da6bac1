"""What pytest said of each test is read back whole, from a run that was killed, too."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from devenv.project import ROOT
from devenv.testing import records
from devenv.testing.records import ONLY_FILE, RECORDS_FILE, Record

PLUGINS = ("-p", "devenv.testing.plugin", "-p", "xdist", "-p", "no:cacheprovider")
QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
MODULE = """
import pytest

@pytest.fixture
def broken():
    yield
    raise OSError("torn down badly")

def test_passes(): pass
def test_fails(): print("said before"); assert 1 == 2, "one isn't two"
def test_teardown(broken): pass
def test_skipped(): pytest.skip("needs root")
@pytest.mark.xfail(reason="not yet")
def test_expected(): assert False
@pytest.mark.xfail(run=False)
def test_never(): assert False
@pytest.mark.parametrize("odd", ["a::b[c]", "sp ace", "-x", "\\ud800", "new\\nline"])
def test_odd(odd): pass
"""


def run_pytest(folder: Path, *options: str, **variables: str) -> list[Record]:
    (folder / "test_it.py").write_text(MODULE, encoding="utf-8")
    file = folder / "records"
    file.unlink(missing_ok=True)
    path = os.pathsep.join([str(ROOT / "devtools"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGINS, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, RECORDS_FILE: str(file), **QUICK, **variables},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return records.read(file)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_results_are_recorded_once_with_what_the_test_said(tmp_path: Path, workers: str) -> None:
    written = run_pytest(tmp_path, f"--numprocesses={workers}")
    failures = records.failures(written)
    assert failures.keys() == {"test_it.py::test_fails", "test_it.py::test_teardown"}
    assert "one isn't two" in failures["test_it.py::test_fails"]
    assert "said before" in failures["test_it.py::test_fails"]
    assert "torn down badly" in failures["test_it.py::test_teardown"]
    assert dict(records.skips(written)) == {
        "test_it.py::test_skipped": "needs root",
        "test_it.py::test_expected": "expected to fail: not yet",
        "test_it.py::test_never": "expected to fail: [NOTRUN] ",
    }
    assert "test_it.py::test_passes" in records.passed(written)
    assert not records.passed(written) & failures.keys()
    calls = [
        record for record in written if record.test == "test_it.py::test_passes" and record.when == "call"
    ]
    assert len(calls) == 1


def test_a_file_that_cannot_be_read_is_told_from_tests_that_fail(tmp_path: Path) -> None:
    (tmp_path / "test_torn.py").write_text("import nothing_of_that_name")
    written = run_pytest(tmp_path)
    assert records.uncollected(written) == {"test_torn.py"}


def test_only_the_named_tests_run_whatever_their_names_hold(tmp_path: Path) -> None:
    written = run_pytest(tmp_path, "-k", "odd")
    odd = sorted({record.test for record in written if record.when == "call"})
    assert len(odd) == 5
    only = tmp_path / "only"
    only.write_text(json.dumps(odd[1:]), encoding="utf-8")
    assert records.passed(run_pytest(tmp_path, **{ONLY_FILE: str(only)})) == set(odd[1:])


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "records"
    whole = json.dumps({"test": "a", "when": "call", "outcome": "passed", "seconds": 1.5, "text": ""})
    file.write_text(f'{whole}\n{{"test": "b", "wh', encoding="utf-8")
    assert records.read(file) == [Record("a", "call", "passed", 1.5, "")]
    assert records.read(tmp_path / "none") == []


def test_a_tests_seconds_are_those_of_all_its_phases() -> None:
    phases = [Record("a", when, "passed", 1.5, "") for when in ("setup", "call", "teardown")]
    assert records.seconds_by_test(phases) == {"a": 4.5}


@pytest.mark.parametrize(
    ("reason", "allowed"),
    [
        ("needs root", {"as a user"}),
        ("needs apt, to install what is missing", {"without apt"}),
        ("needs a folder that lies elsewhere", set()),
        ("Redis isn't there", set()),
        ("could not import 'deltalake'", set()),
        ("", set()),
    ],
)
@pytest.mark.parametrize("machine", ["as a user", "without apt", "with all"])
def test_only_what_no_set_up_could_cure_on_this_machine_may_be_skipped(
    reason: str, allowed: set[str], machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000 if machine == "as a user" else 0)
    monkeypatch.setattr(records, "which", lambda _: None if machine == "without apt" else "/usr/bin/apt-get")
    assert records.may_be_skipped(reason) is (machine in allowed)

"""Tests marked long are left out unless asked for, and it is said that they were."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"
MODULE = """
import pytest

@pytest.mark.long
def test_hours(): pass

def test_moment(): pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_it.py").write_text(MODULE)
    return tmp_path


def pytest_in(project: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(project), *options],
        cwd=project,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "SLUICE_LEFT_OUT_FILE": str(project / "left-out"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


def test_long_tests_are_left_out_and_named(project: Path) -> None:
    assert "1 passed, 1 deselected" in pytest_in(project)
    assert (project / "left-out").read_text() == "test_it.py::test_hours: takes long; --long runs it\n"


def test_long_tests_run_when_asked_for(project: Path) -> None:
    assert "2 passed" in pytest_in(project, "--long")
    assert not (project / "left-out").exists()

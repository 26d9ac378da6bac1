"""Runs, fences, promises and streams hold on the other pair of Spark and Delta as well: the same tests, under its Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TESTS = (
    "test_bound_names.py",
    "test_changed_sources_of_streams.py",
    "test_conflicts.py",
    "test_footprint_check.py",
    "test_program_steps.py",
    "test_programs.py",
    "test_promises.py",
    "test_run_keys.py",
    "test_stream_names.py",
    "test_stream_replays.py",
    "test_stream_stops.py",
    "test_streams.py",
)


@pytest.mark.long(minutes=22)
@pytest.mark.timeout(1500)
def test_the_other_pair_of_versions_behaves_alike(tmp_path: Path) -> None:
    python, jars = os.environ["SLUICE_SPARK35_PYTHON"], os.environ["SLUICE_SPARK35_JARS"]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "PYSPARK_PYTHON": python,
        "SLUICE_SPARK_JARS": jars,
        "PYTHONPATH": f"{ROOT / 'spark-images' / 'runner' / 'src'}:{ROOT / 'tests'}",
    }
    run = subprocess.run(
        [
            *(python, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-o", "addopts="),
            *("-o", "markers=long: runs here in any case\ntimeout: of the other runs"),
            *("--confcutdir", str(HERE), "--basetemp", str(tmp_path / "base")),
            *(str(HERE / name) for name in TESTS),
        ],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-4_000:]
    assert "passed" in run.stdout

"""Coverage counts what a process of a test executes and what its forks execute, and nothing outside of the product."""

import json
import os
import subprocess
import sys
from pathlib import Path

from devenv.project import ROOT
from devenv.testing.coverage import FIGURES, report, variables

MEASURED = (ROOT / "operator" / "sluice" / "delta",)
PROGRAM = """
import os
from sluice.delta import version
child = os.fork()
if child == 0:
    from sluice.delta import features
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_process_and_its_forks_are_measured_and_modules_that_none_imports_count_as_missed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "coverage"
    environment = {**os.environ, **variables(folder, MEASURED)}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, timeout=60)
    _, package, everything = report(folder, MEASURED)
    assert package.split()[1:] == everything.split()[1:]
    files = json.loads((folder / FIGURES).read_text(encoding="utf-8"))["files"]
    covered = {Path(name).name: figures["summary"]["covered_lines"] for name, figures in files.items()}
    assert covered["version.py"] > 0
    assert covered["features.py"] > 0, "only the fork has imported it"
    assert covered["refused_properties.py"] == 0, "no process has imported it"
    assert set(covered) == {file.name for file in MEASURED[0].iterdir() if file.suffix == ".py"}

import os
import subprocess
import sys

from devenv.project import ROOT


def test_dev_begins_with_nothing_but_python() -> None:
    """`-S` leaves out whatever is installed beside it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "devtools")}
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-m", "devenv", "help"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "./dev test" in done.stdout

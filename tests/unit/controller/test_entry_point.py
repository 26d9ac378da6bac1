"""The operator's entry point on a machine that lacks what it needs."""

import subprocess
import sys

WITHOUT_KOPF = """
import sys
sys.modules["kopf"] = None
from sluice.controller.__main__ import main
sys.exit(main())
"""


def test_what_is_not_installed_is_one_sentence_with_the_command_that_installs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_KOPF],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr == (
        'kopf is not installed, and the operator needs it: pip install ".[operator]" in a checkout\n'
    )

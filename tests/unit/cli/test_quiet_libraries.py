"""What libraries log doesn't stand among what the command line says."""

import os
import subprocess
import sys

import pytest

SAYS = "import os, sluice.cli.main; print(os.environ['RUST_LOG'])"


@pytest.mark.parametrize(("given", "then"), [({}, "off"), ({"RUST_LOG": "warn"}, "warn")])
def test_delta_rs_logs_nothing_unless_somebody_wants_it(given: dict[str, str], then: str) -> None:
    around = {name: value for name, value in os.environ.items() if name != "RUST_LOG"}
    done = subprocess.run(
        [sys.executable, "-c", SAYS], env=around | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == then

"""`from sluice_runner import attempt` costs and changes nothing where Sluice didn't start the driver."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import pytest

from sluice_runner import attempt


def test_a_program_runs_as_it_would_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session isn't as much as looked at."""
    monkeypatch.delenv("SLUICE_PLAN", raising=False)
    done: list[int] = []
    with attempt(cast("Any", None)) as run:
        run.once("load", lambda: done.append(1))
    with attempt(cast("Any", None)) as run, pytest.raises(ZeroDivisionError):
        run.once("load", lambda: 1 / 0)
    assert done == [1]


def test_the_package_is_imported_without_pyspark() -> None:
    program = "import sys, sluice_runner; assert not [m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')]"
    subprocess.run([sys.executable, "-c", program], check=True)

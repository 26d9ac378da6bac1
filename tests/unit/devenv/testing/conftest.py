"""A project of its own for `Run`, with real pytest in it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devenv import environment
from devenv.cache import Cache
from devenv.environment import Prepared
from devenv.project import ROOT
from devenv.testing import results, watched
from devenv.testing.records import ONLY_FILE
from devenv.testing.report import Report
from devenv.testing.results import Results
from devenv.testing.run import Run
from devenv.testing.sections import Section


@pytest.fixture
def kept(tmp_path: Path) -> Results:
    return results.begin(tmp_path / "cache")


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {"PATH": path, "PYTHONPATH": str(ROOT / "devtools"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    # Some shells hold such; no section may heed them.
    variables |= {"PYTEST_ADDOPTS": "-k none_of_them", "PYTHONOPTIMIZE": "1", ONLY_FILE: "/nowhere"}
    monkeypatch.setattr(environment, "NEEDS", {"python": lambda _cache: variables})
    return Prepared(Cache(tmp_path), [])


@pytest.fixture
def run_sections(
    prepared: Prepared, kept: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., list[Report]]:
    """Runs sections in `tmp_path` as the project."""
    monkeypatch.setattr(watched, "ROOT", tmp_path)

    def run(*sections: Section, options: tuple[str, ...] = ()) -> list[Report]:
        return Run(prepared, kept, options).sections(sections)

    return run

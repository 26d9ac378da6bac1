"""What a section needs either comes with its variables or tells why it can't be had, without stopping the others."""

from pathlib import Path

import pytest

from devenv import environment
from devenv.cache import Cache
from devenv.environment import Prepared, Variables
from devenv.errors import DevError, NotOnThisMachineError
from devenv.project import ROOT
from devenv.testing import results
from devenv.testing.run import Run
from devenv.testing.sections import Section


def breaks(_cache: Cache) -> Variables:
    raise DevError("Maven Central can't be reached.")


def not_here(_cache: Cache) -> Variables:
    raise NotOnThisMachineError("needs root: it makes containers")


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.setattr(
        environment,
        "NEEDS",
        {
            "python": lambda _cache: {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "devtools")},
            "stack": lambda _cache: {"KUBE": "yes"},
            "spark": breaks,
            "cluster": not_here,
        },
    )
    return Prepared(Cache(tmp_path), ["stack", "spark", "cluster"])


def section(name: str, *needs: str) -> Section:
    return Section(name, (("true",),), needs)


def test_variables_of_several_needs_come_together(prepared: Prepared) -> None:
    assert prepared.variables("stack")["KUBE"] == "yes"
    assert "KUBE" not in prepared.variables()


def test_a_need_that_could_not_be_met_fails_its_sections_alone(prepared: Prepared, tmp_path: Path) -> None:
    kept = results.begin(tmp_path)
    reports = Run(prepared, kept).sections([section("contract", "spark"), section("unit")])
    assert reports[0].failures == ["Maven Central can't be reached."]
    assert reports[1].ran
    assert reports[1].failures == []


def test_a_section_that_this_machine_cannot_run_is_left_out_with_the_reason(
    prepared: Prepared, tmp_path: Path
) -> None:
    (report,) = Run(prepared, results.begin(tmp_path)).sections([section("e2e", "stack", "cluster")])
    assert not report.ran
    assert report.failures == []
    assert report.left_out == ["needs root: it makes containers"]

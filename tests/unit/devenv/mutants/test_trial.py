"""What the command says of a mutant: found, SURVIVED or STALE."""

import os
from pathlib import Path

from devenv.mutants.listed import Edit, Mutant
from devenv.mutants.scratch import Scratch
from devenv.mutants.trial import FOUND, STALE, SURVIVED, Result, Trial
from devenv.project import ROOT

PRODUCT = "def double(number):\n    return 2 * number\n\n\nUNUSED = 1\n"
TESTS = """\
import pytest
from product import double

def test_double():
    assert double(3) == 6

def test_broken():
    assert double(3) == 7

@pytest.mark.parametrize("seeded", ["one", "two"])
def test_seeded(seeded):
    assert seeded == "one"
"""
TWICE, UNUSED = Edit(Path("product.py"), "2 * number", "3 * number"), Edit(Path("product.py"), "= 1", "= 2")
NOWHERE = Edit(Path("product.py"), "4 * number", "5 * number")
NAMELESS = Edit(Path("product.py"), "2 * number", "2 * nunber")
IMPORT = Edit(Path("product.py"), "def double", "def triple")


def _mutant(name: str, edit: Edit | None, test: str = "test_double") -> Mutant:
    return Mutant("area", name, "It breaks.", f"tests/test_product.py::{test}", "unit", edit)


def _results(folder: Path, *mutants: Mutant) -> dict[str, Result]:
    checkout = folder / "checkout"
    (checkout / "tests").mkdir(parents=True)
    (checkout / "product.py").write_text(PRODUCT, encoding="utf-8")
    (checkout / "tests" / "test_product.py").write_text(TESTS, encoding="utf-8")
    (checkout / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    path = os.pathsep.join([str(checkout), str(ROOT / "devtools")])
    variables = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    told: list[Result] = []
    trial = Trial([Scratch.of(checkout)], {"unit": variables}, told.append)
    results = trial.all(trial.spread(mutants))
    assert told == results
    assert (checkout / "product.py").read_text(encoding="utf-8") == PRODUCT
    return {result.mutant.name: result for result in results}


def test_a_mutant_is_found_or_survives_or_is_stale(tmp_path: Path) -> None:
    results = _results(
        tmp_path,
        _mutant("found", TWICE),
        _mutant("survives", UNUSED),
        _mutant("found again in the same file", TWICE),
        _mutant("without a place", NOWHERE),
        _mutant("without a test", TWICE, "test_nothing"),
        _mutant("with a test that fails anyway", TWICE, "test_broken"),
        _mutant("that no test can import", IMPORT),
        _mutant("whose text does not run", NAMELESS),
        _mutant("seeded", None, "test_seeded"),
    )
    assert {name: result.outcome for name, result in results.items()} == {
        "found": FOUND,
        "survives": SURVIVED,
        "found again in the same file": FOUND,
        "without a place": STALE,
        "without a test": STALE,
        "with a test that fails anyway": STALE,
        "that no test can import": STALE,
        "whose text does not run": STALE,
        "one": FOUND,
        "two": SURVIVED,
    }
    assert results["without a place"].why == "product.py does not hold the text exactly once"
    assert results["survives"].why == "tests/test_product.py::test_double passes"
    why = "its text does not run: NameError: name 'nunber' is not defined"
    assert results["whose text does not run"].why.startswith(why)
    assert "ran no test" in results["that no test can import"].why

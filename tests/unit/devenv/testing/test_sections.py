import tomllib
from itertools import pairwise

from devenv.project import ROOT
from devenv.testing.sections import all_sections

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOLS = {"bench", "cluster", "demo", "devenv", "generate", "localengine", "sluice_runner"}


def linted() -> set[str]:
    """The packages that lint has typed."""
    (lint,) = (section for section in all_sections() if section.name == "lint")
    (mypy,) = (command for command in lint.commands if command[0] == "mypy")
    return {name for option, name in pairwise(mypy) if option == "-p"}


def test_mypy_by_itself_checks_the_packages_that_lint_checks() -> None:
    assert set(PROJECT["tool"]["mypy"]["packages"]) == linted()


def test_every_package_beside_the_product_is_forbidden_to_it() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (forbidden,) = (
        one for one in contracts if one["name"] == "The product needs none of the tools around it"
    )
    tests = {entry.name for entry in (ROOT / "tests").iterdir()}
    assert set(forbidden["forbidden_modules"]) == linted() - tests - {"sluice"} == TOOLS

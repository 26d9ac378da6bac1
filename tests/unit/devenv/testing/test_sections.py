import re
import tomllib
from itertools import pairwise

from devenv.project import ROOT, TESTS
from devenv.testing.sections import all_sections, section_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NOT_READ = {"build", "dist", "node_modules", "venv", "CVS", "_darcs"}
"""By pytest's norecursedirs."""
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


def test_pytest_finds_each_test_in_the_folder_of_a_section() -> None:
    for file in TESTS.rglob("*.py"):
        unseen = re.search(
            r"^class (?!Test)\w+.*\n(?:(?:    .*)?\n)*?    (?:async )?def test_",
            file.read_text(),
            re.MULTILINE,
        )
        assert unseen is None, f"{file}: pytest reads tests of classes whose names begin with Test"
        if not file.name.startswith("test_"):
            assert not re.search(r"^(?:async )?def test_", file.read_text(), re.MULTILINE), (
                f"{file}: pytest does not read it"
            )
            continue
        section_of(file)
        folders = set(file.relative_to(TESTS).parts) & NOT_READ
        assert not folders, f"{file}: pytest reads no folder called {folders}"

"""pyproject.toml names what the product imports, and nothing that it doesn't."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED_BY_ANOTHER = {"pydantic-core"}
"""pydantic asks for exactly one version of it: naming it, too, could only contradict that."""

READ_BY_THE_STANDARD_LIBRARY = {"tzdata"}
"""zoneinfo reads it where the system has no time zones."""


def imported() -> Iterator[str]:
    for path in (ROOT / "operator" / "sluice").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
                yield node.module.partition(".")[0]


def needed() -> set[str]:
    outside = set(imported()) - sys.stdlib_module_names - {"sluice"}
    providers = packages_distributions()
    return {providers[module][0].lower().replace("_", "-") for module in outside} - PINNED_BY_ANOTHER


def declared() -> set[str]:
    given = [
        *PROJECT["dependencies"],
        *(one for extra in PROJECT["optional-dependencies"].values() for one in extra),
    ]
    names = {re.split(r"[\[<>=~! ]", requirement)[0].lower() for requirement in given}
    return names - {PROJECT["name"]}


def test_the_product_declares_what_it_imports_and_nothing_else() -> None:
    assert declared() == needed() | READ_BY_THE_STANDARD_LIBRARY

"""The list of mutants: tests/mutants/AREA.toml holds one table for each mutant of an area."""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devenv.errors import DevError, UsageError
from devenv.project import ROOT, TESTS

FOLDER = TESTS / "mutants"
SELECTION_FILE = "SLUICE_SELECTED_TESTS_FILE"
"""The variable that names a file with the ids of the tests to run."""
_OF_AN_EDIT = frozenset({"says", "file", "text", "replacement", "test"})
_OF_A_SEEDED_TEST = frozenset({"says", "test", "each"})
_SECTION = "section"


@dataclass(frozen=True)
class Edit:
    """One change of one file: a text that occurs there exactly once, and what replaces it."""

    file: Path
    """Below the checkout."""
    text: str
    replacement: str

    def applied(self, source: str) -> str | None:
        """Returns the file's content with the change, or None if the text does not occur exactly once."""
        if source.count(self.text) != 1:
            return None
        return source.replace(self.text, self.replacement)


@dataclass(frozen=True)
class Mutant:
    """A defect that a named test must find."""

    area: str
    name: str
    says: str
    """What goes wrong for a user, in one sentence."""
    test: str
    """The id of the test that must fail. Without parameters it means the test with each of them."""
    section: str
    """The section of `./dev test` whose tools the test needs."""
    edit: Edit | None
    """None if the test seeds its mutants itself, one with each parameter: then it must pass."""
    each: str | None = None
    """The seeded mutants, as `module:NAME` of what the test is parametrised with."""

    @property
    def id(self) -> str:
        return f"{self.area}/{self.name}"

    @property
    def test_file(self) -> str:
        return self.test.partition("::")[0]


def is_named(test: str, ids: Collection[str]) -> bool:
    """Whether the ids name this test, with its parameters or without."""
    return test in ids or test.partition("[")[0] in ids


def areas(folder: Path = FOLDER) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.toml"))


def read(names: Iterable[str] = (), folder: Path = FOLDER) -> list[Mutant]:
    """Returns the mutants of these areas, or of all, in a stable order."""
    known = areas(folder)
    wanted = list(names) or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"There is no area {', '.join(unknown)}: the areas are {', '.join(known)}.")
    return [mutant for area in known if area in wanted for mutant in _of_area(folder / f"{area}.toml")]


def slice_of(mutants: Sequence[Mutant], number: int, count: int) -> list[Mutant]:
    """Returns part `number` of `count`, counted from one: every count-th of the list."""
    return list(mutants[number - 1 :: count])


def _of_area(file: Path) -> list[Mutant]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DevError(f"{file.relative_to(ROOT)} is not TOML: {error}") from error
    return [_mutant(file.stem, name, table) for name, table in tables.items()]


def _mutant(area: str, name: str, table: Mapping[str, Any]) -> Mutant:
    keys = table.keys() - {_SECTION}
    if keys not in (_OF_AN_EDIT, _OF_A_SEEDED_TEST) or not all(
        isinstance(one, str) for one in table.values()
    ):
        raise DevError(
            f"Mutant {area}/{name} has the keys {sorted(keys)}, not {sorted(_OF_AN_EDIT)} as texts."
        )
    edit = Edit(Path(table["file"]), table["text"], table["replacement"]) if "file" in table else None
    return Mutant(
        area, name, table["says"], table["test"], table.get(_SECTION, "unit"), edit, table.get("each")
    )

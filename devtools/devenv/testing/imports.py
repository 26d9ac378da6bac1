"""Which files of the project a file rests on: by what it imports, names as a program to run, or gets from a conftest."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from devenv.project import IMPORT_ROOTS, ROOT, TESTS

PROGRAMS = (ROOT / "spark-images" / "runner" / "run.py",)
"""Folders outside of all packages, whose files are started by name."""


class ImportGraph:
    """Every Python file of the project, with the files that it rests on."""

    def __init__(
        self, roots: Iterable[Path] = (*IMPORT_ROOTS, TESTS), programs: Iterable[Path] = PROGRAMS
    ) -> None:
        self._modules = {name: file for root in roots for name, file in _modules(root)}
        self._modules |= {program.name: program for program in programs}
        self._names = {file: name for name, file in self._modules.items()}

    def distances(self, changed: Iterable[Path]) -> Mapping[Path, int]:
        """How many steps each affected file is away from the nearest of the changed ones."""
        found = {file: 0 for file in changed if file in self._names}
        level, steps = set(found), 0
        while level:
            steps += 1
            level = {user for file in level for user in self._users.get(file, ())} - found.keys()
            found |= dict.fromkeys(level, steps)
        return found

    def knows(self, file: Path) -> bool:
        return file in self._names

    @cached_property
    def _users(self) -> Mapping[Path, list[Path]]:
        users: dict[Path, list[Path]] = {}
        for file in self._names:
            for used in set(self._rests_on(file)) - {file}:
                users.setdefault(used, []).append(file)
        return users

    def _rests_on(self, file: Path) -> Iterator[Path]:
        name = self._names[file]
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        for used in _names_in(_parsed(file), package):
            yield from self._files_of(used)
        if TESTS in file.parents:
            yield from (
                folder / "conftest.py" for folder in file.parents if (folder / "conftest.py") in self._names
            )

    def _files_of(self, name: str) -> Iterator[Path]:
        """The module, or the one that a name is defined in, and the packages around it."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            file = self._modules.get(".".join(parts[:length]))
            if file is not None:
                yield file


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def _parsed(file: Path) -> ast.Module:
    """What Python can't read imports nothing; lint tells of it. An editor's lock is a link to nowhere."""
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def _names_in(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                parent = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                origin = ".".join([*parent, *([module] if module else [])])
                yield from (f"{origin}.{alias.name}" for alias in names)
            case ast.List(elts=words) | ast.Tuple(elts=words) | ast.Call(args=words):
                # A program that is started as `python -m sluice.controller`.
                yield from (f"{word}.__main__" for flag, word in pairwise(map(_text, words)) if flag == "-m")
            case ast.Constant(value=str(text)) if (
                "." in text and text.replace(".", "").replace("_", "").isalnum()
            ):
                yield text


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""

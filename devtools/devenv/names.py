"""Checks names: a public class name means one thing, a module is a noun, and words that the glossary replaces name nothing.

`./dev lint` runs it on the operator and the runner.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from devenv.project import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
OPERATOR = ROOT / "operator" / "sluice"
RUNNER = ROOT / "spark-images" / "runner" / "src" / "sluice_runner"
ONE_THING_IN_TWO_ROOMS: Mapping[str, str] = {}
"""Class names that two rooms may share, each with the reason why they mean the same thing."""

_IRREGULAR = frozenset(
    {"held", "kept", "told", "made", "gone", "lost", "known", "seen", "written", "beside", "past"}
)
_PARTICIPLE = re.compile(r"\w{2,}(ing|ed)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


def complaints(modules: Mapping[PurePosixPath, str], replaced: frozenset[str]) -> list[str]:
    """`modules`: their sources by path, whose first part is the room; `replaced`: what no name may hold."""
    return [*_shared(modules), *_no_nouns(modules), *_replaced(modules, replaced)]


def replaced_words(glossary: str) -> frozenset[str]:
    """The words in backticks in the last column of the glossary's tables."""
    last = (
        line.rstrip().rstrip("|").rpartition("|")[2] for line in glossary.splitlines() if line.startswith("|")
    )
    return frozenset(word for cell in last for word in re.findall(r"`(\w+)`", cell))


def _shared(modules: Mapping[PurePosixPath, str]) -> Iterator[str]:
    places: dict[str, set[PurePosixPath]] = defaultdict(set)
    for path, source in modules.items():
        for name in _public_classes(source):
            places[name].add(path)
    for name, paths in sorted(places.items()):
        if len(paths) > 1 and name not in ONE_THING_IN_TWO_ROOMS:
            yield f"class {name} stands for several things: {', '.join(map(str, sorted(paths)))}"


def _no_nouns(modules: Mapping[PurePosixPath, str]) -> Iterator[str]:
    for path in sorted(modules):
        last = path.stem.rpartition("_")[2]
        if last in _IRREGULAR or _PARTICIPLE.fullmatch(last):
            yield f"module {path} is named by a participle or an adverb: name it by a noun for what it holds"


def _replaced(modules: Mapping[PurePosixPath, str], replaced: frozenset[str]) -> Iterator[str]:
    for path, source in sorted(modules.items()):
        for name in (path.stem, *_public_classes(source)):
            for word in replaced.intersection(one.lower() for one in _WORD.findall(name)):
                yield f"{name} in {path} holds the word {word}, which docs/glossary.md replaces"


def _public_classes(source: str) -> list[str]:
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def _sources(root: Path) -> dict[PurePosixPath, str]:
    return {
        PurePosixPath(file.relative_to(root).as_posix()): file.read_text(encoding="utf-8")
        for file in sorted(root.rglob("*.py"))
    }


def main() -> int:
    replaced = replaced_words(GLOSSARY.read_text(encoding="utf-8"))
    found = [one for root in (OPERATOR, RUNNER) for one in complaints(_sources(root), replaced)]
    sys.stdout.writelines(f"{one}\n" for one in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

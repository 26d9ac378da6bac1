"""The commands in the documentation, each block with the comment before it that says what runs it, or that nothing does.

<!-- run by tests/integration/x/test_y.py -->      a test takes them from here and runs them
<!-- not run: why -->
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_BLOCK = re.compile(
    r"^(?:(?P<comment><!-- [^\n]* -->)\n)?```(?P<kind>console|sh|bash|shell)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_RUN_BY = re.compile(r"<!-- run by (?P<test>tests/\S+\.py) -->")
_NOT_RUN = re.compile(r"<!-- not run: (?P<why>.+) -->")


@dataclass(frozen=True)
class Command:
    text: str
    printed: str
    """What the documentation shows below it."""


@dataclass(frozen=True)
class Block:
    file: Path
    line: int
    kind: str
    comment: str
    commands: tuple[Command, ...]

    @property
    def place(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}"

    @property
    def run_by(self) -> Path | None:
        found = _RUN_BY.fullmatch(self.comment)
        return None if found is None else ROOT / found["test"]

    @property
    def is_not_run(self) -> bool:
        return _NOT_RUN.fullmatch(self.comment) is not None


def blocks(file: Path) -> Iterator[Block]:
    text = file.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("kind")) + 1
        yield Block(file, line, found["kind"], found["comment"] or "", tuple(_commands(found["text"])))


def commands_run_by(test: str, file: Path) -> list[Command]:
    """The commands of a document that this test has to run, in their order. `test`: its `__file__`."""
    found = [command for block in blocks(file) if block.run_by == Path(test) for command in block.commands]
    assert found, f"{file} has no commands that {test} has to run"
    return found


def _commands(text: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        # As in a shell, a line that ends with a backslash goes on.
        last = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        yield Command("\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :]).rstrip())

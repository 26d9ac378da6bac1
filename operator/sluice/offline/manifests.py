"""Reads files of manifests as they are found in repositories: one bad document never hides the others.

A file is cut into its documents before YAML sees it, because a parser that fails on one of them gives up the rest.
"""

import codecs
import os
import re
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from sluice.api.unfolding import Unfoldable

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml: slower, otherwise the same
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

STANDARD_INPUT = Path("-")
SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_NO_MANIFESTS = frozenset({"_delta_log", "testdata"})
_MOST_BYTES = 64 * 2**20
_SEPARATOR = re.compile(r"^---(?:[ \t]|$)|^\.\.\.[ \t]*$")
_TEMPLATE = re.compile(r"\{\{|\$\{")


@dataclass(frozen=True)
class Trouble:
    """What could not be used, and why; the rest was."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass(frozen=True)
class Document:
    place: str
    """The file, and the line in which the document begins if there are several."""
    body: dict[str, Any]
    source: "Origin | None" = None

    def line_of(self, place: Sequence[int | str]) -> int | None:
        """The line of its file in which a field stands, or what it would stand in."""
        return None if self.source is None else self.source.line_of(place)


@dataclass(frozen=True)
class Origin:
    """The text that a document was read from, and where in it the document is."""

    text: str
    begins: int
    within: tuple[int | str, ...] = ()

    def line_of(self, place: Sequence[int | str]) -> int | None:
        node = _composed(self.text)
        line = None
        for part in (*self.within, *place):
            if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line
            elif isinstance(node, yaml.MappingNode):
                found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
                if found is None:
                    return None if line is None else self.begins + line
                line, node = found[0].start_mark.line, found[1]
        return None if line is None else self.begins + line


@lru_cache(maxsize=1)
def _composed(text: str) -> yaml.Node | None:
    """Composes a text that was read before; cached, because a list of broken documents asks for each of them."""
    return yaml.compose(text, _Loader)


@dataclass
class Documents:
    found: list[Document] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)


def read_files(paths: Iterable[Path]) -> Documents:
    """All documents of these files, and of all YAML and JSON files below these folders."""
    documents = Documents()
    seen: set[Path] = set()
    for path in paths:
        if path == STANDARD_INPUT:
            read_text(decoded(sys.stdin.buffer.read()), "standard input", documents)
            continue
        for file in _files(path, documents.troubles):
            if file.resolve() not in seen:
                seen.add(file.resolve())
                before = len(documents.found) + len(documents.troubles)
                _read_file(file, documents)
                if file == path and before == len(documents.found) + len(documents.troubles):
                    documents.troubles.append(Trouble(str(file), "holds no manifest"))
    return documents


def _files(path: Path, troubles: list[Trouble]) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = sorted(file for file in _below(path, troubles) if file.suffix.lower() in SUFFIXES)
    if not files:
        troubles.append(Trouble(str(path), "no YAML or JSON files in this folder"))
    for file in files:
        if file.is_file() or not file.exists():  # reading a pipe or a device would wait for ever
            yield file


def _below(folder: Path, troubles: list[Trouble]) -> Iterator[Path]:
    """Yields the files below the folder. Links to folders are followed, each folder once."""

    def not_read(error: OSError) -> None:
        troubles.append(Trouble(str(error.filename), f"cannot be read: {error.strerror}"))

    seen: set[str] = set()
    for place, folders, files in os.walk(folder, onerror=not_read, followlinks=True):
        if os.path.realpath(place) in seen:
            folders.clear()
            continue
        seen.add(os.path.realpath(place))
        folders[:] = sorted(name for name in folders if not _is_no_manifest(name))
        yield from (Path(place, name) for name in files if not _is_no_manifest(name))


def _is_no_manifest(name: str) -> bool:
    return name.startswith(".") or name in _NO_MANIFESTS


def _read_file(file: Path, documents: Documents) -> None:
    try:
        if file.stat().st_size > _MOST_BYTES:
            documents.troubles.append(Trouble(str(file), "is too large for manifests (over 64 MiB)"))
            return
        text = decoded(file.read_bytes())
    except FileNotFoundError:
        why = "is a link that leads nowhere" if file.is_symlink() else "there is no such file or folder"
        documents.troubles.append(Trouble(str(file), why))
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text (byte {error.start + 1}): save it as UTF-8"
        documents.troubles.append(Trouble(str(file), why))
    except OSError as error:
        documents.troubles.append(Trouble(str(file), f"cannot be read: {error.strerror or error}"))
    else:
        read_text(text, str(file), documents)


def decoded(content: bytes) -> str:
    """Decodes what editors on Windows write: byte order marks, and sometimes UTF-16 after them."""
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if content.startswith(mark):
            return content.decode("utf-16")
    return content.decode("utf-8-sig")


def read_text(text: str, file: str, documents: Documents) -> None:
    parts = list(_documents(text.replace("\r\n", "\n").removeprefix("\ufeff")))
    for line, part in parts:
        place = file if len(parts) == 1 else f"{file}, line {line}"
        try:
            body = yaml.load(part, _StrictLoader)  # noqa: S506 - a safe loader, stricter about keys
        except yaml.YAMLError as error:
            documents.troubles.append(Trouble(*_unreadable(error, part, line, file)))
            continue
        except (RecursionError, ValueError) as error:
            documents.troubles.append(Trouble(place, f"cannot be read as YAML: {error}"))
            continue
        if body is not None:
            _keep(body, place, Origin(part, line), documents)


def _keep(body: object, place: str, source: Origin, documents: Documents) -> None:
    if not isinstance(body, dict):
        what = type(body).__name__
        documents.troubles.append(Trouble(place, f"a manifest is a mapping of fields, but this is a {what}"))
    elif isinstance(body.get("items"), list) and str(body.get("kind", "")).endswith("List"):
        for number, item in enumerate(body["items"]):
            inside = replace(source, within=(*source.within, "items", number))
            _keep(item, f"{place}, item {number + 1}", inside, documents)
    else:
        documents.found.append(Document(place, body, source))


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Yields each document with the line in which it begins. In YAML the marker counts wherever it begins a line."""
    lines: list[str] = []
    begins = 1
    for number, line in enumerate(text.split("\n"), start=1):
        if _SEPARATOR.match(line) is None:
            lines.append(line)
            continue
        if _has_content(lines):
            yield begins, "\n".join(lines)
        rest = line[3:].strip()
        lines, begins = ([rest], number) if rest and not line.startswith("...") else ([], number + 1)
    if _has_content(lines):
        yield begins, "\n".join(lines)


def _has_content(lines: list[str]) -> bool:
    return any(line.strip() and not line.lstrip().startswith(("#", "%")) for line in lines)


def _unreadable(error: yaml.YAMLError, part: str, begins: int, file: str) -> tuple[str, str]:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{file}, line {begins}", f"is not YAML: {str(error).splitlines()[0]}"
    problem = getattr(error, "problem", None) or "cannot be read"
    context = getattr(error, "context_mark", None)
    if context is not None and context.line < mark.line:
        problem = f"{problem}, in what begins on line {begins + context.line}"
    lines = part.split("\n")
    if lines[mark.line : mark.line + 1] and lines[mark.line].lstrip(" ").startswith("\t"):
        problem = "a tab: indent YAML with spaces only"
    near = "\n".join(lines[max(0, mark.line - 1) : mark.line + 1])
    if _TEMPLATE.search(near):
        problem = f"{problem} (a template? render it first)"
    return f"{file}, line {begins + mark.line}, column {mark.column + 1}", f"is not YAML: {problem}"


class _StrictLoader(Unfoldable, _Loader):
    """YAML lets a repeated key win silently, and makes a boolean of the bare word `on`; kubectl refuses the one, and takes the
    other for the name "true", and so does this loader."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        for position, (key, _) in enumerate(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value in keys[:position] and key.value != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value} is given twice: remove one", key.start_mark
                )
        return {
            str(key).lower() if isinstance(key, bool) else key: value
            for key, value in super().construct_mapping(node, deep).items()
        }

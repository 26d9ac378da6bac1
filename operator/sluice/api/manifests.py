"""Cuts a text into its manifests, each with its place: one bad document never hides the others.

It is cut before YAML sees it, because a parser that fails on one document gives up the rest.
"""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import yaml

from sluice.api.error_sentences import kind
from sluice.api.kubectl_yaml import KubectlLoader, value_of

_SEPARATOR = re.compile(r"^---(?:[ \t]|$)|^\.\.\.[ \t]*$")
_NO_SPACE = re.compile(r"\S")
_JSON = json.JSONDecoder()
_PERHAPS_A_TEMPLATE = re.compile(r"\{\{|\{%|\$\{")


@dataclass(frozen=True)
class ManifestError:
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
    try:
        return yaml.compose(text, KubectlLoader)
    except yaml.YAMLError:  # JSON that is no YAML: half a character, escaped
        return None


@dataclass
class Documents:
    found: list[Document] = field(default_factory=list)
    troubles: list[ManifestError] = field(default_factory=list)
    passed_over: int = 0
    """Files of charts: what they hold is written when they are rendered."""


def decoded(content: bytes) -> str:
    """Decodes what editors on Windows write: byte order marks, and sometimes UTF-16 after them."""
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if content.startswith(mark):
            return content.decode("utf-16")
    return content.decode("utf-8-sig")


def read_text(text: str, file: str, documents: Documents) -> None:
    parts = [
        one
        for begins, part in _documents(text.replace("\r\n", "\n").removeprefix("\ufeff"))
        for one in _objects_in(part, begins)
    ]
    for line, part in parts:
        place = file if len(parts) == 1 else f"{file}, line {line}"
        try:
            body = value_of(part)
        except yaml.YAMLError as error:
            documents.troubles.append(ManifestError(*_unreadable(error, part, line, file)))
            continue
        except (RecursionError, ValueError) as error:
            documents.troubles.append(ManifestError(place, f"cannot be read as YAML: {error}"))
            continue
        if body is not None:
            _keep(body, place, Origin(part, line), documents)


def _keep(body: object, place: str, source: Origin, documents: Documents) -> None:
    if not isinstance(body, dict):
        documents.troubles.append(
            ManifestError(place, f"a manifest is a mapping of fields, but this is {kind(body)}")
        )
    elif isinstance(body.get("items"), list) and str(body.get("kind", "")).endswith("List"):
        for number, item in enumerate(body["items"]):
            inside = replace(source, within=(*source.within, "items", number))
            _keep(item, f"{place}, item {number + 1}", inside, documents)
    elif body.get("kind") == "List" and body.get("apiVersion") == "v1":
        documents.troubles.append(
            ManifestError(place, "a List needs items: a list of manifests, which may be empty")
        )
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


def _objects_in(part: str, begins: int) -> Iterator[tuple[int, str]]:
    """Yields the objects of JSON with which it begins, as programs write them after each other, and what follows them."""
    after = 0
    while (first := _NO_SPACE.search(part, after)) is not None:
        try:
            value, ends = _JSON.raw_decode(part, first.start())
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        yield begins + part.count("\n", 0, first.start()), part[first.start() : ends]
        after = ends
    if after == 0 or _has_content(part[after:].split("\n")):
        yield begins + part.count("\n", 0, after), part[after:]


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
    if _PERHAPS_A_TEMPLATE.search(near):
        problem = f"{problem} (a template? render it first)"
    return f"{file}, line {begins + mark.line}, column {mark.column + 1}", f"is not YAML: {problem}"

"""How SQL names a table: by catalog, schema and name, or as delta.`/location`."""

import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sluice.api.tables import TableRef
from sluice.footprint.errors import NotUnderstoodError
from sluice.tables import TableKey, key_of_name, key_of_path

_UNQUOTED = re.compile(r"[A-Za-z0-9_]+")
_TIME_TRAVEL = re.compile(r"@(v\d+|\d{17})$")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True)
class Named:
    """A table as a statement names it, and the position of the token after it."""

    key: TableKey
    end: int


def table_at(tokens: tuple[Token, ...], position: int) -> Named | None:
    """The table that is named from `position` on; None if none is, or only by an expression such as IDENTIFIER(...)."""
    parts: list[str] = []
    while position < len(tokens) and _is_part(tokens[position]):
        parts.append(tokens[position].text)
        position += 1
        if position >= len(tokens) or tokens[position].token_type is not TokenType.DOT:
            named = not _is_call(parts, tokens, position)
            return Named(key_of_parts(parts), position) if named else None
        position += 1
    return None


def folder_at(tokens: tuple[Token, ...], position: int) -> Named | None:
    """The location that is written as a text there, such as '/lake/t'."""
    found = tokens[position : position + 1]
    if not found or found[0].token_type is not TokenType.STRING:
        return None
    return Named(key_of_path(_absolute(found[0].text, f"'{found[0].text}'")), position + 1)


def key_of_parts(parts: list[str]) -> TableKey:
    """Raises NotUnderstoodError for a location that is another one on each machine."""
    if len(parts) == 2 and parts[0].lower() == "delta":
        return key_of_path(_absolute(_TIME_TRAVEL.sub("", parts[1]), f"delta.`{parts[1]}`"))
    if len(parts) == 3 and parts[1].lower() == "delta" and _ABSOLUTE.match(parts[2]) is not None:
        if parts[0].lower() != "spark_catalog":
            raise NotUnderstoodError(
                f"{parts[0]}.delta.`{parts[2]}` may be a location or a name of that catalog: write delta.`{parts[2]}`"
            )
        return key_of_parts(parts[1:])
    if len(parts) == 1 and _ABSOLUTE.match(parts[0]) is not None:
        raise NotUnderstoodError(f"`{parts[0]}` may be a location after USE delta: write delta.`{parts[0]}`")
    dotted = next((part for part in parts if "." in part and "/" not in part), None)
    if dotted is not None:
        raise NotUnderstoodError(
            f"`{dotted}` is one name with dots in it: give each part of a name backticks of its own"
        )
    return key_of_name(".".join(parts))


def _absolute(location: str, written: str) -> str:
    if _ABSOLUTE.match(location) is None:
        raise NotUnderstoodError(
            f"{written} is a relative location, which means another folder on each machine: write an absolute one"
        )
    return location


def _is_part(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or (
        token.token_type is not TokenType.STRING and _UNQUOTED.fullmatch(token.text) is not None
    )


def _is_call(parts: list[str], tokens: tuple[Token, ...], position: int) -> bool:
    return (
        [part.upper() for part in parts] == ["IDENTIFIER"]
        and position < len(tokens)
        and tokens[position].token_type is TokenType.L_PAREN
    )


def key_of_node(node: exp.Table) -> TableKey | None:
    """Of a table of a parsed query; None if it may be any."""
    if not all(isinstance(part, exp.Identifier) for part in node.parts):
        return None
    try:
        return key_of_parts([part.name for part in node.parts])
    except NotUnderstoodError:
        return None


def is_of_a_version(node: exp.Table) -> bool:
    """Whether it is the table as it was once: its columns may have been others then."""
    return node.args.get("version") is not None or _TIME_TRAVEL.search(node.name) is not None


def key_of(table: TableRef) -> TableKey:
    if table.path is not None:
        return key_of_path(table.path)
    if table.name is not None:
        return key_of_name(table.name)
    raise NotUnderstoodError("a table needs a path or a name")

"""Reads the names of tables in SQL: by catalog, schema and name, or as delta.`/location`."""

import re
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sluice.api.job_status import MAX_LOCATION
from sluice.api.sql import ONE_LINE
from sluice.api.tables import TableRef
from sluice.footprint.errors import NotUnderstoodError
from sluice.tables import TableKey, key_of_name, key_of_path

_UNQUOTED = re.compile(r"[A-Za-z0-9_]+")
_TIME_TRAVEL = re.compile(r"@(v\d+|\d{17})$")
_SPARKS_CATALOG = "spark_catalog"
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True)
class Named:
    """A table as a statement names it, and the position of the token after it."""

    key: TableKey
    end: int


def table_at(tokens: tuple[Token, ...], position: int, *, is_source: bool = False) -> Named | None:
    """Returns the table named from `position` on; None if there is none, or only an expression such as
    IDENTIFIER(...)."""
    parts: list[str] = []
    while position < len(tokens) and _is_part(tokens[position]):
        parts.append(tokens[position].text)
        position += 1
        if position >= len(tokens) or tokens[position].token_type is not TokenType.DOT:
            if _is_call(parts, tokens, position):
                return None
            key = key_of_parts(parts, is_source=is_source)
            return Named(key if is_source else _not_of_a_version(key), position)
        position += 1
    return None


def folder_at(tokens: tuple[Token, ...], position: int) -> Named | None:
    """Returns the location that is written there as a string, such as '/lake/t'."""
    found = tokens[position : position + 1]
    if not found or found[0].token_type is not TokenType.STRING:
        return None
    key = key_of_path(_absolute(found[0].text, f"'{found[0].text}'"))
    return Named(_not_of_a_version(key), position + 1)


def key_of_parts(parts: list[str], *, is_source: bool = True) -> TableKey:
    """Returns the key of a name. Raises NotUnderstoodError for a relative location, which differs on each machine. If
    a version follows a source's location, only the location counts."""
    return _key_of_parts(tuple(parts), is_source=is_source)


@lru_cache(4096)
def _key_of_parts(parts: tuple[str, ...], *, is_source: bool) -> TableKey:
    size = sum(map(len, parts))
    if size > MAX_LOCATION:
        raise NotUnderstoodError(
            f"table {'.'.join(parts)[:60]}...: its name or location has {size} characters, and takes at most {MAX_LOCATION}"
        )
    for part in parts:
        _check_writable(part)
    format_and_location = in_sparks_catalog(list(parts))
    if len(format_and_location) == 2 and format_and_location[0].lower() == "delta":
        written = format_and_location[1]
        location = _TIME_TRAVEL.sub("", written) if is_source else written
        return key_of_path(_absolute(location, f"delta.`{written}`"))
    if len(parts) == 3 and parts[1].lower() == "delta" and _ABSOLUTE.match(parts[2]) is not None:
        raise NotUnderstoodError(
            f"{parts[0]}.delta.`{parts[2]}` may be a location or a name of that catalog: write delta.`{parts[2]}`"
        )
    if len(parts) == 1 and _ABSOLUTE.match(parts[0]) is not None:
        raise NotUnderstoodError(f"`{parts[0]}` may be a location after USE delta: write delta.`{parts[0]}`")
    dotted = next((part for part in parts if "." in part and "/" not in part), None)
    if dotted is not None:
        raise NotUnderstoodError(
            f"`{dotted}` is one name with dots in it: put each part of a name into backticks of its own"
        )
    return key_of_name(".".join(parts))


def in_sparks_catalog(parts: list[str]) -> list[str]:
    """Removes the name of Spark's own catalog, in which formats are found like schemas:
    spark_catalog.delta.`/location`."""
    is_there = (
        len(parts) == 3 and parts[0].lower() == _SPARKS_CATALOG and _ABSOLUTE.match(parts[2]) is not None
    )
    return parts[1:] if is_there else parts


def key_of_source_at(location: str) -> TableKey:
    """The key of a Delta table that is read there, perhaps in an older version."""
    return key_of_path(_TIME_TRAVEL.sub("", location))


def _not_of_a_version(key: TableKey) -> TableKey:
    """Refuses a name that ends like a version: Delta writes the folder of exactly this name if it is a table, and
    otherwise takes the end for a version."""
    if not key.is_name and _TIME_TRAVEL.search(key.text) is not None:
        raise NotUnderstoodError(
            f"{key} ends with @ and a version, and a version cannot be written: name the table alone"
        )
    return key


def _check_writable(part: str) -> None:
    if re.fullmatch(ONE_LINE, part) is None:
        raise NotUnderstoodError(
            f"{part!r} cannot be a table's name or location: remove line breaks and other control characters, and do "
            "not leave it empty"
        )


def _absolute(location: str, written: str) -> str:
    _check_writable(location)
    if _ABSOLUTE.match(location) is None:
        raise NotUnderstoodError(
            f"{written} is a relative location, which means a different folder on each machine: write an absolute one"
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
    """The key of a table in a parsed query; None if it may be any table."""
    if not all(isinstance(part, exp.Identifier) for part in node.parts):
        return None
    try:
        return key_of_parts([part.name for part in node.parts])
    except NotUnderstoodError:
        return None


def is_of_a_version(node: exp.Table) -> bool:
    """Whether it names an older version of the table, which may have had other columns."""
    return node.args.get("version") is not None or _TIME_TRAVEL.search(node.name) is not None


def key_of(table: TableRef) -> TableKey:
    """The key of a table that is written, or that is read in its newest version."""
    if table.path is not None:
        return _not_of_a_version(key_of_path(table.path))
    if table.name is not None:
        return key_of_name(table.name)
    raise NotUnderstoodError("a table needs a path or a name")

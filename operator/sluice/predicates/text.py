"""Writes regions as SQL, so that status and advice can name the overlap as a condition that people can run."""

from __future__ import annotations

from math import isfinite, isnan, nan

from sluice.predicates import literals
from sluice.predicates.atoms import starts_with
from sluice.predicates.coercion import float_code, float_of
from sluice.predicates.columns import Column, Kind
from sluice.predicates.computed_columns import ComputedColumn
from sluice.predicates.literals import Literal, LiteralKind
from sluice.predicates.region import Region
from sluice.predicates.values import Code, ValueSet, complement, intersection, successor

_MANY = 6
_LITERALS = frozenset({"true", "false", "null"})


def to_sql(region: Region, *, shorten: bool = False) -> str:
    """The region as a Spark SQL condition; with `shorten`, for people only, long lists are cut with an ellipsis."""
    if region.is_everything:
        return "TRUE"
    if region.is_empty:
        return "FALSE"
    alternatives = [
        [_side(region.columns[axis], side, shorten=shorten) for axis, side in box.items()]
        for box in region.boxes
    ]
    if len(alternatives) == 1:
        parts = alternatives[0]
        return parts[0] if len(parts) == 1 else " AND ".join(map(_grouped, parts))
    shown = [" AND ".join(map(_grouped, parts)) for parts in alternatives]
    if shorten and len(shown) > _MANY:
        shown = [*shown[:_MANY], f"... ({len(shown) - _MANY} more)"]
    return " OR ".join(f"({text})" if " AND " in text else text for text in shown)


def _grouped(text: str) -> str:
    return f"({text})" if " OR " in text else text


def _side(column: Column, values: ValueSet, *, shorten: bool) -> str:
    name = named(column)
    if not values.has_values:
        return f"{name} IS NULL"
    domain = column.type.domain
    outside = intersection([complement(values).without_null(), domain])
    if outside.is_empty:
        return f"{name} IS NOT NULL"
    within = intersection([values.without_null(), domain])
    points, left_out = _points(within), _points(outside)
    if points is None and left_out is not None:
        shown = _listed(column, left_out, shorten=shorten)
        text = f"{name} <> {shown}" if len(left_out) == 1 else f"{name} NOT IN ({shown})"
    else:
        text = _members(column, within, shorten=shorten)
    return f"{text} OR {name} IS NULL" if values.null else text


def _members(column: Column, values: ValueSet, *, shorten: bool) -> str:
    """The members as SQL: single values in one list, then the intervals."""
    points: list[Code] = []
    ranges: list[str] = []
    for low, high in values.intervals():
        inner = _few(low, high)
        if inner is not None:
            points.extend(inner)
        else:
            ranges.append(_range(column, *_within(column.type.domain, low, high)))
    parts: list[str] = []
    if points:
        shown = _listed(column, points, shorten=shorten)
        parts.append(f"{named(column)} = {shown}" if len(points) == 1 else f"{named(column)} IN ({shown})")
    if shorten and len(ranges) > _MANY:
        ranges = [*ranges[:_MANY], f"... ({len(ranges) - _MANY} more)"]
    return " OR ".join([*parts, *ranges])


def _within(domain: ValueSet, low: Code | None, high: Code | None) -> tuple[Code | None, Code | None]:
    """The interval without bounds that the type has anyway."""
    return (None if low in domain.cuts[:1] else low), (None if high in domain.cuts[1:] else high)


def _few(low: Code | None, high: Code | None) -> list[Code] | None:
    """The values of an interval that has one or two; None for longer ones."""
    if low is None or high is None:
        return None
    following = successor(low)
    if following == high:
        return [low]
    return [low, following] if isinstance(low, int) and successor(following) == high else None


def _points(values: ValueSet) -> list[Code] | None:
    found: list[Code] = []
    for low, high in values.intervals():
        inner = _few(low, high)
        if inner is None:
            return None
        found.extend(inner)
    return found


def _listed(column: Column, codes: list[Code], *, shorten: bool) -> str:
    kept = codes[:_MANY] if shorten and len(codes) > _MANY + 1 else codes
    shown = ", ".join(literal_text(column, code) for code in kept)
    return shown if len(kept) == len(codes) else f"{shown}, ... ({len(codes) - len(kept)} more)"


def _range(column: Column, low: Code | None, high: Code | None) -> str:
    name = named(column)
    if isinstance(low, str) and isinstance(high, str) and _is_prefix(column, low, high):
        return f"{name} LIKE {quoted(low + '%')}"
    above = None if low is None else _bound(column, low, ">=", ">")
    under = None if high is None else _bound(column, high, "<", "<=")
    bounds = [f"{name} {bound}" for bound in (above, under) if bound]
    return " AND ".join(bounds)


def _bound(column: Column, cut: Code, at_cut: str, before_cut: str) -> str:
    """A bound as people write it: `<= DATE '2026-11-30'` rather than `< DATE '2026-12-01'`."""
    if isinstance(cut, str):
        return f"{before_cut} {quoted(cut[:-1])}" if cut.endswith("\0") else f"{at_cut} {quoted(cut)}"
    inclusive = cut - 1 if at_cut == "<" else cut
    if _is_printable(column, inclusive):
        return f"{'<=' if at_cut == '<' else '>='} {literal_text(column, inclusive)}"
    return (
        f"{at_cut} {literal_text(column, cut)}"
        if at_cut == "<"
        else f"{before_cut} {literal_text(column, cut - 1)}"
    )


def _is_printable(column: Column, code: int) -> bool:
    """Whether the code has a plain literal. Spark has none for days and moments outside of the years 1 to 9999; and
    nothing is above NaN."""
    if column.type.kind is Kind.FLOATING:
        return code <= float_code(nan)
    try:
        literal_text(column, code)
    except (OverflowError, ValueError):
        return False
    return True


def _is_prefix(column: Column, low: str, high: str) -> bool:
    if not low or set("%_\\") & set(low):
        return False
    return starts_with(column, low, Literal(LiteralKind.STRING, low)).true.cuts == (low, high)


def literal_text(column: Column, code: Code) -> str:  # noqa: PLR0911 - one case a kind
    """The literal for a coded value."""
    if isinstance(code, str):
        return quoted(code)
    match column.type.kind:
        case Kind.BOOLEAN:
            return "TRUE" if code else "FALSE"
        case Kind.DECIMAL:
            return _decimal_text(code, column.type.scale)
        case Kind.FLOATING:
            return _float_text(float_of(code))
        case Kind.DATE:
            return f"DATE '{literals.day_text(code)}'"
        case Kind.TIMESTAMP:
            return f"TIMESTAMP '{literals.moment_text(code)}'"
        case Kind.TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ '{literals.moment_text(code)}'"
        case _:
            return str(code)


def blank(column: Column) -> str | None:
    """A condition on the column for its author to fill in, for advice: SQL refuses it as it is. None if no condition on such a
    column is understood."""
    if column.type.kind not in _TOLD_BY_VALUE:
        return None
    return f"{named(column)} = <the job's {column.name}>"


_TOLD_BY_VALUE = frozenset(
    {
        Kind.BOOLEAN,
        Kind.INTEGER,
        Kind.DECIMAL,
        Kind.FLOATING,
        Kind.STRING,
        Kind.DATE,
        Kind.TIMESTAMP,
        Kind.TIMESTAMP_NTZ,
    }
)


def _decimal_text(unscaled: int, scale: int) -> str:
    if not scale:
        return str(unscaled)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _float_text(number: float) -> str:
    if isfinite(number):
        return f"{number!r}D"
    return "DOUBLE('NaN')" if isnan(number) else f"DOUBLE('{'-' if number < 0 else ''}Infinity')"


def quoted(text: str) -> str:
    """The text as a literal. Spark would substitute `${...}` even in a literal, before it reads the statement."""
    escaped = "".join(_ESCAPES.get(char, char) for char in text)
    return f"'{escaped}'".replace("${", "\\u0024{")


_ESCAPES = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000"}


def named(column: Column) -> str:
    """The column as SQL names it."""
    if isinstance(column, ComputedColumn):
        return column.name
    name = column.name
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain and name.lower() not in _LITERALS else "`" + name.replace("`", "``") + "`"

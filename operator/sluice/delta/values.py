"""Reads the values of table properties as Delta does: what it would refuse is none, and two spellings of one meaning are one.

Delta takes a few more, which no policy needs and other engines may not take: digits of other scripts, 1.00.0 for a version, and
lists of columns with one column in two cases, two names without a comma, or (4.4) a dot at the end.
"""

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Values:
    """The values that a property can have."""

    must_be: str
    """In words, to go on after "must be"."""
    read: Callable[[str], Hashable | None]
    """What a text means, the same for each of its spellings; None: Delta would refuse it."""
    pattern: str
    """What the API server can tell of it: every text that means something matches, as Python and RE2 read patterns."""
    spelled: Callable[[str], str] = str
    """A valid text as all engines read it: delta-rs takes TRUE for false."""


def _boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


BOOLEAN = Values("true or false", _boolean, "(?i)^(true|false)$", spelled=str.lower)

_LARGEST_WHOLE = 2**31 - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")


_WHOLE_FROM = {
    -1: "^([+]?0*[0-9]{1,10}|-0*1|-0+)$",
    0: "^([+]?0*[0-9]{1,10}|-0+)$",
    1: "^[+]?0*[1-9][0-9]{0,9}$",
}


def _whole(minimum: int, text: str) -> int | None:
    if _WHOLE.fullmatch(text) is None:
        return None
    number = int(text)
    return number if minimum <= number <= _LARGEST_WHOLE else None


def whole(minimum: int) -> Values:
    return Values(f"a whole number from {minimum} on", partial(_whole, minimum), _WHOLE_FROM[minimum])


def _word(words: tuple[str, ...], text: str) -> str | None:
    return text if text in words else None


def word(*words: str) -> Values:
    """One of the words, as they are written here: Delta tells upper from lower case in them."""
    return Values(" or ".join(words), partial(_word, words), f"^({'|'.join(words)})$")


def _word_in_any_case(words: tuple[str, ...], text: str) -> str | None:
    return next((one for one in words if one.lower() == text.lower()), None)


def word_in_any_case(*words: str) -> Values:
    read = partial(_word_in_any_case, words)
    pattern = f"(?i)^({'|'.join(words)})$"
    return Values(" or ".join(words), read, pattern, spelled=lambda text: read(text) or text)


_MICROSECONDS = {
    "week": 7 * 24 * 3600 * 10**6,
    "day": 24 * 3600 * 10**6,
    "hour": 3600 * 10**6,
    "minute": 60 * 10**6,
    "second": 10**6,
    "millisecond": 1000,
    "microsecond": 1,
}
_LONGEST = 2**63 - 1
"""Microseconds: Delta counts them in 64 bits, and would take a longer interval for a negative one."""
_PART = re.compile(
    rf"([+-]?)\s*([0-9]{{1,18}})(?:\.([0-9]{{0,9}}))?\s+({'|'.join(_MICROSECONDS)})s?(?:\s+|$)", re.ASCII
)
_SPACE = r"[\t-\r ]"
_SPACES = "\t\n\v\f\r "
_PARTS = (
    rf"(([+-]{_SPACE}*)?[0-9]{{1,18}}([.][0-9]{{0,9}})?{_SPACE}+({'|'.join(_MICROSECONDS)})s?({_SPACE}+|$))+"
)


def _interval(text: str) -> int | None:
    """The microseconds. Months and years have no fixed length, so that Delta refuses them; a part of a unit counts only in
    seconds."""
    rest = text.strip(_SPACES).lower().removeprefix("interval ").lstrip(_SPACES)
    if not rest:
        return None
    total = 0
    while rest:
        part = _PART.match(rest)
        if part is None or (part[3] is not None and part[4] != "second"):
            return None
        amount = int(part[2]) * _MICROSECONDS[part[4]] + int((part[3] or "").ljust(6, "0")[:6])
        total += -amount if part[1] == "-" else amount
        rest = rest[part.end() :]
    return total if 0 <= total <= _LONGEST else None


INTERVAL = Values(
    "an interval of weeks, days, hours, minutes and seconds such as '7 days'",
    _interval,
    rf"(?i)^{_SPACE}*(interval {_SPACE}*)?{_PARTS}$",
)

_NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|`(?:[^`]|``)+`)"
_COLUMN = re.compile(rf"\s*({_NAME}(?:\.{_NAME})*)\s*(?:,|$)", re.ASCII)
_ONE_COLUMN = rf"{_SPACE}*{_NAME}([.]{_NAME})*{_SPACE}*"

ColumnPath = tuple[str, ...]
"""A column's name, or the names on the way to a field within it; in lower case, for Delta compares names without regard to it."""


def _columns(text: str) -> frozenset[ColumnPath] | None:
    found: list[ColumnPath] = []
    at = 0
    while at < len(text):
        column = _COLUMN.match(text, at)
        if column is None:
            return None
        found.append(tuple(_unquoted(name).lower() for name in re.findall(_NAME, column[1])))
        at = column.end()
    trailing_comma = text.rstrip(_SPACES).endswith(",")
    return None if trailing_comma or len(set(found)) != len(found) else frozenset(found)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


COLUMNS = Values(
    "columns separated by commas, each once, with backticks around a name that is more than letters, digits and _",
    _columns,
    f"^({_ONE_COLUMN}(,{_ONE_COLUMN})*)?$",
)


def _formats(formats: frozenset[str], text: str) -> frozenset[str] | None:
    given = text.split(",") if text else []
    return frozenset(given) if formats.issuperset(given) and len(set(given)) == len(given) else None


def formats(*known: str) -> Values:
    return Values(
        f"{' or '.join(known)}, or several of them separated by commas and without spaces",
        partial(_formats, frozenset(known)),
        rf"^(({'|'.join(known)})(,({'|'.join(known)}))*)?$",
    )


_THREE_NUMBERS = re.compile(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})")


def _format_version(text: str) -> tuple[int, int, int] | None:
    numbers = _THREE_NUMBERS.fullmatch(text)
    if numbers is None or numbers[1] == "0":
        return None
    return int(numbers[1]), int(numbers[2]), int(numbers[3])


FORMAT_VERSION = Values(
    "a version of Parquet's format such as 1.0.0 or 2.12.0",
    _format_version,
    "^[1-9][0-9]{0,3}([.](0|[1-9][0-9]{0,3})){2}$",
)

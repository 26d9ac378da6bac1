"""What must not be told: the secrets of a driver, found again in a text also where it is escaped, encoded, or cut.

One regular expression, which Python and Java read alike, because Spark's own log has to leave out the same as we do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from sluice_runner.plan import Plan

STARS = "***"

_SHORTEST = 4
"""Anything shorter is a separator or a flag rather than a secret, and texts without it could not be read."""
_SHORTEST_BY_NAME = 8
"""For what is only called like a secret."""
_PIECE, _LONGEST_PIECE = 8, 16
"""So much of a secret is found wherever the rest of it is."""
_LONGEST_WHOLE = 256
"""A longer one is found by its lines and pieces."""
_MANY = 64
"""A longer line of a secret is looked for block by block: a key of thousands of characters has thousands of pieces."""

_CALLED_SECRET = re.compile(
    r"(?i)secret|password|passwd|token|credential|(access|private|account|api)[._-]?key"
)
_SAYS_ONLY_WHERE = re.compile(r"(?i)(file|path|dir|provider|endpoint|ref[.][^.]*)$")
_INSIDE = re.compile(
    r"(?i)(?:password|passwd|pwd|secret|token|sig|key)=(?P<value>[^&;,\s]+)|://[^:/@\s]*:(?P<user>[^@/\s]+)@"
)
"""What an address holds that a message may tell by itself."""

_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_LETTERS = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


class Mask:
    def __init__(self, secrets: Iterable[str]) -> None:
        self.pattern = _pattern(frozenset(secrets))
        """Of everything that is masked; None if nothing is."""
        self._compiled = None if self.pattern is None else re.compile(self.pattern)

    def __call__(self, text: str) -> str:
        return text if self._compiled is None else self._compiled.sub(STARS, text)


def mask_of(plan: Plan) -> Mask:
    """What must not be told of a run of this plan."""
    return _mask(frozenset(secrets(plan, os.environ)))


def secrets(plan: Plan, environment: Mapping[str, str]) -> Iterator[str]:
    """What the job's Secrets brought, and what the environment says is a secret by its name."""
    for name in plan.secret_options.values():
        yield environment.get(name, "")
    yield from secret_by_name(environment)


def secret_by_name(values: Mapping[str, str]) -> Iterator[str]:
    for name, value in values.items():
        if (
            len(value) >= _SHORTEST_BY_NAME
            and _CALLED_SECRET.search(name)
            and not _SAYS_ONLY_WHERE.search(name)
            and not value.startswith("/")
        ):
            yield value


@lru_cache(maxsize=8)
def _mask(found: frozenset[str]) -> Mask:
    return Mask(found)


def _pattern(given: frozenset[str]) -> str | None:
    wholes = {whole for secret in given for whole in _wholes(secret) if len(whole) >= _SHORTEST}
    if not wholes:
        return None
    found = dict.fromkeys(part for whole in sorted(wholes) for part in _parts(whole))
    return _tree(list(found))


def _wholes(secret: str) -> Iterator[str]:
    yield secret
    yield secret.strip()
    yield from (line.strip() for line in secret.splitlines())
    for found in _INSIDE.finditer(secret):
        yield found["value"] or found["user"]


def _parts(whole: str) -> Iterator[tuple[str, str]]:
    """A secret, and what may be left of it where a text was cut: each a text with an expression for what follows."""
    if len(whole) <= _LONGEST_WHOLE:
        yield whole, ""
    size = min(_LONGEST_PIECE, max(_PIECE, len(whole) // 4))
    if len(whole) > size:
        step = size if len(whole) > _MANY else 1
        for at in range(0, len(whole) - size + 1, step):
            yield whole[at : at + size], f"\\S{{0,{size}}}"  # the next piece, or what is left of it
    if len(whole) >= _PIECE:
        characters = [_character(one) for one in whole[_SHORTEST : min(size, len(whole) - 1)]]
        longer = "".join(f"(?:{one}" for one in characters) + ")?" * len(characters)
        yield whole[:_SHORTEST], f"{longer}(?=\\s*(?:\\.\\.\\.|…|$))"


def _tree(parts: list[tuple[str, str]]) -> str:
    """One expression for all parts, in which those that begin alike share their beginning: a key has hundreds of them, and each
    character of a log is held against them all. Of two that fit, the longer text is taken."""
    if len(parts) == 1:
        return _as_written(parts[0][0]) + parts[0][1]
    by_first: dict[str, list[tuple[str, str]]] = {}
    for text, then in parts:
        if text:
            by_first.setdefault(text[0], []).append((text[1:], then))
    branches = [_character(first) + _tree(rest) for first, rest in by_first.items()]
    ends = sorted((then for text, then in parts if not text), key=len, reverse=True)
    return f"(?:{'|'.join(branches + ends)})" if len(branches + ends) > 1 else branches[0]


def _as_written(text: str) -> str:
    return "".join(map(_character, text))


@lru_cache(maxsize=512)
def _character(one: str) -> str:
    """One character in every way in which it may be written: itself, escaped as in JSON, Java, SQL or HTML, percent-encoded."""
    if one.isascii() and one.isalnum():
        return one
    # Surrogates are half a character each; UTF-8 has none of them.
    hexes = [f"{byte:02x}" for byte in one.encode("utf-8", errors="replace")]
    units = one.encode("utf-16-be", errors="surrogatepass").hex()
    written = [
        rf"\\*{_literal(one)}",
        "".join(f"%(?:25)*{_any_case(byte)}" for byte in hexes),
        "".join(rf"\\+u{_any_case(units[at : at + 4])}" for at in range(0, len(units), 4)),
        f"&#(?:{ord(one)}|[xX]0*{_any_case(f'{ord(one):x}')});",
    ]
    if ord(one) < 256:
        written.append(rf"\\+x{_any_case(f'{ord(one):02x}')}")
    if one in _LETTERS:
        written.append(rf"\\+{_LETTERS[one]}")
    if one in _NAMED:
        written.append(f"&{_NAMED[one]};")
    if one == "'":
        written.append("''")
    if one == " ":
        written.append(r"\+")
    if not one.isascii():
        written += [r"\?+", "\ufffd+"]  # what a log without this character has in its place
    return f"(?:{'|'.join(written)})"


def _literal(one: str) -> str:
    if not one.isascii():
        return one
    return f"\\{one}" if one.isprintable() and one != " " else f"\\x{ord(one):02x}"


def _any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)

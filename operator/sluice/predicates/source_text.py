"""A condition as its author wrote it: trees that are written out again spell functions otherwise (`date_sub(d, 3)` as
`DATE_ADD(d, 3 * -1)`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import Token, TokenType, exp

_SOURCE = "source"
_ENDS = frozenset(
    {
        "AND",
        "OR",
        "WHERE",
        "ON",
        "HAVING",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "GROUP",
        "ORDER",
        "LIMIT",
        "UNION",
        ";",
    }
)
"""Words before and after a condition. Commas are none: they stand within its calls and lists."""
_NO_CALLS = _ENDS | {"NOT", "IN", "AS", "USING", "SELECT", "BY"}
"""Words before a bracket that opens no call."""


@dataclass(frozen=True)
class SourceText:
    """The text of a tree."""

    tokens: Sequence[Token]
    text: str

    @cached_property
    def starts(self) -> dict[int, int]:
        """Positions of tokens by where they begin."""
        return {token.start: number for number, token in enumerate(self.tokens)}

    @cached_property
    def ends(self) -> dict[int, int]:
        return {token.end: number for number, token in enumerate(self.tokens)}

    @cached_property
    def of_ranges(self) -> frozenset[int]:
        """Positions of each AND that belongs to a BETWEEN, and ends no condition."""
        found, open_at, depth = set[int](), list[int](), 0
        for number, token in enumerate(self.tokens):
            depth += _depth(token)
            while open_at and open_at[-1] > depth:
                open_at.pop()
            if token.token_type is TokenType.BETWEEN:
                open_at.append(depth)
            elif token.token_type is TokenType.AND and open_at and open_at[-1] == depth:
                open_at.pop()
                found.add(number)
        return frozenset(found)

    @cached_property
    def of_cases(self) -> frozenset[int]:
        """Positions from each CASE to its END, where no word ends a condition that the whole of it stands in."""
        found, open_at = set[int](), list[int]()
        for number, token in enumerate(self.tokens):
            if token.token_type is TokenType.CASE:
                open_at.append(number)
            elif token.token_type is TokenType.END and open_at:
                found.update(range(open_at.pop(), number + 1))
        return frozenset(found)

    @cached_property
    def bounds(self) -> frozenset[int]:
        """Positions of the words before and after conditions."""
        words = (number for number, token in enumerate(self.tokens) if token.text.upper() in _ENDS)
        return frozenset(words) - self.of_ranges

    @cached_property
    def bounds_outside_cases(self) -> frozenset[int]:
        return self.bounds - self.of_cases

    def bounds_of(self, node: exp.Expr) -> frozenset[int] | None:
        """Positions of words before and after a condition; None if that can't be told of one that has a CASE and is within one."""
        if node.find(exp.Case) is None:
            return self.bounds
        return None if node.find_ancestor(exp.Case) is not None else self.bounds_outside_cases

    def __deepcopy__(self, memo: object) -> SourceText:
        return self


def note_source(tree: exp.Expr, tokens: Sequence[Token], text: str) -> None:
    tree.meta[_SOURCE] = SourceText(tokens, text)


def source_of(node: exp.Expr) -> SourceText | None:
    """The text of the tree that the node is in; None for a tree that no text was parsed into."""
    found = node.root().meta.get(_SOURCE)
    return found if isinstance(found, SourceText) else None


def as_written(node: exp.Expr, source: SourceText | None) -> str | None:
    """The text of a condition that AND or OR may join to others, on one line; None where it can't be told. `source` is the text
    of its tree: looking for it at each of many conditions would climb all of the tree each time."""
    places = [identifier.meta for identifier in node.find_all(exp.Identifier) if "start" in identifier.meta]
    if source is None or not places:
        return None
    first, last = min(one["start"] for one in places), max(one["end"] for one in places)
    tokens = source.tokens
    if first not in source.starts or last not in source.ends:
        return None
    ends = source.bounds_of(node)
    span = None if ends is None else _grown(tokens, source.starts[first], source.ends[last], ends)
    if span is None:
        return None
    text = source.text[tokens[span[0]].start : tokens[span[1]].end + 1]
    return None if "--" in text or "/*" in text else " ".join(text.split())


def _grown(tokens: Sequence[Token], start: int, end: int, ends: Collection[int]) -> tuple[int, int] | None:
    """The span grown on both sides up to where the condition ends, with the calls that it began in."""
    opened, closed = _unmatched(tokens[start : end + 1])
    depth = 0
    while start > 0:
        before = tokens[start - 1]
        if depth == 0 and closed == 0 and start - 1 in ends:
            break
        if depth == 0 and before.token_type is TokenType.L_PAREN:
            if closed:
                closed -= 1
            elif start >= 2 and _is_call(tokens[start - 2]):
                opened += 1
            else:
                break
        else:
            depth -= _depth(before)
        start -= 1
    depth = 0
    while end + 1 < len(tokens):
        after = tokens[end + 1]
        if depth == 0 and opened == 0 and end + 1 in ends:
            break
        if depth == 0 and after.token_type is TokenType.R_PAREN:
            if not opened:
                break
            opened -= 1
        else:
            depth += _depth(after)
        end += 1
    return None if opened or closed else (start, end)


def _unmatched(tokens: Sequence[Token]) -> tuple[int, int]:
    """The brackets that are opened here and not closed, and those that are closed and were not opened."""
    opened = closed = 0
    for token in tokens:
        step = _depth(token)
        if step < 0 and opened == 0:
            closed += 1
        else:
            opened += step
    return opened, closed


def _depth(token: Token) -> int:
    return (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)


def _is_call(token: Token) -> bool:
    word = token.text.upper()
    return word not in _NO_CALLS and word.replace("_", "a").isalnum()

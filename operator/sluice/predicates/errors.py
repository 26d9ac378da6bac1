"""The errors of this package: each names the place and the reason, which the person who wrote the condition needs.

Callers catch `PredicateError` alone; nothing else leaves this package for bad input.
"""

from __future__ import annotations

from collections.abc import Iterable


class PredicateError(ValueError):
    """A condition that makes no sense as it stands: it can't be parsed, names an unknown column or compares nonsense."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"line {self.line}, column {self.column}: {self.message}"


def unknown_column(
    name: str, existing: Iterable[str], line: int | None, column: int | None
) -> PredicateError:
    listed = ", ".join(sorted(existing))
    return PredicateError(f"there is no column {name}: the table has {listed}", line, column)

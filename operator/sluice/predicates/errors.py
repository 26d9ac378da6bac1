"""Why one exception type: whatever is wrong with a condition that a person wrote, the person needs the place and the reason.

Callers catch `PredicateError` alone; nothing else leaves this package for bad input.
"""

from __future__ import annotations

from collections.abc import Iterable


class PredicateError(ValueError):
    """A condition that can't be meant as it stands: unparsable, an unknown column, a comparison that makes no sense."""

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
    return PredicateError(f"there is no column {name}; the table has {listed}", line, column)

"""A manifest that cannot be understood is refused with the place and the reason."""

import re

from sluice.predicates import PredicateError

IF_SPARK_DOES = "If Spark understands it, declare what it touches in spec.footprint"

_FIRST_LINE = re.compile(r", line \d+$")


class NotUnderstoodError(Exception):
    """What, where and why."""


def at(place: str, error: PredicateError) -> NotUnderstoodError:
    """The same complaint, with the statement it is about, whose first line is no news where the line itself is told."""
    if error.line is None:
        return NotUnderstoodError(f"{place}: {error.message}")
    place = _FIRST_LINE.sub("", place)
    return NotUnderstoodError(f"{place}, line {error.line}, column {error.column}: {error.message}")

"""The error by which a manifest that cannot be understood is refused, with the place and the reason."""

import re

from sluice.api.problems import listed
from sluice.predicates import PredicateError

IF_SPARK_DOES = "If Spark understands it, declare what it touches in spec.footprint"

_FIRST_LINE = re.compile(r", line \d+$")


class NotUnderstoodError(Exception):
    """Says what is not understood, where and why. As text it is one line, with the first of several problems."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return listed(self.problems, most=1)


def at(place: str, error: PredicateError) -> NotUnderstoodError:
    """Adds the statement to the complaint, without the statement's first line where the complaint names a line of its
    own."""
    if error.line is None:
        return NotUnderstoodError(f"{place}: {error.message}")
    place = _FIRST_LINE.sub("", place)
    return NotUnderstoodError(f"{place}, line {error.line}, column {error.column}: {error.message}")

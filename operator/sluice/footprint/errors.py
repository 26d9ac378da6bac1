"""A manifest that cannot be understood is refused with the place and the reason."""

from sluice.predicates import PredicateError

IF_SPARK_DOES = "If Spark understands it, declare what it touches in spec.footprint"


class NotUnderstoodError(Exception):
    """What, where and why."""


def at(place: str, error: PredicateError) -> NotUnderstoodError:
    """The same complaint, with the statement it is about."""
    if error.line is None:
        return NotUnderstoodError(f"{place}: {error.message}")
    return NotUnderstoodError(f"{place}, line {error.line}, column {error.column}: {error.message}")

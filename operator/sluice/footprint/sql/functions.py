"""Tells which functions are Spark's own: any other may be a user's, and a user's SQL functions can read tables."""

from sqlglot import exp

from sluice.footprint.sql.known import VERSIONS, Version, functions_of
from sluice.predicates.syntax import CALLED_AMONG, WRITTEN

_CALL_ANYTHING = frozenset({"java_method", "reflect", "try_reflect"})
"""Spark's own functions that run a user's code."""
_ROWS_OF_THEIR_OWN = frozenset(
    {"collations", "range", "sql_keywords", "variant_explode", "variant_explode_outer"}
)
"""Functions after FROM that read no table; the other ones do."""


def is_builtin(name: str, spark: Version | None) -> bool:
    """Whether Spark surely has the function; in every version if `spark` is None, because the version isn't known."""
    if spark is None:
        return all(name.lower() in functions_of(version) for version in VERSIONS)
    older = [version for version in VERSIONS if version <= spark]
    return bool(older) and name.lower() in functions_of(older[-1])


def may_be_builtin(name: str) -> bool:
    return any(name.lower() in functions_of(version) for version in VERSIONS)


def makes_rows(name: str, spark: Version | None) -> bool:
    """Whether it surely is a function that yields rows of its own after FROM and reads no table."""
    if not is_builtin(name, spark):
        return False
    kinds = {functions_of(version).get(name.lower()) for version in VERSIONS}
    return "generator" in kinds or name.lower() in _ROWS_OF_THEIR_OWN


def is_generator(name: str) -> bool:
    return any(functions_of(version).get(name.lower()) == "generator" for version in VERSIONS)


def name_of(function: exp.Expr) -> str | None:
    """The function's name as it is written; None for what has a syntax of its own, such as CAST, CASE or an operator."""
    if isinstance(function, exp.Anonymous):
        return function.name
    written = function.meta.get(WRITTEN)
    return None if written is None else str(written)


def a_users(node: exp.Expr, spark: Version | None) -> str | None:
    """The name of a user's own function that the node may call; None if there surely is none."""
    name = name_of(node)
    if name is not None:
        return None if _is_sparks(name, spark) else name
    called = node.meta.get(CALLED_AMONG)
    return None if called is None else next((one for one in called if not _is_sparks(one, spark)), None)


def _is_sparks(name: str, spark: Version | None) -> bool:
    return name.lower() not in _CALL_ANYTHING and is_builtin(name, spark)

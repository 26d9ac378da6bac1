"""Tables whose commits go through a catalog: the log in their folder may be behind, so nothing is known from it."""

from collections.abc import Iterable

from sluice.tables.address import LogUnreadableError

_FEATURES = frozenset({"catalogmanaged", "catalogowned", "catalogowned-preview"})
_REFUSED_BY_DELTA_RS = "catalog-managed table"


def refuse_managed(features: Iterable[str]) -> None:
    if any(feature.lower() in _FEATURES for feature in features):
        raise _managed()


def as_managed(error: Exception) -> Exception:
    """Words delta-rs' error for people if it refused the table for this reason."""
    return _managed() if _REFUSED_BY_DELTA_RS in str(error) else error


def _managed() -> LogUnreadableError:
    return LogUnreadableError(
        "a catalog takes its commits (catalogManaged), so the newest may not be in its folder yet, and Delta refuses "
        "its path: name the table through its catalog"
    )

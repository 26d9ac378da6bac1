"""Tables whose commits a catalog takes: what their folder's log says may be behind, so nothing is known by it."""

from collections.abc import Iterable

from sluice.tables.address import LogUnreadableError

_FEATURES = frozenset({"catalogmanaged", "catalogowned", "catalogowned-preview"})
_REFUSED_BY_DELTA_RS = "catalog-managed table"


def refuse_managed(features: Iterable[str]) -> None:
    if any(feature.lower() in _FEATURES for feature in features):
        raise _managed()


def as_managed(error: Exception) -> Exception:
    """What delta-rs says, in words for people, if it refused the table for that."""
    return _managed() if _REFUSED_BY_DELTA_RS in str(error) else error


def _managed() -> LogUnreadableError:
    return LogUnreadableError(
        "a catalog takes its commits (catalogManaged), so that the newest may not be in its folder yet; Delta refuses who "
        "names such a table by its path: name it through its catalog"
    )

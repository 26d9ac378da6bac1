"""Tables whose commits go through a catalog or a coordinator: the log in their folder may be behind, so nothing is known
from it."""

from collections.abc import Iterable

from sluice.tables.address import LogUnreadableError

_BY_CATALOG = frozenset({"catalogmanaged", "catalogowned", "catalogowned-preview"})
_BY_COORDINATOR = frozenset({"coordinatedcommits-preview"})
_REFUSED_BY_DELTA_RS = "catalog-managed table"


def refuse_managed(features: Iterable[str]) -> None:
    known = {feature.lower() for feature in features}
    if known & _BY_CATALOG:
        raise _managed()
    if known & _BY_COORDINATOR:
        raise LogUnreadableError(
            "a coordinator takes its commits (coordinatedCommits-preview), so the newest may not be in its folder yet: "
            "ALTER TABLE ... DROP FEATURE takes the coordinator away"
        )


def as_managed(error: Exception) -> Exception:
    """Words delta-rs' error for people if it refused the table for this reason."""
    return _managed() if _REFUSED_BY_DELTA_RS in str(error) else error


def _managed() -> LogUnreadableError:
    return LogUnreadableError(
        "a catalog takes its commits (catalogManaged), so the newest may not be in its folder yet, and Delta refuses "
        "its path: name the table through its catalog"
    )

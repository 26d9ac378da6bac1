"""The partitions that a compaction is for: the policy's condition, with the day of the run in place of :today."""

from datetime import date

from sluice.api.parameters import Parameter
from sluice.footprint import condition_with

TODAY = "today"
PLACE = "spec.maintenance.optimize.where"

_KNOWN = f"here it is :{TODAY} alone, the day of the run in timeZone"


def where_on(day: date, where: str) -> str:
    """Raises NotUnderstoodError for what is no condition, and for other parameters."""
    return condition_with(where, {TODAY: Parameter(date=day.isoformat())}, PLACE, _KNOWN)

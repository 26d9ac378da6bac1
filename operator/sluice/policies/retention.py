"""Whether a VACUUM may run, as to how long it keeps files: as long as the policy says, and longer than any running writer needs.

Delta keeps files for as long as the table's own property says, and VACUUM's RETAIN cannot make that longer: newer versions pass
over it, and no version remembers for longer than the property which files were removed. What is removed and old may go, although a
version within RETAIN or a running writer still reads it. So no RETAIN is written, and VACUUM doesn't run where the property is too
short.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sluice.api.durations import seconds
from sluice.api.maintenance import Vacuum
from sluice.footprint.statements.maintenance import DATA_RETENTION, hours_kept_by

_HOUR = timedelta(hours=1)
_SET_IT = f"set {DATA_RETENTION} of the table"


@dataclass(frozen=True)
class ActiveWriter:
    job: str
    """In words, such as: the job etl/load."""
    runs_for: timedelta


@dataclass(frozen=True)
class RetentionPeriod:
    """How long VACUUM keeps files that no newer version needs."""

    hours: float
    why: str


@dataclass(frozen=True)
class NotNow:
    why: str


def retention_of(
    policy: timedelta, properties: Mapping[str, str], longest: ActiveWriter | None, begins_within: timedelta
) -> RetentionPeriod | NotNow:
    """What follows from the policy's retention and the table's properties. `longest` is the writer of the table that has run the
    longest; `begins_within` is the longest time until the VACUUM begins, for which that may go on."""
    own = hours_kept_by(properties)
    if own is None:
        return NotNow(
            f"the table's {DATA_RETENTION} is {properties[DATA_RETENTION]!r}, which is not understood, so that nobody can say what "
            f"VACUUM would delete: {_SET_IT} to an interval of weeks, days or hours, such as 'interval 7 days'"
        )
    whose = (
        f"the table's {DATA_RETENTION}"
        if DATA_RETENTION in properties
        else f"Delta's default for {DATA_RETENTION}"
    )
    wanted = policy / _HOUR
    if wanted > own:
        return NotNow(
            f"spec.maintenance.vacuum.retention is {wanted:g} hours, and VACUUM keeps files for {own:g} hours, which is {whose}, "
            f"whatever it is told: {_SET_IT} to at least 'interval {-(-policy // _HOUR)} hours', or shorten retention"
        )
    if longest is not None and longest.runs_for + begins_within > own * _HOUR:
        return NotNow(
            f"{longest.job} writes the table and has run for {_shown(longest.runs_for)}, and VACUUM, which keeps files for "
            f"{own:g} hours ({whose}), could begin in {_shown(begins_within)} and delete what the job needs: it waits until the "
            f"job has ended, or {_SET_IT} to a longer interval"
        )
    return RetentionPeriod(own, f"files are kept for {own:g} hours, which is {whose}")


def why_never(wanted: Vacuum | None, properties: Mapping[str, str]) -> str | None:
    """Why no VACUUM is run before somebody changes the policy or the table's property; None: one is, or none is wanted."""
    if wanted is None or wanted.suspend:
        return None
    kept = retention_of(timedelta(seconds=seconds(wanted.retention)), properties, None, timedelta())
    return kept.why if isinstance(kept, NotNow) else None


def _shown(time: timedelta) -> str:
    return f"{time / _HOUR:.1f} hours"

"""What a policy wants of its maintenance, as its spec says it; and what is wrong with that, though the schema lets it through."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from sluice.api.durations import seconds
from sluice.api.maintenance import Maintenance, MaintenancePlan
from sluice.footprint import NotUnderstoodError
from sluice.policies.cron import Schedule, ScheduleError
from sluice.policies.maintenance import MaintenanceKind, MaintenanceRun, MaintenanceSpec
from sluice.policies.today_parameter import where_on

_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""Whether a schedule ever has a run is the same from each day on."""

MOST_YIELDED = {MaintenanceKind.OPTIMIZE: timedelta(days=1), MaintenanceKind.VACUUM: timedelta(hours=1)}
"""So long a job leaves others ahead of it at most. That of a VACUUM is in hardly anybody's way, and counts for how old a writer may
get before it begins."""


@dataclass(frozen=True)
class MaintenanceSpecs:
    by_kind: Mapping[MaintenanceKind, MaintenanceSpec] = field(default_factory=dict)
    """The kinds that can be run."""
    problems: tuple[str, ...] = ()
    """Each names its place, and keeps its kind from being run."""


def upkeeps_of(maintenance: MaintenancePlan | None) -> MaintenanceSpecs:
    by_kind: dict[MaintenanceKind, MaintenanceSpec] = {}
    problems: list[str] = []
    for kind, wanted in _wanted(maintenance):
        try:
            by_kind[kind] = _upkeep(kind, wanted)
        except ScheduleError as error:
            problems.append(f"spec.maintenance.{kind}: {error}")
        except NotUnderstoodError as error:
            problems.append(str(error))
    return MaintenanceSpecs(by_kind, tuple(problems))


def _wanted(maintenance: MaintenancePlan | None) -> Iterator[tuple[MaintenanceKind, Maintenance]]:
    if maintenance is not None and maintenance.optimize is not None:
        yield MaintenanceKind.OPTIMIZE, maintenance.optimize
    if maintenance is not None and maintenance.vacuum is not None:
        yield MaintenanceKind.VACUUM, maintenance.vacuum


def _upkeep(kind: MaintenanceKind, wanted: Maintenance) -> MaintenanceSpec:
    schedule = Schedule.parse(wanted.schedule, wanted.time_zone)
    if schedule.next_after(_ANY_DAY) is None:
        raise ScheduleError(f"the schedule {wanted.schedule!r} names a day that no year has, and never runs")
    where = getattr(wanted, "where", None)
    if where is not None:
        where_on(date(2026, 1, 1), where)
    deadline = wanted.starting_deadline
    return MaintenanceSpec(
        kind,
        schedule,
        suspend=wanted.suspend,
        starting_deadline=None if deadline is None else timedelta(seconds=seconds(deadline)),
        kept_succeeded=wanted.successful_jobs_history_limit,
        kept_failed=wanted.failed_jobs_history_limit,
    )


def yields_for(
    wanted: MaintenanceSpec, run: MaintenanceRun, now: datetime, longest_wait: timedelta | None
) -> timedelta:
    """So long the run's job leaves others ahead of it: until it must have begun, or the next run is due. What somebody asked for
    is as urgent as any other job. `longest_wait`: then the job times out, so that it must have its turn long before."""
    if run.by_hand:
        return timedelta()
    following = wanted.schedule.next_after(run.at)
    deadline = None if wanted.starting_deadline is None else run.at + wanted.starting_deadline
    left = [max(end - now, timedelta()) for end in (following, deadline) if end is not None]
    if longest_wait is not None:
        left.append(longest_wait / 2)
    return min(*left, MOST_YIELDED[wanted.kind])

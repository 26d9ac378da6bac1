"""What a run of maintenance that is due comes to: a statement to be run, a reason to leave it out, or one to wait.

It is left out where the table's log says that nothing is to be gained, unless somebody asked for it, who knows better. What the
log can't tell is run; but no VACUUM is, where nobody knows how long it would keep files, or where a writer may still need them."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sluice.api.durations import seconds
from sluice.api.maintenance import Optimize, Vacuum, mebibytes
from sluice.api.policy import DeltaTablePolicySpec, PolicyTable
from sluice.footprint import NotUnderstoodError
from sluice.policies.alteration import named
from sluice.policies.maintenance import MaintenanceKind, MaintenanceRun, MaintenanceSpec
from sluice.policies.maintenance_benefit import MaintenanceBenefit, RunWorth, of_compaction, of_vacuum
from sluice.policies.maintenance_spec import MOST_YIELDED
from sluice.policies.retention import ActiveWriter, NotNow, retention_of
from sluice.policies.today_parameter import where_on
from sluice.tables.table_observation import TableObservation

_ABSENT = "there is no table yet"


@dataclass(frozen=True)
class StartRun:
    sql: str
    why: str


@dataclass(frozen=True)
class SkipRun:
    why: str


@dataclass(frozen=True)
class WaitForNextRun:
    """The run stays due."""

    why: str


Errand = StartRun | SkipRun | WaitForNextRun


def errand_of(
    spec: DeltaTablePolicySpec,
    upkeep: MaintenanceSpec,
    run: MaintenanceRun,
    look: TableObservation,
    *,
    longest: ActiveWriter | None,
    now: datetime,
) -> Errand:
    """`longest`: the writer of the table that has run the longest."""
    plan = spec.maintenance
    if plan is not None and plan.optimize is not None and upkeep.kind is MaintenanceKind.OPTIMIZE:
        return _compaction(plan.optimize, spec.table, upkeep.schedule.day_of(run.at), look, run)
    if plan is not None and plan.vacuum is not None and upkeep.kind is MaintenanceKind.VACUUM:
        return _clean_up(plan.vacuum, spec.table, look, run, longest=longest, now=now)
    raise ValueError(f"the policy wants no {upkeep.kind}")


def _compaction(
    wanted: Optimize, table: PolicyTable, day: date, look: TableObservation, run: MaintenanceRun
) -> Errand:
    if look.state.unread is None and not look.state.exists:
        return SkipRun(_ABSENT)
    try:
        where = None if wanted.where is None else where_on(day, wanted.where)
        gain = _gain_of_compaction(wanted, look, where)
    except NotUnderstoodError as error:
        return SkipRun(str(error))
    return _as_asked(gain, f"OPTIMIZE {named(table)}{'' if where is None else f' WHERE {where}'}", run)


def _clean_up(
    wanted: Vacuum,
    table: PolicyTable,
    look: TableObservation,
    run: MaintenanceRun,
    *,
    longest: ActiveWriter | None,
    now: datetime,
) -> Errand:
    if look.state.unread is not None:
        return WaitForNextRun(
            f"nobody knows for how long VACUUM would keep files, because the table's log cannot be read: {look.state.unread}"
        )
    if not look.state.exists:
        return SkipRun(_ABSENT)
    retention = timedelta(seconds=seconds(wanted.retention))
    kept = retention_of(retention, look.state.properties, longest, MOST_YIELDED[MaintenanceKind.VACUUM])
    if isinstance(kept, NotNow):
        return WaitForNextRun(kept.why)
    history = look.history
    gain = of_vacuum(history.removals, history.last_vacuum, timedelta(hours=kept.hours), now)
    return _as_asked(gain, f"VACUUM {named(table)}", run)


def _as_asked(gain: MaintenanceBenefit, sql: str, run: MaintenanceRun) -> Errand:
    if run.by_hand:
        return StartRun(sql, "somebody asked for it")
    return StartRun(sql, gain.why) if gain.is_likely else SkipRun(gain.why)


def _gain_of_compaction(wanted: Optimize, look: TableObservation, where: str | None) -> MaintenanceBenefit:
    worth = RunWorth(wanted.least_files, mebibytes(wanted.smaller_than))
    gain = of_compaction(look.files or (), look.facts, where, worth)
    if look.files is None and not gain.is_likely:
        return MaintenanceBenefit(True, "nothing is known of the sizes of the table's files")
    return gain

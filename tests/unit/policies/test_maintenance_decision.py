"""A run that is due is made, left out or put off, as the table's log says; and what is made says what it is to do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.policy import DeltaTablePolicySpec
from sluice.footprint import footprint_of
from sluice.policies.maintenance import MaintenanceKind, MaintenanceRun
from sluice.policies.maintenance_decision import Errand, SkipRun, StartRun, WaitForNextRun, errand_of
from sluice.policies.maintenance_spec import upkeeps_of
from sluice.policies.retention import ActiveWriter
from sluice.predicates import Table
from sluice.tables import TableFacts, unread
from sluice.tables.facts import absent
from sluice.tables.table_observation import (
    File,
    LastVacuum,
    LogHistory,
    Removals,
    TableObservation,
    TableState,
)
from unit.policies.specs import spec_of

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
BY_DAY = TableFacts(columns=Table.of([("date", "date"), ("k", "int")], ["date"]))
MANY = tuple(File({"date": "2026-11-18"}, 1000) for _ in range(10))
FEW = MANY[:9]
OPTIMIZE = spec_of(maintenance={"optimize": {"schedule": "@daily", "where": "date < :today"}})
VACUUM = spec_of(maintenance={"vacuum": {"schedule": "@daily"}})
NOTHING_TO_DELETE = LogHistory(
    removals=Removals(at=(NOON - HOUR,)), last_vacuum=LastVacuum(NOON - DAY, 7 * DAY)
)


def look(files: tuple[File, ...] | None = MANY, **fields: Any) -> TableObservation:
    seen: dict[str, Any] = {"at": NOON, "state": TableState(), "facts": BY_DAY, "files": files}
    return TableObservation(**(seen | fields))


def errand(
    spec: DeltaTablePolicySpec,
    seen: TableObservation,
    *,
    at: datetime = NOON,
    by_hand: bool = False,
    longest: ActiveWriter | None = None,
) -> Errand:
    [upkeep] = upkeeps_of(spec.maintenance).by_kind.values()
    return errand_of(spec, upkeep, MaintenanceRun("a", at, by_hand), seen, longest=longest, now=NOON)


def test_a_compaction_is_of_the_days_before_that_of_its_run() -> None:
    assert errand(OPTIMIZE, look()) == StartRun(
        "OPTIMIZE delta.`s3://lake/orders` WHERE date < DATE'2026-11-19'",
        "the partition date=2026-11-18 has 10 files that are smaller than 64 MiB",
    )
    before = errand(OPTIMIZE, look(), at=NOON - DAY)
    assert isinstance(before, SkipRun), "the files are of the run's own day"


def test_the_day_is_that_of_the_schedules_zone() -> None:
    late = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)
    berlin = {"schedule": "30 0 * * *", "timeZone": "Europe/Berlin", "where": "date < :today"}
    found = errand(spec_of(maintenance={"optimize": berlin}), look(), at=late)
    assert isinstance(found, StartRun)
    assert found.sql.endswith("WHERE date < DATE'2026-11-19'")


def test_statements_are_ones_whose_footprint_is_understood() -> None:
    for spec in (OPTIMIZE, VACUUM):
        found = errand(spec, look())
        assert isinstance(found, StartRun)
        [table] = footprint_of(DeltaWriteJobSpec(sql=found.sql), {}).tables
        assert str(table.table) == "s3://lake/orders"
        assert not table.not_understood


def test_a_table_by_its_name_alone_is_named_as_sql_does() -> None:
    named = {"table": {"name": "sales.orders"}, "maintenance": {"vacuum": {"schedule": "@daily"}}}
    found = errand(DeltaTablePolicySpec.model_validate(named), look())
    assert isinstance(found, StartRun)
    assert found.sql == "VACUUM `sales`.`orders`"


def test_what_gains_nothing_is_left_out_unless_somebody_asked_for_it() -> None:
    few, kept = look(FEW), look(history=NOTHING_TO_DELETE)
    for spec, seen in ((OPTIMIZE, few), (VACUUM, kept)):
        assert isinstance(errand(spec, seen), SkipRun)
        by_hand = errand(spec, seen, by_hand=True)
        assert isinstance(by_hand, StartRun)
        assert by_hand.why == "somebody asked for it"


def test_the_policy_says_which_files_are_small_and_how_many_are_many() -> None:
    own = {"schedule": "@daily", "leastFiles": 9, "smallerThan": "1Mi"}
    assert isinstance(errand(spec_of(maintenance={"optimize": own}), look(FEW)), StartRun)


def test_a_compaction_runs_where_nobody_knows_what_it_would_gain() -> None:
    assert isinstance(errand(OPTIMIZE, look(None)), StartRun)
    hung = look(None, state=TableState(unread="it hangs"), facts=unread("it hangs"))
    assert isinstance(errand(OPTIMIZE, hung), StartRun)


@pytest.mark.parametrize("by_hand", [False, True])
def test_no_vacuum_runs_where_nobody_knows_for_how_long_it_would_keep_files(by_hand: bool) -> None:
    hung = look(None, state=TableState(unread="it hangs"), facts=unread("it hangs"))
    found = errand(VACUUM, hung, by_hand=by_hand)
    assert isinstance(found, WaitForNextRun)
    assert found.why.endswith("because the table's log cannot be read: it hangs")


@pytest.mark.parametrize("by_hand", [False, True])
def test_no_vacuum_runs_beside_a_writer_that_is_older_than_what_it_keeps(by_hand: bool) -> None:
    old = ActiveWriter("the job etl/load", 7 * DAY - HOUR / 2)
    found = errand(VACUUM, look(), longest=old, by_hand=by_hand)
    assert isinstance(found, WaitForNextRun)
    assert "the job etl/load writes the table and has run for 167.5 hours" in found.why
    assert isinstance(errand(VACUUM, look(), longest=replace(old, runs_for=6 * DAY)), StartRun)


@pytest.mark.parametrize("by_hand", [False, True])
def test_nothing_is_done_to_a_table_that_is_not_there(by_hand: bool) -> None:
    nothing = look((), state=TableState(exists=False), facts=absent())
    for spec in (OPTIMIZE, VACUUM):
        assert errand(spec, nothing, by_hand=by_hand) == SkipRun("there is no table yet")


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_condition_that_no_compaction_of_the_table_takes_is_told_and_not_tried(by_hand: bool) -> None:
    clustered = look(facts=replace(BY_DAY, clustering_columns=("k",)))
    found = errand(OPTIMIZE, clustered, by_hand=by_hand)
    assert isinstance(found, SkipRun)
    assert "Delta takes no condition to compact such a table: remove it" in found.why


def test_only_what_the_policy_wants_is_run() -> None:
    upkeep = upkeeps_of(VACUUM.maintenance).by_kind[MaintenanceKind.VACUUM]
    with pytest.raises(ValueError, match="the policy wants no vacuum"):
        errand_of(OPTIMIZE, upkeep, MaintenanceRun("a", NOON), look(), longest=None, now=NOON)

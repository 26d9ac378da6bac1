"""A log that says that nothing would be gained keeps OPTIMIZE and VACUUM from running; one that can't tell doesn't."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.maintenance import MANY
from sluice.footprint import NotUnderstoodError
from sluice.policies.maintenance_benefit import (
    MIB,
    RunWorth,
    of_compaction,
    of_vacuum,
)
from sluice.predicates import Table
from sluice.tables import TableFacts
from sluice.tables.facts import absent, unread
from sluice.tables.table_observation import File, LastVacuum, Partition, Removals

DAY = timedelta(days=1)
SMALL = 64 * MIB
NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
COLUMNS = [("date", "date"), ("region", "string"), ("k", "int")]
BY_DAY = TableFacts(columns=Table.of(COLUMNS, ["date", "region"]))
PLAIN = TableFacts(columns=Table.of(COLUMNS))


def day(number: int, region: str | None = "eu") -> Partition:
    return {"date": f"2026-11-{number:02}", "region": region}


def files(count: int, partition: Partition, size: int = SMALL - 1) -> Collection[File]:
    return [File(partition, size)] * count


def test_many_small_files_in_one_partition_are_worth_a_compaction() -> None:
    found = of_compaction([*files(MANY, day(18)), *files(MANY + 1, day(17))], BY_DAY, None)
    assert found.is_likely
    assert found.why == "the partition date=2026-11-17/region=eu has 11 files that are smaller than 64 MiB"


def test_few_small_files_each_in_many_partitions_are_not() -> None:
    few = [file for number in range(1, 29) for file in files(MANY - 1, day(number))]
    found = of_compaction([*few, *files(500, day(1), size=SMALL)], BY_DAY, None)
    assert not found.is_likely
    assert found.why == (
        "no partition has 10 or more files that are smaller than 64 MiB, nor files of which many rows are deleted"
    )


def test_how_many_files_of_which_size_are_worth_it_is_for_the_policy_to_say() -> None:
    found = of_compaction(
        files(3, day(18), size=200 * MIB), BY_DAY, None, RunWorth(files=3, smaller_than=256)
    )
    assert found.is_likely
    assert found.why.endswith("has 3 files that are smaller than 256 MiB")
    too_few = of_compaction(
        files(2, day(18), size=200 * MIB), BY_DAY, None, RunWorth(files=3, smaller_than=256)
    )
    assert too_few.why.startswith("no partition has 3 or more files that are smaller than 256 MiB")
    assert not of_compaction(
        files(3, day(18), size=MIB), BY_DAY, None, RunWorth(files=3, smaller_than=1)
    ).is_likely


def test_a_table_without_partitions_is_one() -> None:
    assert (
        of_compaction(files(MANY, {}), PLAIN, None).why
        == "the table has 10 files that are smaller than 64 MiB"
    )
    few = of_compaction(files(MANY - 1, {}), PLAIN, None)
    assert not few.is_likely
    assert few.why.startswith("the table has not 10 or more files")
    assert not of_compaction([], PLAIN, None).is_likely


@pytest.mark.parametrize(
    ("where", "is_likely"),
    [
        ("date = DATE'2026-11-18'", True),
        ("date < DATE'2026-11-18'", False),
        ("date < DATE'2026-11-19' AND region = 'us'", False),
        ("region IS NULL", False),
        ("date <= DATE'2026-11-18' OR region = 'us'", True),
        ("year(date) = 1999", False),
        ("hash(date) = 1999", True),  # not understood, so that it may be any partition
    ],
)
def test_only_partitions_that_are_to_be_compacted_count(where: str, is_likely: bool) -> None:
    found = of_compaction([*files(MANY, day(18)), *files(MANY - 1, day(17))], BY_DAY, where)
    assert found.is_likely is is_likely
    assert is_likely or f"no partition where {where} has" in found.why


def test_a_partition_of_no_value_is_one_too() -> None:
    found = of_compaction(files(MANY, day(18, None)), BY_DAY, "region IS NULL")
    assert found.why == "the partition date=2026-11-18/region=null has 10 files that are smaller than 64 MiB"


def test_a_condition_that_speaks_of_what_the_table_has_not_is_refused_before_anything_runs() -> None:
    with pytest.raises(NotUnderstoodError, match=r"spec\.maintenance\.optimize\.where: .*dat\b"):
        of_compaction([], BY_DAY, "dat = DATE'2026-11-18'")


def test_a_condition_on_a_clustered_table_is_refused_because_delta_takes_none() -> None:
    with pytest.raises(NotUnderstoodError, match="the table is clustered, and Delta takes no condition"):
        of_compaction([], replace(PLAIN, clustering_columns=("k",)), "k = 1")


@pytest.mark.parametrize(
    ("where", "table", "what_to_do"),
    [
        (
            "date < DATE'2026-11-18' AND k = 1",
            BY_DAY,
            "k is no partition .* name only date, region, or remove it",
        ),
        ("NOT (k IS NULL)", PLAIN, "k is no partition .* remove it, the table has none"),
    ],
)
def test_a_condition_on_other_columns_than_partition_columns_starts_no_driver_that_delta_would_refuse_it(
    where: str, table: TableFacts, what_to_do: str
) -> None:
    with pytest.raises(NotUnderstoodError, match=rf"spec\.maintenance\.optimize\.where: {what_to_do}"):
        of_compaction(files(MANY, day(18)), table, where)


def test_deleted_rows_are_worth_a_compaction_where_delta_would_rewrite_their_file() -> None:
    half = File(day(18), 500 * MIB, rows=100, deleted_rows=50)
    beside = File(day(18), 500 * MIB, rows=100)
    found = of_compaction([half, beside], BY_DAY, None)
    assert found.why == (
        "the partition date=2026-11-18/region=eu has 1 files of which more than 5% of the rows are deleted"
    )
    assert of_compaction([replace(half, rows=None), beside], BY_DAY, None).is_likely
    alone = [half, replace(beside, partition=day(17)), replace(beside, size=2000 * MIB)]
    assert not of_compaction(alone, BY_DAY, None).is_likely
    assert not of_compaction([replace(half, deleted_rows=5), beside], BY_DAY, None).is_likely


def test_where_the_log_cannot_tell_it_is_run() -> None:
    assert of_compaction([], unread("access denied"), None).why.endswith("access denied")
    for clustering in (("k",), None):
        assert of_compaction([], replace(PLAIN, clustering_columns=clustering), None).is_likely
    many = [
        file for number in range(1001) for file in files(MANY, {"date": "2026-11-18", "region": str(number)})
    ]
    assert of_compaction(many, BY_DAY, "date = DATE'1999-01-01'").is_likely
    assert not of_compaction(many[: 100 * MANY], BY_DAY, "date = DATE'1999-01-01'").is_likely


def test_there_is_nothing_to_compact_in_a_table_that_does_not_exist() -> None:
    found = of_compaction([], absent(), "date = DATE'2026-11-18'")
    assert (found.is_likely, found.why) == (False, "there is no table yet")


def test_vacuum_is_worth_it_for_what_the_last_one_had_to_keep() -> None:
    last = LastVacuum(NOON - DAY, WEEK)
    kept_then = Removals((NOON - WEEK - timedelta(hours=2),))
    assert of_vacuum(kept_then, last, WEEK, NOON).why == (
        "1 commits removed files before 2026-11-12 12:00 UTC that the last VACUUM had to keep"
    )


@pytest.mark.parametrize("removed", [NOON, NOON - WEEK + timedelta(minutes=1), NOON - WEEK - 2 * DAY])
def test_vacuum_is_not_for_what_it_must_keep_or_the_last_one_has_deleted(removed: datetime) -> None:
    found = of_vacuum(Removals((removed,)), LastVacuum(NOON - DAY, WEEK), WEEK, NOON)
    assert not found.is_likely
    assert found.why == (
        "no commit removed files between 2026-11-11 11:00 UTC and 2026-11-12 12:00 UTC, which is what VACUUM could delete"
    )


def test_files_can_be_kept_for_ever() -> None:
    ever = timedelta(days=3_650_000)
    removals = Removals((NOON - 8 * DAY,))
    assert not of_vacuum(removals, LastVacuum(NOON - DAY, WEEK), ever, NOON).is_likely
    assert not of_vacuum(removals, LastVacuum(NOON - DAY, ever), ever, NOON).is_likely
    assert of_vacuum(removals, LastVacuum(NOON - DAY, ever), WEEK, NOON).is_likely
    assert not of_vacuum(Removals(()), LastVacuum(NOON - DAY, -ever), WEEK, NOON).is_likely


def test_vacuum_runs_where_the_log_does_not_tell_and_now_and_then_in_any_case() -> None:
    nothing, last = Removals(()), LastVacuum(NOON - DAY, WEEK)
    assert of_vacuum(nothing, None, WEEK, NOON).is_likely
    assert of_vacuum(nothing, replace(last, at=NOON + DAY), WEEK, NOON).is_likely
    assert of_vacuum(nothing, replace(last, at=NOON - 30 * DAY), WEEK, NOON).is_likely
    assert not of_vacuum(nothing, replace(last, at=NOON - 29 * DAY), WEEK, NOON).is_likely
    assert of_vacuum(replace(nothing, known_since=NOON - 8 * DAY), last, WEEK, NOON).is_likely
    assert not of_vacuum(replace(nothing, known_since=NOON - 9 * DAY), last, WEEK, NOON).is_likely


@given(
    st.lists(st.integers(0, 60 * 24), max_size=6),
    st.lists(st.tuples(st.integers(1, 60 * 24), st.integers(1, 20 * 24)), min_size=1, max_size=8),
)
def test_no_removed_file_is_left_by_vacuums_that_were_left_out(
    removed: list[int], vacuums: list[tuple[int, int]]
) -> None:
    """Against each file followed by itself: one that a VACUUM could delete is never there when one is left out."""
    begin, there = NOON, {NOON + timedelta(hours=hours) for hours in removed}
    last: LastVacuum | None = None
    for hours, kept in sorted(vacuums):
        now, retention = begin + timedelta(hours=hours), timedelta(hours=kept)
        removals = Removals(
            tuple(begin + timedelta(hours=hour) for hour in removed if begin + timedelta(hours=hour) <= now)
        )
        deletable = {at for at in there if at <= now - retention}
        if of_vacuum(removals, last, retention, now).is_likely:
            there -= deletable
            last = LastVacuum(now, retention)
        else:
            assert not deletable

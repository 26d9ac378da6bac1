"""What a partition's directory can't tell apart is one partition."""

import pytest

from sluice.predicates import Session, Table, compiled, covers, disjoint, parse

TABLE = Table.of(
    {"p": "string", "c": "char(3)", "s": "string", "at": "timestamp"}, partition_columns=["p", "c", "at"]
)


def apart(a: str, b: str, a_zone: str = "UTC", b_zone: str = "UTC") -> bool:
    return disjoint(
        compiled(parse(a, TABLE, session=Session(a_zone, ansi=True))),
        compiled(parse(b, TABLE, session=Session(b_zone, ansi=True))),
    )


@pytest.mark.parametrize("text", ["''", "'__HIVE_DEFAULT_PARTITION__'"])
def test_a_row_with_a_text_that_is_stored_as_null_meets_readers_of_the_null_partition(text: str) -> None:
    assert not apart(f"p = {text}", "p IS NULL")
    assert not apart(f"p <= {text}", "p IS NULL")
    assert apart("p = 'a'", "p IS NULL")


def test_that_holds_for_partition_columns_of_types_that_are_not_compared() -> None:
    assert not apart("c IS NOT NULL", "c IS NULL")


def test_in_a_data_column_the_empty_text_is_not_null() -> None:
    assert apart("s = ''", "s IS NULL")


def test_a_promise_is_about_rows_not_about_directories() -> None:
    assert covers(parse("p <> 'a'", TABLE), parse("p <> 'a' AND s = 'x'", TABLE))
    assert not covers(parse("p <> 'a'", TABLE), parse("p IS NULL", TABLE))


def test_timestamps_of_sessions_in_different_zones_are_not_held_against_each_other() -> None:
    day, other = "at = '2026-11-19 00:00:00'", "at = '2026-11-25 00:00:00'"
    assert apart(day, other)
    assert apart(day, other, "UTC", "Etc/UTC")
    assert not apart(day, other, "UTC", "Europe/Zurich")

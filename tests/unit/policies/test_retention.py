"""VACUUM runs only where what Delta keeps for it is as much as the policy and the longest running writer need."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.policies.retention import ActiveWriter, NotNow, RetentionPeriod, retention_of

PROPERTY = "delta.deletedFileRetentionDuration"
HOUR = timedelta(hours=1)
WEEK = 168 * HOUR


@pytest.mark.parametrize(
    ("policy", "own", "hours", "whose"),
    [
        (168, None, 168, f"Delta's default for {PROPERTY}"),
        (24, None, 168, f"Delta's default for {PROPERTY}"),
        (24, "interval 30 days", 720, f"the table's {PROPERTY}"),
        (24, "interval 1 week 12 hours", 180, f"the table's {PROPERTY}"),
        (1, "interval 90 minutes", 1.5, f"the table's {PROPERTY}"),
    ],
)
def test_files_are_kept_for_as_long_as_the_table_says_and_it_is_told_why(
    policy: int, own: str | None, hours: float, whose: str
) -> None:
    properties = {} if own is None else {PROPERTY: own}
    found = retention_of(policy * HOUR, properties, None, begins_within=24 * HOUR)
    assert found == RetentionPeriod(hours, f"files are kept for {hours:g} hours, which is {whose}")


def test_a_policy_that_wants_more_than_delta_would_keep_is_told_to_say_so_to_the_table() -> None:
    for own, kept in (
        (None, "168 hours, which is Delta's default"),
        ("interval 1 day", "24 hours, which is the table's"),
    ):
        found = retention_of(200.5 * HOUR, {} if own is None else {PROPERTY: own}, None, HOUR)
        assert isinstance(found, NotNow)
        assert "spec.maintenance.vacuum.retention is 200.5 hours" in found.why
        assert f"keeps files for {kept}" in found.why
        assert (
            f"set {PROPERTY} of the table to at least 'interval 201 hours', or shorten retention" in found.why
        )
        assert isinstance(
            retention_of(200.5 * HOUR, {PROPERTY: "interval 201 hours"}, None, HOUR), RetentionPeriod
        )


def test_a_writer_that_has_run_for_as_long_as_files_are_kept_is_waited_for() -> None:
    writer = ActiveWriter("the job sales/nightly", 150 * HOUR)
    assert isinstance(retention_of(WEEK, {}, writer, begins_within=18 * HOUR), RetentionPeriod)
    found = retention_of(WEEK, {}, writer, begins_within=19 * HOUR)
    assert isinstance(found, NotNow)
    assert found.why.startswith(
        "the job sales/nightly writes the table and has run for 150.0 hours, and VACUUM"
    )
    assert "could begin in 19.0 hours and delete what the job needs" in found.why


@given(
    st.integers(1, 2000),
    st.one_of(st.none(), st.integers(1, 2000)),
    st.one_of(st.none(), st.floats(0, 2000)),
    st.floats(0, 100),
)
def test_what_is_kept_is_never_less_than_anybody_needs(
    policy: int, own: int | None, runs_for: float | None, begins_within: float
) -> None:
    longest = None if runs_for is None else ActiveWriter("the job sales/nightly", runs_for * HOUR)
    properties = {} if own is None else {PROPERTY: f"interval {own} hours"}
    found = retention_of(policy * HOUR, properties, longest, begins_within * HOUR)
    needs = max(policy * HOUR, timedelta() if longest is None else longest.runs_for + begins_within * HOUR)
    kept = (168 if own is None else own) * HOUR
    assert isinstance(found, RetentionPeriod) is (kept >= needs)
    if isinstance(found, RetentionPeriod):
        assert found.hours * HOUR == kept


@pytest.mark.parametrize("own", ["1 month", "a week", "", "interval '7' day", "-1 days"])
def test_a_table_whose_own_word_is_not_understood_is_not_vacuumed(own: str) -> None:
    found = retention_of(WEEK, {PROPERTY: own}, None, HOUR)
    assert isinstance(found, NotNow)
    assert found.why.startswith(f"the table's {PROPERTY} is {own!r}, which is not understood")

"""What can't be meant is refused, with the place and the reason, and by one exception type."""

import pytest

from sluice.predicates import PredicateError, Table, parse
from unit.predicates.tables import EVENTS, UTC

REFUSED = [
    ("date =", "line 1, column 6: this is not a condition: something is missing at '='"),
    (
        "k = 5 AND\n  dat = 1",
        "line 2, column 3: there is no column dat: the table has address, at, code, date, ",
    ),
    ("my_udf(dat)", "line 1, column 8: there is no column dat: "),
    (
        "k = 5 OR date = 'banana'",
        "line 1, column 10: date is of type date and cannot be compared with 'banana'",
    ),
    (
        "date IN ('2026-11-19', 'banana')",
        "line 1, column 1: date is of type date and cannot be compared with 'banana'",
    ),
    (
        "date = '2026-13-45'",
        "line 1, column 1: date is of type date and cannot be compared with '2026-13-45'",
    ),
    ("date = DATE 'banana'", "line 1, column 1: 'banana' is not a valid date"),
    ("date = 5", "line 1, column 1: date is of type date and cannot be compared with an integer"),
    ("date = true", "line 1, column 1: date is of type date and cannot be compared with a boolean"),
    ("k = 'banana'", "line 1, column 1: k is of type int and cannot be compared with 'banana'"),
    ("flag = 'banana'", "line 1, column 1: flag is of type boolean and cannot be compared with 'banana'"),
    (
        "price > 'cheap'",
        "line 1, column 1: price is of type decimal(10,2) and cannot be compared with 'cheap'",
    ),
    ("at > 'later'", "line 1, column 1: at is of type timestamp and cannot be compared with 'later'"),
    ("date = :yesterday", "line 1, column 1: a parameter yesterday has no value here"),
    (
        "my_udf(:yesterday, k)",
        "a parameter yesterday has no value here: in a job, write :yesterday without a space",
    ),
    ("date = ?", "line 1, column 1: positional parameters (?) are not bound: name them, as in :d"),
    (
        "date = '{{ ds }}'",
        "line 1, column 9: {{ ds }} is an unrendered template expression: render it, or bind a parameter",
    ),
    ("k = 1\nAND date = ${day}", "line 2, column 12: ${day} is an unrendered template expression: "),
    ("x.date = DATE '2026-11-19'", "x.date: there is no table x here, only t"),
    ("k = 1; k = 2", "this is more than one condition"),
    ("", "the condition is empty"),
    ("SELECT 1", "this is not a condition"),
    ("name = 'open", "this is not Spark SQL"),
    ("(k = 5", "line 1, column 6: this is not a condition: ) is missing at '5'"),
]


@pytest.mark.parametrize(("condition", "message"), REFUSED)
def test_a_condition_that_cannot_be_meant_is_refused_with_place_and_reason(
    condition: str, message: str
) -> None:
    with pytest.raises(PredicateError) as caught:
        parse(condition, EVENTS, session=UTC, names=["t"])
    assert message in str(caught.value)


def test_a_partition_column_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(PredicateError, match="there is no column day: the table has date"):
        Table.of({"date": "date"}, partition_columns=["day"])

"""Values of properties mean what Delta makes of them, and what it would refuse is no value."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.api.validation import searching
from sluice.delta.properties import PROPERTIES
from sluice.delta.values import (
    BOOLEAN,
    COLUMNS,
    FORMAT_VERSION,
    INTERVAL,
    Values,
    formats,
    whole,
    word,
    word_in_any_case,
)

SECOND = 10**6
DAY = 24 * 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("7 days", 7 * DAY),
        ("interval 7 days", 7 * DAY),
        ("INTERVAL 1 WEEK", 7 * DAY),
        ("  interval   168  hours ", 7 * DAY),
        ("1 week 1 day 1 hour", 8 * DAY + 3600 * SECOND),
        ("1 week -1 day", 6 * DAY),
        ("+ 2 minutes", 120 * SECOND),
        ("1.5 seconds", 1_500_000),
        ("0.0000019 second", 1),
        ("-1 second 2 seconds", SECOND),
        ("3 milliseconds 4 microseconds", 3004),
        ("0 seconds", 0),
    ],
)
def test_an_interval_is_read_as_spark_reads_it(text: str, microseconds: int) -> None:
    assert INTERVAL.read(text) == microseconds


@pytest.mark.parametrize(
    "text",
    [
        *("", "interval", "interval ", "7", "days", "7days", "7 fortnights", "1.5 days", "7 days,"),
        *("1 month", "1 year", "1 month -1 month", "-1 day", "1 day -25 hours", "P7D", "interval\t7 days"),
        *("7 d", "seven days", "7 days 3", "interval interval 7 days", "20000000000 weeks"),
    ],
)
def test_what_delta_takes_for_no_interval_is_none(text: str) -> None:
    assert INTERVAL.read(text) is None


@given(st.integers(0, 10**6), st.sampled_from(["", "interval ", "INTERVAL "]), st.booleans())
def test_weeks_days_and_hours_of_one_length_mean_the_same(weeks: int, before: str, plural: bool) -> None:
    end = "s" if plural else ""
    lengths = {
        INTERVAL.read(f"{before}{amount} {unit}{end}")
        for amount, unit in ((weeks, "week"), (weeks * 7, "day"), (weeks * 168, "hour"))
    }
    assert lengths == {weeks * 7 * DAY}


@pytest.mark.parametrize(
    ("values", "text", "meaning"),
    [
        (BOOLEAN, "TRUE", True),
        (BOOLEAN, "False", False),
        (BOOLEAN, "yes", None),
        (BOOLEAN, "1", None),
        (BOOLEAN, " true", None),
        (whole(1), "10", 10),
        (whole(1), "+010", 10),
        (whole(1), "0", None),
        (whole(-1), "-1", -1),
        (whole(-1), "-2", None),
        (whole(1), "2147483647", 2**31 - 1),
        (whole(1), "2147483648", None),
        (whole(1), "1.0", None),
        (whole(1), "1_000", None),
        (whole(1), "٣", None),
        (word("classic", "v2"), "v2", "v2"),
        (word("classic", "v2"), "V2", None),
        (word_in_any_case("none", "name", "id"), "NAME", "name"),
        (word_in_any_case("none", "name", "id"), "physical", None),
        (COLUMNS, "a, B ,`c d`", frozenset({("a",), ("b",), ("c d",)})),
        (COLUMNS, "a.b,`x.y`.`z``z`", frozenset({("a", "b"), ("x.y", "z`z")})),
        (COLUMNS, "", frozenset()),
        (COLUMNS, "a,", None),
        (COLUMNS, "a,,b", None),
        (COLUMNS, "a,A", None),
        (COLUMNS, "a b", None),
        (COLUMNS, "1st", None),
        (COLUMNS, "`a", None),
        (formats("iceberg", "hudi"), "hudi,iceberg", frozenset({"iceberg", "hudi"})),
        (formats("iceberg", "hudi"), "", frozenset()),
        (formats("iceberg", "hudi"), "iceberg, hudi", None),
        (formats("iceberg", "hudi"), "iceberg,iceberg", None),
        (formats("iceberg", "hudi"), "Iceberg", None),
        (FORMAT_VERSION, "2.12.0", (2, 12, 0)),
        (FORMAT_VERSION, "2.12", None),
        (FORMAT_VERSION, "0.9.0", None),
    ],
)
def test_a_value_means_what_delta_makes_of_it(values: Values, text: str, meaning: object) -> None:
    found = values.read(text)
    assert (found, type(found)) == (meaning, type(meaning))


@pytest.mark.parametrize(
    "values",
    [
        BOOLEAN,
        COLUMNS,
        FORMAT_VERSION,
        INTERVAL,
        whole(0),
        word("classic"),
        word_in_any_case("none"),
        formats("hudi"),
    ],
)
@given(text=st.text(max_size=40))
def test_no_text_is_too_odd_to_be_judged(values: Values, text: str) -> None:
    assert values.read(text) == values.read(text)


_TEXTS = st.one_of(
    st.text(alphabet=" \t\n\x1f\xa0+-.,0123456789abcdaysweekhourINTERVAL`v", max_size=30),
    st.lists(
        st.sampled_from(
            [
                *(
                    "interval ",
                    "INTERVAL",
                    "1",
                    "-1",
                    "+",
                    "07",
                    " ",
                    "\t",
                    "weeks",
                    "day",
                    "Seconds",
                    ".5",
                    ",",
                ),
                *(
                    "a",
                    "`b c`",
                    "true",
                    "FALSE",
                    "classic",
                    "v2",
                    "hudi",
                    "iceberg",
                    "1.0.0",
                    "2.12.0",
                    "2147483648",
                ),
            ]
        ),
        max_size=8,
    ).map("".join),
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(PROPERTIES)), _TEXTS)
def test_the_pattern_that_the_schema_refuses_by_takes_all_that_delta_takes(name: str, text: str) -> None:
    values = PROPERTIES[name].values
    if values.read(text) is not None:
        assert searching(values.pattern)(text)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(?i)^(name|id)$", "ID", True),
        ("(?i)^(name|id)$", "\u0130d", False),
        ("(?i)^(name|id)$", "\u0131d", False),
        ("(?i)[^a-z]", "\u0131", True),
        ("(?i)^disk$", "di\u017f\u212a", True),
        ("^[a-z]$", "\u0131", False),
        ("(?i)^true$", "true\n", False),
    ],
)
def test_a_pattern_finds_here_what_it_finds_in_the_api_server(pattern: str, text: str, found: bool) -> None:
    """RE2 takes the Kelvin sign for a k and the long s for an s, and neither of the two Turkish letters for an i."""
    assert searching(pattern)(text) is found


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_text_that_almost_fits_is_refused_without_trying_it_in_every_way(name: str) -> None:
    found = searching(PROPERTIES[name].values.pattern)
    for piece in ("1 day" + " " * 12, "`a``" + " " * 12, "+" + " " * 12, "a ,", "hudi,", "0", "interval "):
        assert not found(piece * (1000 // len(piece)) + "!")

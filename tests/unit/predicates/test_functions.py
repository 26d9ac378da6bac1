"""Conditions on functions of partition columns: told apart by what the functions make of the values that are known."""

import pytest

from sluice.predicates import (
    Region,
    Session,
    Table,
    compiled,
    disjoint,
    from_conjuncts,
    parse,
    reasons,
    to_sql,
)
from sluice.tables.fingerprint import fingerprint_of

TABLE = Table.of(
    {"date": "date", "region": "string", "n": "int", "k": "int", "day": "date"}, ["date", "region", "n"]
)
UTC = Session("UTC", ansi=True)


def region(condition: str) -> Region:
    return compiled(parse(condition, TABLE, session=UTC)).on_partitions()


APART = [
    ("month(date) = 2", "date = DATE '2026-03-01'"),
    ("month(date) = 2", "date BETWEEN '2026-03-01' AND '2026-12-31'"),
    ("month(date) = 2", "month(date) IN (3, 4)"),
    ("month(date) = 2", "extract(MONTH FROM date) = 3"),
    ("month(date) = 2", "date IS NULL"),
    ("year(date) = 2025", "trunc(date, 'YEAR') = DATE '2026-01-01'"),
    ("year(date) * 100 + month(date) = 202611", "date IN ('2026-10-31', '2026-12-01')"),
    ("upper(region) = 'EU'", "region = 'us'"),
    ("left(region, 2) = 'eu'", "region IN ('us', 'ap')"),
    ("concat(region, '-', n) = 'eu-1'", "region = 'eu' AND n = 2"),
    ("region || date = 'eu2026-11-19'", "date = '2026-11-20' AND region = 'eu'"),
    ("n % 2 = 0", "n IN (1, 3)"),
    ("NOT contains(region, 'e')", "region = 'eu'"),
    ("substring(region, 1, 2) = 'eu'", "substr(region, 1, 2) = 'us'"),
    ("startswith(region, 'eu') IS NOT TRUE", "region = 'eu-west'"),
    ("length(region) = 2 AND n + 1 = 2", "length(region) = 2 AND n = 2"),
    ("date_format(date, 'yyyyMM') IS NULL", "dayofweek(date) <> 5 AND date IS NOT NULL"),
    ("coalesce(length(region), 7) = 7", "region IN ('eu', 'us')"),
    ("date_format(date, 'yyyy-MM') = '2026-11'", "date = '2026-12-01'"),
    ("CAST(region AS STRING) = 'EU'", "region > 'EU'"),
    ("CAST(n AS INT) = 5", "string(n) = '6'"),
    ("date + INTERVAL 1 MONTH = DATE '2026-12-01'", "date = '2026-11-02'"),
    ("date - INTERVAL 1 YEAR < DATE '2026-12-01'", "date = '2027-12-01'"),
    ("CAST(date_trunc('MONTH', date) AS DATE) = DATE '2026-11-01'", "date < '2026-11-01'"),
    ("make_date(n, 11, 1) = DATE '2026-11-01'", "n = 2025"),
    ("to_date(region, 'yyyyMMdd') = DATE '2026-11-19'", "region = '20261120'"),
    ("to_date(region, 'yyyy-MM') = DATE '2026-11-01'", "region = '2026-12'"),
    ("date = make_date(2026, 11, 1)", "date = to_date('20261102', 'yyyyMMdd')"),
    ("region = CAST(5 AS STRING)", "region = CAST(DATE '2026-11-01' AS STRING)"),
]


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_a_function_makes_of_known_values_keeps_apart(one: str, other: str) -> None:
    assert disjoint(region(one), region(other))
    assert disjoint(region(other), region(one))


MEET = [
    ("month(date) = 2", "date = DATE '2026-02-28'"),
    ("month(date) = 2", "date >= DATE '2026-03-01'"),
    ("concat(region, '-', n) = 'eu-1'", "region = 'eu'"),
    ("concat(region, n) = 'a'", "concat(region, n) = 'b'"),
    ("length(region) = 0", "region IS NULL"),
    ("coalesce(length(region), 5) = 0", "coalesce(length(region), 5) = 5"),
    ("concat(coalesce(region, 'x'), n) = '1'", "concat(coalesce(region, 'x'), n) = 'x1'"),
    ("upper(region) = 'x'", "region = 'é'"),
    ("CAST(region AS DATE) = DATE '2026-11-19'", "region = '2026-11-9'"),
    ("n + 1 = 5", "n = 2147483647"),
    ("n % 0 = 1", "n = 5"),
    ("CAST(n AS TINYINT) = 44", "TRY_CAST(n AS TINYINT) IS NULL"),
    ("date_format(date, 'yyyy-MM-dd') = '2011-12-30'", "date_format(date, 'yyyy-MM-dd') = '2011-12-31'"),
    ("upper(region) = 'SS'", "upper(region) = 'ß'"),
    ("month(day) = 2", "day = DATE '2026-03-01'"),
    ("left(region, 4294967297) = 'a'", "region = 'abc'"),
    ("right(region, -4294967295) = 'c'", "region = 'abc'"),
    ("substring(region, 5, 2147483646) = 'a'", "substring(region, 5, 2147483646) = 'b'"),
    ("right(region, n) = 'a'", "right(region, n) = 'b'"),
    ("coalesce(date, '2026-01-01') < '2026-1-9'", "date = DATE '2026-02-05'"),
    ("CAST(region AS STRING COLLATE UTF8_LCASE) = 'eu'", "region = 'EU'"),
    ("n | n + 3 & 4 = 5", "n = 1"),
    ("region || n + 1 = '20'", "region = '1' AND n = 9"),
    *((f"trunc(date, '{unit}') IS NULL", "date = DATE '2026-02-05'") for unit in ("Y", "q", "W")),
    *((f"date_trunc('{unit}', date) IS NULL", "date = DATE '2026-02-05'") for unit in ("Y", "Q", "W", "D")),
    ("trunc(date, region) = DATE '2026-01-01'", "date = DATE '2025-02-05'"),
    ("to_date(region, 'yyyyMMdd') = DATE '2026-11-09'", "region = '2026119'"),
    ("to_date(region, 'yyyyMMdd') = DATE '2011-12-31'", "region = '20111230'"),
    (
        "to_date(region, 'yyyy-MM-dd') = DATE '2026-11-19'",
        "to_date(region, 'yyyy-MM-dd') = DATE '2026-11-20'",
    ),
    ("make_date(n, 2, 29) IS NULL", "n = 2025"),
    ("CAST(date_trunc('DAY', date) AS DATE) = DATE '2011-12-31'", "date = DATE '2011-12-30'"),
    ("region = CAST('EU' AS STRING COLLATE UTF8_LCASE)", "region = 'eu'"),
]


@pytest.mark.parametrize(("one", "other"), MEET)
def test_what_is_not_known_of_a_function_may_be_anything(one: str, other: str) -> None:
    assert not disjoint(region(one), region(other))
    assert not disjoint(region(other), region(one))


def test_a_column_that_is_named_like_a_function_is_another_column() -> None:
    table = Table.of({"date": "date", "month(date date)": "int"}, ["date", "month(date date)"])
    one, other = (
        compiled(parse(condition, table)) for condition in ("month(date) = 3", "`month(date date)` = 4")
    )
    assert not disjoint(one, other)


def test_a_function_that_is_only_computed_says_so() -> None:
    assert region("month(date) = 2").reasons == (
        "month(date) is computed only where the partitions are known",
    )
    assert region("year(date) = 2026").reasons == ()
    assert to_sql(region("month(date) = 2 AND n = 1")) == "month(date) = 2 AND n = 1"


NOT_IN_THE_LIST = [
    "datediff(date) = 1",
    "date_trunc('YEAR' || 's', date) IS NULL",
    "trunc(date, 'MON' || 's') IS NULL",
    "date_trunc(n, trunc(date, 'MM')) IS NULL",
    "coalesce(date, '2026-01-01') = '2026-1-9'",
    "n | n & 1 = 1",
    "n ^ n & 1 = 1",
    "n | n ^ 1 = 1",
    "n & 1 || region = '1'",
    "region || n + 1 = '20'",
    "region || 1 - n = '20'",
    "CAST(region AS STRING COLLATE UTF8_LCASE) = 'eu'",
    "date = date_trunc('MONTH', DATE '2026-11-19')",
    "date_trunc('MONTH', DATE '2026-11-19') IS NULL",
    "initcap(region) = 'Eu'",
    "year(region) = 2026",
    "upper(n) = '1'",
    "date_format(date, 'yy') = '26'",
    "date_format(date, 'yyyyy') = '02026'",
    "trunc(date, 'century') = DATE '2026-01-01'",
    "substring(date, 1, 4) = '2026'",
    "date_add(date, region) = DATE '2026-01-01'",
    "date + INTERVAL 1 WEEK = DATE '2026-01-01'",
    "to_date(region, 'yyyy-M-d') = DATE '2026-01-01'",
    "to_date(region, 'MM-dd') = DATE '2026-01-01'",
    "to_date(date, 'yyyy') = DATE '2026-01-01'",
    "make_date(region, 1, 1) = DATE '2026-01-01'",
    "CAST(date AS DATE) BETWEEN '2026-01-01' AND '2026-01-02'",
    "locate('e', region, 2) = 2",
    "trim('x' FROM region) = 'eu'",
    "month(date) BETWEEN 1 AND 3",
    "year(date) NOT BETWEEN 2025 AND 2026",
    "db.month(date) = 2",
    "n / 2 = 1",
]


@pytest.mark.parametrize("condition", NOT_IN_THE_LIST)
def test_a_function_that_was_not_proved_may_be_anything(condition: str) -> None:
    assert reasons(parse(condition, TABLE, session=UTC))


def test_alternatives_on_functions_are_not_read_alone_where_others_speak_of_rows() -> None:
    """Spark may find that `n + 0 = 1` is `n = 1`, and draw the two conjuncts together into one that speaks of k."""
    together = "(n + 0 = 1 OR region = 'eu') AND (n = 1 OR k = 5)"
    apart = "(n + 0 = 1 OR region = 'eu') AND k = 5"
    assert compiled(from_conjuncts(parse(together, TABLE, session=UTC), simplified=True)).is_everything
    assert not compiled(from_conjuncts(parse(apart, TABLE, session=UTC), simplified=True)).is_everything


def test_midnights_of_days_are_compared_in_any_time_zone() -> None:
    for condition, told in (
        (
            "date_trunc('MONTH', date) = DATE '2026-02-01'",
            "date >= DATE '2026-02-01' AND date <= DATE '2026-02-28'",
        ),
        ("date_trunc('DAY', date) < DATE '2026-02-01'", "date <= DATE '2026-01-31'"),
        ("date_trunc('DAY', date) = DATE '2011-12-30'", "TRUE"),
        ("date_trunc('MONTH', date) = TIMESTAMP '2026-02-01 00:00:00'", "TRUE"),
        ("date_trunc('MONTH', date) IN ('2026-02-01')", "TRUE"),
    ):
        assert to_sql(compiled(parse(condition, TABLE))) == told, condition


def test_conditions_on_functions_have_fingerprints_that_tell_them_apart() -> None:
    """By these a footprint is known again, also one that Sluice has to compute."""
    conditions = [
        *(condition for pair in (*APART, *MEET) for condition in pair),
        *("substring(region, 2) = 'a'", "substring(region, 2, 1) = 'a'", "substring(region, 1) = 'a'"),
        *("date_trunc('MONTH', date) = DATE '2026-02-01'", "date_trunc('YEAR', date) = DATE '2026-02-01'"),
        *("length(region) = 1", "length(concat(region, region)) = 1", "length(region) = n"),
    ]
    by_condition = {condition: fingerprint_of(region(condition)) for condition in dict.fromkeys(conditions)}
    assert by_condition == {condition: fingerprint_of(region(condition)) for condition in by_condition}
    shown = {condition: repr(region(condition)) for condition in by_condition}
    assert len(set(by_condition.values())) >= len(set(shown.values()))


def test_a_text_that_grows_call_by_call_is_not_computed() -> None:
    longer = "replace(" * 8 + "region" + f", 'a', '{'a' * 500}')" * 8
    assert not disjoint(region(f"{longer} = 'b'"), region("region = 'a'"))
    assert not disjoint(region(f"length({longer}) = 2"), region("region = 'a'"))
    assert disjoint(region("replace(region, 'a', 'bb') = 'b'"), region("region = 'a'"))


def test_more_functions_than_can_be_computed_at_once_may_be_anything() -> None:
    year = "date BETWEEN '2026-01-01' AND '2026-12-31'"
    many = " AND ".join(f"dayofyear(date) % {900 + i} < 366" for i in range(40))
    assert disjoint(region("month(date) = 13"), region(year))
    assert not disjoint(region(f"{many} AND month(date) = 13"), region(year))


def test_a_function_held_against_thousands_of_values_is_only_computed() -> None:
    """Each of them would be looked for among all days."""
    few, many = (f"year(date) IN ({', '.join(map(str, range(1001, end, 2)))})" for end in (1201, 8999))
    assert region(few).reasons == ()
    assert region(many).reasons
    assert disjoint(region(many), region("date = DATE '2026-01-01'"))
    assert not disjoint(region(many), region("date = DATE '2027-01-01'"))

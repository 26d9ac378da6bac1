"""Each spelling of Spark SQL that is understood, beside what it comes to."""

import pytest

from sluice.predicates import (
    PredicateError,
    Session,
    Table,
    compiled,
    covers,
    disjoint,
    parse,
    reasons,
    to_sql,
)
from unit.predicates.tables import EVENTS, UTC, region, shown

UNDERSTOOD = [
    ("date = '2026-11-19'", "date = DATE '2026-11-19'"),
    ("DATE = DATE '2026-11-19'", "date = DATE '2026-11-19'"),
    ("t.date == DATE '2026-11-19'", "date = DATE '2026-11-19'"),
    ("events.`date` = DATE '2026-11-19'", "date = DATE '2026-11-19'"),
    ("main.events.date = DATE '2026-11-19'", "date = DATE '2026-11-19'"),
    ("'2026-11-19' < date", "date >= DATE '2026-11-20'"),
    ("date = CAST('2026-11-19' AS DATE)", "date = DATE '2026-11-19'"),
    ("date = DATE '2026-11-19' - INTERVAL 1 DAY", "date = DATE '2026-11-18'"),
    ("date = DATE '2026-11-19' + INTERVAL '7' DAYS", "date = DATE '2026-11-26'"),
    ("date = '2026-1-9'", "date = DATE '2026-01-09'"),
    ("date >= '2026-2'", "date >= DATE '2026-02-01'"),
    ("date = DATE '2026-11-19 23:59:59'", "date = DATE '2026-11-19'"),
    ("date < TIMESTAMP '2026-11-19 00:00:00'", "date <= DATE '2026-11-18'"),
    ("date < TIMESTAMP '2026-11-19 00:00:00.000001'", "date <= DATE '2026-11-19'"),
    ("date > TIMESTAMP '2026-11-19 00:00:00+01:00'", "date >= DATE '2026-11-19'"),
    ("date = TIMESTAMP_NTZ '2026-11-19 12:00:00'", "FALSE"),
    ("date LIKE '2026-11-1%'", "date >= DATE '2026-11-10' AND date <= DATE '2026-11-19'"),
    ("date LIKE '2026-11-19'", "date = DATE '2026-11-19'"),
    ("date LIKE '2026-1-9'", "FALSE"),
    ("date BETWEEN '2026-11-01' AND '2026-11-30'", "date >= DATE '2026-11-01' AND date <= DATE '2026-11-30'"),
    (
        "date NOT BETWEEN '2026-11-01' AND '2026-11-30'",
        "date <= DATE '2026-10-31' OR date >= DATE '2026-12-01'",
    ),
    ("date IN ('2026-11-19', '2026-11-25')", "date IN (DATE '2026-11-19', DATE '2026-11-25')"),
    ("date NOT IN ('2026-11-19', NULL)", "FALSE"),
    ("date = NULL", "FALSE"),
    ("date <=> NULL", "date IS NULL"),
    ("date IS NOT NULL", "date IS NOT NULL"),
    ("isnull(date)", "date IS NULL"),
    ("NOT date <=> '2026-11-19'", "date <> DATE '2026-11-19' OR date IS NULL"),
    ("date IS DISTINCT FROM '2026-11-19'", "date <> DATE '2026-11-19' OR date IS NULL"),
    ("k IN (1, 2, 3, 7)", "k = 7 OR k >= 1 AND k <= 3"),
    ("k <> 5", "k <> 5"),
    ("NOT (k < 5 OR k > 7)", "k >= 5 AND k <= 7"),
    ("k = 5L", "k = 5"),
    ("at >= TIMESTAMP_LTZ'2026-11-19T10:30:00+01:00'", "at >= TIMESTAMP '2026-11-19 09:30:00'"),
    ("k < 9223372036854775808", "k IS NOT NULL"),
    ("id >= -9223372036854775808", "id IS NOT NULL"),
    ("k = '5'", "k = 5"),
    ("k = 5L", "k = 5"),
    ("k < 1.5", "k <= 1"),
    ("k = 1.5", "FALSE"),
    ("k = - 5", "k = -5"),
    ("small > 127", "FALSE"),
    ("small <= 127", "small IS NOT NULL"),
    ("small = -128Y", "small = -128"),
    ("price < 1.555", "price <= 1.55"),
    ("price = 1.50BD", "price = 1.50"),
    ("if(k = 5, true, false)", "k = 5"),
    ("if(k = 5, date = '2026-11-19', k > 7)", "(k = 5 AND date = DATE '2026-11-19') OR k >= 8"),
    ("CASE WHEN k = 5 THEN 'x' ELSE 'y' END = 'x'", "k = 5"),
    ("CASE WHEN k = 5 THEN 'x' WHEN k < 7 THEN 'y' END = 'y'", "k = 6 OR k <= 4"),
    ("CASE WHEN k > 5 THEN 1 ELSE 2 END > 1", "k <= 5 OR k IS NULL"),
    ("coalesce(k, 5) = 5", "k = 5 OR k IS NULL"),
    ("coalesce(k, 5) = 6", "k = 6"),
    ("(k, id) IN ((5, 1), (6, 2))", "(k = 5 AND id = 1) OR (k = 6 AND id = 2)"),
    (
        "(date, region) IN ((DATE '2026-11-19', 'eu'), (DATE '2026-11-20', 'us'))",
        "(date = DATE '2026-11-19' AND region = 'eu') OR (date = DATE '2026-11-20' AND region = 'us')",
    ),
    ("CAST(k AS STRING) = '-5'", "k = -5"),
    ("CAST(date AS STRING) = '2026-11-19'", "date = DATE '2026-11-19'"),
    ("k = '+05'", "k = 5"),
    ("k = CAST('05' AS INT)", "k = 5"),
    ("date = TIMESTAMP '2026-11-19 00:00:00'", "date = DATE '2026-11-19'"),
    ("year(date) = 2026", "date >= DATE '2026-01-01' AND date <= DATE '2026-12-31'"),
    ("2026 < extract(YEAR FROM date)", "date >= DATE '2027-01-01'"),
    ("NOT year(date) = 2026", "date <= DATE '2025-12-31' OR date >= DATE '2027-01-01'"),
    ("year(date) IS NULL", "date IS NULL"),
    ("date_add(date, 1) = '2026-11-20'", "date = DATE '2026-11-19'"),
    ("date - INTERVAL 7 DAYS >= DATE '2026-11-12'", "date >= DATE '2026-11-19'"),
    ("trunc(date, 'MM') = DATE '2026-02-01'", "date >= DATE '2026-02-01' AND date <= DATE '2026-02-28'"),
    (
        "date_trunc('MONTH', date) = DATE '2026-02-01'",
        "date >= DATE '2026-02-01' AND date <= DATE '2026-02-28'",
    ),
    ("trunc(date, 'MM') = DATE '2026-02-02'", "FALSE"),
    ("date = date_add(DATE '2026-11-18', 1)", "date = DATE '2026-11-19'"),
    ("ratio = 0.1", "ratio = 0.1D"),
    ("ratio > DOUBLE('NaN')", "ratio > DOUBLE('NaN')"),
    ("ratio = -0.0", "ratio = 0.0D"),
    ("flag", "flag = TRUE"),
    ("NOT flag", "flag = FALSE"),
    ("flag IS NOT TRUE", "flag = FALSE OR flag IS NULL"),
    ("flag = 'false'", "flag = FALSE"),
    ("(k = 5) IS NOT TRUE", "k <> 5 OR k IS NULL"),
    ("(k = 5 AND flag) IS NULL AND k = 5", "k = 5 AND flag IS NULL"),
    ("(k = 5) = false", "k <> 5"),
    ("(k = 5) <=> NULL", "k IS NULL"),
    ("name LIKE 'eu%'", "name LIKE 'eu%'"),
    ("name LIKE 'eu'", "name = 'eu'"),
    (r"name LIKE 'a\\%b%'", r"name >= 'a%b' AND name < 'a%c'"),
    ("name LIKE 'a!_%' ESCAPE '!'", "name >= 'a_' AND name < 'a`'"),
    ("name NOT LIKE 'eu%'", "name < 'eu' OR name >= 'ev'"),
    ("name LIKE '%'", "name IS NOT NULL"),
    ("name > 'a' AND name <= 'b'", "name > 'a' AND name <= 'b'"),
    ('name = "it\'s"', r"name = 'it\'s'"),
    ("at = '2026-11-19 10:00:00+01:00'", "at = TIMESTAMP '2026-11-19 09:00:00'"),
    ("at >= DATE '2026-11-19'", "at >= TIMESTAMP '2026-11-19 00:00:00'"),
    ("local < '2026-11-19'", "local <= TIMESTAMP_NTZ '2026-11-18 23:59:59.999999'"),
    ("code IS NULL", "code IS NULL"),
    ("true", "TRUE"),
    ("false", "FALSE"),
    ("1 = 0", "FALSE"),
    ("NULL", "FALSE"),
    ("k = 5 AND 1 = 1", "k = 5"),
    ("k = 5 AND k = 6", "FALSE"),
    ("k = 5 OR k <> 5 OR k IS NULL", "TRUE"),
    (
        "date = DATE '2026-11-19' AND k = 5 OR date = DATE '2026-11-19' AND k = 6",
        "date = DATE '2026-11-19' AND k IN (5, 6)",
    ),
]


@pytest.mark.parametrize(("condition", "meaning"), UNDERSTOOD)
def test_a_condition_comes_to_the_values_that_spark_would_match(condition: str, meaning: str) -> None:
    assert shown(condition) == meaning
    assert region(condition).reasons == ()


LATER = "when the statement runs: bind its value as a parameter, as in :d"
WIDENED = [
    ("my_udf(date)", "my_udf(): may be true for any row"),
    ("my_udf(date) = 5", "my_udf(): may be true for any row"),
    ("date = current_date()", "current_date() is known only " + LATER),
    ("date = current_date", "current_date() is known only " + LATER),
    ("date = current_date() - INTERVAL 1 DAY", "current_date() is known only " + LATER),
    ("at < now()", "now() is known only " + LATER),
    ("rand() < 0.5", "rand() is known only " + LATER),
    ("uuid() = name", "uuid() is known only " + LATER),
    ("date IN (SELECT date FROM late)", "a subquery: may be true for any row"),
    ("EXISTS (SELECT 1 FROM late WHERE late.x = date)", "a subquery: may be true for any row"),
    ("k = small", "k = small: may be true for any row"),
    ("t.date = s.date", "s.date is a column of another table and bounds nothing here"),
    ("date = date_sub(date,  k)", "date = date_sub(date, k): may be true for any row"),
    ("name LIKE 'a%b'", "name LIKE 'a%b': may be true for any row"),
    ("name RLIKE '^a'", "name RLIKE '^a': may be true for any row"),
    ("name LIKE 'a%' = true", "name LIKE 'a%' = true: may be true for any row"),
    ("true = name LIKE 'a%'", "true = name LIKE 'a%': may be true for any row"),
    ("flag BETWEEN false AND true = true", "flag BETWEEN false AND true = true: may be true for any row"),
    ("name = 5", "comparing name (varchar(20)) with an integer casts the column"),
    ("k = '5.7'", "'5.7' is not written as Spark prints a int, the type of k"),
    ("date = '12026-1-9'", "'12026-1-9' is not written as Spark prints a date, the type of date"),
    ("date IN (DATE '2026-11-19', TIMESTAMP '2026-11-19 00:00:00')", "date IN a list of dates and timestamps is not understood"),
    ("date LIKE '0%'", "date LIKE '0' may match years before 1 or after 9999"),
    ("date = DATE 'today'", "the cast of 'today' to a date is not exact"),
    ("id = 1e0", "comparing id (bigint) with a double casts the column"),
    ("wide = 1.5", "comparing wide (decimal(38,0)) with a decimal casts the column"),
    ("price < 99999999999999999999999999999999999999", "comparing price (decimal(10,2)) with a decimal casts the column"),
    ("price = '1.5'", "comparing price (decimal(10,2)) with a string casts the column"),
    ("single = 16777217", "comparing single (float) with an integer casts the column"),
    ("code = 'a'", "code: char(3) is compared with blanks padded"),
    ("label = 'a'", "label: string collate utf8_lcase is not compared byte by byte"),
    ("raw = X'61'", "binary values are not compared"),
    ("address.city = 'Bern'", "address.city is a field within a column"),
    ("_metadata.file_path = 'x'", "_metadata.file_path is a field within a column"),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "reason"), WIDENED)
def test_what_is_not_understood_may_be_true_for_any_row_and_says_why(condition: str, reason: str) -> None:
    for spelled in (condition, f"NOT ({condition})", f"({condition}) IS NOT TRUE"):
        predicate = parse(spelled, EVENTS, session=UTC, names=["t"], others=["s"])
        assert reasons(predicate) == (reason,)
        assert shown(spelled) == "TRUE"


@pytest.mark.parametrize(
    "condition",
    [
        "k = 1 AND {}",
        "{} AND (k = 1)",
        "k = 1 AND (name = 'a' OR {} OR k = 3) AND k = 2",
        "NOT ({} AND k = 1)",
    ],
)
def test_what_is_not_understood_is_told_as_it_is_written_whatever_stands_beside_it(condition: str) -> None:
    for written in (
        "date = date_sub(date, k)",
        "3 - k = coalesce(small, (1))",
        "date_add(date, k) > date",
        "(k BETWEEN small AND 3) = (small BETWEEN 1 AND k)",
        "CASE WHEN k = 1 OR small = 2 THEN date_sub(date, k) ELSE date END = date",
    ):
        predicate = parse(condition.format(written), EVENTS, session=UTC)
        assert reasons(predicate) == (f"{written}: may be true for any row",)


def test_the_understood_part_of_a_conjunction_still_bounds_it() -> None:
    assert shown("date = DATE '2026-11-19' AND my_udf(k)") == "date = DATE '2026-11-19'"
    assert shown("NOT (date <> DATE '2026-11-19' OR my_udf(k))") == "date = DATE '2026-11-19'"


def test_a_date_beside_a_timestamp_may_be_anything_where_its_midnight_is_not_known() -> None:
    condition = "date < TIMESTAMP '2018-11-04 12:00:00'"
    assert shown(condition, Session("America/New_York", ansi=True)) == "date <= DATE '2018-11-04'"
    assert (
        shown(condition, Session("America/Sao_Paulo", ansi=True)) == "TRUE"
    )  # clocks went from 23:59 to 01:00
    assert shown(condition, Session(None, ansi=True)) == "TRUE"
    skipped = "date = TIMESTAMP '2011-12-30 00:00:00'"  # a day that Samoa left out: two dates are one midnight there
    assert shown(skipped, Session("UTC", ansi=True)) == "date = DATE '2011-12-30'"
    assert shown(skipped, Session("Pacific/Apia", ansi=True)) == "TRUE"


def test_without_a_time_zone_a_timestamp_may_be_anything() -> None:
    assert shown("at = '2026-11-19 00:00:00'", Session(None, ansi=True)) == "TRUE"
    assert shown("at IS NULL", Session(None, ansi=True)) == "at IS NULL"


@pytest.mark.parametrize("text", ["2026-11-01 01:30:00", "2026-03-08 02:30:00"])
def test_a_local_time_that_clocks_show_twice_or_never_may_be_anything(text: str) -> None:
    assert shown(f"at = '{text}'", Session("America/New_York", ansi=True)) == "TRUE"


def test_naive_and_offset_timestamps_meet_in_one_or() -> None:
    meaning = "at IN (TIMESTAMP '2026-11-18 19:00:00', TIMESTAMP '2026-11-19 00:00:00')"
    both = "at = '2026-11-19 00:00:00' OR at = '2026-11-19 00:00:00Z'"
    assert shown(both, Session("America/New_York", ansi=True)) == meaning


def test_in_lists_compare_strings_as_text_unless_ansi_is_known_to_be_on() -> None:
    condition = "at IN ('2026-11-19')"
    assert shown(condition, Session("UTC", ansi=True)) == "at = TIMESTAMP '2026-11-19 00:00:00'"
    assert shown(condition, Session("UTC", ansi=False)) == "TRUE"
    assert shown(condition, Session("UTC", ansi=None)) == "TRUE"


def test_names_fold_case_unless_the_session_is_case_sensitive() -> None:
    assert shown("DaTe = DATE '2026-11-19'") == "date = DATE '2026-11-19'"
    sensitive = Session("UTC", ansi=True, case_sensitive=True)
    assert shown("date = DATE '2026-11-19'", sensitive) == "date = DATE '2026-11-19'"
    with pytest.raises(PredicateError, match="there is no column DATE"):
        parse("DATE = '2026-11-19'", EVENTS, session=sensitive)


def test_columns_that_differ_in_case_only_are_different_columns() -> None:
    table = Table.of({"a": "int", "A": "int"})
    sensitive = Session(case_sensitive=True)
    assert not compiled(parse("a = 1 AND A = 2", table, session=sensitive)).is_empty


def test_a_list_with_zero_says_nothing_of_negative_zero_either_way() -> None:
    listed, others = parse("ratio IN (0, 1)", EVENTS), parse("ratio NOT IN (0, 1)", EVENTS)
    assert to_sql(compiled(listed)) == "ratio IN (0.0D, 1.0D)"
    assert not compiled(others).is_everything
    assert not disjoint(compiled(others), compiled(parse("ratio = 0", EVENTS)))
    assert disjoint(compiled(others), compiled(parse("ratio = 1", EVENTS)))
    assert not covers(others, parse("ratio = 0", EVENTS))
    assert not covers(listed, parse("ratio = 0", EVENTS))


def test_whatever_operand_spark_would_bind_elsewhere_is_not_believed() -> None:
    """`true <=> s LIKE 'a%'` is `(true <=> s) LIKE 'a%'` to Spark, and sqlglot adds parentheses of its own."""
    for condition in ("true <=> name LIKE 'a%'", "NOT (true <=> name LIKE 'a%')", "true = flag IN (true)"):
        assert reasons(parse(condition, EVENTS)) != ()
        assert shown(condition) == "TRUE"

"""Calls and operators over columns, in every form that is understood, and the values that they are tried on."""

from collections.abc import Iterator, Mapping
from itertools import product

COLUMNS: Mapping[str, str] = {
    **dict.fromkeys("de", "date"),
    **dict.fromkeys("su", "string"),
    "y": "tinyint",
    "n": "int",
    "l": "bigint",
}

_DAYS = [
    *["0001-01-01", "0004-02-29", "0999-12-31", "1000-01-01", "1582-10-04", "1582-10-15"],
    *["1600-02-29", "1844-12-31", "1900-02-28", "1900-03-01", "1969-12-31", "1970-01-01"],
    *["1993-08-21", "1994-12-31", "2000-02-29", "2011-12-30", "2016-01-31", "2018-11-04"],
    *["2020-12-31", "2021-01-03", "2021-01-04", "2024-02-29", "2024-03-31", "2024-04-01"],
    *["2024-06-30", "2024-07-01", "2024-09-30", "2024-10-01", "2024-12-29", "2024-12-30"],
    *["2025-01-01", "2026-11-19", "9999-12-30", "9999-12-31"],
]
_TEXTS = [
    *["", " ", "a", "A", "aB", "eu", "eu-west", "EU", " eu ", "  e u\t", "-", "--", "eu-1", "é", "É", "ß"],
    *["\u0131", "\u03a3", "\U0001f600x", "x\U0001f600", "e\u0301", "\ue000", "5", "-5", "05", "+5", " 5"],
    *["5.0", "2147483648", "127", "128", "2024-02-29", "2023-02-29", "2024-1-1", "2024", "it's", "a\\b"],
    *["%", "1234567890123456789012", "true", "20240229", "20230229", "20111230", "00010101", "120240229"],
    *["2024/02/29", "29.02.2024", "202402", "2024-02", "2024-2-29", "2024-02-29x", " 20240229", "2024022"],
]
_NUMBERS = {
    "y": [-128, -127, -7, -1, 0, 1, 2, 3, 7, 126, 127],
    "n": [
        *[-(2**31), -(2**31) + 1, -365, -100, -13, -3, -2, -1, 0, 1, 2, 3, 5, 7, 12, 13, 100, 365, 2024],
        2**31 - 1,
    ],
    "l": [-(2**63), -(2**63) + 1, -(2**31) - 1, -1, 0, 1, 2, 5, 2**31, 2**53 + 1, 2**63 - 1],
}


def rows() -> list[dict[str, str | None]]:
    """Each value at least once, pairs of them in many combinations, and NULLs."""
    values = {
        "d": [*_DAYS, None],
        "e": [*_DAYS[7:], None],
        "s": [*_TEXTS, None],
        "u": [*_TEXTS[:17], None],
        **{name: [*map(str, numbers), None] for name, numbers in _NUMBERS.items()},
    }
    return [{name: column[i % len(column)] for name, column in values.items()} for i in range(300)]


def terms() -> list[str]:
    found = [*_on_days(), *_on_texts(), *_parts_of_texts(), *_on_numbers(), *_casts(), *_nested()]
    return list(dict.fromkeys(found))


def doubtful_terms(*, newer: bool) -> list[str]:
    """Forms that the parser reads otherwise than Spark, or that Spark reads otherwise than one would think. They need not
    be understood, nor be taken by Spark; if they are, by what Spark makes of them."""
    found = [*_without_brackets(), *_units(), *_mixed(), *_far(), *_spelled_days()]
    found += _collated() if newer else ()
    return list(dict.fromkeys(found))


def _without_brackets() -> Iterator[str]:
    operators = ("+", "-", "*", "%", "div", "&", "^", "|", "||")
    for first, second in product(operators, operators):
        yield from (f"y {first} 5 {second} 3", f"12 {first} month(d) {second} y {first} 6")
    for operator in operators:
        yield from (
            f"- y {operator} 3",
            f"~y {operator} 3",
            f"7 {operator} ~y",
            f"7 {operator} - y",
            f"s {operator} 'x'",
        )
        yield from (
            f"d {operator} 1 || s",
            f"s || d {operator} 1",
            f"d + 1 {operator} 1",
            f"d {operator} INTERVAL 1 DAY",
        )


def _units() -> Iterator[str]:
    units = "Y YY YYYY YEAR YEARS YR YRS Q QTR QUARTER QUARTERS M MM MON MONS MONTH MONTHS W WK WEEK WEEKS D DD DAY DAYS"
    others = "DOW DOY DAYOFWEEK DAYOFYEAR DAYOFWEEK_ISO DOW_ISO YEAROFWEEK WEEKDAY DEC CENTURY H HOUR MI"
    for unit in f"{units} {others}".split():
        for written in (unit, unit.lower(), unit.capitalize()):
            yield from (f"trunc(d, '{written}')", f"date_trunc('{written}', d)", f"extract({written} FROM d)")
            yield from (
                f"date_part('{written}', d)",
                f"datepart('{written}', d)",
                f"d - INTERVAL '2' {written}",
            )
            yield from (
                f"dateadd({written}, 1, d)",
                f"datediff({written}, d, e)",
                f"d + INTERVAL 2 {written}",
            )
    for unit in (
        "' MM'",
        "'MM '",
        "''",
        "s",
        "upper('mm')",
        "NULL",
        "CAST('Y' AS STRING)",
        "concat('M', 'M')",
        '"Q"',
    ):
        yield from (f"trunc(d, {unit})", f"date_trunc({unit}, d)", f"trunc({unit}, d)")


def _mixed() -> Iterator[str]:
    pairs = [
        "d, '2024-01-01'",
        "d, '2024-1-1'",
        "d, s",
        "s, d",
        "'x', d",
        "d, n",
        "n, s",
        "s, n",
        "n, '5'",
        "n, l",
        "l, y",
        "d, e",
    ]
    for name in ("coalesce", "nvl", "ifnull", "nullif", "greatest", "least", "concat", "concat_ws"):
        yield from (f"{name}({pair})" for pair in pairs)
    for pair in pairs:
        first, second = pair.split(", ")
        yield from (
            f"if(n > 1, {pair})",
            f"nvl2(n, {pair})",
            f"CASE WHEN n > 1 THEN {first} ELSE {second} END",
        )
        yield from (f"CASE n WHEN 1 THEN {first} ELSE {second} END", f"startswith({pair})", f"instr({pair})")
        yield from (
            f"replace({pair})",
            f"upper(coalesce({pair}))",
            f"length(nvl({pair}))",
            f"trim({second} FROM {first})",
        )
    for day in ("s", "'2024-02-29'", "'2024-2-29'", "'2024'", "'x'", "n", "20240229"):
        yield from (
            f"{name}({day})"
            for name in ("year", "last_day", "to_date", "weekday", "unix_date", "length", "upper")
        )
        yield from (
            f"date_add({day}, n)",
            f"trunc({day}, 'MM')",
            f"datediff(d, {day})",
            f"date_format({day}, 'yyyy')",
        )


def _far() -> Iterator[str]:
    for number in (
        "l",
        "4294967297",
        "2147483646",
        "-2147483647",
        "-2147483649",
        "1Y",
        "2S",
        "3L",
        "'2'",
        "1.5",
    ):
        yield from (f"{name}(s, {number})" for name in ("left", "right", "substring", "substr"))
        yield from (f"substring(s, {number}, 2)", f"substring(s, 2, {number})", f"substring(s, n, {number})")
        yield from (
            f"make_date({number}, 2, 1)",
            f"make_date(2024, {number}, y)",
            f"make_date(l, y, {number})",
        )
        yield from (f"n + {number}", f"y * {number}", f"n % {number}", f"n div {number}")
    for days in ("2147483646", "-2147483647", "1Y", "2S"):
        yield from (f"{name}(d, {days})" for name in ("date_add", "date_sub", "dateadd", "add_months"))
        yield from (f"d + {days}", f"d - {days}", f"datediff(d, date_add(e, {days}))")


def _spelled_days() -> Iterator[str]:
    for pattern in (
        "MM/dd",
        "yyyy-M-d",
        "yyyyMd",
        "uuuu-MM-dd",
        "YYYY-MM-dd",
        "yyyyDDD",
        "yyyy-MM-DD",
        "yy-MM-dd",
    ):
        yield f"to_date(s, '{pattern}')"
    for pattern in (
        "yyyy-MM-dd HH",
        "yyyy MM",
        "yyyy''MM",
        "yyyy-MM-dd-yyyy",
        "yyyyMMdd'T'",
        "dd MMM yyyy",
        "",
    ):
        yield f"to_date(s, '{pattern}')"
    yield from ("to_date(d, 'yyyyMMdd')", "to_date(n, 'yyyy')", "to_date(s, u)", "to_date(s, NULL)")
    yield from ("make_date(s, 2, 1)", "make_date('2024', '2', '1')", "make_date(n, y)", "make_date(d, 1, 1)")
    yield from ("make_date(n, y, NULL)", "make_date(2024.0, 2, 1)", "make_date(n, y, 1, 1)")


def _collated() -> Iterator[str]:
    for collation in ("UNICODE_CI", "UTF8_LCASE", "UTF8_BINARY", "UNICODE", "UTF8_BINARY_RTRIM"):
        for text in (
            f"CAST(s AS STRING COLLATE {collation})",
            f"s COLLATE {collation}",
            f"collate(s, '{collation}')",
        ):
            yield from (
                text,
                f"upper({text})",
                f"instr({text}, 'e')",
                f"startswith({text}, 'e')",
                f"replace({text}, 'e', 'x')",
            )
            yield from (
                f"contains({text}, u)",
                f"trim({text})",
                f"locate('EU', {text})",
                f"TRY_{text}",
                f"endswith(u, {text})",
            )


def _on_days() -> Iterator[str]:
    names = "year quarter month day dayofmonth dayofyear dayofweek weekday weekofyear unix_date to_date last_day date"
    yield from (f"{name}(d)" for name in names.split())
    for field in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYS", "DOY", "DAYOFWEEK"):
        yield f"extract({field} FROM d)"
    for count in ("0", "1", "-1", "31", "365", "n", "y"):
        yield from (f"{name}(d, {count})" for name in ("date_add", "date_sub", "dateadd", "add_months"))
        yield from (f"d + {count}", f"d - {count}")
    for days in ("INTERVAL 1 DAY", "INTERVAL '3' DAY", "INTERVAL 400 DAYS"):
        yield from (f"d + {days}", f"d - {days}")
    for months in (
        "INTERVAL 1 MONTH",
        "INTERVAL '13' MONTHS",
        "INTERVAL 1 YEAR",
        "INTERVAL 4 YEARS",
        "INTERVAL -1 MONTH",
        "INTERVAL '-1' YEAR",
    ):
        yield from (f"d + {months}", f"d - {months}")
    for unit in ("YEAR", "yyyy", "yy", "QUARTER", "month", "mm", "MON", "week"):
        yield from (f"trunc(d, '{unit}')", f"date_trunc('{unit}', d)", f"to_date(date_trunc('{unit}', d))")
    yield from ("date_trunc('day', d)", "date_trunc('DD', d)", "CAST(date_trunc('DAY', d) AS DATE)")
    yield from ("make_date(year(d), month(d), 1)", "make_date(n, y, 1)", "make_date(2024, 2, y)")
    yield from ("make_date(n, 12, 31)", "make_date(n, 2, 29)")
    yield from ("datediff(d, e)", "date_diff(d, e)")
    yield from ("datediff(d, DATE '2024-01-01')", "datediff(d, '2024-01-01')")
    for pattern in [
        "yyyy",
        "yyyy-MM",
        "yyyyMM",
        "yyyy-MM-dd",
        "yyyyMMdd",
        "MM",
        "dd",
        "MM/dd",
        "dd.MM.yyyy",
        "y",
        "yyyy_MM",
    ]:
        yield f"date_format(d, '{pattern}')"


_PATTERNS = (
    *("yyyyMMdd", "yMMdd", "yyyy-MM-dd", "y-MM-dd", "yyyy/MM/dd", "dd.MM.yyyy", "yyyyMM", "yyyy-MM"),
    *("yyyy", "MMyyyy", "yyyydd"),
)


def _on_texts() -> Iterator[str]:
    yield from (f"to_date(s, '{pattern}')" for pattern in _PATTERNS)
    names = "upper ucase lower lcase length len char_length character_length reverse trim ltrim rtrim"
    yield from (f"{name}(s)" for name in names.split())
    yield from (f"trim({side} FROM s)" for side in ("BOTH", "LEADING", "TRAILING"))
    for part in ("'e'", "'eu'", "''", "u", "'-'"):
        yield from (f"{name}(s, {part})" for name in ("startswith", "endswith", "contains", "instr"))
        yield f"locate({part}, s)"
        yield from (f"replace(s, {part}{by})" for by in ("", ", 'xy'", ", u"))
    yield from ("concat(s, u)", "concat(s, '-', n)", "concat(d, s)", "s || u", "s || '-' || y")
    yield from ("concat(y, n, l)", "d || n")
    for name in ("coalesce", "nvl", "ifnull"):
        yield from (f"{name}(s, 'x')", f"{name}(n, 5)", f"{name}(y, n)", f"{name}(y, 300)")
        yield f"{name}(d, DATE '2024-01-01')"
    yield from ("coalesce(s, u, 'none')", "coalesce(length(s), 7)", "coalesce(d, e)")


def _parts_of_texts() -> Iterator[str]:
    for start in ("0", "1", "2", "-1", "-3", "5", "n"):
        yield f"substring(s, {start})"
        yield from (f"substring(s, {start}, {length})" for length in ("0", "1", "2", "3", "-1", "100"))
    yield from ("substr(s, 1, 2)", "substring(s FROM 1 FOR 2)", "substr(s, -2)")
    for length in ("-1", "0", "1", "2", "100", "y"):
        yield from (f"left(s, {length})", f"right(s, {length})")


def _on_numbers() -> Iterator[str]:
    operands = ["n 1", "n n", "y y", "y 1", "y 1Y", "n l", "l 3", "n -2", "7 y"]
    for left, right in (pair.split() for pair in operands):
        yield from (f"{left} {operator} {right}" for operator in ("+", "-", "*", "%", "div", "&", "|", "^"))
        yield from (f"mod({left}, {right})", f"pmod({left}, {right})")
    yield from ("n % 0", "n div 0", "-n", "-y", "- l", "~n", "~y", "abs(n)", "abs(y)", "abs(l)")
    yield from ("n + 1 + y", "(n + 1) * 2")


def _casts() -> Iterator[str]:
    for target in ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING"):
        for column in ("y", "n", "l", "s"):
            yield from (f"CAST({column} AS {target})", f"TRY_CAST({column} AS {target})")
    yield from ("CAST(s AS DATE)", "TRY_CAST(s AS DATE)", "to_date(s)", "date(s)", "int(s)")
    yield from ("CAST(d AS DATE)", "TRY_CAST(d AS DATE)", "CAST(d AS STRING)", "string(d)", "string(s)")


def _nested() -> Iterator[str]:
    yield from ("year(d) * 100 + month(d)", "year(date_add(d, 1))", "substring(CAST(d AS STRING), 1, 7)")
    yield from ("upper(left(s, 2))", "trunc(date_sub(d, 1), 'MM')", "length(trim(s))", "month(d) % 2")
    yield from ("CAST(year(d) AS STRING)", "concat(year(d), '-', month(d))", "last_day(add_months(d, -1))")
    yield from ("year(d) - year(e)", "year(CAST(s AS DATE))", "int(left(s, 2))", "concat(upper(s), lower(u))")
    yield from ("date_add(DATE '2024-02-28', n)", "datediff(DATE '2024-02-28', d)")

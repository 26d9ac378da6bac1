"""Conditions drawn by chance over all types of columns: operators without brackets, units in every spelling, mixed types.

Nobody says which of them are understood, nor that Spark takes them all: what is understood must be what Spark makes of it.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

_NUMBERS = ["y", "k", "l", "K", "`k`", "k", "y"]
_TEXTS = ["s", "p", "v", "S", "s", "p"]
_DAYS = ["d", "d", "d", "D", "d", "ts", "n"]
_WHOLE = [
    "0",
    "1",
    "2",
    "-1",
    "5",
    "-5",
    "7",
    "127",
    "128",
    "2147483647",
    "5Y",
    "5L",
    "2S",
    "4294967297",
    "4294967298",
]
_OTHER_NUMBERS = ["1.5", "5BD", "2147483648", "'5'", "' 5'", "'05'", "1.0D", "9223372036854775807", "NULL"]
_LITERAL_TEXTS = [
    "''",
    "'eu'",
    "'e'",
    "'EU'",
    "'a'",
    "' '",
    "'it\\'s'",
    "'2026-11-19'",
    "'5'",
    "'é'",
    "'A'",
    "'1'",
]
_LITERAL_DAYS = ["DATE '2026-11-19'", "'2026-11-19'", "'2026-11'", "DATE'2027-01-01'", "'2026-1-1'"]
_MOMENTS = [
    *["TIMESTAMP '2026-11-19 00:00:00'", "TIMESTAMP '2026-11-19 05:00:00'", "TIMESTAMP_NTZ '2026-11-19 00:00:00'"],
    *["'2026-11-19 00:00:00'", "TIMESTAMP '2026-11-01 05:30:00'", "'2026-11-19 12:30'"],
]  # fmt: skip
_UNITS = [
    *["Y", "YY", "YYYY", "YEAR", "YEARS", "Q", "QTR", "QUARTER", "QUARTERS", "M", "MM", "MON", "MONS", "MONTH", "MONTHS"],
    *["W", "WEEK", "WEEKS", "D", "DD", "DAY", "DAYS", "DOW", "DOY", "DAYOFWEEK", "DAYOFYEAR", "YR", "HOUR", "H", "ISODOW"],
    *["WEEKDAY", "WY", "CENTURY", "YEAROFWEEK", "DOW_ISO", "DAYOFWEEK_ISO"],
]  # fmt: skip
_OPERATORS = ["+", "-", "*", "%", "&", "|", "^", "||", "div", "DIV", "/", "MOD"]
_COMPARISONS = ["=", "<", "<=", ">", ">=", "<>", "!=", "<=>", "=="]
_COLLATIONS = ["UNICODE_CI", "UTF8_LCASE", "UTF8_BINARY", "UNICODE"]


class Drawing:
    """What is drawn. `newer`: whether Spark knows collations."""

    def __init__(self, random: Random, *, newer: bool) -> None:
        self._random = random
        self._newer = newer

    def conditions(self, count: int) -> list[str]:
        return list(dict.fromkeys(self._condition(2) for _ in range(count)))

    # ---------------------------------------------------------------------------------------------------------- conditions

    def _condition(self, depth: int) -> str:
        shapes: list[Callable[[int], str]] = [self._compared] * 8
        shapes += [
            self._between,
            self._between,
            self._listed,
            self._listed,
            self._liked,
            self._tested,
            self._flag,
        ]
        if depth > 0:
            shapes += [self._negated, self._joined, self._joined, self._judged]
        return self._any(shapes)(depth)

    def _compared(self, _: int) -> str:
        make = self._maker()
        left, right = make(2), self._other(make)
        if self._one_in(3):
            left, right = right, left
        return f"{left} {self._any(_COMPARISONS)} {right}"

    def _between(self, _: int) -> str:
        make = self._maker()
        return f"{make(2)} {self._maybe('NOT ')}BETWEEN {self._other(make)} AND {self._other(make)}"

    def _listed(self, _: int) -> str:
        make = self._maker()
        among = ", ".join(self._other(make) for _ in range(self._random.randint(1, 3)))
        return f"{make(2)} {self._maybe('NOT ')}IN ({among})"

    def _liked(self, _: int) -> str:
        pattern = self._any(["e%", "%", "eu", "EU%", "2026-1%", "a_%", "a\\\\%%", "5%", "1%", ""])
        return f"{self._any([self._text, self._text, self._day])(2)} {self._maybe('NOT ')}LIKE '{pattern}'"

    def _tested(self, _: int) -> str:
        subject = self._maker()(2)
        return (
            f"{subject} IS {self._maybe('NOT ')}NULL"
            if self._one_in(2)
            else f"{self._maybe('NOT ')}isnull({subject})"
        )

    def _flag(self, _: int) -> str:
        text, part = self._text(1), self._any([*_LITERAL_TEXTS, "p", "left(p, 1)"])
        call = f"{self._any(['startswith', 'endswith', 'contains'])}({text}, {part})"
        return self._any(["b", "B", "NOT b", "b = true", "b = 'true'", "b <=> NULL", "b = 1", call, call])

    def _negated(self, depth: int) -> str:
        inner = self._condition(depth - 1)
        return self._any([f"NOT {inner}", f"! ({inner})", f"NOT ({inner})", f"NOT NOT {inner}"])

    def _joined(self, depth: int) -> str:
        parts = [self._condition(depth - 1) for _ in range(self._random.randint(2, 3))]
        text = parts[0]
        for part in parts[1:]:
            text += f" {self._any(['AND', 'OR'])} {part if self._one_in(2) else f'({part})'}"
        return text

    def _judged(self, depth: int) -> str:
        inner = self._condition(depth - 1)
        truth = self._any(
            ["= true", "<=> false", "IS TRUE", "IS NOT FALSE", "IS NULL", "= false", "IN (true)", "<=> NULL"]
        )
        return f"({inner}) {truth}" if self._one_in(2) else f"{inner} {truth}"

    # ---------------------------------------------------------------------------------------------------------------- terms

    def _maker(self) -> Callable[[int], str]:
        return self._any(
            [self._number, self._number, self._text, self._text, self._day, self._day, self._chain]
        )

    def _other(self, make: Callable[[int], str]) -> str:
        """The other side of what is compared: mostly a constant of its sort."""
        sorts: dict[Callable[[int], str], list[str]] = {
            self._number: _WHOLE,
            self._chain: _WHOLE,
            self._text: _LITERAL_TEXTS,
            self._day: [*_LITERAL_DAYS, *_MOMENTS],
        }
        if self._one_in(8):
            return self._any([*_WHOLE, *_OTHER_NUMBERS, *_LITERAL_TEXTS, *_LITERAL_DAYS, *_MOMENTS])
        return make(1) if self._one_in(10) else self._any(sorts[make])

    def _chain(self, depth: int) -> str:
        """Operands of any sort, and operators between them without brackets."""
        makers = [self._number, self._number, self._number, self._text if self._one_in(4) else self._number]
        text = self._any(makers)(depth - 1)
        for _ in range(self._random.randint(1, 3)):
            right = self._any(makers)(0) if self._one_in(2) else self._any(_WHOLE)
            text += f" {self._any(_OPERATORS)} {self._any(['', '', '', '- ', '~'])}{right}"
        return f"({text})" if self._one_in(4) else text

    def _number(self, depth: int) -> str:
        if depth <= 0 or self._one_in(4):
            return self._any([*_NUMBERS, *_NUMBERS, self._any(_WHOLE), self._any(["d2", "g", "b", "d38"])])
        day, text, number = self._day(depth - 1), self._text(depth - 1), self._number(depth - 1)
        unit, other = self._unit(), self._number(depth - 1)
        return self._cased(
            self._any(
                [
                    f"{self._any(['year', 'month', 'quarter', 'day', 'dayofweek', 'dayofyear', 'weekofyear'])}({day})",
                    f"{self._any(['weekday', 'unix_date', 'dayofmonth', 'hour'])}({day})",
                    f"extract({unit} FROM {day})",
                    f"date_part('{unit}', {day})",
                    f"datediff({day}, {self._any([*_LITERAL_DAYS, 'd'])})",
                    f"datediff({unit}, {day}, d)",
                    f"{self._any(['length', 'len', 'char_length', 'octet_length', 'ascii'])}({text})",
                    f"{self._any(['instr', 'locate', 'position'])}({text}, {self._any(_LITERAL_TEXTS)})",
                    f"{self._any(['abs', 'negative', 'positive', 'sign', 'ceil', 'floor', 'round'])}({number})",
                    f"{self._any(['mod', 'pmod', 'coalesce', 'nvl', 'ifnull', 'nullif', 'greatest', 'least'])}({number}, {other})",
                    f"{self._any(['nvl2(y, ', 'if(b, ', 'if(k > 1, '])}{number}, {other})",
                    f"CASE WHEN k > 1 THEN {number} ELSE {other} END",
                    f"{self._any(['CAST', 'TRY_CAST'])}({self._any([number, text, 'b'])} AS {self._any(_TARGETS)})",
                    f"{text}::{self._any(['INT', 'TINYINT'])}",
                    f"{self._any(['int', 'bigint', 'tinyint'])}({number})",
                    f"- {number}",
                    f"~{number}",
                    f"({number} {self._any(_OPERATORS)} {other})",
                ]
            )
        )

    def _text(self, depth: int) -> str:
        if depth <= 0 or self._one_in(4):
            return self._any([*_TEXTS, *_TEXTS, self._any(_LITERAL_TEXTS)])
        day, text, number = self._day(depth - 1), self._text(depth - 1), self._number(depth - 1)
        other, some = self._text(depth - 1), self._any([number, *_WHOLE])
        calls = [
            f"{self._any(['upper', 'lower', 'ucase', 'lcase', 'trim', 'ltrim', 'rtrim', 'btrim', 'reverse'])}({text})",
            f"{self._any(['left', 'right'])}({text}, {some})",
            f"{self._any(['substring', 'substr', 'mid'])}({text}, {some})",
            f"{self._any(['substring', 'substr'])}({text}, {some}, {self._any(_WHOLE)})",
            f"substring({text} FROM {self._any(_WHOLE)} FOR {self._any(_WHOLE)})",
            f"trim({self._any(['BOTH', 'LEADING', 'TRAILING'])} {self._any(['', repr('e')])} FROM {text})",
            f"replace({text}, {self._any(_LITERAL_TEXTS)}, {other})",
            f"concat({text}, {self._any([other, number, day])})",
            f"concat_ws('-', {text}, {other})",
            f"{text} || {self._any([other, number])}",
            f"{self._any(['coalesce', 'nvl', 'ifnull', 'greatest', 'least'])}({day}, {text})",
            f"{self._any(['coalesce', 'nvl', 'ifnull', 'nullif'])}({text}, {self._any([other, number])})",
            f"if(b, {day}, {text})",
            f"CASE WHEN b THEN {day} ELSE {text} END",
            f"CASE {text} WHEN 'eu' THEN {other} END",
            f"CAST({self._any([day, number, text])} AS {self._any(['STRING', 'VARCHAR(2)', 'CHAR(5)', 'string'])})",
            f"date_format({day}, '{self._any(['yyyy', 'yyyy-MM', 'yyyyMMdd', 'YYYY', 'MMM', 'y-M', 'DD', 'uuuu', 'yyyy-MM-dd'])}')",
            f"initcap({text})",
            f"{self._any(['repeat', 'lpad'])}({text}, {self._any('23')})",
            f"string({self._any([day, number])})",
        ]
        if self._newer:
            collation = self._any(_COLLATIONS)
            calls += [f"CAST({text} AS STRING COLLATE {collation})", f"{text} COLLATE {collation}"]
            calls += [f"collate({text}, '{collation}')"]
        return self._cased(self._any(calls))

    def _day(self, depth: int) -> str:
        if depth <= 0 or self._one_in(3):
            return self._any([*_DAYS, *_DAYS, self._any(_LITERAL_DAYS), self._any(_MOMENTS)])
        day, text, number = (
            self._day(depth - 1),
            self._text(depth - 1),
            self._any([self._number(depth - 1), *_WHOLE]),
        )
        unit, one = self._unit(), self._any(["1", "'1'", "-1", "'-1'", "400", "1.5"])
        return self._cased(
            self._any(
                [
                    f"trunc({day}, '{unit}')",
                    f"date_trunc('{unit}', {day})",
                    f"{self._any(['date_add', 'date_sub', 'dateadd', 'add_months'])}({day}, {number})",
                    f"dateadd({unit}, {number}, {day})",
                    f"{day} {self._any('+-')} {number}",
                    f"{day} {self._any('+-')} INTERVAL {one} {unit}",
                    f"{day} {self._any('+-')} INTERVAL 1 DAY {self._any('+-')} INTERVAL {one} {unit}",
                    f"last_day({day})",
                    f"next_day({day}, 'MO')",
                    f"{self._any(['to_date', 'date', 'to_timestamp', 'timestamp'])}({self._any([day, text])})",
                    f"to_date({self._any([day, text])}, 'yyyy-MM-dd')",
                    f"{self._any(['CAST', 'TRY_CAST'])}({self._any([day, text])} AS {self._any(_TARGETS_OF_DAYS)})",
                    f"{self._any(['coalesce', 'nvl', 'ifnull', 'greatest', 'least'])}({day}, {self._any([text, *_LITERAL_DAYS])})",
                    f"if(b, {day}, {self._any([text, *_LITERAL_DAYS])})",
                    f"make_date({number}, 11, 19)",
                ]
            )
        )

    # -------------------------------------------------------------------------------------------------------------- helpers

    def _unit(self) -> str:
        unit = self._any(_UNITS)
        return self._any([unit, unit, unit.lower(), unit.capitalize()])

    def _cased(self, text: str) -> str:
        """Sometimes the first word in capitals: names of functions have no case."""
        if not self._one_in(8):
            return text
        name, opening, rest = text.partition("(")
        return f"{name.upper()}{opening}{rest}" if "'" not in name else text

    def _any(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)

    def _maybe(self, text: str) -> str:
        return text if self._one_in(3) else ""

    def _one_in(self, count: int) -> bool:
        return self._random.randrange(count) == 0


_TARGETS = ["INT", "TINYINT", "BIGINT", "SMALLINT", "DECIMAL(10,2)", "BOOLEAN", "DOUBLE"]
_TARGETS_OF_DAYS = ["DATE", "TIMESTAMP", "TIMESTAMP_NTZ"]

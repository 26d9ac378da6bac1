"""Generated conditions: what people write about a column, in the many spellings that Spark accepts, and their combinations.

A condition is `plain` if Spark evaluates it on any row without an error, ANSI or not; the others cast columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from contract.predicates.rows import VALUES

_OPERATORS = ["=", "==", "<", "<=", ">", ">=", "<>", "!=", "<=>"]
_FLIPPED_TEXT = 0.15


@dataclass(frozen=True)
class Condition:
    text: str
    plain: bool


def conditions(random: Random, count: int, *, plain_only: bool) -> list[Condition]:
    """So many different conditions; one in eight of them isn't plain unless `plain_only`."""
    made: dict[str, Condition] = {}
    while len(made) < count:
        condition = _condition(random, random.choice([0, 0, 0, 1, 1, 2, 3]), risky=not plain_only)
        made.setdefault(condition.text, condition)
    return list(made.values())


def _condition(random: Random, depth: int, *, risky: bool) -> Condition:
    if depth == 0:
        if risky and random.random() < 0.12:
            return Condition(random.choice(_NOT_PLAIN), plain=False)
        return Condition(_atom(random), plain=True)
    parts = [
        _condition(random, random.randrange(depth), risky=risky) for _ in range(random.choice([2, 2, 3]))
    ]
    plain = all(part.plain for part in parts)
    texts = [f"({part.text})" for part in parts]
    shape = random.randrange(9)
    if shape <= 2:
        text = " AND ".join(texts)
    elif shape <= 5:
        text = " OR ".join(texts)
    elif shape == 6:
        text = f"NOT {texts[0]}" if random.random() < 0.6 else f"NOT ({' OR '.join(texts)})"
    elif shape == 7:
        text = f"{texts[0]} {random.choice(['IS TRUE', 'IS NOT TRUE', 'IS FALSE', 'IS NOT FALSE', 'IS NULL', 'IS NOT NULL'])}"
    else:
        text = f"{texts[0]} {random.choice(['= true', '<=> true', '= false', '<=> false', '<=> NULL'])} AND {texts[1]}"
    return Condition(text, plain)


def _without_parentheses(random: Random) -> str:
    """Precedence is left to the parsers, ours and Spark's."""
    words = []
    for i in range(random.choice([2, 3, 4])):
        words += [random.choice(["AND", "OR"])] if i else []
        words += [random.choice(["", "", "NOT", "!", "NOT NOT"]), _atom(random)]
    return " ".join(word for word in words if word)


def _atom(random: Random) -> str:  # noqa: PLR0911 - one kind of atom a line
    # Few columns are drawn often, so that pairs meet on a column.
    column = random.choice([*VALUES, "d", "d", "k", "s", "p", "p", "k"])
    kind = random.random()
    if kind < 0.08:
        return f"{column} IS {random.choice(['', 'NOT '])}NULL"
    if kind < 0.1:
        return random.choice(
            [f"isnull({column})", f"isnotnull({column})", f"{column} <=> NULL", f"{column} = NULL"]
        )
    if kind < 0.14:
        return random.choice(_CONSTANTS)
    if column in _COMPUTED and random.random() < _SHARE_COMPUTED:
        return _on_a_function(random, column)
    if column == "x":
        return f"x {random.choice(['=', '<', '>='])} X'61'"
    if column == "b" and kind < 0.6:
        return random.choice(["b", "NOT b", "b IS TRUE", "b IS NOT FALSE", "! b"])
    if column in ("s", "v", "p") and kind < 0.35:
        return _like(random, column)
    if kind < 0.6:
        left, right = column, _literal(random, column)
        operator = random.choice(_OPERATORS)
        if random.random() < _FLIPPED_TEXT:
            left, right = right, left
        return f"{left} {operator} {right}"
    if kind < 0.75:
        negation = random.choice(["", "", "NOT "])
        return f"{column} {negation}BETWEEN {_literal(random, column)} AND {_literal(random, column)}"
    return _membership(random, column)


_SHARE_COMPUTED = 0.3
_COMPUTED: Mapping[str, list[tuple[str, list[str]]]] = {
    "d": [
        ("year(d)", ["2026", "2027", "1", "9999", "1969"]),
        ("month(d)", ["11", "12", "1"]),
        ("day(d)", ["19", "31"]),
        ("weekday(d)", ["3", "4"]),
        ("extract(QUARTER FROM d)", ["4"]),
        ("date_sub(d, 7)", ["DATE '2026-11-12'", "'2026-11-13'"]),
        ("trunc(d, 'MM')", ["DATE '2026-11-01'", "DATE '2026-12-01'"]),
        ("date_trunc('MONTH', d)", ["DATE '2026-11-01'", "TIMESTAMP '2026-12-01 00:00:00'"]),
        ("last_day(d)", ["DATE '2026-11-30'"]),
        ("datediff(d, DATE '2026-11-18')", ["0", "1", "-1"]),
        ("CAST(d AS STRING)", ["'2026-11-19'", "'2027-01-01'"]),
        ("date_format(d, 'yyyy-MM')", ["'2026-11'", "'0001-01'"]),
        ("substring(CAST(d AS STRING), 1, 7)", ["'2026-11'", "'9999-12'"]),
        ("concat(p, '/', d)", ["'eu/2026-11-19'"]),
    ],
    "p": [
        ("upper(p)", ["'A'", "'EU'", "'\u00c9'"]),
        ("length(p)", ["1", "2", "0"]),
        ("substring(p, 1, 2)", ["'eu'", "'a'"]),
        ("left(p, 1)", ["'a'", "'\U0001f600'"]),
        ("right(p, 2)", ["'bc'", "'eu'"]),
        ("replace(p, 'e', '')", ["'u'", "''"]),
        ("coalesce(p, 'none')", ["'none'", "'eu'"]),
        ("coalesce(length(p), 2)", ["2", "0"]),
        ("p || p", ["'aa'", "''"]),
        ("concat(p, k)", ["'a5'", "'51'"]),
    ],
    "k": [
        ("k % 2", ["0", "1", "-1"]),
        ("pmod(k, 3)", ["0", "2"]),
        ("k & 4", ["4", "0"]),
        ("CAST(k AS STRING)", ["'5'", "'-1'"]),
        ("CAST(k AS BIGINT) * 10", ["50", "-10"]),
        ("coalesce(k, 5)", ["5", "0"]),
    ],
}


def _on_a_function(random: Random, column: str) -> str:
    function, values = random.choice(_COMPUTED[column])
    kind = random.random()
    if kind < 0.1:
        return f"{function} IS {random.choice(['', 'NOT '])}NULL"
    if kind < 0.3:
        return f"{function} {random.choice(['', 'NOT '])}IN ({', '.join(values)})"
    return f"{function} {random.choice(_OPERATORS)} {random.choice(values)}"


def _membership(random: Random, column: str) -> str:
    style = (
        "plain" if column == "b" else random.choice(_STYLES[column])
    )  # booleans IN strings are refused without ANSI
    size = random.choice([1, 1, 2, 3, 4, 12])
    elements = [_spelled(random, column, style) for _ in range(size)]
    if random.random() < 0.1:
        elements.append("NULL")
    return f"{column} {random.choice(['', '', 'NOT '])}IN ({', '.join(elements)})"


def _like(random: Random, column: str) -> str:
    pattern = random.choice(
        [
            "a%",
            "ab%",
            "eu%",
            "eu-%",
            "%",
            "%%",
            "e",
            "eu",
            "a\\\\%b%",
            "a\\\\_b",
            "a%b",
            "_b%",
            "é%",
            "\ud7ff%",
            "\U0001f600%",
            "",
        ]
    )
    escape = ""
    if random.random() < 0.15:
        pattern, escape = random.choice(
            [("a!%%", " ESCAPE '!'"), ("a!_b", " ESCAPE '!'"), ("a/%b%", " ESCAPE '/'")]
        )
    return f"{column} {random.choice(['', '', 'NOT '])}LIKE '{pattern}'{escape}"


_STYLES = {
    "b": ["plain", "string"],
    "y": ["plain", "string", "typed"],
    "k": ["plain", "plain", "string", "typed", "decimal", "double"],
    "l": ["plain", "string", "typed", "decimal"],
    "d2": ["plain", "decimal", "typed"],
    "d38": ["plain", "typed"],
    "f": ["plain", "double"],
    "g": ["plain", "double", "typed"],
    "s": ["string"],
    "v": ["string"],
    "p": ["string"],
    "d": ["string", "typed", "cast", "shifted"],
    "ts": ["typed", "zoned", "string", "day"],
    "n": ["ntz", "string", "day"],
    "x": ["plain"],
}


_DECIMALS = {
    "plain": ["0", "1", "-1", "2", "5"],
    "decimal": ["1.5", "1.555", "0.01", "-0.010", "5.01BD"],
    "typed": ["CAST('1' AS DECIMAL(12,2))", "CAST('-1' AS DECIMAL(12,2))", "CAST('5' AS DECIMAL(12,2))"],
}
_FLOATS = {
    "plain": ["0", "1", "1.5", "0.1", "-0.0", "5"],
    "double": ["0.1D", "-0.0D", "1.5e0", "1e300"],
    "typed": ["DOUBLE('NaN')", "CAST(1.5 AS DOUBLE)"],
}
_NUMBERS_BY_STYLE = {"d2": _DECIMALS, "d38": _DECIMALS, "f": _FLOATS, "g": _FLOATS}


def _literal(random: Random, column: str) -> str:
    return _spelled(random, column, random.choice(_STYLES[column]))


def _spelled(random: Random, column: str, style: str) -> str:  # noqa: PLR0911 - one style a line
    value = random.choice(VALUES[column])
    if column in ("s", "v", "p"):
        return _quoted(value)
    if column == "b":
        return value if style == "plain" else f"'{value}'"
    if column in ("y", "k", "l"):
        if style == "string":
            return f"'{value}'"
        if style == "typed":
            suffix = {"y": "Y", "k": random.choice(["L", ""]), "l": "L"}[column]
            return f"{value}{suffix}" if value != "-9223372036854775808" else "-5L"
        if style == "decimal":
            return f"{value}.{random.choice(['0', '5', '50', '25BD'])}" if len(value) < 12 else "1.5"
        if style == "double":
            return random.choice(["1e0", "5e0", "4.5D", "-1e0", "1.5e1"])
        return value if value != "-9223372036854775808" else "-5"
    if column in _NUMBERS_BY_STYLE:
        return random.choice(_NUMBERS_BY_STYLE[column][style])
    if column == "d":
        days = {"string": f"'{value}'", "typed": f"DATE '{value}'", "cast": f"CAST('{value}' AS DATE)"}
        return days.get(
            style, f"DATE '2026-11-19' {random.choice('+-')} INTERVAL {random.choice([1, 2, 42])} DAY"
        )
    if style == "day":
        return f"DATE '{random.choice(['2026-11-19', '2026-11-20', '1970-01-01'])}'"
    if style == "zoned":
        return f"TIMESTAMP '{value}{random.choice(['Z', '+01:00', '-05:00'])}'"
    return {"typed": f"TIMESTAMP '{value}'", "string": f"'{value}'", "ntz": f"TIMESTAMP_NTZ '{value}'"}[style]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_CONSTANTS = ["true", "false", "NULL", "1 = 0", "1 = 1", "'a' < 'b'", "NULL = 1", "1 <=> NULL", "NOT true"]

_NOT_PLAIN = [
    "s = 5",
    "s IN (5, 6)",
    "s < 5",
    "k = '5.7'",
    "k IN ('05', '6')",
    "k IN (5, '6')",
    "y < '300'",
    "y = '300'",
    "d = '2026-11-19 10:00:00'",
    "d = '2026'",
    "d IN ('2026-1-9', '2026-11-19')",
    "d IN (DATE '2026-11-19', '2026-11-20')",
    "d = TIMESTAMP '2026-11-19 00:00:00'",
    "ts IN ('2026-11-19', '2026-11-20')",
    "ts IN (DATE '2026-11-19', '2026-11-20 00:00:00')",
    "ts NOT IN ('2026-11-19 00:00:00', '2026-11-20 00:00:00')",
    "n = TIMESTAMP '2026-11-19 00:00:00'",
    "n >= TIMESTAMP '2026-03-08 03:30:00'",
    "d38 = 1.5",
    "d38 < 1.23456789",
    "d2 = '1.5'",
    "d2 = 1.5e0",
    "l = 9007199254740993e0",
    "l < 1e0",
    "l IN (1, 5e0)",
    "k IN (2e0, 0.99999999999999999999)",
    "k = 16777217F",
    "k < 16777217F",
    "f = 16777217",
    "f IN (1, 16777217)",
    "g IN ('1.5', '5')",
    "g = '1.5'",
    "b = 't'",
    "b = 1",
    "b IN ('true')",
    "s = true",
    "s = DATE '2026-11-19'",
    "d LIKE '2026-11%'",
    "k LIKE '1%'",
    "s LIKE 'a%b'",
    "length(s) = 2",
    "k + 1 = 6",
    "k = y",
    "upper(s) = 'A'",
    "s RLIKE '^a'",
    "s ILIKE 'a%'",
    "s LIKE ANY ('a%', 'b%')",
    "s NOT LIKE ALL ('a%', 'b%')",
    "year(d) = 2026",
    "CASE WHEN k = 5 THEN b ELSE s = 'a' END",
    "if(b, k = 5, k = 6)",
    "coalesce(b, false)",
    "CASE WHEN k = 5 THEN 'x' WHEN b THEN 'y' END = 'y'",
    "CASE WHEN k = 5 THEN 'x' WHEN b THEN 'y' ELSE NULL END <> 'y'",
    "CASE WHEN b THEN 1 WHEN d IS NULL THEN 2 ELSE 3 END < 3",
    "CASE k WHEN 5 THEN 'x' ELSE 'y' END = 'x'",
    "if(k > 5, true, b)",
    "if(k > 5, 'a', 'b') = 'b'",
    "coalesce(k, 5) = 5",
    "coalesce(s, 'a') <> 'a'",
    "coalesce(s, 'a') = 'b'",
    "nvl(l, 1) > 0",
    "(k, s) IN ((5, 'a'), (6, 'b'))",
    "(s, k, y) IN (('a', 5, 5), ('', 6, 5))",
    "(s, k) NOT IN (('a', 5))",
    "(s, d) IN (('a', '2026-11-19'))",
    "(p, k) IN (('eu', 5), (NULL, 6))",
    "CAST(k AS STRING) = '5'",
    "CAST(y AS STRING) = '300'",
    "CAST(l AS STRING) = '05'",
    "d = TIMESTAMP '2026-11-19'",
    "d = TIMESTAMP '2026-11-19 00:00:00.1'",
    "b = (k = 5)",
    "(k = 5) = (y = 5)",
    "b <=> (k = 5)",
    "(k, y) IN ((5, 5), (6, 6))",
    "s || 'a' = 'aa'",
    "s = 'a' 'b'",
    "s = 'it''s'",
    "s = r'a\\b'",
    'g = "1.5"',
    's = "it\'s"',
    "x = 'a'",
    "s = 'a\\u0062'",
    "s = 'a\\z'",
    "s > 'a\\\\b'",
    "s = CAST('a' AS VARCHAR(1))",
    "k = CAST('5' AS INT)",
    "k = CAST(5.5 AS INT)",
    "k BETWEEN '4' AND 6.5",
    "k IS DISTINCT FROM 5",
    "k IS NOT DISTINCT FROM 5",
    "exists(array(k), z -> z = 5)",
    "element_at(array(k), 1) = 5",
    "- k = 5",
    "k = - 5",
    "k = - - 5",
    "k = +5",
    "k = 5 = true",
    "k > 4 = b",
    "NOT b = true",
    "k = 5 IS NULL",
    "k = 5 IS TRUE",
    "k = 5 IS NOT FALSE",
    "s IS NULL = b",
    "k IN (5) = true",
    "k BETWEEN 1 AND 5 = true",
    "s LIKE 'a%' = true",
    "true = s LIKE 'a%'",
    "k <=> 5 = true",
    "true <=> s LIKE 'a%'",
    "NOT (true <=> s LIKE 'a%')",
    "b BETWEEN false AND true = true",
    "b BETWEEN false AND false <=> true",
    "true = b IN (true)",
    "true = k > 4",
    "b = NOT b",
    "b <> NOT b",
    "NOT k IS DISTINCT FROM 5",
    "NOT s LIKE 'a!%%' ESCAPE '!'",
    "b IS UNKNOWN",
    "b IS NOT UNKNOWN",
    "k = 1 + 4",
    "k = 2 * 3 - 1",
    "k & 4 = 4",
    "k = 5 | 0",
    "- k < 5 AND NOT b",
    "k BETWEEN 1 AND 5 OR k BETWEEN 6 AND 7 AND b",
    "k BETWEEN 1 AND NULL",
    "k NOT BETWEEN NULL AND 4",
    "d > '10000-01-01'",
    "ts > '10:00:00'",
    "ts = '2026-11-19T00:00:00 Europe/Berlin'",
    "ts = '2026-11-19 0:0:0'",
    "ts > TIMESTAMP '2026-11-19'",
    "n > TIMESTAMP_NTZ '2026-11-19 00:00:00.1234567'",
    "d = current_date()",
    "ts <= now()",
    "rand() < 0.5",
]


def not_plain() -> list[Condition]:
    """Every condition that casts columns or isn't understood, once."""
    return [Condition(text, plain=False) for text in _NOT_PLAIN]

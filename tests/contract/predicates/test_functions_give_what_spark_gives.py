"""Held against real Spark: what the evaluator knows of a value, Spark gives, and without an error."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import pytest
from sqlglot import exp

from contract.harness.tables import Asked, Question
from contract.predicates.terms import COLUMNS, rows, terms
from sluice.predicates import Column, Table
from sluice.predicates.columns import Kind
from sluice.predicates.computed import Call, ComputedColumn, Expression
from sluice.predicates.functions import NAMES, UnknownValueError, Value
from sluice.predicates.literals import day_of, day_text, moment_text
from sluice.predicates.syntax import condition_in
from sluice.predicates.terms import computed
from sluice.predicates.text import quoted

TABLE = Table.of(COLUMNS, COLUMNS)
ROWS = rows()
TERMS_A_TABLE = 80


@dataclass(frozen=True)
class Setting:
    ansi: bool
    time_zone: str


def test_each_function_is_held_against_spark() -> None:
    called = {name for text in terms() for name in _names(_column(text, "UTC").expression)}
    assert called == NAMES


@pytest.mark.timeout(600)
@pytest.mark.parametrize("setting", [Setting(True, "America/New_York")], ids=str)
def test_what_is_known_of_a_value_is_what_spark_gives(asked: Asked, setting: Setting) -> None:
    _hold_against(asked, setting)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "setting",
    [
        Setting(False, "UTC"),
        Setting(False, "Pacific/Apia"),
        Setting(True, "America/Sao_Paulo"),
        Setting(True, "Asia/Kolkata"),
    ],
    ids=str,
)
def test_what_is_known_of_a_value_is_what_spark_gives_in_other_zones(asked: Asked, setting: Setting) -> None:
    _hold_against(asked, setting)


def _hold_against(asked: Asked, setting: Setting) -> None:
    name = uuid4().hex[:8]
    made = asked(Question(name, statements=(f"CREATE TABLE {{table}} USING delta AS {_rows_in_sql()}",)))
    assert made.refused is None, made.refused
    wrong: list[str] = []
    settings = (
        f"SET spark.sql.ansi.enabled = {str(setting.ansi).lower()}",
        f"SET spark.sql.session.timeZone = {setting.time_zone}",
    )
    every = terms()
    for number, start in enumerate(range(0, len(every), TERMS_A_TABLE)):
        some = every[start : start + TERMS_A_TABLE]
        columns = [_column(text, setting.time_zone) for text in some]
        known = [[_shown(column, row) for row in ROWS] for column in columns]
        answers = f"{name}-{number}"
        asks = ", ".join(
            f"CASE WHEN substring('{_mask(values)}', i + 1, 1) = '1' THEN CAST({text} AS STRING) END AS c{place}"
            for place, (text, values) in enumerate(zip(some, known, strict=True))
        )
        casts = ", ".join(f"CAST({column} AS {type_}) AS {column}" for column, type_ in COLUMNS.items())
        source = f"(SELECT i, {casts} FROM delta.`{asked.folder / name}`)"
        query = (
            f"INSERT OVERWRITE DIRECTORY '{asked.folder / answers}' USING json SELECT i, {asks} FROM {source}"
        )
        answer = asked(Question(answers, statements=(*settings, query)))
        assert answer.refused is None, answer.refused
        lines = [
            line
            for part in (asked.folder / answers).glob("*.json")
            for line in part.read_text("utf-8").splitlines()
        ]
        found = {answer["i"]: answer for answer in map(json.loads, lines)}
        assert len(found) == len(ROWS)
        wrong += [
            f"{text} of {ROWS[i]}: Spark says {spark!r}, we {value[0]!r}"
            for place, text in enumerate(some)
            for i, value in enumerate(known[place])
            if value is not None and (spark := found[i].get(f"c{place}")) != value[0]
        ]
    assert wrong == [], "\n".join([f"{len(wrong)} are wrong", *wrong[:40]])


def _mask(values: Sequence[tuple[str | None] | None]) -> str:
    return "".join("0" if value is None else "1" for value in values)


def _column(text: str, time_zone: str) -> ComputedColumn:
    tree = condition_in(text)
    assert isinstance(tree, exp.Expr)
    found = computed(tree, _resolved, time_zone)
    assert isinstance(found, ComputedColumn), f"{text} is not understood"
    return found


def _resolved(node: exp.Column) -> Column:
    column = TABLE.find(node.name)
    assert column is not None
    return column


def _names(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function.name}.union(*map(_names, expression.arguments))


def _shown(column: ComputedColumn, row: Mapping[str, str | None]) -> tuple[str | None] | None:
    """The value as Spark casts it to text; None if it's not known."""
    coded = {base.axis: _coded(base, row[base.name]) for base in column.bases}
    try:
        value = column.value(coded)
    except UnknownValueError:
        return None
    return (None if value is None else _text(column.type.kind, value),)


def _coded(column: Column, text: str | None) -> Value:
    if text is None or column.type.kind is Kind.STRING:
        return text
    return day_of(text) if column.type.kind is Kind.DATE else int(text)


def _text(kind: Kind, value: int | str) -> str:
    if isinstance(value, str):
        return value
    match kind:
        case Kind.DATE:
            return day_text(value)
        case Kind.TIMESTAMP:
            return moment_text(value)
        case Kind.BOOLEAN:
            return str(bool(value)).lower()
    return str(value)


def _rows_in_sql() -> str:
    cells = [
        ", ".join([str(i), *("NULL" if row[name] is None else quoted(str(row[name])) for name in COLUMNS)])
        for i, row in enumerate(ROWS)
    ]
    values = ", ".join(f"({cell})" for cell in cells)
    return f"SELECT * FROM VALUES {values} AS t (i, {', '.join(COLUMNS)})"

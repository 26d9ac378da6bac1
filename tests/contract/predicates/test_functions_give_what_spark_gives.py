"""Held against real Spark: what the evaluator knows of a value, Spark gives, and without an error."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from sqlglot import exp

from contract.harness.tables import Asked
from contract.predicates.answers import Answers, Ask, share
from contract.predicates.terms import COLUMNS, doubtful_terms, rows, terms
from sluice.predicates import Column, PredicateError, Table
from sluice.predicates.columns import Kind
from sluice.predicates.computed_columns import Call, ComputedColumn, Expression
from sluice.predicates.functions import NAMES, UnknownValueError, Value
from sluice.predicates.literals import day_of, day_text, moment_text
from sluice.predicates.syntax import condition_in
from sluice.predicates.terms import computed, may_be_computed

TABLE = Table.of(COLUMNS, COLUMNS)
ROWS = rows()
REFUSALS = (
    *("[DATATYPE_MISMATCH", "[INDETERMINATE_COLLATION", "[INVALID_EXTRACT_FIELD", "[PARSE_SYNTAX_ERROR"),
    "[INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
)
"""How Spark begins when it refuses an expression for any row: then it doesn't matter what the value would be."""


@dataclass(frozen=True)
class Setting:
    ansi: bool
    time_zone: str


def test_each_function_is_held_against_spark() -> None:
    columns = [column for text in terms() if (column := _column(text, "UTC")) is not None]
    made = [column.expression for column in columns if isinstance(column, ComputedColumn)]
    called = {name for expression in made for name in _names(expression)}
    assert called == NAMES


@pytest.mark.timeout(600)
def test_what_is_known_of_a_value_is_what_spark_gives(asked: Asked, delta: str) -> None:
    """Each Spark in its own default mode, with all terms, and with its share of the doubtful ones that both know."""
    newer = delta == "4.4.0"
    common = doubtful_terms(newer=False)
    own = [text for text in doubtful_terms(newer=newer) if text not in common]
    setting = Setting(newer, "America/New_York")
    _hold_against(asked, setting, terms(), [*share(common, delta), *own])


@pytest.mark.long(minutes=2)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "setting",
    [
        Setting(False, "America/New_York"),
        Setting(False, "UTC"),
        Setting(False, "Pacific/Apia"),
        Setting(True, "America/New_York"),
        Setting(True, "America/Sao_Paulo"),
        Setting(True, "Asia/Kolkata"),
    ],
    ids=str,
)
def test_what_is_known_of_a_value_is_what_spark_gives_in_other_zones(
    asked: Asked, delta: str, setting: Setting
) -> None:
    _hold_against(asked, setting, terms(), doubtful_terms(newer=delta == "4.4.0"))


def _hold_against(asked: Asked, setting: Setting, must: list[str], may: list[str]) -> None:
    columns = {text: _column(text, setting.time_zone) for text in (*must, *may)}
    not_understood = [text for text in must if columns[text] is None]
    assert not_understood == []
    known = {
        text: [_shown(column, row) for row in ROWS] for text, column in columns.items() if column is not None
    }
    asks = [Ask(text, "".join("01"[value is not None] for value in values)) for text, values in known.items()]
    casts = {column: f"CAST({column} AS {type_})" for column, type_ in COLUMNS.items()}
    answers = Answers(asked, casts, ROWS, ansi=setting.ansi, time_zone=setting.time_zone).to(asks)
    wrong = []
    for (text, values), said in zip(known.items(), answers, strict=True):
        if isinstance(said, str):
            if text in must or not said.startswith(REFUSALS):
                wrong.append(f"{text}: Spark says {said}")
            continue
        differ = [
            f"{text} of {ROWS[i]}: Spark says {said.get(i)!r}, we {value[0]!r}"
            for i, value in enumerate(values)
            if value is not None and said.get(i) != value[0]
        ]
        wrong += differ[:1]
    assert wrong == [], "\n".join([f"{len(wrong)} terms are wrong", *wrong[:60]])


def _column(text: str, time_zone: str) -> Column | None:
    """None if it isn't understood; the column itself where a cast leaves it as it is."""
    try:
        tree = condition_in(text)
    except PredicateError:
        return None
    assert isinstance(tree, exp.Expr)
    return computed(tree, _resolved, time_zone) if may_be_computed(tree) else None


def _resolved(node: exp.Column) -> Column:
    column = TABLE.find(node.name)
    assert column is not None
    return column


def _names(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function.name}.union(*map(_names, expression.arguments))


def _shown(column: Column, row: Mapping[str, str | None]) -> tuple[str | None] | None:
    """The value as Spark casts it to text; None if it's not known."""
    if not isinstance(column, ComputedColumn):
        return (row[column.name],)
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

"""Reads a condition into a predicate, node by node, by Spark's rules: sqlglot is only asked for syntax, not for meaning.

Every node and every one of its arguments must be known; a single unknown one makes its part `Anything`, with the
reason. Names are checked even in parts that aren't understood, so that a misspelled column is refused instead of
widening the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial

from sqlglot import exp

from sluice.predicates import atoms, coercion, days, limits, terms
from sluice.predicates.columns import Column, Kind, Table
from sluice.predicates.computed_columns import ComputedColumn, Searches, on_its_column
from sluice.predicates.errors import PredicateError
from sluice.predicates.functions import UnknownValueError, midnight
from sluice.predicates.literals import Literal, LiteralKind, Widening
from sluice.predicates.normal_form import plainly
from sluice.predicates.reason_texts import position, reason
from sluice.predicates.scope import Scope
from sluice.predicates.session import Session
from sluice.predicates.source_text import SourceText, source_of
from sluice.predicates.syntax import condition_in, conjuncts
from sluice.predicates.tree import (
    Anything,
    IsNull,
    IsTrue,
    Not,
    Predicate,
    TruthValue,
    conjunction,
    disjunction,
)

_UNKNOWN_SESSION = Session()

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>",
}
_NEGATED = (exp.NEQ, exp.NullSafeNEQ)
_CONDITIONS = (*_COMPARISONS, exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Like, exp.Escape, exp.Is)
_BY_DAY = (*_COMPARISONS, exp.In, exp.Between)
"""Conditions that are read once for each day that current_date() may be."""
_NULL_TESTS = ("isnull", "isnotnull")
_OWN_SCOPE = (exp.Query, exp.Lambda, exp.DataType)
"""Nodes whose names are none of the table's columns: those of a type are collations and fields."""


def parse(
    condition: str | exp.Expr,
    table: Table,
    *,
    session: Session = _UNKNOWN_SESSION,
    names: Collection[str] = (),
    others: Collection[str] | None = (),
) -> Predicate:
    """The predicate that a Spark SQL condition states about rows of `table`.

    `names`: how the statement may call the table (its alias, or its name, dotted). `others`: the names of other relations
    in scope, such as a MERGE's source; None if they aren't known. Columns of those may have any value.
    """
    reader = _Reader(Scope(table, session, names, others), session)
    if isinstance(condition, str):
        parsed = condition_in(condition)
        return Anything(parsed) if isinstance(parsed, str) else reader.read(parsed)
    return reader.read(condition)


class _Reader:
    def __init__(self, scope: Scope, session: Session) -> None:
        self._scope = scope
        self._session = session
        self._budget = limits.MAX_TOKENS
        self._depth = 0
        self._written: exp.Expr | None = None
        self._is_plain = False
        self._on_its_column = partial(on_its_column, searches=Searches())

    def read(self, node: exp.Expr) -> Predicate:
        self._written = node
        try:
            return conjunction([self._conjunct(part) for part in conjuncts(node)])
        except RecursionError:
            return Anything("the condition is nested too deeply")

    def _conjunct(self, node: exp.Expr) -> Predicate:
        """Reads a conjunct as one part, even if its plain form has several: engines see the form that was written."""
        plain = plainly(node, self._kind_of)
        if plain is None:
            return self._predicate(node)
        self._is_plain = True
        found = IsTrue(self._predicate(plain))
        self._is_plain = False
        return found

    @cached_property
    def _source(self) -> SourceText | None:
        return None if self._written is None else source_of(self._written)

    def _kind_of(self, node: exp.Column) -> Kind | None:
        column = self._scope.column(node)
        return column.type.kind if isinstance(column, Column) else None

    # ------------------------------------------------------------------------------------------------------- conditions

    def _predicate(self, node: exp.Expr) -> Predicate:
        self._budget -= 1
        if self._budget < 0 or self._depth > 2 * limits.MAX_NESTING:
            return Anything("the condition is too large")
        self._depth += 1
        try:
            if self._says_another_thing_each_day(node):
                found = self._by_day(node)
            else:
                handler = _HANDLERS.get(type(node))
                found = handler(self, node) if handler else None
        finally:
            self._depth -= 1
        return self._anything(node) if found is None else found

    def _says_another_thing_each_day(self, node: exp.Expr) -> bool:
        return bool(self._session.days) and isinstance(node, _BY_DAY) and days.is_said_in(node)

    def _by_day(self, node: exp.Expr) -> Predicate | None:
        return days.any_of(self._predicate(days.on(day, node)) for day in self._session.days)

    def _group(self, node: exp.Expr) -> Predicate:
        combine = conjunction if isinstance(node, exp.And) else disjunction
        return combine([self._predicate(part) for part in _operands(node)])

    def _paren(self, node: exp.Expr) -> Predicate | None:
        return self._predicate(node.this) if _has_only(node, "this") else None

    def _not(self, node: exp.Expr) -> Predicate | None:
        return Not(self._predicate(node.this)) if _has_only(node, "this") else None

    def _constant(self, node: exp.Expr) -> Predicate | None:
        literal = self._literal(node)
        if isinstance(literal, Literal) and literal.kind in (LiteralKind.BOOLEAN, LiteralKind.NULL):
            return TruthValue(None if literal.value is None else bool(literal.value))
        return None

    def _bare_column(self, node: exp.Expr) -> Predicate | None:
        column = self._column(node)
        return self._is_set(column) if isinstance(column, Column) else None

    def _is_set(self, column: Column) -> Predicate | None:
        return self._on_its_column(atoms.is_set(column)) if column.type.kind is Kind.BOOLEAN else None

    def _comparison(self, node: exp.Expr) -> Predicate | None:
        if not _has_only(node, "this", "expression"):
            return None
        found = self._compared(node.this, _COMPARISONS[type(node)], node.expression)
        return Not(found) if found is not None and isinstance(node, _NEGATED) else found

    def _compared(self, left: exp.Expr, operator: str, right: exp.Expr) -> Predicate | None:
        # Only parentheses on the left tell what is compared: sqlglot reads `s LIKE 'a%' = true` differently from Spark,
        # and puts parentheses of its own around conditions on the right.
        is_grouped = isinstance(left, exp.Paren)
        left, right = left.unnest(), right.unnest()
        literal = self._literal(right)
        if literal is None:
            literal = self._literal(left)
            if literal is None or _is_condition(right):
                return None
            left, right, operator = right, left, atoms.FLIPPED[operator]
        if isinstance(literal, Widening):
            return self._widened(left, literal)
        if _is_condition(left):
            return self._condition_compared(left, operator, literal) if is_grouped else None
        column = self._column(left)
        if column is not None:
            return self._column_compared(left, column, operator, literal)
        other = self._literal(left)
        return _folded(other, operator, literal) if isinstance(other, Literal) else None

    def _column_compared(
        self, node: exp.Expr, column: Column | Widening, operator: str, literal: Literal
    ) -> Predicate:
        if isinstance(column, Widening):
            return Anything(column.reason)
        if literal.kind is LiteralKind.NULL:
            return self._on_its_column(atoms.with_null(column, operator))
        try:
            place = _midnight(column, literal, self._session) or coercion.place(
                column, literal, self._session.time_zone, as_text=False
            )
        except coercion.TypeNonsenseError as error:
            raise PredicateError(str(error), *position(node)) from error
        if isinstance(place, Widening):
            return Anything(place.reason)
        return self._on_its_column(atoms.comparison(column, operator, literal, place))

    def _condition_compared(self, node: exp.Expr, operator: str, literal: Literal) -> Predicate | None:
        """Reads `(condition) = true` and its like."""
        if literal.kind is LiteralKind.NULL:
            return IsNull(self._predicate(node)) if operator == "<=>" else TruthValue(None)
        if literal.kind is not LiteralKind.BOOLEAN or operator not in ("=", "<=>"):
            return None
        part = self._predicate(node)
        if not literal.value:
            part = Not(part)
        return IsTrue(part) if operator == "<=>" else part

    def _between(self, node: exp.Expr) -> Predicate | None:
        if not _has_only(node, "this", "low", "high"):
            return None
        if terms.may_be_computed(node.this.unnest()):
            return None  # Spark may compute the function first, for both comparisons, and leave Delta without them
        low = self._compared(node.this, ">=", node.args["low"])
        high = self._compared(node.this, "<=", node.args["high"])
        return None if low is None or high is None else conjunction([low, high])

    def _in(self, node: exp.Expr) -> Predicate | None:
        column = self._column(node.this.unnest())
        if (
            not isinstance(column, Column)
            or not _has_only(node, "this", "expressions")
            or not node.expressions
        ):
            return self._widened(node, column) if isinstance(column, Widening) else None
        elements: list[Literal] = []
        for element in node.expressions:
            self._budget -= 1
            literal = self._literal(element)
            if not isinstance(literal, Literal):
                return self._widened(node, literal) if literal else None
            elements.append(literal)
        values = [element for element in elements if element.kind is not LiteralKind.NULL]
        try:
            places = coercion.places(column, values, self._session.time_zone, ansi=self._session.ansi)
        except coercion.TypeNonsenseError as error:
            raise PredicateError(str(error), *position(node)) from error
        if isinstance(places, Widening):
            return Anything(places.reason)
        has_null = len(values) < len(elements)
        if column.type.kind is not Kind.FLOATING or atoms.FLOAT_ZERO not in places:
            return self._on_its_column(atoms.membership(column, elements, places, has_null=has_null))
        others = atoms.membership(
            column, elements, [p for p in places if p != atoms.FLOAT_ZERO], has_null=has_null
        )
        zero = atoms.comparison(column, "=", Literal(LiteralKind.DOUBLE, 0.0), atoms.FLOAT_ZERO)
        unsure = Anything(f"{column.name} IN a list with 0: Spark may or may not find -0.0 in it")
        return disjunction([others, conjunction([zero, unsure])])

    def _escape(self, node: exp.Expr) -> Predicate | None:
        escape = self._literal(node.expression)
        if (
            not isinstance(node.this, exp.Like)
            or not isinstance(escape, Literal)
            or not isinstance(escape.value, str)
        ):
            return None
        return self._pattern(node.this, escape.value) if _has_only(node, "this", "expression") else None

    def _like(self, node: exp.Expr) -> Predicate | None:
        return self._pattern(node, "\\")

    def _pattern(self, node: exp.Expr, escape: str) -> Predicate | None:
        column = self._column(node.this.unnest())
        pattern = self._literal(node.expression)
        if not isinstance(column, Column) or not isinstance(pattern, Literal):
            return None
        if column.type.kind not in (Kind.STRING, Kind.DATE) or not _has_only(
            node, "this", "expression", "negate"
        ):
            return None
        if pattern.kind is LiteralKind.NULL:
            found: Predicate = self._on_its_column(atoms.with_null(column, "LIKE"))
        else:
            prefix = _prefix(str(pattern.value), escape) if isinstance(pattern.value, str) else None
            if prefix is None:
                return None
            text, is_open = prefix
            if column.type.kind is Kind.DATE:
                place = coercion.days_written_as(column, text, is_open=is_open)
            else:
                place = coercion.place(column, Literal(LiteralKind.STRING, text), None, as_text=False)
            if isinstance(place, Widening):
                return Anything(place.reason)
            if column.type.kind is Kind.DATE:
                found = self._on_its_column(atoms.written_as(column, place, pattern))
            elif is_open:
                found = self._on_its_column(atoms.starts_with(column, text, pattern))
            else:
                found = self._on_its_column(atoms.comparison(column, "=", pattern, place))
        return Not(found) if node.args.get("negate") else found

    def _is(self, node: exp.Expr) -> Predicate | None:
        if not _has_only(node, "this", "expression"):
            return None
        subject, truth = node.this.unnest(), node.expression
        if isinstance(truth, exp.Null):
            return self._null_test(subject)
        if not isinstance(truth, exp.Boolean):
            return None
        part = self._predicate(subject)
        return IsTrue(part if truth.this else Not(part))

    def _null_test(self, subject: exp.Expr) -> Predicate | None:
        column = self._column(subject)
        if isinstance(column, Widening):
            return Anything(column.reason)
        if column is not None:
            return self._on_its_column(atoms.is_null(column))
        if _is_condition(subject):
            return IsNull(self._predicate(subject))
        literal = self._literal(subject)
        return TruthValue(literal.kind is LiteralKind.NULL) if isinstance(literal, Literal) else None

    def _function(self, node: exp.Expr) -> Predicate | None:
        name = node.name.lower()
        if name not in _NULL_TESTS or len(node.expressions) != 1:
            return None
        found = self._null_test(node.expressions[0].unnest())
        return Not(found) if found is not None and name == "isnotnull" else found

    # ---------------------------------------------------------------------------------------------------------- scalars

    def _literal(self, node: exp.Expr) -> Literal | Widening | None:
        try:
            return terms.constant(node, self._session.time_zone)
        except PredicateError as error:
            raise PredicateError(error.message, *position(node)) from error

    def _column(self, node: exp.Expr) -> Column | Widening | None:
        if isinstance(node, exp.Column):
            return self._scope.column(node)
        if not terms.may_be_computed(node):
            return None
        return terms.computed(node, self._scope.column, self._session.time_zone)

    # ------------------------------------------------------------------------------------------------- what's not known

    def _widened(self, node: exp.Expr, widening: Widening) -> Anything:
        self._check_names(node)
        return Anything(widening.reason)

    def _anything(self, node: exp.Expr) -> Anything:
        foreign = self._check_names(node)
        return Anything(foreign or reason(node, None if self._is_plain else self._source))

    def _check_names(self, node: exp.Expr) -> str | None:
        """Refuses unknown columns and parameters below `node`; returns why a column belongs to another relation."""
        foreign: str | None = None
        for part in node.walk(prune=lambda n: isinstance(n, _OWN_SCOPE)):
            self._budget -= 1
            if self._budget < 0:
                return "the condition is too large"
            if isinstance(part, exp.Column):
                found = self._scope.column(part)
                foreign = found.reason if isinstance(found, Widening) else foreign
            elif isinstance(part, exp.Placeholder):
                self._literal(part)
        return foreign


_Handler = Callable[[_Reader, exp.Expr], Predicate | None]
_HANDLERS: Mapping[type[exp.Expr], _Handler] = {
    **dict.fromkeys(_COMPARISONS, _Reader._comparison),
    exp.And: _Reader._group,
    exp.Or: _Reader._group,
    exp.Paren: _Reader._paren,
    exp.Not: _Reader._not,
    exp.Boolean: _Reader._constant,
    exp.Null: _Reader._constant,
    exp.Placeholder: _Reader._constant,
    exp.Column: _Reader._bare_column,
    exp.Between: _Reader._between,
    exp.In: _Reader._in,
    exp.Like: _Reader._like,
    exp.Escape: _Reader._escape,
    exp.Is: _Reader._is,
    exp.Anonymous: _Reader._function,
    **dict.fromkeys((exp.StartsWith, exp.EndsWith, exp.Contains), _Reader._bare_column),
}


def _midnight(column: Column, literal: Literal, session: Session) -> coercion.Place | None:
    """The place of a date among the midnights that a function makes of dates, in an unknown time zone."""
    if session.time_zone is not None or column.type.kind is not Kind.TIMESTAMP:
        return None
    if not isinstance(column, ComputedColumn) or literal.kind is not LiteralKind.DATE:
        return None
    try:
        code = midnight(int(str(literal.value)))
    except UnknownValueError:
        return None
    return code, code + 1


def _is_condition(node: exp.Expr) -> bool:
    return isinstance(node, _CONDITIONS) or (
        isinstance(node, exp.Anonymous) and node.name.lower() in _NULL_TESTS
    )


def _has_only(node: exp.Expr, *known: str) -> bool:
    """Whether only arguments are set whose meaning is known."""
    return all(name in known or not value for name, value in node.args.items())


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of a chain of ANDs (or ORs) from left to right, however deeply sqlglot has nested it."""
    kind = type(node)
    pending = [node]
    while pending:
        current = pending.pop()
        if type(current) is kind:
            pending.append(current.args["expression"])
            pending.append(current.this)
        else:
            yield current


def _prefix(pattern: str, escape: str) -> tuple[str, bool] | None:
    """Returns (text, ends with %) for a LIKE pattern that is only a prefix or a whole text; None for any other."""
    text: list[str] = []
    rest = iter(enumerate(pattern))
    for i, char in rest:
        if char == escape:
            _, escaped = next(rest, (0, ""))
            if escaped not in ("%", "_", escape):
                return None
            text.append(escaped)
        elif char == "%":
            return ("".join(text), True) if set(pattern[i:]) == {"%"} else None
        elif char == "_":
            return None
        else:
            text.append(char)
    return "".join(text), False


_COMPARABLE = (LiteralKind.INTEGER, LiteralKind.STRING, LiteralKind.BOOLEAN, LiteralKind.DATE)


def _folded(left: Literal, operator: str, right: Literal) -> Predicate | None:
    """The value of a comparison of two constants where nothing is coerced."""
    nulls = [left, right].count(Literal(LiteralKind.NULL, None))
    if nulls:
        return TruthValue(nulls == 2) if operator == "<=>" else TruthValue(None)
    a, b = left.value, right.value
    if left.kind is not right.kind or left.kind not in _COMPARABLE:
        return None
    less, equal = a < b, a == b  # type: ignore[operator]
    answers = {
        "=": equal,
        "<=>": equal,
        "<": less,
        "<=": less or equal,
        ">": not (less or equal),
        ">=": not less,
    }
    return TruthValue(answers[operator])

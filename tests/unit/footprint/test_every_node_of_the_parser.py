"""Whatever else the parser can put into a statement than what is listed as understood, its rows land anywhere."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlglot import exp

from sluice.footprint import NotUnderstoodError, split
from sluice.footprint.sql.nodes import PROJECTIONS, RELATIONS, SCALARS, UNDERSTOOD, stranger
from sluice.footprint.sql.statement_context import StatementContext, Surroundings
from sluice.footprint.statements import insert, merge
from sluice.footprint.statements.row_level_statements import against_rows
from sluice.predicates.syntax import statement_in, tokens_of
from sluice.tables import key_of_path
from unit.footprint.landing import FACTS, SOURCE, TARGET

T = key_of_path("/lake/t")
DAY = "DATE '2026-11-19'"
QUERIES = [
    f"SELECT id, {DAY} AS date FROM {{s}} AS s WHERE s.n = 1",
    "SELECT s.*, x FROM {s} AS s LEFT JOIN {o} AS o ON s.id = o.id LATERAL VIEW explode(s.xs) e AS x "
    f"WHERE s.date = {DAY} GROUP BY ALL HAVING count(*) > 1 ORDER BY id LIMIT 3",
    f"WITH a (id, date) AS (SELECT DISTINCT id, {DAY} FROM {{s}} GROUP BY id, ts) SELECT * FROM a",
    f"SELECT date, posexplode(xs) AS (p, q) FROM (SELECT * FROM {{s}} VERSION AS OF 3 WHERE date = {DAY}) AS a",
    f"SELECT {DAY} AS date UNION ALL SELECT {DAY} EXCEPT SELECT {DAY} INTERSECT SELECT {DAY}",
    f"SELECT * FROM VALUES (1, {DAY}), (2, {DAY}) AS v (id, date)",
    f"SELECT * EXCEPT (x), CASE WHEN id IN (1, -2) THEN 'a' END AS x FROM {{t}} WHERE date = {DAY} AND n + 1 > 2",
    f"SELECT sum(n) OVER (PARTITION BY id ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n, {DAY} AS date FROM {{s}}",
]
_KNOWN_TO_HIDE_NO_COLUMN = {exp.Table: frozenset({"joins", "pivots"})}
"""Relations whose columns aren't known: what WHERE and the list around them say of a column stays true of whatever has its
name."""
CLASSES = [
    found for found in vars(exp).values() if inspect.isclass(found) and issubclass(found, exp.Expression)
]


def tree_of(query: str, table: str = "INSERT INTO {t} BY NAME ") -> exp.Expr:
    text = (table + query).format(t=TARGET, s=SOURCE, o="delta.`/lake/o`")
    return statement_in(tokens_of(text), text)


def is_narrow(tree: exp.Expr) -> bool:
    (statement,) = split(f"INSERT INTO {TARGET} SELECT 1")
    reading = StatementContext(statement, T, Surroundings(facts={T: FACTS}), end=5)
    reading.__dict__["tree"] = tree
    read = merge.merge if isinstance(tree, exp.Merge) else insert.insert
    try:
        return not read(reading).adds.is_everything
    except NotUnderstoodError:
        return False


@contextmanager
def with_set(node: exp.Expr, name: str, value: object) -> Iterator[None]:
    before = node.args.get(name)
    node.args[name] = value
    yield
    node.args[name] = before


def followed(tree: exp.Expr) -> Iterator[tuple[exp.Expr, frozenset[str]]]:
    """Nodes of the query, with what is understood of them by those who follow rows; the like of one in its like once only."""
    seen = set()
    for node in tree.args["expression"].walk():
        kind = (type(node), type(node.parent), node.arg_key)
        if kind not in seen and type(node) in UNDERSTOOD:
            seen.add(kind)
            known = UNDERSTOOD[type(node)]
            for closer in (RELATIONS, PROJECTIONS, SCALARS):
                if type(node) in closer:
                    known = closer[type(node)]
                    break
            yield node, known | _KNOWN_TO_HIDE_NO_COLUMN.get(type(node), frozenset())


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_understood_nodes_is_narrow(query: str) -> None:
    assert is_narrow(tree_of(query))


@pytest.mark.parametrize("query", QUERIES)
def test_an_argument_that_is_not_listed_leaves_rows_unknown(query: str) -> None:
    tree = tree_of(query)
    tried = 0
    for node, known in followed(tree):
        for name in sorted(set(type(node).arg_types) - known):
            tried += 1
            with with_set(node, name, exp.Var(this="unheard_of")):
                assert not is_narrow(tree), f"{type(node).__name__}.{name} in {query}"
    assert tried > 25
    assert is_narrow(tree)


@pytest.mark.parametrize("query", QUERIES)
def test_a_node_that_is_not_listed_leaves_rows_unknown(query: str) -> None:
    tree = tree_of(query)
    strangers = [found for found in CLASSES if found not in UNDERSTOOD and not issubclass(found, exp.Func)]
    assert len(strangers) > 300
    places = {(node.arg_key, type(node.parent)): node for node in tree.args["expression"].walk()}
    for number, stranger_class in enumerate(strangers):
        place = list(places.values())[number % len(places)]
        put = stranger_class(this=exp.Var(this="unheard_of"))
        holder, key, index = place.parent, place.arg_key, place.index
        assert holder is not None
        assert key is not None
        value = put if index is None else [*holder.args[key][:index], put, *holder.args[key][index + 1 :]]
        with with_set(holder, key, value):
            assert not is_narrow(tree), f"{stranger_class.__name__} for {place!r}"
    assert is_narrow(tree)


@pytest.mark.parametrize("listed", [RELATIONS, PROJECTIONS, SCALARS, UNDERSTOOD])
def test_what_is_listed_is_what_the_parser_has(listed: dict[type[exp.Expr], frozenset[str]]) -> None:
    assert not {
        node: names - set(node.arg_types) for node, names in listed.items() if names - set(node.arg_types)
    }


def test_arguments_of_clauses_and_statements_that_are_not_listed_are_refused_or_land_anywhere() -> None:
    tree = tree_of(
        f"USING (SELECT *, {DAY} AS date FROM {{s}}) AS s ON t.id = s.id "
        "WHEN MATCHED AND t.n = 1 THEN DELETE WHEN NOT MATCHED THEN INSERT (id, date) VALUES (s.id, s.date)",
        "MERGE INTO {t} AS t ",
    )
    assert isinstance(tree, exp.Merge)
    for node in tree.find_all(exp.Merge, exp.When, exp.Whens, exp.Insert):
        for name in set(type(node).arg_types) - UNDERSTOOD[type(node)]:
            with with_set(node, name, exp.Var(this="unheard_of")):
                assert not is_narrow(tree), f"{type(node).__name__}.{name}"


def test_a_condition_with_a_node_or_an_argument_that_is_not_listed_is_none_that_rows_are_told_by() -> None:
    (statement,) = split(f"DELETE FROM {TARGET} WHERE id = 1")
    reading = StatementContext(statement, T, Surroundings(facts={T: FACTS}), end=5)
    tree = statement_in(tokens_of("DELETE FROM t WHERE id IN (1, -2) AND n + 1 > 2"), "")
    condition = tree.args["where"]
    assert against_rows(reading, [condition]) is None
    for node in list(condition.walk()):
        for name in set(type(node).arg_types) - UNDERSTOOD[type(node)]:
            with with_set(node, name, exp.Var(this="unheard_of")):
                assert against_rows(reading, [condition]) is not None, f"{type(node).__name__}.{name}"
    strangers = [found for found in CLASSES if found not in UNDERSTOOD and not issubclass(found, exp.Func)]
    assert len(strangers) > 300
    for stranger_class in strangers:
        with with_set(condition, "this", stranger_class(this=exp.Var(this="unheard_of"))):
            assert against_rows(reading, [condition]) is not None, stranger_class.__name__


@pytest.mark.parametrize(
    "value",
    [
        "get_json_object(x, '$.a.b[0].c')",
        "sum(a) FILTER (WHERE b)",
        "listagg(a, ',') WITHIN GROUP (ORDER BY a)",
        "lag(a) IGNORE NULLS OVER (PARTITION BY b ORDER BY c DESC NULLS LAST)",
        "count(DISTINCT a)",
        "transform(xs, x -> x + 1)",
        "CAST(a AS STRUCT<x: INT, y: ARRAY<DECIMAL(10, 2)>>)",
        "a NOT LIKE 'x%' ESCAPE '!'",
        "a IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "INTERVAL '1-2' YEAR TO MONTH",
        "from_utc_timestamp(ts, 'UTC')",
        "CASE a WHEN 1 THEN b ELSE c END",
        "a.b.c.d.e",
        "xs[0] || m['x']",
        "date_add(a, 1)",
        "to_date(a, 'yyyy')",
        "trim(BOTH 'x' FROM a)",
        "extract(YEAR FROM a)",
        "a IS NOT DISTINCT FROM b",
    ],
)
def test_what_spark_s_expressions_are_made_of_is_known(value: str) -> None:
    assert stranger(tree_of(f"SELECT {value} AS x FROM {{s}}")) is None

import pytest

from sluice.predicates import PredicateError
from sluice.predicates.syntax import statement_in, tokens_of

WRONG = [
    (
        "DELETE FROM s3://lake/orders",
        "line 1, column 15: this is not a statement: ':' is not expected here; write a table's path in backticks: "
        "delta.`s3://...`",
    ),
    ("DELETE FROM t WHERE a = 1 ADN b = 2", "line 1, column 27: this is not a statement: 'ADN' is not expected here"),
    ("SELECT 1\n, coalesce(a, 0 FROM t", "line 2, column 17: this is not a statement: ) is missing at 'FROM'"),
    ("DELETE FROM t WHERE", "line 1, column 15: this is not a statement: something is missing at 'WHERE'"),
    ("INSERT INTO t SELECT * FROM", "line 1, column 24: this is not a statement: a table's name is missing at 'FROM'"),
    (
        "MERGE INTO t USING s ON t.i = s.i\nWHEN MATCHED THE UPDATE SET a = 1",
        "line 2, column 14: this is not a statement: 'THE' is not expected here",
    ),
    (
        "DELETE FROM t WHERE a = 1\nINSERT INTO t SELECT 1",
        "line 2, column 1: this is not a statement: 'INSERT' is not expected here; if INSERT begins another statement, "
        "a semicolon is missing before it",
    ),
    (
        "INSERT INTO t SELECT * FROM s\nOPTIMIZE t",
        "line 2, column 10: this is not a statement: 't' is not expected here; if OPTIMIZE begins another statement, "
        "a semicolon is missing before it",
    ),
    (
        "DELETE FROM t\nWHERE d = '2026-10-01\n",
        "line 2, column 11: this is not Spark SQL: the text in quotes that begins here has no closing '",
    ),
    (
        "DELETE FROM `t WHERE d = 1",
        "line 1, column 13: this is not Spark SQL: the name in backticks that begins here has no closing `",
    ),
    (
        "/* a */ DELETE FROM t\n /* WHERE d = 1",
        "line 2, column 2: this is not Spark SQL: the comment that begins here has no closing */",
    ),
    ("SELECT x'zz'", "line 1, column 1: this is not Spark SQL: it cannot be split into words"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "complaint"), WRONG)
def test_what_cannot_be_parsed_is_told_with_the_word_and_where_it_begins(text: str, complaint: str) -> None:
    with pytest.raises(PredicateError) as caught:
        statement_in(tokens_of(text), text)
    assert str(caught.value) == complaint

"""A job's SQL is cut into statements where they end, and text that Spark or the runner would cut otherwise is refused."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, footprint_of, split
from unit.footprint.statements import footprints

TEXTS = [
    "INSERT INTO t VALUES ('a;b')",
    'INSERT INTO t VALUES ("a;b")',
    "INSERT INTO t VALUES ('it\\'s;')",
    "INSERT INTO t VALUES ('it''s;')",
    "INSERT INTO t VALUES (r'\\')",
    "INSERT INTO `a;b` VALUES (1)",
    "INSERT INTO `a``;b` VALUES (1)",
    "INSERT INTO t /* ; /* nested ; */ ; */ VALUES (1)",
    "INSERT INTO t -- ; DELETE FROM x\n VALUES (1)",
    "INSERT INTO t VALUES ('ä€😀;')",
    "OPTIMIZE delta.`/x;y` WHERE a = ';'",
    "INSERT INTO t VALUES ('-- ;')",
]


@pytest.mark.parametrize("first", TEXTS)
@pytest.mark.parametrize("second", TEXTS)
def test_statements_are_cut_at_semicolons_that_are_none_of_their_text(first: str, second: str) -> None:
    statements = split(f"-- ü\n{first} ;\r\n; {second}")
    assert [statement.text for statement in statements] == [first, second]
    assert [statement.number for statement in statements] == [1, 2]
    assert statements[0].line == 2
    assert statements[1].line == 3 + first.count("\n")


@pytest.mark.parametrize("first", TEXTS)
@pytest.mark.parametrize("begin", ["BEGIN", "begin not atomic"])
def test_a_block_of_plain_statements_is_its_statements(first: str, begin: str) -> None:
    statements = split(f"-- ü\n{begin}\n  {first};\nMERGE INTO t USING s ON CASE WHEN a THEN b END; END;")
    assert [statement.text for statement in statements] == [
        first,
        "MERGE INTO t USING s ON CASE WHEN a THEN b END",
    ]
    assert [(one.number, one.line) for one in statements] == [(1, 3), (2, 4 + first.count("\n"))]


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN; DELETE FROM t; END",
        "BEGIN DELETE FROM t END",
        "BEGIN DELETE FROM t; END label",
        "BEGIN END",
        "BEGIN DELETE FROM t; COMMIT",
        "BEGIN ATOMIC DELETE FROM t; END",
        "BEGIN NOT ATOMIC; DELETE FROM t; END",
        "BEGIN NOT DELETE FROM t; END",
        "BEGIN TRANSACTION; DELETE FROM t; END",
        "BEGIN SET a = 1; DELETE FROM t; END",
        "BEGIN BEGIN DELETE FROM t; END; END",
        "BEGIN DELETE FROM t; END; DELETE FROM t",
        "BEGIN DELETE FROM t; END; DELETE FROM t; END",
        "DELETE FROM t; BEGIN DELETE FROM t; END",
        "`BEGIN` DELETE FROM t; END",
        "BEGIN DELETE FROM t; `END`",
        "BEGIN WHILE a DO DELETE FROM t; END WHILE; END",
        "BEGIN IF a THEN DELETE FROM t; END IF; END",
        "BEGIN DECLARE a INT; DELETE FROM t; END",
    ],
)
def test_any_other_block_is_refused(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match="statement"):
        footprints(sql)


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("INSERT INTO t VALUES (1)\n-- goes on \\\n SELECT 1", 2),
        ("INSERT -- \\\r\n INTO a SELECT 1", 1),
        ("\n\nINSERT INTO ${env:TARGET} VALUES (1)", 3),
        ("INSERT INTO t SELECT '${spark.app.name}'", 1),
    ],
)
def test_what_spark_would_read_differently_is_refused(sql: str, line: int) -> None:
    with pytest.raises(NotUnderstoodError, match=rf"spec\.sql, line {line}:"):
        split(sql)


@pytest.mark.parametrize("sql", ["INSERT INTO t VALUES ('", "DELETE FROM `t", "/* never ends"])
def test_what_has_no_end_is_refused(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"spec\.sql"):
        footprints(sql)


@pytest.mark.parametrize("sql", [";;", "-- nothing", "/* ; */ ;"])
def test_no_statement_at_all_is_refused(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match="no statement"):
        split(sql)


@pytest.mark.parametrize("sql", ["-- nothing", "DELETE FROM `t", "DELETE FROM t WHERE a = :b"])
def test_text_that_the_runner_could_not_cut_is_refused_beside_a_declared_footprint_too(sql: str) -> None:
    declared = [{"table": {"path": "/lake/t"}, "operation": "Delete"}]
    with pytest.raises(NotUnderstoodError, match=r"spec\.sql"):
        footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql, "footprint": declared}), {})

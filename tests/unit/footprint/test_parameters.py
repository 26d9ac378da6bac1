"""A parameter's value stands in the statement as a literal of its type, whatever is around it, and nowhere else."""

import re

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.parameters import statements_of
from sluice.predicates.syntax import tokens_of

VALUES = {
    "n": {"integer": 7},
    "below": {"integer": -7},
    "price": {"decimal": "1.50"},
    "ratio": {"double": 0.5},
    "day": {"date": "2026-11-19"},
    "at": {"timestamp": "2026-11-19T10:00:00Z"},
    "plain": {"timestampNtz": "2026-11-19T10:00:00"},
    "name": {"string": "O'Neill; DROP TABLE t -- ${x}"},
    "yes": {"boolean": True},
}


def run_text(sql: str) -> str:
    used = {name: value for name, value in VALUES.items() if re.search(f":{name}\\b", sql)}
    spec = DeltaWriteJobSpec.model_validate({"sql": sql, "parameters": used})
    (statement,) = statements_of(spec)["spec.sql"]
    assert statement.text == sql
    return statement.runs


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("DELETE FROM t WHERE a = :n", "DELETE FROM t WHERE a = 7L"),
        ("DELETE FROM t WHERE a = 1-:below", "DELETE FROM t WHERE a = 1- (-7L)"),
        ("DELETE FROM t WHERE a = :price", "DELETE FROM t WHERE a = 1.50BD"),
        ("DELETE FROM t WHERE a = :ratio", "DELETE FROM t WHERE a = 0.5D"),
        ("DELETE FROM t WHERE a = :day", "DELETE FROM t WHERE a = DATE'2026-11-19'"),
        ("DELETE FROM t WHERE a = :at", "DELETE FROM t WHERE a = TIMESTAMP_LTZ'2026-11-19T10:00:00Z'"),
        ("DELETE FROM t WHERE a = :plain", "DELETE FROM t WHERE a = TIMESTAMP_NTZ'2026-11-19T10:00:00'"),
        ("DELETE FROM t WHERE a = :yes", "DELETE FROM t WHERE a = TRUE"),
        ("OPTIMIZE t WHERE d = :day", "OPTIMIZE t WHERE d = DATE'2026-11-19'"),
        ("OPTIMIZE t WHERE d=:day", "OPTIMIZE t WHERE d=DATE'2026-11-19'"),
        (
            "INSERT INTO t PARTITION (d = :day) SELECT 1",
            "INSERT INTO t PARTITION (d = DATE'2026-11-19') SELECT 1",
        ),
        ("INSERT INTO t PARTITION (d = :below) SELECT 1", "INSERT INTO t PARTITION (d = -7L) SELECT 1"),
        ("RESTORE t TO VERSION AS OF :n", "RESTORE t TO VERSION AS OF 7"),
        ("RESTORE t TO TIMESTAMP AS OF :at", "RESTORE t TO TIMESTAMP AS OF '2026-11-19T10:00:00Z'"),
        ("RESTORE t TO TIMESTAMP AS OF :day", "RESTORE t TO TIMESTAMP AS OF '2026-11-19'"),
        (
            "INSERT INTO t SELECT * FROM s VERSION AS OF :n LIMIT :n",
            "INSERT INTO t SELECT * FROM s VERSION AS OF 7 LIMIT 7",
        ),
        (
            "INSERT INTO t SELECT * FROM s TIMESTAMP AS OF :day",
            "INSERT INTO t SELECT * FROM s TIMESTAMP AS OF DATE'2026-11-19'",
        ),
        ("VACUUM t RETAIN :n HOURS", "VACUUM t RETAIN 7 HOURS"),
        (
            "ALTER TABLE t ADD CONSTRAINT c CHECK (a > :n)",
            "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 7L)",
        ),
        (
            "CREATE TEMPORARY VIEW v AS SELECT * FROM s WHERE d = :day",
            "CREATE TEMPORARY VIEW v AS SELECT * FROM s WHERE d = DATE'2026-11-19'",
        ),
        ("DELETE FROM t WHERE a = :n-- why\nAND b = 1", "DELETE FROM t WHERE a = 7L -- why\nAND b = 1"),
    ],
)
def test_a_value_is_a_literal_wherever_it_stands(written: str, runs: str) -> None:
    assert run_text(written) == runs


def test_a_text_stays_one_text() -> None:
    runs = run_text("DELETE FROM t WHERE a = :name AND b = 1")
    assert len(tokens_of(runs)) == len(tokens_of("DELETE FROM t WHERE a = 'x' AND b = 1"))
    assert "${" not in runs


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT v:n FROM s",
        "INSERT INTO t SELECT ':n' FROM s",
        "DELETE FROM t -- :n\nWHERE a = 1",
    ],
)
def test_what_is_no_parameter_is_left_alone(sql: str) -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": sql})
    (statement,) = statements_of(spec)["spec.sql"]
    assert statement.runs == sql


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"sql": "DELETE FROM t WHERE a = :n"}, "has no parameter n"),
        ({"sql": "DELETE FROM t", "parameters": {"n": {"integer": 1}}}, "n is not used"),
        (
            {
                "sql": "DELETE FROM t WHERE a = :dya AND b = :n",
                "parameters": {"n": {"integer": 1}, "day": {"integer": 1}},
            },
            "spec.parameters has no parameter dya: add it, or write the name of one that is not used: day",
        ),
        ({"sql": "SET x = :n", "parameters": {"n": {"integer": 1}}}, "SET takes no parameters"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(spec: dict[str, object], told: str) -> None:
    with pytest.raises(NotUnderstoodError, match=told):
        statements_of(DeltaWriteJobSpec.model_validate(spec))

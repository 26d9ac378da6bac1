"""A text literal is the same text to us as it is to Spark, whatever is escaped in it."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sluice.predicates import Anything, Atom, PredicateError, Table, parse

ESCAPES = [
    *(f"\\{chr(code)}" for code in range(33, 127) if chr(code) != "'"),
    *["\\101", "\\0", "\\00", "\\012", "\\377", "\\400", "\\777", "\\1", "\\12", "\\8"],
    *["\\u0041", "\\u00e9", "\\u004", "\\U0001F600", "\\U0001F60", "\\ud83d\\ude00"],
    *["\\ ", "\\\n", "\n", "\t", "%", "_", "\\\\%", "\\\\\\%", "\\%%", "é", "\U0001f600"],
]
LITERALS = [
    *(f"'a{escape}b'" for escape in ESCAPES),
    *["'a\\''", "'\\\\'", '"a\'b"', "'a\"b'", "r'a\\b'", "'it''s'", "'a' 'b'", "''"],
]


@pytest.mark.timeout(900)
def test_a_text_literal_means_what_it_means_to_spark(session: SparkSession) -> None:
    table = Table.of({"s": "string"})
    understood = 0
    for literal in LITERALS:
        try:
            truth = session.sql(f"SELECT {literal}").collect()[0][0]
        except PySparkException:
            continue
        try:
            predicate = parse(f"s = {literal}", table)
        except PredicateError:
            continue
        if not isinstance(predicate, Anything):
            assert isinstance(predicate, Atom)
            assert predicate.true.contains(truth), literal
            assert next(predicate.true.intervals()) == (truth or None, truth + "\0"), literal
            understood += 1
    assert understood > 100

"""The statements say what they are to say, whatever stands in names and values: held against how Sluice reads a job's SQL."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.api.policy import PolicyTable
from sluice.footprint import split
from sluice.footprint.sql.keywords import properties
from sluice.policies.alteration import ClusterBy, SetProperties
from sluice.tables import key_of_path
from unit.footprint.statements import footprint

PATH = "s3://lake/my orders"
TABLE = PolicyTable(path=PATH)
_TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
).filter(lambda text: "${" not in text)


@given(st.dictionaries(_TEXTS, _TEXTS, min_size=1, max_size=4))
def test_properties_are_read_back_as_they_were_given(given_properties: dict[str, str]) -> None:
    sql = SetProperties(TABLE, given_properties).sql
    (statement,) = split(sql)
    opening = next(k for k, token in enumerate(statement.tokens) if token.text == "(")
    assert properties(statement.tokens[opening:]) == given_properties
    assert footprint(sql).table == key_of_path(PATH)


def test_what_spark_would_substitute_is_escaped() -> None:
    sql = SetProperties(TABLE, {"a": "${b}"}).sql
    assert "${" not in sql
    assert sql.endswith("('a' = '\\u0024{b}')")


@given(st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=4))
def test_columns_are_one_name_each_whatever_stands_in_them(columns: list[tuple[str, str]]) -> None:
    sql = ClusterBy(TABLE, tuple(columns)).sql
    (statement,) = split(sql)
    opening = next(k for k, token in enumerate(statement.tokens) if token.text == "(")
    names = [token.text for token in statement.tokens[opening:] if token.text not in (*"(),.",)]
    assert [name for path in columns for name in path if name not in (*"(),.",)] == names


def test_clustering_by_none_is_understood() -> None:
    assert footprint(ClusterBy(TABLE, ()).sql).table == key_of_path(PATH)

"""A parameter becomes the literal of its own type, or is refused; nothing of it can become SQL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner.fields import Fields, PlanError
from sluice_runner.parameters import Parameter, read_parameters


def read(typed: dict[str, object]) -> Parameter:
    return read_parameters({"p": Fields(typed, "plan.parameters['p']")})["p"]


@pytest.mark.parametrize(
    ("typed", "literal"),
    [
        ({"integer": 5}, "5L"),
        ({"integer": -(2**63)}, "-9223372036854775808L"),
        ({"decimal": "12.50"}, "12.50BD"),
        ({"decimal": "-0.5"}, "-0.5BD"),
        ({"decimal": "+7"}, "7BD"),
        ({"date": "2026-11-19"}, "DATE'2026-11-19'"),
        ({"timestamp": "2026-11-19T08:00:00Z"}, "TIMESTAMP_LTZ'2026-11-19T08:00:00Z'"),
        ({"timestamp": "2026-11-19T08:00:00.5+02:00"}, "TIMESTAMP_LTZ'2026-11-19T08:00:00.5+02:00'"),
        ({"timestampNtz": "2026-11-19T08:00:00.123456"}, "TIMESTAMP_NTZ'2026-11-19T08:00:00.123456'"),
    ],
)
def test_a_type_that_python_lacks_becomes_the_literal_of_that_type(
    typed: dict[str, object], literal: str
) -> None:
    assert read(typed) == Parameter(literal=literal)


@pytest.mark.parametrize(
    ("typed", "value"),
    [({"string": "it's :d -- `"}, "it's :d -- `"), ({"boolean": False}, False), ({"double": 1}, 1.0)],
)
def test_other_types_stay_values(typed: dict[str, object], value: object) -> None:
    assert read(typed) == Parameter(value=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({}, "exactly one of string, .* found none"),
        ({"date": "2026-11-19", "string": "x"}, "found date, string"),
        ({"interval": "1 day"}, "found interval"),
        ({"integer": 2**63}, "expected an integer"),
        ({"integer": True}, "expected an integer"),
        ({"integer": "5"}, "expected an integer"),
        ({"decimal": "1e5"}, "expected a decimal number"),
        ({"decimal": "1BD) OR (1=1"}, "expected a decimal number"),
        ({"decimal": "1" * 20 + "." + "1" * 20}, "40 digits, a decimal holds 38"),
        ({"double": 10**400}, "too large for a double|expected a number"),
        ({"date": "2026-02-31"}, "not in the calendar"),
        ({"date": "20261119"}, "expected a date"),
        ({"date": "2026-11-19' OR 1=1 --"}, "expected a date"),
        ({"date": "2026-11-19\n"}, "expected a date"),
        ({"timestamp": "2026-11-19T08:00:00"}, "expected an instant with its UTC offset"),
        ({"timestamp": "2026-11-19T25:00:00Z"}, "not in the calendar"),
        ({"timestampNtz": "2026-11-19T08:00:00Z"}, "expected a date and time without UTC offset"),
        ({"string": 5}, "expected a string"),
        ({"boolean": "true"}, "expected true or false"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_refused(typed: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        read(typed)


def test_a_name_that_sql_could_not_refer_to_is_refused() -> None:
    with pytest.raises(PlanError, match="not a valid parameter name"):
        read_parameters({"a b": Fields({"string": "x"}, "place")})


@given(st.sampled_from(["decimal", "date", "timestamp", "timestampNtz"]), st.text(max_size=40))
def test_no_text_gets_out_of_its_literal(kind: str, text: str) -> None:
    try:
        parameter = read({kind: text})
    except PlanError:
        return
    assert parameter.literal is not None
    assert "'" not in text
    assert parameter.literal.count("'") in (0, 2)

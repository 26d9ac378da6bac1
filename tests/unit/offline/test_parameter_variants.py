"""Other values of parameters are ones that the API takes, and tell apart what is equal by chance."""

import pytest

from sluice.api.parameters import Parameter
from sluice.offline.parameter_variants import by_names, other_values

VALUES: dict[str, list[object]] = {
    "string": ["", "eu", "x" * 1024, "'"],
    "boolean": [True, False],
    "integer": [0, 2**63 - 1, -(2**63)],
    "decimal": ["0", "-9.50", "9" * 38],
    "double": [0.0, 1e308, -1e308],
    "date": ["2024-02-29", "0001-01-01", "9999-12-31"],
    "timestamp": ["2026-11-19T08:00:00Z", "9999-12-31T23:59:59.999999+18:00"],
    "timestampNtz": ["2026-11-19T08:00:00", "0001-01-01T00:00:00"],
}


@pytest.mark.parametrize("kind", VALUES)
def test_each_value_has_another_and_two_that_are_equal_have_two(kind: str) -> None:
    for value in VALUES[kind]:
        one = Parameter.model_validate({kind: value})
        found = other_values({"a": one, "b": one})
        for other in found.values():
            assert Parameter.model_validate(other.model_dump(by_alias=True, exclude_none=True)) == other
            assert other != one
        assert found["a"] != found["b"] or kind == "boolean"


def test_dates_keep_their_order_and_no_distance() -> None:
    given = {"b": Parameter(date="2026-11-20"), "a": Parameter(date="2026-11-19")}
    found = other_values(given)
    assert found["a"].date is not None
    assert found["b"].date is not None
    assert found["a"].date < found["b"].date
    assert found["b"].date != "2029-08-16", "the day after"


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ("date = DATE '2026-11-19'", "date = :day"),
        ("date >= DATE '2026-11-19' AND date <= DATE '2026-11-30'", "date >= :day AND date < :until"),
        ("date >= DATE '2026-11-20'", "date > :day"),
        ("region = 'it''s' AND n IN (7, 70, -7)", "region = :region AND n IN (:n, 70, -7)"),
        ("region = '2026-11-19' AND n = 1.7", "region = '2026-11-19' AND n = 1.7"),
    ],
)
def test_parameters_stand_where_their_values_stood(condition: str, named: str) -> None:
    given = {
        "day": Parameter(date="2026-11-19"),
        "until": Parameter(date="2026-12-01"),
        "region": Parameter(string="it's"),
        "n": Parameter(integer=7),
    }
    assert by_names(condition, given) == named

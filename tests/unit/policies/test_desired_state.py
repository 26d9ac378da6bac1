"""What a policy wishes for is told by field, once a property; what only a reader of values finds wrong is told in words."""

from typing import Any

import pytest

from sluice.policies.desired_state import DesiredState, problems_with, wishes_of
from unit.policies.specs import spec_of


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.logRetentionDuration", "1 day -25 hours"),
        ("delta.logRetentionDuration", "20000000000 weeks"),
        ("delta.logRetentionDuration", "1.5 days"),
        ("delta.checkpointInterval", "4294967296"),
        ("delta.dataSkippingStatsColumns", "a, A"),
        ("delta.universalFormat.enabledFormats", "hudi,hudi"),
    ],
)
def test_a_value_that_has_the_right_form_and_that_delta_refuses_is_told(name: str, value: str) -> None:
    (problem,) = problems_with(spec_of(properties={name: value}))
    assert problem.startswith(f"spec.properties: {name} must be ")
    assert problem.endswith(f", not {value!r}")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"features": ["deletionVectors"], "properties": {"delta.enableDeletionVectors": "TRUE"}},
        {"features": ["columnMapping"], "properties": {"delta.columnMapping.mode": "id"}},
        {"isolationLevel": "Serializable", "properties": {"delta.isolationLevel": "Serializable"}},
        {"clusterBy": [], "properties": {"team": "", "Team": "two of one's own"}},
        {"clusterBy": ["a", "b", "c", "d.e"]},
    ],
)
def test_what_agrees_is_no_problem(fields: dict[str, Any]) -> None:
    assert problems_with(spec_of(**fields)) == ()


def test_a_feature_beside_its_property_is_wished_for_once() -> None:
    fields: dict[str, Any] = {
        "features": ["rowTracking", "columnMapping"],
        "properties": {"delta.columnMapping.mode": "name"},
    }
    assert wishes_of(spec_of(**fields)) == (
        DesiredState("properties.delta.columnMapping.mode", "delta.columnMapping.mode", "name"),
        DesiredState("features.rowTracking", "delta.enableRowTracking", "true"),
    )

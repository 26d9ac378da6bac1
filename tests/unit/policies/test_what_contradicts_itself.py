"""A policy that contradicts itself, or wants what no table can be, is told so whatever its table is."""

from typing import Any

import pytest

from sluice.policies.wishes import Wish, problems_with, wishes_of
from unit.policies.specs import spec_of


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"features": ["deletionVectors"], "properties": {"delta.enableDeletionVectors": "false"}},
            "spec.features wants deletionVectors, and spec.properties says delta.enableDeletionVectors: 'false': "
            "remove one of them",
        ),
        (
            {"features": ["columnMapping"], "properties": {"delta.columnmapping.mode": "none"}},
            "spec.features wants columnMapping, and spec.properties says delta.columnmapping.mode: 'none': remove one of them",
        ),
        (
            {"properties": {"delta.appendOnly": "true", "delta.appendonly": "true"}},
            "spec.properties: delta.appendOnly and delta.appendonly are one property to Delta: keep one of them",
        ),
        (
            {"isolationLevel": "WriteSerializable", "properties": {"delta.isolationLevel": "Serializable"}},
            "spec.isolationLevel says WriteSerializable, and spec.properties wants delta.isolationLevel: 'Serializable': "
            "remove one of them",
        ),
        (
            {"features": ["deletionVectors"], "properties": {"delta.enableIcebergCompatV2": "true"}},
            "spec: delta.enableDeletionVectors and delta.enableIcebergCompatV2 exclude each other: choose one",
        ),
        (
            {
                "properties": {
                    "delta.enableDeletionVectors": "true",
                    "delta.universalFormat.enabledFormats": "hudi",
                }
            },
            "spec: delta.enableDeletionVectors and hudi in delta.universalFormat.enabledFormats exclude each other: choose one",
        ),
        (
            {"features": ["inCommitTimestamps"]},
            "spec.features: 'inCommitTimestamps' is no feature of Delta's protocol; did you mean inCommitTimestamp?",
        ),
        (
            {"properties": {"delta.checkpointInterval": "0"}},
            "spec.properties: delta.checkpointInterval must be a whole number from 1 on, not '0'",
        ),
        (
            {"clusterBy": ["a", "b", "c", "d", "e"]},
            "spec.clusterBy names 5 columns: Delta clusters by at most 4",
        ),
        (
            {"clusterBy": ["a", "A"]},
            "spec.clusterBy names a column twice, for Delta knows columns in any case: name each once",
        ),
        (
            {"clusterBy": ["${a}"]},
            "spec.clusterBy: Spark would substitute what stands in '${a}': rename the column, or cluster by others",
        ),
    ],
)
def test_a_contradiction_is_told_with_what_to_do(fields: dict[str, Any], problem: str) -> None:
    assert problems_with(spec_of(**fields)) == (problem,)


def test_each_problem_is_told() -> None:
    fields: dict[str, Any] = {
        "features": ["sharding", "clustering"],
        "properties": {"delta.appendOnly": "x", "owner": "me"},
    }
    assert len(problems_with(spec_of(**fields))) == 4


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
        "properties": {"DELTA.COLUMNMAPPING.MODE": "name"},
    }
    assert wishes_of(spec_of(**fields)) == (
        Wish("properties.DELTA.COLUMNMAPPING.MODE", "delta.columnMapping.mode", "name"),
        Wish("features.rowTracking", "delta.enableRowTracking", "true"),
    )

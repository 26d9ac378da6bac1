"""What Delta does not let a table have together is told, and the rest is changed all the same."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.policies.difference import Difference, plan_of
from sluice.tables.table_observation import TableState
from unit.policies.specs import spec_of

VECTORS = {"delta.enableDeletionVectors": "true"}
NO_VECTORS = {"delta.enableDeletionVectors": "false"}
ROWS = {"delta.enableRowTracking": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}
V1, V2, V3 = ({f"delta.enableIcebergCompatV{n}": "true"} for n in (1, 2, 3))
MANIFEST = {"delta.compatibility.symlinkFormatManifest.enabled": "true"}
ICEBERG = {"delta.universalFormat.enabledFormats": "iceberg"}
HUDI = {"delta.universalFormat.enabledFormats": "hudi"}
SUSPENDED = {"delta.rowTrackingSuspended": "true"}
SHORT_LOG = {"delta.logRetentionDuration": "2 days"}
LONG_LOG = {"delta.logRetentionDuration": "100 days"}
LONG_FILES = {"delta.deletedFileRetentionDuration": "60 days"}


def _differences(
    found: dict[str, str], wanted: dict[str, str], version: tuple[int, int] | None = (4, 4), **more: Any
) -> dict[str, Difference]:
    state = TableState(properties={**found, "team": "found"}, columns=("a", "day"), partition_by=("day",))
    spec = spec_of(properties={**wanted, "team": "wanted"}, allowIrreversible=True, **more)
    plan = plan_of(spec, state, version)
    assert plan.problems == ()
    return {one.field.removeprefix("properties."): one for one in plan.differences}


@pytest.mark.parametrize(
    ("found", "wanted", "forbidden", "why"),
    [
        (VECTORS, {**V1, **MAPPED}, V1, "exclude each other"),
        (VECTORS, {**V2, **MAPPED}, V2, "exclude each other"),
        ({**V2, **MAPPED}, VECTORS, VECTORS, "exclude each other"),
        (VECTORS, {**V2, **MAPPED, **NO_VECTORS}, V2, "turn it off first"),
        (VECTORS, MANIFEST, MANIFEST, "exclude each other"),
        (MANIFEST, VECTORS, VECTORS, "exclude each other"),
        (VECTORS, HUDI, HUDI, "exclude each other"),
        (HUDI, VECTORS, VECTORS, "exclude each other"),
        ({**V1, **MAPPED}, V2, V2, "exclude each other"),
        ({**V1, **MAPPED}, V3, V3, "exclude each other"),
        ({}, V2, V2, "needs delta.columnMapping.mode"),
        ({}, ICEBERG, ICEBERG, "needs one of delta.enableIcebergCompatV1"),
        ({**MAPPED, **ROWS}, V3, V3, "cannot be turned on while delta.enableRowTracking is on"),
        (
            {**MAPPED, "delta.enableRowTracking": "false"},
            V3,
            V3,
            "needs delta.enableRowTracking, which is false",
        ),
        ({**MAPPED, **V3}, {"delta.enableIcebergCompatV3": "false"}, V3, "cannot be turned off again"),
        (SUSPENDED, ROWS, ROWS, "somebody is dropping row tracking"),
        (
            {},
            SHORT_LOG,
            SHORT_LOG,
            "must not be shorter than delta.deletedFileRetentionDuration (interval 1 week)",
        ),
        ({}, LONG_FILES, LONG_FILES, "(interval 30 days) must not be shorter than"),
        (
            {},
            {"delta.dataSkippingStatsColumns": "a,Day"},
            {"delta.dataSkippingStatsColumns": ""},
            "partition column",
        ),
        (
            {},
            {"delta.dataSkippingStatsColumns": "b.c"},
            {"delta.dataSkippingStatsColumns": ""},
            "no column b.c",
        ),
    ],
)
def test_what_excludes_what_the_table_has_is_told_and_the_rest_is_tried(
    found: dict[str, str], wanted: dict[str, str], forbidden: dict[str, str], why: str
) -> None:
    differences = _differences(found, wanted)
    told = {name: one.forbidden for name, one in differences.items() if one.forbidden is not None}
    assert set(told) == set(forbidden)
    assert all(why in str(reason) for reason in told.values())
    assert differences["team"].is_tried


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (NO_VECTORS, {**V2, **MAPPED, **ICEBERG}),
        (MAPPED, V1),
        (MAPPED, {**V3, **VECTORS}),
        ({**MAPPED, **V3, **ROWS}, VECTORS),
        ({}, HUDI),
        (SUSPENDED, {"delta.enableRowTracking": "false"}),
        (LONG_LOG, LONG_FILES),
        ({}, {**LONG_LOG, **LONG_FILES}),
        ({}, {"delta.dataSkippingStatsColumns": "A,`a`.b"}),
    ],
)
def test_what_goes_together_is_tried(found: dict[str, str], wanted: dict[str, str]) -> None:
    assert all(one.is_tried for one in _differences(found, wanted).values())


def test_only_since_4_1_delta_compares_the_retentions() -> None:
    for version, tried in (((3, 3), True), ((4, 0), True), ((4, 1), False), (None, False)):
        assert _differences({}, SHORT_LOG, version)["delta.logRetentionDuration"].is_tried is tried


@pytest.mark.parametrize("formats", ["iceberg", "iceberg,hudi", "hudi,iceberg"])
def test_iceberg_is_not_tried_with_a_delta_that_may_fail_with_each_later_statement(formats: str) -> None:
    name = "delta.universalFormat.enabledFormats"
    wanted = {**V2, **MAPPED, **NO_VECTORS, name: formats}
    for version in ((3, 3), (4, 3), None):
        difference = _differences({}, wanted, version)[name]
        assert "may fail after its commit" in str(difference.forbidden)
    assert _differences({}, wanted, (4, 4))[name].is_tried
    assert _differences({}, {name: "hudi"}, (3, 3))[name].is_tried
    assert set(_differences(wanted, wanted, (3, 3))) == {"team"}, "a table that has it already is as wanted"


def test_what_is_held_back_cannot_carry_what_needs_it() -> None:
    spec = spec_of(properties={**MAPPED, **V2, **ICEBERG}, allowIrreversible=False)
    plan = plan_of(spec, TableState(), (4, 4))
    assert plan.changes == ()
    assert {one.field: one.forbidden is None for one in plan.differences} == {
        "properties.delta.columnMapping.mode": True,
        "properties.delta.enableIcebergCompatV2": True,
        "properties.delta.universalFormat.enabledFormats": False,
    }


def test_what_had_to_wait_is_tried_once_the_rest_is_done() -> None:
    wanted = {**V2, **MAPPED, **NO_VECTORS}
    spec = spec_of(properties=wanted, allowIrreversible=True)
    state = TableState(properties=VECTORS)
    assert "turn it off first" in str(
        next(one.forbidden for one in plan_of(spec, state, (4, 4)).differences if "Iceberg" in one.field)
    )
    later = replace(state, properties={**MAPPED, **NO_VECTORS})
    assert [one.is_tried for one in plan_of(spec, later, (4, 4)).differences] == [True]


def test_a_table_that_may_have_deletion_vectors_gets_no_manifests() -> None:
    spec = spec_of(properties=MANIFEST)
    state = TableState(reader_version=3, writer_version=7, writer_features=frozenset({"deletionVectors"}))
    (difference,) = plan_of(spec, state, (4, 4)).differences
    assert "REORG TABLE ... APPLY (PURGE)" in str(difference.forbidden)
    assert plan_of(spec, TableState(), (4, 4)).changes

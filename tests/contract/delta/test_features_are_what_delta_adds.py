"""What a policy may want of a table's features and clustering, and what it is told that Delta refuses, is what Delta does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from contract.harness.followed import EMPTY, PARTITIONED, Followed
from contract.harness.tables import Asked, Question
from sluice.delta.features import WANTED, with_needed
from sluice.delta.properties import MAPPING, PROPERTIES, WRITES_ICEBERG_SINCE

WITH_ROWS = (EMPTY, "INSERT INTO {table} VALUES (1, 2, named_struct('a', 1, 'b', 2), 3)")
VECTORS, TRACKING = "delta.enableDeletionVectors", "delta.enableRowTracking"
MANIFEST = "delta.compatibility.symlinkFormatManifest.enabled"
FORMATS = "delta.universalFormat.enabledFormats"
V1, V2, V3 = (f"delta.enableIcebergCompatV{n}" for n in (1, 2, 3))
LOG, FILES = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
SUSPENDED = "delta.rowTrackingSuspended"
ON, OFF = "true", "false"
OLDEST = (3, 3)


@pytest.mark.parametrize("feature", WANTED)
def test_a_feature_is_turned_on_and_stays_in_the_protocol_when_it_is_turned_off(
    asked: Asked, delta: str, feature: str
) -> None:
    table = Followed.made(asked, delta, *WITH_ROWS)
    switch = WANTED[feature]
    (difference,) = table.plan(features=[feature]).differences
    assert difference.held_back
    added = PROPERTIES[switch.property].adds_by(table.version)
    assert added is not None
    assert all(name in (difference.irreversible or "") for name in with_needed(added))
    table.follows(features=[feature], allowIrreversible=True)
    on = {"appendOnly", "invariants", *with_needed(added)}
    assert table.features == on
    assert table.runs(f"ALTER TABLE delta.`{table.path}` UNSET TBLPROPERTIES ('{switch.property}')") is None
    assert table.features == on
    (again,) = table.plan(features=[feature]).differences
    assert again.held_back is (feature == "columnMapping")
    if again.forbidden is None:
        table.follows(features=[feature], allowIrreversible=True)


def test_all_features_are_turned_on_by_one_statement(asked: Asked, delta: str) -> None:
    table = Followed.made(asked, delta, *WITH_ROWS)
    assert len(table.plan(features=list(WANTED), allowIrreversible=True).changes) == 1
    table.follows(features=list(WANTED), allowIrreversible=True)


def test_a_delta_that_fails_with_each_statement_on_a_table_with_iceberg_never_makes_one(
    asked: Asked, delta: str
) -> None:
    table = Followed.made(asked, delta, EMPTY)
    wanted = {V2: ON, MAPPING: "name", FORMATS: "iceberg"}
    append = "INSERT INTO {table} VALUES (1, 2, named_struct('a', 1, 'b', 2), 3)"
    if table.version >= WRITES_ICEBERG_SINCE:
        table.follows(properties=wanted, allowIrreversible=True)
        written = asked(Question(table.name, statements=(append,)))
        assert written.refused is None
        assert len(written.commits) == len(table.answer.commits) + 1
        return
    (change,) = table.plan(properties=wanted, allowIrreversible=True).changes
    assert FORMATS not in getattr(change, "properties", {})
    given = ", ".join(f"'{name}' = '{value}'" for name, value in wanted.items())
    by_hand = asked(Question(table.name, statements=(f"ALTER TABLE {{table}} SET TBLPROPERTIES ({given})",)))
    written = asked(Question(table.name, statements=(append,)))
    assert by_hand.refused is not None
    assert written.refused is not None
    assert len(written.commits) == len(by_hand.commits) + 1 == len(table.answer.commits) + 2, (
        "both have landed"
    )


@dataclass(frozen=True)
class Forbidden:
    """What a table has, and what is then told and refused."""

    has: tuple[Mapping[str, str], ...]
    wanted: Mapping[str, str]
    since: tuple[int, int] = OLDEST
    made: tuple[str, ...] = (EMPTY,)

    def __str__(self) -> str:
        return f"{[dict(one) for one in self.has]}, then {dict(self.wanted)}"


NEVER = (
    Forbidden(({VECTORS: ON},), {V1: ON, MAPPING: "name"}),
    Forbidden(({VECTORS: ON},), {V2: ON, MAPPING: "name", VECTORS: OFF}),
    Forbidden(({V2: ON, MAPPING: "name"},), {VECTORS: ON}),
    Forbidden(({MANIFEST: ON},), {VECTORS: ON}),
    Forbidden(({VECTORS: ON},), {MANIFEST: ON}),
    Forbidden(({FORMATS: "hudi"},), {VECTORS: ON}),
    Forbidden(({VECTORS: ON},), {FORMATS: "hudi"}),
    Forbidden(({V1: ON, MAPPING: "name"},), {V2: ON}),
    Forbidden((), {V1: ON}),
    Forbidden((), {V2: ON}),
    Forbidden((), {V3: ON}, since=(4, 3)),
    Forbidden((), {FORMATS: "iceberg"}),
    Forbidden(({V3: ON, MAPPING: "name"},), {V3: OFF}, since=(4, 3)),
    Forbidden(({TRACKING: ON},), {V3: ON, MAPPING: "name"}, since=(4, 3)),
    Forbidden(({TRACKING: OFF},), {V3: ON, MAPPING: "name"}, since=(4, 3)),
    Forbidden(({SUSPENDED: ON},), {TRACKING: ON}, since=(4, 1)),
    Forbidden((), {MAPPING: "id"}),
    Forbidden(({MAPPING: "name"},), {MAPPING: "id"}),
    Forbidden((), {LOG: "interval 3 days"}, since=(4, 1)),
    Forbidden((), {FILES: "interval 31 days"}, since=(4, 1)),
)


NEVER_BY_VERSION = [
    (delta, case)
    for delta, version in (("4.4.0", (4, 4)), ("3.3.3", (3, 3)))
    for case in NEVER
    if case.since <= version
]


@pytest.mark.parametrize(("delta", "case"), NEVER_BY_VERSION, ids=str, indirect=["delta"])
def test_what_delta_refuses_is_told_and_not_tried(asked: Asked, delta: str, case: Forbidden) -> None:
    table = Followed.made(asked, delta, *case.made)
    for has in case.has:
        assert table.sets_all(has) is None
    plan = table.plan(properties=dict(case.wanted), allowIrreversible=True)
    changed = {name for change in plan.changes for name in getattr(change, "properties", {})}
    assert plan.problems or not changed >= case.wanted.keys()
    assert any(difference.forbidden is not None for difference in plan.differences)
    assert table.sets_all(case.wanted) is not None


def test_what_is_left_of_a_plan_is_taken(asked: Asked, delta: str) -> None:
    """Of properties that do not go together, those are changed that go with the table."""
    table = Followed.made(asked, delta, EMPTY)
    assert table.sets_all({VECTORS: ON}) is None
    plan = table.plan(
        properties={V2: ON, MAPPING: "name", "delta.appendOnly": "true"}, allowIrreversible=True
    )
    for change in plan.changes:
        assert table.runs(change.sql) is None
    assert table.answer.properties["delta.appendOnly"] == "true"
    assert V2 not in table.answer.properties


def test_clustering_is_turned_on_changed_and_taken_away(asked: Asked, delta: str) -> None:
    table = Followed.made(asked, delta, *WITH_ROWS)
    (difference,) = table.plan(clusterBy=["id"]).differences
    assert difference.held_back
    found = table.follows(clusterBy=["ID", "k"], allowIrreversible=True)
    assert found.cluster_by == (("id",), ("k",))
    assert table.features == {"appendOnly", "invariants", "clustering", "domainMetadata"}
    assert table.plan(clusterBy=["k", "Id"]).differences == ()
    found = table.follows(clusterBy=["st.a"])
    assert found.cluster_by == (("st", "a"),)
    found = table.follows(clusterBy=[])
    assert found.cluster_by == ()
    assert table.features >= {"clustering"}


def test_clustering_and_properties_are_one_statement_each(asked: Asked, delta: str) -> None:
    table = Followed.made(asked, delta, EMPTY)
    wanted = {
        "properties": {"delta.dataSkippingStatsColumns": "k", "delta.checkpointInterval": "5"},
        "clusterBy": ["k"],
        "allowIrreversible": True,
    }
    assert len(table.plan(**wanted).changes) == 2
    table.follows(**wanted)


@pytest.mark.parametrize(
    ("made", "has", "columns"),
    [
        (PARTITIONED, {}, ["id"]),
        (EMPTY, {"delta.dataSkippingNumIndexedCols": "1"}, ["k"]),
        (EMPTY, {"delta.dataSkippingStatsColumns": "id"}, ["k"]),
        (EMPTY, {}, ["nosuch"]),
    ],
    ids=["partitioned", "no statistics by number", "no statistics by name", "no column"],
)
def test_what_delta_does_not_cluster_by_is_told_and_not_tried(
    asked: Asked, delta: str, made: str, has: dict[str, str], columns: list[str]
) -> None:
    table = Followed.made(asked, delta, made)
    if has:
        assert table.sets_all(has) is None
    plan = table.plan(clusterBy=columns, allowIrreversible=True)
    (difference,) = plan.differences
    assert difference.forbidden is not None
    assert plan.changes == ()
    assert table.is_refused(f"ALTER TABLE delta.`{table.path}` CLUSTER BY ({', '.join(columns)})")

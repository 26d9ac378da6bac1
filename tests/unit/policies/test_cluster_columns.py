"""Clustering is changed where Delta clusters a table by the columns, and told where it doesn't."""

from dataclasses import replace

import pytest

from sluice.policies.difference import AlterationPlan, plan_of
from sluice.tables.table_observation import TableState
from unit.policies.specs import spec_of

TABLE = TableState(
    writer_version=7,
    writer_features=frozenset({"clustering", "domainMetadata"}),
    columns=("Id", "day", "info", "a.b"),
)


@pytest.mark.parametrize(
    ("found", "wanted", "sql"),
    [
        ((), ["id"], "(`Id`)"),
        (("day",), ["day", "id"], "(`day`, `Id`)"),
        (("day",), [], "NONE"),
        ((), ["info.place"], "(`info`.`place`)"),
        ((), ["A.B"], "(`a.b`)"),
        ((), ["info.a`b"], "(`info`.`a``b`)"),
    ],
)
def test_columns_are_named_as_the_schema_spells_them(
    found: tuple[str, ...], wanted: list[str], sql: str
) -> None:
    plan = plan_of(spec_of(clusterBy=wanted), replace(TABLE, cluster_by=found), (3, 3))
    assert [change.sql for change in plan.changes] == [
        f"ALTER TABLE delta.`s3://lake/orders` CLUSTER BY {sql}"
    ]


@pytest.mark.parametrize(
    ("found", "wanted"), [((), []), (("day", "Id"), ["ID", "DAY"]), (("info.place",), ["info.Place"])]
)
def test_the_same_columns_are_no_difference(found: tuple[str, ...], wanted: list[str]) -> None:
    plan = plan_of(spec_of(clusterBy=wanted), replace(TABLE, cluster_by=found), (3, 3))
    assert plan == AlterationPlan()


def test_the_first_clustering_columns_cannot_be_taken_back() -> None:
    plain = replace(TABLE, writer_features=frozenset())
    plan = plan_of(spec_of(clusterBy=["day"]), plain, (4, 4))
    (difference,) = plan.differences
    assert "no version of Delta takes clustering out again" in str(difference.irreversible)
    assert difference.held_back
    assert plan.changes == ()
    assert len(plan_of(spec_of(clusterBy=["day"], allowIrreversible=True), plain, (4, 4)).changes) == 1


@pytest.mark.parametrize(
    ("state", "wanted", "why"),
    [
        (replace(TABLE, partition_by=("day",)), ["Id"], "Delta clusters unpartitioned tables only"),
        (replace(TABLE, cluster_by=None), ["Id"], "could not be read"),
        (TABLE, ["amount"], "the table has no column amount"),
        (TABLE, ["amount.net"], "the table has no column amount.net"),
        (TABLE, ["info."], "info. is no column"),
        (
            replace(TABLE, properties={"delta.dataSkippingNumIndexedCols": "1"}),
            ["day"],
            "not among the first 1",
        ),
        (
            replace(TABLE, properties={"delta.dataSkippingNumIndexedCols": "0"}),
            ["Id"],
            "not among the first 0",
        ),
        (replace(TABLE, properties={"delta.dataSkippingStatsColumns": "id"}), ["day"], "leaves day out"),
        (
            replace(TABLE, properties={"delta.dataSkippingStatsColumns": "info.a"}),
            ["info.b"],
            "leaves info.b out",
        ),
    ],
)
def test_what_delta_would_refuse_is_told_and_not_tried(
    state: TableState, wanted: list[str], why: str
) -> None:
    plan = plan_of(spec_of(clusterBy=wanted, allowIrreversible=True), state, (4, 4))
    (difference,) = plan.differences
    assert why in str(difference.forbidden)
    assert plan.changes == ()


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({"delta.dataSkippingNumIndexedCols": "-1"}, "a.b"),
        ({"delta.dataSkippingNumIndexedCols": "1"}, "id"),
        ({"delta.dataSkippingStatsColumns": "ID,`a.b`"}, "a.b"),
        ({"delta.dataSkippingStatsColumns": "info"}, "info.place"),
        (
            {"delta.dataSkippingStatsColumns": "day", "delta.dataSkippingNumIndexedCols": "0"},
            "day",
        ),
    ],
)
def test_columns_with_statistics_are_clustered_by(properties: dict[str, str], wanted: str) -> None:
    plan = plan_of(spec_of(clusterBy=[wanted]), replace(TABLE, properties=properties), (4, 4))
    assert len(plan.changes) == 1


def test_columns_that_are_not_known_are_tried_as_they_are_written() -> None:
    plan = plan_of(spec_of(clusterBy=["info.place"]), replace(TABLE, columns=None), (4, 4))
    assert plan.changes[0].sql.endswith("CLUSTER BY (`info`.`place`)")

"""A plan tells each difference, what would change it, and why it is not changed where it isn't."""

from dataclasses import replace
from typing import Any

import pytest

from sluice.policies.difference import AlterationPlan, Difference, plan_of
from sluice.tables.table_observation import TableState
from unit.policies.specs import spec_of

ON_FEATURES = frozenset({"appendOnly", "invariants"})
TABLE = TableState(version=7, writer_version=7, writer_features=ON_FEATURES, columns=("id", "day", "amount"))
NEWEST = (4, 4)


def _plan(state: TableState, version: tuple[int, int] | None = NEWEST, **wanted: Any) -> AlterationPlan:
    return plan_of(spec_of(**wanted), state, version)


def _with(*features: str, **properties: str) -> TableState:
    return replace(
        TABLE,
        writer_features=ON_FEATURES | set(features),
        properties={name.replace("_", "."): value for name, value in properties.items()},
    )


def _sql(plan: AlterationPlan) -> list[str]:
    return [change.sql for change in plan.changes]


def _only(plan: AlterationPlan) -> Difference:
    (difference,) = plan.differences
    return difference


def test_all_properties_are_set_by_one_statement_in_the_order_of_their_names() -> None:
    plan = _plan(
        TABLE, properties={"team": "it's us", "delta.checkpointInterval": "20", "delta.appendOnly": "true"}
    )
    assert _sql(plan) == [
        "ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES "
        "('delta.appendOnly' = 'true', 'delta.checkpointInterval' = '20', 'team' = 'it\\'s us')"
    ]
    assert {(one.field, one.wanted, one.found) for one in plan.differences} == {
        ("properties.delta.appendOnly", "true", "not set, which means false"),
        ("properties.delta.checkpointInterval", "20", "not set, which means 10"),
        ("properties.team", "it's us", "not set"),
    }


def test_properties_come_before_the_columns_whose_statistics_they_bring() -> None:
    state = replace(
        _with("clustering", "domainMetadata"), properties={"delta.dataSkippingStatsColumns": "id"}
    )
    plan = _plan(state, properties={"delta.dataSkippingStatsColumns": "id,day"}, clusterBy=["day"])
    assert _sql(plan) == [
        "ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'id,day')",
        "ALTER TABLE delta.`s3://lake/orders` CLUSTER BY (`day`)",
    ]


def test_what_is_as_wanted_in_other_words_is_no_difference() -> None:
    state = replace(
        TABLE,
        properties={
            "delta.logRetentionDuration": "interval 1 week",
            "delta.appendOnly": "TRUE",
            "delta.columnMapping.mode": "id",
        },
        cluster_by=("Day", "id"),
    )
    plan = _plan(
        state,
        properties={
            "delta.logRetentionDuration": "168 hours",
            "delta.appendOnly": "true",
            "delta.enableDeletionVectors": "false",
        },
        features=["columnMapping"],
        clusterBy=["id", "day"],
        partitionBy=[],
        isolationLevel="Serializable",
    )
    assert plan == AlterationPlan()


@pytest.mark.parametrize(
    ("feature", "setting", "in_protocol"),
    [
        ("changeDataFeed", "'delta.enableChangeDataFeed' = 'true'", "changeDataFeed"),
        ("columnMapping", "'delta.columnMapping.mode' = 'name'", "columnMapping"),
        ("deletionVectors", "'delta.enableDeletionVectors' = 'true'", "deletionVectors"),
        ("inCommitTimestamp", "'delta.enableInCommitTimestamps' = 'true'", "inCommitTimestamp"),
        ("rowTracking", "'delta.enableRowTracking' = 'true'", "domainMetadata and rowTracking"),
        ("typeWidening", "'delta.enableTypeWidening' = 'true'", "typeWidening"),
        ("v2Checkpoint", "'delta.checkpointPolicy' = 'v2'", "v2Checkpoint"),
    ],
)
def test_a_wanted_feature_is_turned_on_by_its_property_if_that_is_allowed(
    feature: str, setting: str, in_protocol: str
) -> None:
    held_back = _plan(TABLE, features=[feature])
    difference = _only(held_back)
    assert difference.field == f"features.{feature}"
    assert difference.held_back
    assert f"adds {in_protocol} to the table's protocol" in str(difference.irreversible)
    assert held_back.changes == ()
    allowed = _plan(TABLE, features=[feature], allowIrreversible=True)
    assert _sql(allowed) == [f"ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES ({setting})"]


def test_a_feature_that_the_protocol_has_is_only_turned_on() -> None:
    plan = _plan(_with("deletionVectors"), features=["deletionVectors"])
    assert _only(plan).irreversible is None
    assert len(plan.changes) == 1


def test_an_old_protocol_that_implies_a_feature_has_it() -> None:
    implied = TableState(reader_version=1, writer_version=4)
    assert _only(_plan(implied, features=["changeDataFeed"])).irreversible is None
    older = TableState(reader_version=1, writer_version=3)
    assert "no version of Delta takes changeDataFeed out" in str(
        _only(_plan(older, features=["changeDataFeed"])).irreversible
    )


def test_what_is_held_back_keeps_nothing_else_from_being_changed() -> None:
    plan = _plan(TABLE, features=["rowTracking"], properties={"team": "sales"})
    assert _sql(plan) == ["ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES ('team' = 'sales')"]
    assert [one.is_tried for one in plan.differences] == [True, False]


def test_turning_a_feature_off_can_be_taken_back() -> None:
    state = _with("rowTracking", delta_enableRowTracking="true")
    difference = _only(_plan(state, properties={"delta.enableRowTracking": "false"}))
    assert difference.is_tried
    assert difference.irreversible is None


@pytest.mark.parametrize(
    ("found", "wanted", "irreversible"),
    [
        (None, "7 days", True),
        ("interval 7 days", "6 days", True),
        ("interval 7 days", "60 days", False),
    ],
)
def test_a_shorter_memory_forgets_for_good(found: str | None, wanted: str, irreversible: bool) -> None:
    for name in ("delta.logRetentionDuration", "delta.setTransactionRetentionDuration"):
        state = replace(TABLE, properties={} if found is None else {name: found})
        files = {"delta.deletedFileRetentionDuration": "1 day"}
        plan = _plan(state, properties={name: wanted, **files})
        difference = next(one for one in plan.differences if one.field == f"properties.{name}")
        assert (difference.irreversible is not None) is irreversible


@pytest.mark.parametrize(("found", "irreversible"), [(None, True), ("7 days", True), ("1 day", False)])
def test_files_that_older_versions_need_are_gone_for_good(found: str | None, irreversible: bool) -> None:
    name = "delta.deletedFileRetentionDuration"
    state = replace(TABLE, properties={} if found is None else {name: found})
    plan = _plan(state, properties={name: "2 days"})
    assert (_only(plan).irreversible is not None) is irreversible
    assert (plan.changes == ()) is irreversible


def test_a_history_that_was_kept_for_ever_is_gone_for_good_once_it_is_cleaned_up() -> None:
    name = "delta.enableExpiredLogCleanup"
    for found, wanted in (("false", "true"), ("true", "false")):
        plan = _plan(replace(TABLE, properties={name: found}), properties={name: wanted})
        assert (_only(plan).irreversible is not None) is (wanted == "true")


@pytest.mark.parametrize(
    ("found", "wanted", "way"),
    [
        (None, "name", True),
        ("none", "name", True),
        (None, "id", False),
        ("name", "id", False),
        ("id", "name", False),
        ("name", "none", False),
        ("id", "none", False),
    ],
)
def test_columns_come_to_be_mapped_by_name_and_nothing_else(
    found: str | None, wanted: str, way: bool
) -> None:
    state = replace(
        TABLE,
        reader_version=2,
        writer_version=5,
        properties={} if found is None else {"delta.columnMapping.mode": found},
    )
    plan = _plan(state, properties={"delta.columnMapping.mode": wanted}, allowIrreversible=True)
    difference = _only(plan)
    assert (difference.forbidden is None) is way
    assert bool(plan.changes) is way
    assert "rewrites all files" in str(difference.irreversible)


@pytest.mark.parametrize(
    ("name", "value", "since"),
    [
        ("delta.dataSkippingStringPrefixLength", "64", (4, 1)),
        ("delta.enableMaterializePartitionColumnsFeature", "true", (4, 1)),
        ("delta.parquet.format.version", "2.12.0", (4, 3)),
        ("delta.writePartitionColumnsToParquet", "true", (4, 4)),
    ],
)
def test_a_property_that_the_jobs_delta_does_not_know_is_told_and_not_tried(
    name: str, value: str, since: tuple[int, int]
) -> None:
    wanted = {"properties": {name: value}, "allowIrreversible": True}
    before = (4, since[1] - 1)
    for version in (before, (3, 3), None):
        plan = _plan(TABLE, version, **wanted)
        assert plan.changes == ()
        assert f"needs Delta {since[0]}.{since[1]} or newer" in str(_only(plan).forbidden)
    assert _plan(TABLE, since, **wanted).changes


@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable"])
def test_facts_are_told_and_never_changed(level: str) -> None:
    other = "WriteSerializable" if level == "Serializable" else "Serializable"
    state = replace(TABLE, partition_by=("day",), properties={"delta.isolationLevel": other})
    plan = _plan(state, partitionBy=["id"], isolationLevel=level, allowIrreversible=True)
    assert [(one.field, one.wanted, one.found, one.is_tried) for one in plan.differences] == [
        ("partitionBy", "id", "day", False),
        ("isolationLevel", level, other, False),
    ]
    assert plan.changes == ()


def test_a_table_of_databricks_without_a_level_has_its_default() -> None:
    wanted: dict[str, Any] = {"isolationLevel": "WriteSerializable"}
    assert _only(_plan(TABLE, **wanted)).found == "Serializable"
    assert _plan(TABLE, dialect={"name": "databricks"}, **wanted) == AlterationPlan()


def test_a_table_that_is_not_there_or_not_readable_is_not_compared() -> None:
    wanted: dict[str, Any] = {"properties": {"team": "sales"}}
    assert _plan(TableState(exists=False), **wanted) == AlterationPlan(
        not_compared="the table does not exist yet"
    )
    unread = _plan(TableState(unread="no such bucket"), **wanted)
    assert unread == AlterationPlan(not_compared="the table's log could not be read: no such bucket")


def test_a_policy_with_a_problem_is_not_followed_in_part() -> None:
    plan = _plan(TABLE, properties={"team": "sales", "delta.checkpointInterval": "4294967296"}, clusterBy=[])
    assert plan.problems == (
        "spec.properties: delta.checkpointInterval must be a whole number from 1 on, not '4294967296'",
    )
    assert plan.changes == ()
    assert {one.field for one in plan.differences} == {
        "properties.team",
        "properties.delta.checkpointInterval",
    }
    assert not any(one.is_tried for one in plan.differences)


def test_a_table_that_the_jobs_cannot_write_is_left_alone() -> None:
    plan = _plan(_with("somethingNew"), properties={"team": "sales"}, clusterBy=["id"])
    assert plan.changes == ()
    assert all("somethingNew" in str(one.forbidden) for one in plan.differences)
    assert len(plan.differences) == 2


def test_the_two_retentions_are_set_together_where_the_table_has_both() -> None:
    """Delta would compare the one that is set with its own default for the other."""
    found = {"delta.deletedFileRetentionDuration": "2 days", "delta.logRetentionDuration": "90 days"}
    plan = _plan(
        replace(TABLE, properties=found),
        properties={"delta.logRetentionDuration": "3 days"},
        allowIrreversible=True,
    )
    assert _sql(plan) == [
        "ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES "
        "('delta.deletedFileRetentionDuration' = '2 days', 'delta.logRetentionDuration' = '3 days')"
    ]


def test_a_table_is_named_by_its_path_or_else_by_each_part_of_its_name() -> None:
    by_name = plan_of(
        spec_of(table={"name": "lake.sales.my-orders"}, properties={"team": "a"}), TABLE, NEWEST
    )
    assert _sql(by_name)[0].startswith("ALTER TABLE `lake`.`sales`.`my-orders` SET")
    by_both = plan_of(
        spec_of(table={"name": "sales.orders", "path": "/a`b"}, properties={"team": "a"}), TABLE, NEWEST
    )
    assert _sql(by_both)[0].startswith("ALTER TABLE delta.`/a``b` SET")

"""Each property of Delta has its values, its default and its place in the protocol; others are refused with what to do instead."""

import pytest

from sluice.delta.features import FEATURES, WANTED
from sluice.delta.properties import PROPERTIES, is_as_wanted, is_on, problem_with, same, spelled
from sluice.delta.refused_properties import REFUSED

Row = tuple[str, str, str, str | None, str | None, tuple[int, int]]
# name, a value that Delta takes, one that it refuses, its default, the feature it adds, the first version that knows it
ROWS: list[Row] = [
    ("delta.appendOnly", "true", "yes", "false", "appendOnly", (3, 3)),
    ("delta.isolationLevel", "Serializable", "WriteSerializable", "Serializable", None, (3, 3)),
    ("delta.checkpointInterval", "1", "0", "10", None, (3, 3)),
    ("delta.checkpointPolicy", "v2", "v3", "classic", "v2Checkpoint", (3, 3)),
    ("delta.checkpoint.writeStatsAsJson", "false", "0", "true", None, (3, 3)),
    ("delta.checkpoint.writeStatsAsStruct", "false", "off", "true", None, (3, 3)),
    ("delta.logRetentionDuration", "interval 30 days", "1 month", "interval 30 days", None, (3, 3)),
    ("delta.deletedFileRetentionDuration", "168 hours", "1 year", "interval 1 week", None, (3, 3)),
    ("delta.setTransactionRetentionDuration", "90 days", "90", None, None, (3, 3)),
    ("delta.enableExpiredLogCleanup", "false", "no", "true", None, (3, 3)),
    ("delta.enableFullRetentionRollback", "false", "no", "true", None, (3, 3)),
    ("delta.checkpointRetentionDuration", "2 days", "-2 days", "interval 2 days", None, (3, 3)),
    ("delta.sampleRetentionDuration", "7 days", "a week", "interval 7 days", None, (3, 3)),
    ("delta.dataSkippingNumIndexedCols", "-1", "-2", "32", None, (3, 3)),
    ("delta.dataSkippingStatsColumns", "day,`a b`", "a b", None, None, (3, 3)),
    ("delta.dataSkippingStringPrefixLength", "0", "-1", None, None, (4, 1)),
    ("delta.autoOptimize.optimizeWrite", "true", "auto", None, None, (3, 3)),
    ("delta.autoOptimize.autoCompact", "TRUE", "legacy", None, None, (3, 3)),
    ("delta.randomizeFilePrefixes", "true", "yes", "false", None, (3, 3)),
    ("delta.randomPrefixLength", "3", "0", "2", None, (3, 3)),
    ("delta.compatibility.symlinkFormatManifest.enabled", "true", "on", "false", None, (3, 3)),
    ("delta.enableChangeDataFeed", "True", "enabled", "false", "changeDataFeed", (3, 3)),
    ("delta.enableDeletionVectors", "true", "t", "false", "deletionVectors", (3, 3)),
    ("delta.columnMapping.mode", "Name", "physical", "none", "columnMapping", (3, 3)),
    ("delta.enableRowTracking", "true", "y", "false", "rowTracking", (3, 3)),
    ("delta.enableTypeWidening", "true", "wide", "false", "typeWidening", (3, 3)),
    ("delta.enableInCommitTimestamps", "true", "now", "false", "inCommitTimestamp", (3, 3)),
    ("delta.enableIcebergCompatV1", "true", "1", "false", "icebergCompatV1", (3, 3)),
    ("delta.enableIcebergCompatV2", "true", "2", "false", "icebergCompatV2", (3, 3)),
    ("delta.enableIcebergCompatV3", "true", "3", "false", "icebergCompatV3", (4, 3)),
    ("delta.universalFormat.enabledFormats", "iceberg", "paimon", "", None, (3, 3)),
    ("delta.enableVariantShredding", "true", "", "false", "variantShredding-preview", (4, 0)),
    (
        "delta.enableMaterializePartitionColumnsFeature",
        "true",
        "supported",
        "false",
        "materializePartitionColumns",
        (4, 1),
    ),
    ("delta.writePartitionColumnsToParquet", "true", "yes", None, None, (4, 4)),
    ("delta.parquet.format.version", "2.12.0", "2", "1.0.0", None, (4, 3)),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_property_takes_what_delta_takes(row: Row) -> None:
    name, good, bad, default, feature, since = row
    assert problem_with(name, good) is None
    problem = problem_with(name, bad)
    assert problem is not None
    assert problem.startswith(f"{name} must be ")
    assert repr(bad) in problem
    one = PROPERTIES[name]
    assert (one.default, one.feature, one.since) == (default, feature, since)
    assert default is None or one.values.read(default) is not None


def test_the_rows_above_are_all() -> None:
    assert [row[0] for row in ROWS] == list(PROPERTIES)


def test_each_feature_that_a_property_adds_is_known_and_so_is_each_property_that_turns_a_wanted_one_on() -> (
    None
):
    assert {one.feature for one in PROPERTIES.values() if one.feature is not None} <= set(FEATURES)
    for feature, switch in WANTED.items():
        assert PROPERTIES[switch.property].feature == feature
        for value in (switch.value, *switch.means_on):
            assert PROPERTIES[switch.property].turns_on(value)


def test_what_is_refused_is_not_on_the_list_as_well() -> None:
    for refused in REFUSED:
        assert not PROPERTIES.keys() & set(refused.names)
        assert not any(name.startswith(refused.beginnings) for name in PROPERTIES)


def test_the_isolation_level_is_refused_with_what_open_source_delta_takes() -> None:
    problem = problem_with("delta.isolationLevel", "WriteSerializable")
    assert problem is not None
    assert "open-source Delta accepts Serializable only" in problem


@pytest.mark.parametrize("name", ["team", "Owner.team", "quality.delta.appendOnly", "delta", "appendOnly"])
def test_users_own_properties_are_taken_as_they_are(name: str) -> None:
    assert problem_with(name, "anything") is None


def test_a_long_value_is_not_told_whole() -> None:
    problem = problem_with("delta.appendOnly", "x" * 1000)
    assert problem is not None
    assert len(problem) < 150


@pytest.mark.parametrize(
    ("name", "one", "other", "alike"),
    [
        ("delta.logRetentionDuration", "interval 7 days", "168 hours", True),
        ("delta.logRetentionDuration", "interval 1 week", "7 DAYS", True),
        ("delta.logRetentionDuration", "7 days", "8 days", False),
        ("delta.logRetentionDuration", "1 month", "1 month", True),
        ("delta.logRetentionDuration", "1 month", "1 Month", False),
        ("delta.appendOnly", "TRUE", "true", True),
        ("delta.appendOnly", "true", "false", False),
        ("delta.checkpointInterval", "010", "10", True),
        ("delta.checkpointPolicy", "v2", "classic", False),
        ("delta.columnMapping.mode", "NAME", "name", True),
        ("delta.dataSkippingStatsColumns", "a, b", "`B`,A", True),
        ("delta.universalFormat.enabledFormats", "hudi,iceberg", "iceberg,hudi", True),
        ("team", "Sales", "sales", False),
    ],
)
def test_values_are_compared_by_what_they_mean(name: str, one: str, other: str, alike: bool) -> None:
    assert same(name, one, other) is alike
    assert same(name, other, one) is alike


@pytest.mark.parametrize(
    ("name", "wanted", "found", "enough"),
    [
        ("delta.appendOnly", "false", None, True),
        ("delta.appendOnly", "true", None, False),
        ("delta.deletedFileRetentionDuration", "7 days", None, True),
        ("delta.columnMapping.mode", "none", None, True),
        # engines take these for different things where they are absent
        ("delta.isolationLevel", "Serializable", None, False),
        ("delta.checkpointInterval", "10", None, False),
        # the writers' settings count where it is absent
        ("delta.autoOptimize.autoCompact", "false", None, False),
        ("delta.setTransactionRetentionDuration", "7 days", None, False),
        ("team", "sales", None, False),
        ("team", "sales", "sales", True),
        ("delta.isolationLevel", "Serializable", "serializable", True),
    ],
)
def test_a_property_that_is_absent_has_its_default_where_all_engines_agree(
    name: str, wanted: str, found: str | None, enough: bool
) -> None:
    assert is_as_wanted(name, wanted, found) is enough


def test_a_value_is_spelled_as_every_engine_reads_it() -> None:
    for name, given, written in (
        ("delta.appendOnly", "TRUE", "true"),
        ("delta.columnMapping.mode", "Name", "name"),
        ("delta.isolationLevel", "SERIALIZABLE", "Serializable"),
        ("delta.checkpointPolicy", "v2", "v2"),
        ("delta.logRetentionDuration", "INTERVAL 7 DAYS", "INTERVAL 7 DAYS"),
        ("team.owner", "TRUE", "TRUE"),
    ):
        assert spelled(name, given) == written
        assert same(name, given, written)


def test_delta_3_adds_a_preview_of_type_widening() -> None:
    widening = PROPERTIES["delta.enableTypeWidening"]
    assert (widening.adds_by((3, 3)), widening.adds_by((4, 0))) == ("typeWidening-preview", "typeWidening")
    assert PROPERTIES["delta.enableRowTracking"].adds_by((3, 3)) == "rowTracking"
    assert PROPERTIES["delta.checkpointInterval"].adds_by((3, 3)) is None


def test_a_feature_is_in_use_by_the_property_as_delta_keeps_it() -> None:
    assert is_on({"delta.enableDeletionVectors": "TRUE"}, "delta.enableDeletionVectors")
    assert not is_on({"delta.enabledeletionvectors": "true"}, "delta.enableDeletionVectors")
    assert not is_on({"delta.enableDeletionVectors": "nonsense"}, "delta.enableDeletionVectors")
    assert not is_on({}, "delta.enableDeletionVectors")

"""What a policy may want of a table's properties is what Delta takes, each by the statement that is planned for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contract.harness.followed import EMPTY, PARTITIONED, Followed
from contract.harness.tables import Asked
from sluice.delta.features import with_needed
from sluice.delta.properties import MAPPING, PROPERTIES, Property, problem_with, same, spelled
from sluice.delta.refused_properties import REFUSED
from sluice.delta.values import BOOLEAN, COLUMNS, FORMAT_VERSION, INTERVAL

WRITER_2 = frozenset({"appendOnly", "invariants"})
"""What the protocol of a new table implies; it lists them once it lists any."""
NEEDS = {
    "delta.enableIcebergCompatV1": {MAPPING: "name"},
    "delta.enableIcebergCompatV2": {MAPPING: "name"},
    "delta.enableIcebergCompatV3": {MAPPING: "name"},
    "delta.logRetentionDuration": {"delta.deletedFileRetentionDuration": "0 hours"},
    "delta.deletedFileRetentionDuration": {"delta.logRetentionDuration": "106751991 days"},
}
"""What Delta wants beside some properties, of any value."""

WORDS = {
    "delta.isolationLevel": (
        ["Serializable", "serializable"],
        ["WriteSerializable", "SnapshotIsolation", ""],
    ),
    "delta.checkpointPolicy": (["v2"], ["V2", "Classic", ""]),
    MAPPING: (["name"], ["physical", "", "name "]),
    "delta.universalFormat.enabledFormats": (["hudi"], ["Hudi", "hudi,hudi", " hudi", "delta"]),
}
INTERVALS = (
    ["interval 8 days", "12 days", "INTERVAL 9 DAYS", "1 week 2 days", "-1 days 20 days", "  13   days "],
    [
        "1 month",
        "7",
        "-1 days",
        "1.5 days",
        "interval",
        "P7D",
        "106751992 days",
        "7days",
        "1 year",
        "1 day 2",
        "",
    ],
)
SPLIT = (
    [
        "interval 7 days 2 hours 3 minutes 4 seconds 5 milliseconds 6 microseconds",
        "7 days 1.5 seconds",
        "- 1 day + 200 hours",
        "106751991 days",
    ],
    ["999999999999999999 weeks", "1 . 5 seconds", "interval '7' days"],
)
LISTS = (["id", "`id`,k", "ID , k", "st.a", " st.`b`", ""], ["id,", "id,id", ",", "1d", "a-b"])
FORMATS = (["2.12.0", "2.9.0"], ["1.0", "v1.0.0", "0.0.1", "", "1.0.0.0"])
SWITCHES = (["true", "TRUE", "false"], ["yes", "1", "", " true", "t"])


def samples(one: Property) -> tuple[list[str], list[str]]:
    """Values that are taken for valid, and others; of each the most usual one first."""
    if one.values is BOOLEAN:
        return SWITCHES
    if one.values is INTERVAL:
        return INTERVALS[0] + SPLIT[0], INTERVALS[1] + SPLIT[1]
    if one.values is COLUMNS:
        return LISTS
    if one.values is FORMAT_VERSION:
        return FORMATS
    if one.name in WORDS:
        return WORDS[one.name]
    smallest = next(number for number in (-1, 0, 1) if one.values.read(str(number)) is not None)
    return ["17", str(smallest), "+5", "0032", "2147483647"], [
        str(smallest - 1),
        "1.5",
        "",
        " 5",
        "2147483648",
    ]


def cases() -> Iterator[Any]:
    for name, one in PROPERTIES.items():
        good, _ = samples(one)
        for value in good:
            mark = [] if value == good[0] else [pytest.mark.long(minutes=0.05)]
            yield pytest.param(name, value, id=f"{name}={value}", marks=mark)


@pytest.mark.parametrize(("name", "value"), list(cases()))
def test_a_valid_value_is_taken_and_then_nothing_is_left_to_change(
    asked: Asked, delta: str, name: str, value: str
) -> None:
    one = PROPERTIES[name]
    assert problem_with(name, value) is None
    table = Followed.made(asked, delta, EMPTY)
    wanted = {"properties": {**NEEDS.get(name, {}), name: value}, "allowIrreversible": True}
    if one.since > table.version:
        assert not table.plan(properties={name: value}, allowIrreversible=True).changes
        assert "DELTA_UNKNOWN_CONFIGURATION" in (table.sets_all({name: value}) or "")
        return
    if not table.plan(properties={name: value}, allowIrreversible=True).differences:
        assert same(name, value, one.default or "")
        assert table.sets_all({name: value}) is None
        assert table.answer.properties[name] == value
        return
    found = table.follows(**wanted)
    assert found.properties[name] == spelled(name, value)
    assert table.features == _expected(one, value, table.version)


def _expected(one: Property, value: str, version: tuple[int, int]) -> frozenset[str]:
    feature = one.adds_by(version)
    added = set() if feature is None or not one.turns_on(value) else set(with_needed(feature))
    return WRITER_2 | added if added - WRITER_2 else frozenset()


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(slice(1), id="first"),
        pytest.param(slice(1, None), id="others", marks=pytest.mark.long(minutes=0.05)),
    ],
)
@pytest.mark.parametrize("name", PROPERTIES)
def test_what_is_no_value_is_refused(asked: Asked, delta: str, name: str, values: slice) -> None:
    table = Followed.made(asked, delta, EMPTY)
    _, bad = samples(PROPERTIES[name])
    for value in bad[values]:
        assert problem_with(name, value) is not None
        assert table.sets_all({name: value}) is not None, value
    assert table.answer.properties == {}


@pytest.mark.parametrize(
    "names", [("delta.dataSkippingStatsColumns", "p"), ("delta.dataSkippingStatsColumns", "nosuch")]
)
def test_columns_that_have_no_statistics_are_told_and_refused(
    asked: Asked, delta: str, names: tuple[str, str]
) -> None:
    name, column = names
    table = Followed.made(asked, delta, PARTITIONED)
    (difference,) = table.plan(properties={name: column}).differences
    assert difference.forbidden is not None
    assert table.sets_all({name: column}) is not None


TAKEN_ALL_THE_SAME = {
    "delta.minWriterVersion": "4",
    "delta.ignoreProtocolDefaults": "true",
    "delta.inCommitTimestampEnablementVersion": "1",
    "delta.inCommitTimestampEnablementTimestamp": "1",
    "delta.requireCheckpointProtectionBeforeVersion": "1",
    "delta.dropFeatureTruncateHistory.retentionDuration": "interval 1 hour",
    "delta.autoOptimize": "true",
    "delta.enableChangeDataCapture": "true",
    "delta.universalFormat.config.x": "y",
    "ucTableId": "x",
    "io.unitycatalog.tableId": "x",
    "comment": "nothing is kept of it",
}
"""What Delta takes of the names that no policy can want: it keeps them itself, or there is another word for them."""
DIFFER = {"delta.rowTrackingSuspended", "delta.redirectx", "collation"}
"""What one of the two versions takes."""


def names_that_no_policy_can_want() -> Iterator[str]:
    yield "delta.foo"
    for refused in REFUSED:
        yield from refused.names
        yield from (f"{beginning}x" for beginning in refused.beginnings)


@pytest.mark.parametrize("name", list(names_that_no_policy_can_want()))
def test_a_name_that_no_policy_can_want_is_refused_or_known_to_be_taken(
    asked: Asked, delta: str, name: str
) -> None:
    assert name not in PROPERTIES
    table = Followed.made(asked, delta, EMPTY)
    is_refused = table.sets_all({name: TAKEN_ALL_THE_SAME.get(name, "x")}) is not None
    assert is_refused is (name not in TAKEN_ALL_THE_SAME) or name in DIFFER


def test_what_is_already_so_in_other_words_is_left_alone(asked: Asked, delta: str) -> None:
    table = Followed.made(asked, delta, EMPTY)
    table.follows(
        properties={
            "delta.appendOnly": "TRUE",
            "delta.checkpointInterval": "0017",
            "team.owner": "a 'b' ${c}",
        }
    )
    again = table.plan(
        properties={"delta.appendOnly": "true", "delta.checkpointInterval": "17", "team.owner": "a 'b' ${c}"}
    )
    assert again.differences == ()


def test_each_of_the_two_retentions_is_set_whatever_the_table_says_of_the_other(
    asked: Asked, delta: str
) -> None:
    log, files = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
    table = Followed.made(asked, delta, EMPTY)
    table.follows(properties={log: "interval 40 days"})
    table.follows(properties={files: "interval 35 days"})
    (difference,) = table.plan(properties={log: "interval 3 days"}, allowIrreversible=True).differences
    compares = table.version >= (4, 1)
    assert (difference.forbidden is not None) is compares
    assert (table.sets_all({log: "interval 3 days"}) is not None) is compares
    table.follows(properties={log: "interval 2 days", files: "interval 2 days"}, allowIrreversible=True)

"""What a status tells of a table has bounds, whatever the table's log has."""

from dataclasses import replace

import pytest

from sluice.api.policy_status import DeltaTablePolicyStatus, ObservedTable
from sluice.policies.observed_status import observed_of, unless_same
from sluice.tables.table_observation import LogHistory
from unit.policies.looks import AT, commit, look


def _fits(observed: ObservedTable) -> bool:
    told = DeltaTablePolicyStatus(observed=observed).model_dump(mode="json", by_alias=True, exclude_none=True)
    return DeltaTablePolicyStatus.as_stored(told).observed is not None


def test_it_tells_what_the_log_says() -> None:
    history = LogHistory(
        since=AT,
        last_by_operation={"MERGE": commit(1, "MERGE", job="etl/a"), "WRITE": commit(2)},
        foreign_commits=7,
        last_foreign=commit(2),
    )
    seen = look(properties={"a": "1"}, history=history, reader_version=1, writer_version=4)
    observed = observed_of(seen, "file:/lake/orders", 5, str)
    assert (observed.location, observed.version, observed.read_at) == ("file:/lake/orders", 3, AT)
    assert observed.protocol is not None
    assert (observed.protocol.reader, observed.protocol.writer) == (1, 4)
    assert "changeDataFeed" in observed.features
    assert (observed.partition_by, observed.properties) == (("date",), {"a": "1"})
    assert (observed.size, observed.files, observed.conflicts_last_day) == (2048, 2, 5)
    assert [(one.operation, one.version, one.job) for one in observed.last_commits] == [
        ("WRITE", 2, None),
        ("MERGE", 1, "etl/a"),
    ]
    foreign = observed.foreign_writers
    assert foreign is not None
    assert (foreign.commits, foreign.since) == (7, AT)
    assert foreign.last is not None
    assert foreign.last.engine == "delta-rs:1.6.6"
    assert _fits(observed)


def test_where_nobody_else_writes_nothing_is_told_of_others() -> None:
    assert observed_of(look(), "file:/lake/orders", 0, str).foreign_writers is None


def test_a_table_of_more_and_longer_texts_than_a_status_has_room_for_is_told_in_part() -> None:
    many = {f"p{number}" * 3: "x" * 10_000 for number in range(1000)} | {"n" * 5000: "1"}
    commits = {f"OPERATION {number}" * 60: commit(number, "X" * 900) for number in range(100)}
    seen = look(
        properties=many | {"delta.appendOnly": "true"},
        partition_by=tuple(f"c{number}" * 200 for number in range(300)),
        cluster_by=None,
        writer_version=7,
        writer_features=frozenset(f"feature{number}" for number in range(200)),
        history=LogHistory(last_by_operation=commits),
    )
    observed = observed_of(seen, "file:/lake/orders", 0, str)
    assert _fits(observed)
    assert observed.properties is not None
    assert observed.properties["delta.appendOnly"] == "true", "Delta's own come first"
    assert [one.version for one in observed.last_commits] == list(range(99, 83, -1))
    assert len(observed.model_dump_json()) < 200_000


def test_the_time_of_the_read_stays_until_anything_else_differs() -> None:
    first = observed_of(look(), "file:/lake/orders", 0, str)
    before = unless_same(None, first)
    assert unless_same(before, first.model_copy(update={"read_at": AT.replace(hour=23)})) is before
    other = observed_of(replace(look(), size=1), "file:/lake/orders", 0, str)
    assert unless_same(before, other)["size"] == 1
    assert unless_same("what somebody wrote", first) == before


@pytest.mark.parametrize("size", [-1, 2**63])
def test_a_size_that_no_table_has_is_not_told(size: int) -> None:
    observed = observed_of(replace(look(), size=size), "s3://lake/orders", 0, str)
    assert observed.size is None
    assert _fits(observed)

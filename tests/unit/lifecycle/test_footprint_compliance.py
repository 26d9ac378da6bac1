"""Whether an application kept to the footprint that its job declares, by the logs of the declared tables."""

from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import JobFootprint, footprint_of
from sluice.lifecycle.evidence.footprint_compliance import LoggedCommit, kept
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path

ORDERS = key_of_path("/lake/orders")
FACTS = TableFacts(columns=Table.of({"id": "long", "date": "date"}, ["date"]))
TODAY, TOMORROW = {"date": "2026-11-19"}, {"date": "2026-11-20"}
DAY = "date = DATE '2026-11-19'"


def declared(**fields: Any) -> JobFootprint:
    given = {"table": {"path": "/lake/orders"}, "operation": "Merge", "reads": DAY, "writes": DAY} | fields
    spec = DeltaWriteJobSpec.as_stored(
        {"application": {"engine": "kubeflow", "template": {"type": "Python"}}, "footprint": [given]}
    )
    return footprint_of(spec, {}, facts={ORDERS: FACTS}, delta_version="4.4.0")


def commit(version: int = 3, *, is_own: bool = True, **touched: Any) -> LoggedCommit:
    return LoggedCommit(ORDERS, version, "MERGE", is_own, **touched)


def test_own_commits_within_the_declaration_hold_it() -> None:
    found = kept(declared(), [commit(adds=[TODAY], removes=[TODAY])])
    assert found.is_held is True


@pytest.mark.parametrize("elsewhere", [commit(adds=[TODAY, TOMORROW]), commit(removes=[TODAY, TOMORROW])])
def test_an_own_commit_elsewhere_has_strayed_and_is_named(elsewhere: LoggedCommit) -> None:
    found = kept(declared(), [elsewhere])
    assert found.is_held is False
    assert "version 3 of file:/lake/orders" in found.message
    assert "date=2026-11-20" in found.message
    assert "date=2026-11-19" not in found.message


def test_a_commit_of_nobody_within_the_declaration_leaves_no_doubt() -> None:
    assert kept(declared(), [commit(is_own=False, adds=[TODAY])]).is_held is True


def test_whose_a_commit_elsewhere_is_that_bears_no_stamp_is_not_known() -> None:
    found = kept(declared(), [commit(adds=[TODAY]), commit(4, is_own=False, adds=[TOMORROW])])
    assert found.is_held is None
    assert "version 4 of file:/lake/orders adds to date=2026-11-20" in found.message


def test_who_wrote_a_commit_of_nobody_is_told_in_its_own_words() -> None:
    delta_rs = commit(4, is_own=False, engine="delta-rs.0.30.2", adds=[TOMORROW])
    assert (
        "version 4 of file:/lake/orders (by delta-rs.0.30.2) adds to" in kept(declared(), [delta_rs]).message
    )


def test_of_commits_that_were_looked_at_no_more_is_asked() -> None:
    commits = [commit(unlooked="its file is no longer in the log"), commit(4, adds=[TOMORROW])]
    assert kept(declared(), commits, looked_at={("file:/lake/orders", 3)}).is_held is False
    assert kept(declared(), commits[:1], looked_at={("file:/lake/orders", 3)}).is_held is True
    assert kept(declared(), commits[:1], looked_at={("file:/lake/other", 3)}).is_held is None


def test_what_has_strayed_counts_more_than_what_is_not_known() -> None:
    commits = [commit(adds=[TOMORROW]), commit(4, is_own=False, adds=[TOMORROW])]
    assert kept(declared(), commits, ["file:/lake/other: no answer"]).is_held is False


def test_a_log_that_cannot_be_read_leaves_it_unknown() -> None:
    found = kept(declared(), [], ["file:/lake/orders: no answer"])
    assert found.is_held is None
    assert "no answer" in found.message


def test_a_commit_whose_files_cannot_be_read_leaves_it_unknown() -> None:
    assert kept(declared(), [commit(unlooked="its file is no longer in the log")]).is_held is None


def test_a_change_of_metadata_must_be_declared() -> None:
    assert kept(declared(), [commit(changes_metadata=True)]).is_held is False
    assert kept(declared(metadata=True), [commit(changes_metadata=True)]).is_held is True
    assert kept(declared(), [commit(is_own=False, changes_metadata=True)]).is_held is None


def test_a_blind_append_removes_nothing() -> None:
    append = declared(operation="Append", reads="false", writes="true")
    assert kept(append, [commit(adds=[TOMORROW])]).is_held is True
    assert kept(append, [commit(removes=[TODAY])]).is_held is False


def test_where_the_partition_of_a_file_cannot_be_compared_it_is_unknown() -> None:
    assert kept(declared(), [commit(adds=[{"date": "yesterday"}])]).is_held is None

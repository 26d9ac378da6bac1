"""What an oracle that lets two jobs run together says of the reason."""

import pytest

from sluice.conflicts import Level, Verdict
from sluice.tables import Dialect, databricks, delta_rs, oss
from unit.conflicts import pairs as p

RUST = delta_rs("1.3.0")


def why(loser: str, winner: str, dialect: Dialect) -> tuple[str, str]:
    verdict: Verdict = p.pair(loser, winner, dialect=dialect).first_loses
    assert verdict.level is Level.NEVER
    return verdict.rule, verdict.reason


def test_an_append_reads_nothing() -> None:
    assert why(p.APPEND, p.DELETE, oss("4.4.0")) == ("blind-append", "Append reads nothing of the table")


def test_a_merge_that_only_inserts_and_matches_nothing_reads_nothing() -> None:
    merge = f"MERGE INTO {{t}} t USING ({p.row(p.A)}) s ON false WHEN NOT MATCHED THEN INSERT *"
    assert why(merge, p.DELETE, oss("4.4.0")) == ("blind-append", "Merge reads nothing of the table")


def test_compaction_takes_no_notice_of_added_files() -> None:
    told = "Append removes no file that Optimize rewrites, which takes no notice of added ones"
    assert why(p.OPTIMIZE, p.APPEND, oss("4.4.0")) == ("disjoint", told)


def test_vacuum_changes_no_files() -> None:
    assert why(p.DELETE, p.VACUUM, oss("4.4.0")) == ("changes-no-files", "Vacuum changes no files")


def test_to_delta_rs_vacuum_changes_no_files() -> None:
    assert why(p.DELETE, p.VACUUM, RUST) == ("changes-no-files", "Vacuum changes no files")


@pytest.mark.parametrize(
    ("dialect", "reason"),
    [
        (oss("4.4.0"), "Delete touches no partition that Update reads"),
        (databricks("15.4", photon=True), "Delete touches no partition that Update reads"),
    ],
    ids=str,
)
def test_other_partitions_are_apart(dialect: Dialect, reason: str) -> None:
    assert why(p.UPDATE, p.DELETE_B, dialect) == ("disjoint", reason)


def test_to_delta_rs_an_append_looks_at_no_file_that_a_compaction_touches() -> None:
    reason = "Optimize adds and removes no file that Append looks at"
    assert why(p.APPEND, p.OPTIMIZE, RUST) == ("disjoint", reason)


def test_a_compaction_on_databricks_takes_no_notice_of_added_files() -> None:
    reason = "OPTIMIZE ignores files that are added"
    found = why(p.OPTIMIZE, p.APPEND, databricks("15.4", photon=True))
    assert found == ("optimize-beside-insert", reason)

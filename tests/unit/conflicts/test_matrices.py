"""The measured matrices, kind by kind: who loses to whom, and with what. MC and its like name the exception."""

from typing import Unpack

import pytest

from sluice.conflicts import Level, pair_of
from unit.conflicts import pairs as p

CA, CDR, CDD = "ConcurrentAppendException", "ConcurrentDeleteReadException", "ConcurrentDeleteDeleteException"
CT, CW = "ConcurrentTransactionException", "ConcurrentWriteException"
MC, PC = "MetadataChangedException", "ProtocolChangedException"
CHANGES_ROWS = [p.SELF_READ, p.DELETE, p.UPDATE, p.MERGE, p.REPLACE_WHERE, p.DYNAMIC]
ELSEWHERE = [p.APPEND_B, p.DELETE_B, p.UPDATE_B, p.MERGE_B, p.REPLACE_WHERE_B, p.DYNAMIC_B, p.OPTIMIZE_B]
ADDS = [p.APPEND, p.SELF_READ, p.UPDATE, p.MERGE, p.OVERWRITE, p.REPLACE_WHERE, p.DYNAMIC, p.OPTIMIZE]
VERSIONS = ["4.4.0", "3.3.3"]


def loses(loser: str, winner: str, version: str, **more: Unpack[p.Given]) -> tuple[Level, str | None]:
    verdict = p.pair(loser, winner, version, **more).first_loses
    return verdict.level, verdict.exception


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("winner", ADDS)
@pytest.mark.parametrize("loser", CHANGES_ROWS)
def test_who_reads_a_partition_may_lose_to_files_added_there(loser: str, winner: str, version: str) -> None:
    assert loses(loser, winner, version) == (Level.MAY, CA)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("winner", ELSEWHERE)
@pytest.mark.parametrize("loser", CHANGES_ROWS)
def test_writers_of_other_partitions_pass_each_other(loser: str, winner: str, version: str) -> None:
    assert p.pair(loser, winner, version).together


@pytest.mark.parametrize("winner", [*ELSEWHERE, *ADDS, p.TRUNCATE, p.VACUUM])
@pytest.mark.parametrize("loser", [p.APPEND, p.APPEND_B])
def test_a_blind_append_never_loses_to_a_change_of_rows(loser: str, winner: str) -> None:
    assert loses(loser, winner, "4.4.0") == (Level.NEVER, None)


@pytest.mark.parametrize("loser", [p.DELETE, p.UPDATE, p.MERGE, p.OVERWRITE])
@pytest.mark.parametrize("winner", [p.APPEND, p.DELETE_B, p.MERGE_B])
def test_without_partitions_every_file_is_in_the_way(loser: str, winner: str) -> None:
    level, exception = loses(loser, winner, "4.4.0", partitioned=False)
    assert level >= Level.MAY
    assert exception == CA


def test_an_overwrite_will_lose_to_a_row_that_is_surely_added() -> None:
    assert loses(p.OVERWRITE, p.APPEND, "4.4.0") == (Level.WILL, CA)


@pytest.mark.parametrize(
    "winner", [p.DELETE, p.UPDATE, p.MERGE, p.OPTIMIZE, p.OVERWRITE, p.DYNAMIC, p.TRUNCATE]
)
def test_compaction_may_lose_its_files(winner: str) -> None:
    assert loses(p.OPTIMIZE, winner, "4.4.0") == (Level.MAY, CDR)


@pytest.mark.parametrize("winner", [p.APPEND, p.SET, p.ADD_COLUMN, p.VECTORS, p.VACUUM, p.DELETE_B])
def test_compaction_survives_appends_and_changes_of_metadata(winner: str) -> None:
    assert loses(p.OPTIMIZE, winner, "4.4.0") == (Level.NEVER, None)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("loser", [p.OPTIMIZE, "OPTIMIZE {t} ZORDER BY (k)", "REORG TABLE {t} APPLY (PURGE)"])
def test_compaction_may_lose_to_a_change_of_a_partition_column(loser: str, version: str) -> None:
    may = (Level.MAY, MC)
    for change in (
        "ALTER COLUMN date COMMENT 'day'",
        "ALTER TABLE {t} ALTER COLUMN `Date` SET DEFAULT DATE '2026-11-19'",
        "CHANGE COLUMN date date DATE COMMENT 'day'",
        "RENAME COLUMN date TO day",
        "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'team' = 'sales')",
        "SET TBLPROPERTIES ('delta.notKnownYet' = 'true')",
    ):
        winner = change if change.startswith("ALTER TABLE") else f"ALTER TABLE {{t}} {change}"
        assert loses(loser, winner, version) == may, winner
        assert loses(loser, winner, version, partitioned=False) == (Level.NEVER, None), winner
    assert loses(loser, p.RESTORE, version) == may
    alone = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    assert loses(loser, alone, version) == (may if version == "3.3.3" else (Level.NEVER, None))
    declared = {
        "application": {"engine": "kubeflow", "template": {"mainClass": "X"}},
        "footprint": [{"table": {"path": "/lake/t"}, "operation": "Append", "metadata": True}],
    }
    known = p.facts(version)
    assert pair_of(p.job(loser, known), p.job(declared, known)).first_loses.level is Level.MAY


@pytest.mark.parametrize("version", VERSIONS)
def test_compaction_survives_changes_of_other_columns_and_of_properties(version: str) -> None:
    for change in (
        "ALTER COLUMN v COMMENT 'value'",
        "RENAME COLUMN v TO w",
        "DROP COLUMN v",
        "DROP CONSTRAINT positive",
        "SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 40 days', 'team' = 'sales')",
        "UNSET TBLPROPERTIES ('team')",
    ):
        assert loses(p.OPTIMIZE, f"ALTER TABLE {{t}} {change}", version) == (Level.NEVER, None), change
    evolving = p.MERGE.replace("MERGE INTO", "MERGE WITH SCHEMA EVOLUTION INTO", 1).replace(p.A, p.B)
    assert loses(p.OPTIMIZE, evolving, version) == (Level.NEVER, None)
    widening = {"delta.enableTypeWidening": "true"}
    assert loses(p.OPTIMIZE, evolving, version, properties=widening) == (Level.MAY, MC)


def test_compaction_does_not_survive_a_table_made_anew() -> None:
    assert loses(p.OPTIMIZE, p.REPLACE_TABLE, "4.4.0") == (Level.MAY, MC)


@pytest.mark.parametrize("winner", [p.DELETE_PARTITION, p.TRUNCATE])
def test_dynamic_overwrite_is_the_way_to_delete_twice(winner: str) -> None:
    assert loses(p.DYNAMIC, winner, "4.4.0") == (Level.MAY, CDD)


@pytest.mark.parametrize("winner", [p.APPEND, p.DELETE_B, p.SET, p.RESTORE, p.REPLACE_TABLE])
def test_a_restore_commits_in_one_attempt(winner: str) -> None:
    assert loses(p.RESTORE, winner, "4.4.0") == (Level.MAY, CW)


@pytest.mark.parametrize("other", [p.RESTORE, p.REPLACE_TABLE])
def test_beside_a_vacuum_more_than_one_attempt_is_at_stake(other: str) -> None:
    assert loses(other, p.VACUUM, "4.4.0") == loses(p.VACUUM, other, "4.4.0") == (Level.UNSAFE, None)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("winner", [p.SET, p.ADD_COLUMN, p.CHANGE_FEED])
def test_a_change_of_metadata_will_abort_what_surely_commits(winner: str, version: str) -> None:
    assert loses(p.APPEND, winner, version) == (Level.WILL, MC)
    assert loses(p.DELETE, winner, version) == (Level.MAY, MC)
    assert loses(p.VACUUM, winner, version) == (Level.MAY, MC)


@pytest.mark.parametrize(
    ("winner", "passes"),
    [
        (p.TRACKING, {"3.3.3", "4.0.1", "4.1.0", "4.3.1", "4.4.0"}),
        (p.VECTORS, {"4.1.0", "4.3.1", "4.4.0"}),
        (p.TIMESTAMPS, {"4.3.1", "4.4.0"}),
        (p.CHANGE_FEED, set()),
    ],
)
def test_enabling_a_feature_lets_others_commit_from_a_version_on(winner: str, passes: set[str]) -> None:
    for version in ("3.3.3", "4.0.1", "4.1.0", "4.3.1", "4.4.0"):
        level, _ = loses(p.DELETE, winner, version)
        assert (level is Level.NEVER) == (version in passes), version


def test_enabling_timestamps_again_changes_when_they_were_enabled() -> None:
    """Delta keeps that when they are disabled, and lets others commit only where it is new."""
    enabled_once = {"delta.inCommitTimestampEnablementVersion": "4"}
    for properties in (enabled_once, {"delta.enableInCommitTimestamps": "false"}):
        assert loses(p.APPEND, p.TIMESTAMPS, "4.4.0", properties=properties) == (Level.MAY, MC)
        assert loses(p.APPEND, p.VECTORS, "4.4.0", properties=properties) == (Level.NEVER, None)


def test_after_an_identity_column_has_risen_no_change_of_metadata_is_harmless() -> None:
    """Delta lets the rise pass, and then holds it against the next change."""
    again = "ALTER TABLE {t} SET TBLPROPERTIES ('owner' = 'ops')"
    absent = "ALTER TABLE {t} UNSET TBLPROPERTIES ('team')"
    for change in (p.VECTORS, p.TRACKING, again, absent):
        given: p.Given = {"properties": {"owner": "ops"}}
        assert loses(p.DELETE_B, change, "4.4.0", **given) == (Level.NEVER, None), change
        given["identity_columns"] = frozenset({"id"})
        assert loses(p.DELETE_B, change, "4.4.0", **given) == (Level.MAY, MC), change


def test_column_mapping_changes_the_type_of_a_struct() -> None:
    mapping = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    for version in ("4.1.0", "4.4.0"):
        assert loses(p.APPEND, mapping, version) == (Level.NEVER, None)
        for nested in ("struct<x:int>", "array<struct<x:int>>", "map<string,struct<x:int>>"):
            columns = {"info": nested}
            assert loses(p.APPEND, mapping, version, columns=columns) == (Level.WILL, MC)
            assert loses(p.OPTIMIZE, mapping, version, columns=columns) == (Level.MAY, MC)
        assert loses(p.APPEND, mapping, version, columns={"info": "array<int>"}) == (Level.NEVER, None)
        both = mapping.replace("'name'", "'name', 'delta.enableDeletionVectors' = 'true'")
        mapped: p.Given = {
            "columns": {"info": "struct<x:int>"},
            "properties": {"delta.columnMapping.mode": "name"},
        }
        assert loses(p.APPEND, both, version, **mapped) == (Level.NEVER, None)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_metadata_again_is_harmless_from_4_1_on(version: str) -> None:
    level, _ = loses(p.APPEND, p.SET, version, properties={"owner": "ops"})
    assert level is (Level.NEVER if version == "4.4.0" else Level.WILL)


def test_changes_of_metadata_exclude_each_other_but_not_writers() -> None:
    assert loses(p.SET, p.ADD_COLUMN, "4.4.0") == (Level.WILL, MC)
    assert loses(p.SET, p.MERGE, "4.4.0") == (Level.NEVER, None)
    assert loses(p.ADD_CONSTRAINT, p.APPEND, "4.4.0") == (Level.MAY, CA)
    assert loses(p.VECTORS, p.TIMESTAMPS, "4.4.0") == (Level.MAY, PC)


def test_clustering_columns_are_a_domain_of_their_own() -> None:
    clustered: p.Given = {"partitioned": False, "clustering_columns": ("date",)}
    assert loses(p.OVERWRITE, "ALTER TABLE {t} CLUSTER BY (k)", "4.4.0", **clustered) == (Level.WILL, CT)
    assert loses("ALTER TABLE {t} CLUSTER BY (k)", p.MERGE, "4.4.0", **clustered) == (Level.NEVER, None)
    changed_before = f"{p.SET}; SET spark.sql.sources.partitionOverwriteMode = dynamic; {p.OVERWRITE}"
    assert loses(changed_before, "ALTER TABLE {t} CLUSTER BY (k)", "4.4.0", **clustered) == (Level.MAY, CT)


def test_the_level_that_other_engines_store_lets_changes_survive_blind_appends() -> None:
    for loser in (p.DELETE, p.MERGE, p.OVERWRITE, p.SELF_READ, p.DYNAMIC):
        assert loses(loser, p.APPEND, "4.4.0", write_serializable=True) == (Level.NEVER, None)
    assert loses(p.DELETE, p.SELF_READ, "4.4.0", write_serializable=True) == (Level.MAY, CA)
    assert loses(p.ADD_CONSTRAINT, p.APPEND, "4.4.0", write_serializable=True) == (Level.MAY, CA)


def test_a_merge_on_false_reads_no_partition() -> None:
    merge = f"MERGE INTO {{t}} t USING ({p.row(p.A)}) s ON false WHEN NOT MATCHED THEN INSERT *"
    assert loses(merge, p.APPEND, "4.4.0") == (Level.NEVER, None)
    assert loses(merge, p.APPEND, "4.4.0", partitioned=False) == (Level.MAY, CA)


def test_identity_columns_exclude_each_other() -> None:
    known: p.Given = {"identity_columns": frozenset({"id"})}
    generates = f"INSERT INTO {{t}} (k, v, date) VALUES (1, 'v', {p.A})"
    assert loses(generates, generates, "4.4.0", **known) == (Level.WILL, MC)
    assert loses(p.APPEND, generates, "4.4.0", **known) == (Level.NEVER, None)
    assert loses("ALTER TABLE {t} ALTER COLUMN id SYNC IDENTITY", p.APPEND, "4.4.0", **known) == (
        Level.MAY,
        CA,
    )


def test_one_transaction_id_lets_one_of_two_writes_commit() -> None:
    def write(app_id: str) -> dict[str, object]:
        source = {"sql": p.row(p.A)}
        target = {"table": {"path": "/lake/t"}, "mode": "Append"}
        return {"write": {**target, "source": source, "txnAppId": app_id, "txnVersion": 1}}

    known = p.facts()
    same, other = p.job(write("nightly"), known), p.job(write("hourly"), known)
    assert pair_of(same, same).first_loses.exception == CT
    assert pair_of(same, other).together


def test_first_commits_exclude_each_other() -> None:
    for loser in (p.APPEND, p.OVERWRITE, p.REPLACE_TABLE):
        assert loses(loser, p.APPEND, "4.4.0", exists=False) == (Level.MAY, PC)

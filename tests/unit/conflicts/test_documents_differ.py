"""Where the documents differ from one another, and from what open-source Delta's code does: both sides of each.

The findings that a test is named after are those of docs/sources.md.
"""

import pytest

from sluice.conflicts import Level
from sluice.tables import databricks, oss
from unit.conflicts import databricks_pairs as d
from unit.conflicts import pairs as p

CA, CDR, CDD = "ConcurrentAppendException", "ConcurrentDeleteReadException", "ConcurrentDeleteDeleteException"
MC, PC = "MetadataChangedException", "ProtocolChangedException"
OSS: p.Given = {"dialect": oss("4.4.0")}
OSS_OF_THE_DOCUMENT: p.Given = {"dialect": oss("3.3.1")}
OLD: p.Given = {"dialect": databricks("6.4")}
"""A runtime of 2019."""


# ---------------------------------------------------------------------------------------------------- document, document


def test_d19_has_levels_where_d24_has_none_update_delete_merge_x_insert() -> None:
    assert d.loses(p.DELETE, p.APPEND, **OLD).level is Level.NEVER
    assert d.loses(p.DELETE, p.APPEND, **(OLD | d.SERIALIZABLE)).level is Level.MAY
    assert d.loses(p.DELETE, p.APPEND, **OSS_OF_THE_DOCUMENT).level is Level.MAY


def test_d20_only_rewritten_files_make_a_ConcurrentAppendException_d25_inserted_ones_too() -> None:  # noqa: N802
    assert d.loses(p.MERGE, p.UPDATE, **OLD).exception == CA
    assert d.loses(p.MERGE, p.APPEND, **OLD).exception is None
    assert d.loses(p.MERGE, p.APPEND, **OSS_OF_THE_DOCUMENT).exception == CA


def test_d23_names_no_create_replace_or_empty_path_for_ProtocolChangedException_d28_does() -> None:  # noqa: N802
    """Nothing says that the runtimes of 2019 let them through, so they wait there, too."""
    for known in (OLD, OSS_OF_THE_DOCUMENT):
        assert d.loses(p.APPEND, p.APPEND, **(known | {"exists": False})).exception == PC
    assert d.loses(p.REPLACE_TABLE, p.REPLACE_TABLE, **OLD).exception == PC


def test_d19_speaks_of_optimize_d24_of_compaction_with_data_change_false() -> None:
    rewrite = {
        "footprint": [{"table": {"path": "/lake/t"}, "operation": "Optimize"}],
        "application": {
            "engine": "kubeflow",
            "template": {
                "spec": {"type": "Python", "mode": "cluster", "mainApplicationFile": "local:///a.py"}
            },
        },
    }
    for known in (OLD, OSS_OF_THE_DOCUMENT):
        assert d.loses(p.OPTIMIZE, p.UPDATE, **known).level is Level.MAY
        assert d.loses(p.OPTIMIZE, p.APPEND, **known).level is Level.NEVER
        assert d.pair(rewrite, p.APPEND, **known).first_loses.level is Level.NEVER
        assert d.pair(rewrite, p.UPDATE, **known).first_loses.level is Level.MAY


def test_d20_replaces_the_join_on_partition_columns_by_literals_d25_keeps_it_beside_them() -> None:
    kept = p.MERGE.replace(f"t.date = {p.A}", f"s.date = t.date AND t.date = {p.A}")
    for merge in (kept, p.MERGE):
        assert d.pair(merge, p.MERGE_B, **OLD).together
        assert d.pair(merge, p.MERGE_B, **OSS_OF_THE_DOCUMENT).together


def test_d4_d8_optimize_passes_with_deletion_vectors_of_which_d19_and_d24_know_nothing() -> None:
    assert d.pair(p.OPTIMIZE, p.UPDATE, **d.VECTORS).together
    assert d.loses(p.OPTIMIZE, p.UPDATE).level is Level.MAY
    assert d.loses(p.OPTIMIZE, p.UPDATE, **(OSS_OF_THE_DOCUMENT | d.VECTORS)).exception == CDR


def test_d11_reads_are_snapshots_d19_does_not_say_what_readers_may_see() -> None:
    for known in (d.OF_CURRENT, OLD):
        assert "readers" in d.loses(p.DELETE, p.APPEND, **known).reason


# ---------------------------------------------------------------------------------------------------- document, code


def test_d10_defaults_to_WriteSerializable_c2_to_Serializable() -> None:  # noqa: N802
    assert d.pair(p.DELETE, p.APPEND).together
    assert d.loses(p.DELETE, p.APPEND, **OSS).exception == CA
    assert d.pair(p.DELETE, p.APPEND, **(OSS | {"write_serializable": True})).together


@pytest.mark.parametrize("loser", [p.REPLACE_TABLE, p.ADD_CONSTRAINT])
def test_d13_no_operation_loses_to_a_blind_insert_m10_changes_of_metadata_do(
    loser: str,
) -> None:
    assert d.loses(loser, p.APPEND).level is Level.MAY
    assert d.loses(loser, p.APPEND, **(OSS | {"write_serializable": True})).exception == CA


def test_d4_tells_conflicts_by_rows_c13_never() -> None:
    table = d.UNPARTITIONED | d.VECTORS
    assert d.loses(d.UPDATE_ROW, d.DELETE_ROW, **table).rule == "same-rows"
    assert d.loses(d.UPDATE_ROW, d.DELETE_ROW, **(table | OSS)).rule == "added-files"


def test_d8_optimize_cannot_conflict_with_deletion_vectors_m11_it_does_both_ways() -> None:
    assert d.pair(p.OPTIMIZE, p.DELETE, **d.VECTORS).together
    found = d.pair(p.OPTIMIZE, p.DELETE, **(d.VECTORS | OSS))
    assert (found.first_loses.exception, found.second_loses.exception) == (CDR, CA)


def test_d15_two_compactions_ConcurrentDeleteDelete_m11_ConcurrentDeleteRead() -> None:  # noqa: N802
    assert d.loses(p.OPTIMIZE, p.OPTIMIZE).exception == CDD
    assert d.loses(p.OPTIMIZE, p.OPTIMIZE, **OSS).exception == CDR


def test_d13_only_dml_adds_files_c8_those_of_optimize_count_too() -> None:
    assert d.loses(p.DELETE, p.OPTIMIZE).exception == CDR
    assert d.loses(p.DELETE, p.OPTIMIZE, **OSS).exception == CA


@pytest.mark.parametrize("change", [p.VECTORS, p.TRACKING, p.TIMESTAMPS])
def test_d1_enabling_a_feature_fails_every_write_m14_lets_data_through(change: str) -> None:
    verdict = d.loses(p.APPEND, change)
    assert (verdict.level, verdict.exception) == (Level.MAY, PC)
    assert d.loses(p.APPEND, change, **OSS).level is Level.NEVER


def test_d1_any_change_of_metadata_fails_every_write_m4_not_those_that_change_nothing() -> None:
    same: p.Given = {"properties": {"owner": "ops"}}
    assert d.loses(p.APPEND, p.SET, **same).level is Level.MAY
    assert d.loses(p.APPEND, p.SET, **(same | OSS)).level is Level.NEVER


def test_d1_a_change_of_metadata_fails_every_write_m13_spares_optimize() -> None:
    verdict = d.loses(p.OPTIMIZE, p.ADD_COLUMN)
    assert (verdict.level, verdict.exception) == (Level.MAY, MC)
    assert d.loses(p.OPTIMIZE, p.ADD_COLUMN, **OSS).level is Level.NEVER


def test_d18_d28_replacing_fails_with_ProtocolChanged_m17_with_MetadataChanged() -> None:  # noqa: N802
    assert d.loses(p.REPLACE_TABLE, p.REPLACE_TABLE).exception == PC
    assert d.loses(p.REPLACE_TABLE, p.REPLACE_TABLE, **OSS).exception == MC


def test_d25_the_same_set_of_files_m16_the_same_partition() -> None:
    """Added files are never compared by statistics."""
    update, delete = "UPDATE {t} SET v = 'x' WHERE id > 10", "DELETE FROM {t} WHERE id < 10"
    assert d.loses(update, delete, **OSS_OF_THE_DOCUMENT).exception == CA
    assert d.loses(update, delete).exception == CA


def test_d24_compaction_x_insert_cannot_conflict_c8_it_does_with_inserts_that_read() -> None:
    assert d.loses(d.READING_INSERT, d.OPTIMIZE, **OSS_OF_THE_DOCUMENT).exception == CA
    assert d.loses(d.READING_INSERT, d.OPTIMIZE).level is Level.MAY


def test_d3_identity_columns_allow_no_two_transactions_c15_lets_explicit_values_through() -> None:
    known: p.Given = {"identity_columns": frozenset({"id"})}
    assert d.loses(p.APPEND, p.APPEND, **known).exception == MC
    assert d.pair(p.APPEND, p.APPEND, **(known | OSS)).together


def test_d9_subqueries_on_the_target_are_reads_m2_not_of_an_older_version() -> None:
    insert = "INSERT INTO {t} SELECT * FROM {t} VERSION AS OF 1"
    assert d.loses(insert, p.DELETE).level is Level.MAY
    assert d.loses(insert, p.DELETE, **OSS).level is Level.NEVER


def test_d12_pins_by_the_merge_condition_m1_by_conditions_of_clauses_too() -> None:
    merge = f"MERGE INTO {{t}} t USING ({p.row(p.A)}) s ON t.id = s.id WHEN MATCHED AND t.date = {p.A} THEN DELETE"
    assert d.loses(merge, p.DELETE_B).exception == CA
    assert d.loses(merge, p.DELETE_B, **OSS).level is Level.NEVER


def test_d12_pins_by_conditions_m1_also_by_an_or_of_them() -> None:
    delete = f"DELETE FROM {{t}} WHERE (date = {p.A} AND k = 1) OR (date = DATE '2026-01-01' AND k = 2)"
    assert d.loses(delete, p.UPDATE_B).exception == CA
    assert d.loses(delete, p.UPDATE_B, **OSS).level is Level.NEVER


@pytest.mark.parametrize("winner", [p.APPEND, p.OPTIMIZE, p.MERGE])
def test_no_document_speaks_of_restore_c11_it_has_one_attempt(winner: str) -> None:
    assert d.loses(p.RESTORE, winner).level is Level.MAY
    assert d.loses(p.RESTORE, winner, **OSS).exception == "ConcurrentWriteException"


def test_no_document_speaks_of_add_constraint_m17_it_reads_everything() -> None:
    assert d.loses(p.ADD_CONSTRAINT, p.MERGE).rule == "undocumented"
    assert d.loses(p.ADD_CONSTRAINT, p.MERGE, **OSS).exception == CA


def test_no_document_on_write_conflicts_speaks_of_clustering_columns_c6_they_are_a_domain_of_their_own() -> (
    None
):
    cluster = "ALTER TABLE {t} CLUSTER BY (k)"
    assert d.loses(p.OVERWRITE, cluster, **d.CLUSTERED).rule == "undocumented"
    assert d.loses(p.OVERWRITE, cluster, **(d.CLUSTERED | OSS)).rule == "same-domain"

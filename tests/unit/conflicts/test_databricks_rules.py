"""Every rule that the documents state beside their matrices, by finding of docs/sources.md."""

import pytest

from sluice.conflicts import Level, pair_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, databricks, oss
from unit.conflicts import databricks_pairs as d
from unit.conflicts import pairs as p

CA, CDR, CDD = "ConcurrentAppendException", "ConcurrentDeleteReadException", "ConcurrentDeleteDeleteException"
CT, MC, PC = "ConcurrentTransactionException", "MetadataChangedException", "ProtocolChangedException"
WRITERS = [p.APPEND, d.READING_INSERT, p.DELETE, p.UPDATE, p.MERGE, p.OVERWRITE, p.DYNAMIC, p.REPLACE_WHERE]

DROP_FEATURE = "ALTER TABLE {t} DROP FEATURE deletionVectors"
UNIFORM = "REORG TABLE {t} APPLY (UPGRADE UNIFORM(ICEBERG_COMPAT_VERSION=2))"
LEVEL = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.isolationLevel' = 'Serializable')"
GENERATES = f"INSERT INTO {{t}} (k, v, date) VALUES (1, 'v', {p.A})"
IDENTITY: p.Given = {"identity_columns": frozenset({"id"})}


# ---------------------------------------------------------------------------------------------------- metadata changes


@pytest.mark.parametrize(
    ("change", "exception"),
    [(LEVEL, MC), (p.VECTORS, PC), (DROP_FEATURE, PC), (UNIFORM, PC), (p.ADD_COLUMN, MC)],
    ids=["SET TBLPROPERTIES", "a feature", "DROP FEATURE", "UPGRADE UNIFORM", "ADD COLUMNS"],
)
@pytest.mark.parametrize("writer", [*WRITERS, d.OPTIMIZE, p.RESTORE, p.SET])
def test_d1_a_metadata_change_fails_every_concurrent_write(writer: str, change: str, exception: str) -> None:
    verdict = d.loses(writer, change)
    assert (verdict.level >= Level.MAY, verdict.exception) == (True, exception)


@pytest.mark.parametrize("change", [LEVEL, p.ADD_COLUMN])
def test_d1_a_change_of_schema_or_properties_will_fail_what_surely_commits(
    change: str,
) -> None:
    assert d.loses(p.APPEND, change).level is Level.WILL
    assert d.loses(p.DELETE, change).level is Level.MAY


@pytest.mark.parametrize("change", [LEVEL, p.VECTORS, DROP_FEATURE, UNIFORM, p.ADD_COLUMN])
def test_d2_streaming_reads_fail_at_a_metadata_change(change: str) -> None:
    stream = {
        "stream": {
            "source": {"format": "delta", "path": "/lake/t"},
            "table": {"path": "/lake/other"},
            "checkpoint": "/lake/checkpoint",
            "trigger": {"availableNow": True},
        }
    }
    known = p.facts(dialect=d.CURRENT)
    found = pair_of(p.job(stream, known), p.job(change, known))
    assert found.first_loses.rule == "streaming-read"
    assert found.second_loses.level is Level.NEVER
    assert pair_of(p.job(stream, known), p.job(p.APPEND, known)).together


def test_d2_tables_that_a_stream_reads_in_its_queries_count_too() -> None:
    stream = {
        "stream": {
            "source": {"format": "rate"},
            "table": {"path": "/lake/other"},
            "readsTables": [{"path": "/lake/t"}],
            "checkpoint": "/lake/checkpoint",
            "trigger": {"availableNow": True},
        }
    }
    known = p.facts(dialect=d.CURRENT)
    found = pair_of(p.job(stream, known), p.job(p.ADD_COLUMN, known))
    assert (found.first_loses.level, found.first_loses.rule) == (Level.WILL, "streaming-read")


@pytest.mark.parametrize("other", [p.APPEND, p.MERGE, p.SET, p.RESTORE, p.OPTIMIZE])
@pytest.mark.parametrize(
    "loser", [p.ADD_COLUMN, p.RESTORE, p.REPLACE_TABLE, "ALTER TABLE {t} CLUSTER BY (k)"]
)
def test_what_others_do_to_a_metadata_change_no_document_says_so_it_waits(loser: str, other: str) -> None:
    assert d.loses(loser, other).level >= Level.MAY


# ---------------------------------------------------------------------------------------------------- identity columns


@pytest.mark.parametrize("place", ["with", "without"])
@pytest.mark.parametrize("writer", [*WRITERS, GENERATES, d.OPTIMIZE])
def test_d3_identity_columns_allow_no_concurrent_transactions(writer: str, place: str) -> None:
    table = IDENTITY | d.UNPARTITIONED | d.VECTORS if place == "with" else IDENTITY
    for found in (d.loses(writer, p.APPEND_B, **table), d.loses(p.APPEND_B, writer, **table)):
        assert (found.level >= Level.MAY, found.exception) == (True, MC)


def test_d3_two_that_generate_identity_values_will_fail_as_in_c15() -> None:
    assert d.loses(GENERATES, GENERATES, **IDENTITY).level is Level.WILL


def test_d3_a_table_that_was_not_read_may_have_identity_columns() -> None:
    unread = TableFacts(columns=Table.of([]), dialect=d.CURRENT, log_store=LogStore.SAFE, unread="no answer")
    found = pair_of(p.job(p.APPEND, unread), p.job(p.APPEND, unread)).first_loses
    assert (found.level, found.rule) == (Level.MAY, "identity-columns")


# ---------------------------------------------------------------------------------------------------- isolation levels


@pytest.mark.parametrize("level", [{}, {"write_serializable": True}], ids=["no property", "property"])
def test_d10_d19_write_serializable_is_the_default(level: p.Given) -> None:
    assert d.pair(p.DELETE, p.APPEND, **level).together
    assert d.pair(p.DELETE, p.APPEND, **d.SERIALIZABLE).order == "first-then-second"


def test_d11_readers_may_see_what_the_history_says_never_existed() -> None:
    long_delete, insert = p.DELETE, p.APPEND
    told = d.loses(long_delete, insert)
    assert told.level is Level.NEVER
    assert "readers may see a table that, by its history, never existed" in told.reason
    assert "the history lists Append before Delete" in (told.readers or "")
    assert "to forbid that, set delta.isolationLevel = Serializable" in (told.readers or "")
    assert d.loses(long_delete, insert, **d.SERIALIZABLE).exception == CA
    assert d.loses(long_delete, p.APPEND_B).readers is None


def test_d10_only_reordered_pairs_are_let_through_not_lost_writes() -> None:
    """Stronger than snapshot isolation: two changes of the same rows conflict at both levels."""
    assert d.loses(p.UPDATE, p.DELETE).level is Level.MAY
    assert d.loses(p.UPDATE, p.DELETE, **d.SERIALIZABLE).level is Level.MAY


# ---------------------------------------------------------------------------------------------------- row-level concurrency

RUNTIMES = [
    ("15.4", True, "unpartitioned", p.DELETE, True, "D5, from 14.2 on"),
    ("14.2", True, "unpartitioned", p.DELETE, True, "D5, from 14.2 on"),
    ("14.2", True, "clustered", p.DELETE, True, "D5, liquid clustering"),
    ("14.2", True, "partitioned", p.DELETE, False, "D5, never with partitions"),
    ("14.2", True, "no vectors", p.DELETE, False, "D5, not without deletion vectors"),
    ("14.2", True, "clustered, vectors disabled", p.DELETE, False, "D5, not if they are disabled"),
    ("14.2", False, "unpartitioned", d.MERGE_ROW, False, "D5, MERGE needs Photon"),
    ("14.2", None, "unpartitioned", d.MERGE_ROW, False, "D5, MERGE needs Photon, which may be missing"),
    ("14.2", False, "unpartitioned", d.READING_INSERT, False, "D9, an INSERT that reads is as a MERGE"),
    ("14.2", True, "unpartitioned", d.MERGE_ROW, True, "D5, MERGE needs Photon"),
    ("14.2", False, "unpartitioned", d.UPDATE_ROW, True, "D5, MERGE alone needs Photon"),
    ("14.1", True, "unpartitioned", p.DELETE, False, "D7, 14.0 and 14.1 without the preview"),
    ("14.1", True, "preview", p.DELETE, True, "D7, 14.0 and 14.1 with the preview"),
    ("14.0", True, "preview", p.DELETE, True, "D7, 14.0 and 14.1 with the preview"),
    ("14.1", True, "clustered", p.DELETE, True, "D7, liquid clustering from 13.3 on"),
    ("14.1", False, "preview", d.UPDATE_ROW, False, "D7, no Photon up to 14.1"),
    ("14.1", False, "preview", p.DELETE, True, "D7, no Photon up to 14.1, DELETE"),
    ("13.3", True, "clustered", d.UPDATE_ROW, True, "D7, liquid clustering from 13.3 on"),
    ("13.3", False, "clustered", d.UPDATE_ROW, False, "D7, no Photon up to 14.1"),
    ("13.3", False, "clustered", p.DELETE, True, "D7, no Photon up to 14.1, DELETE"),
    ("13.3", True, "preview", p.DELETE, False, "D7, the preview is of 14.0 and 14.1"),
    ("12.2", True, "clustered", p.DELETE, False, "D7, before 13.3"),
    (None, True, "unpartitioned", p.DELETE, False, "an unknown runtime"),
]
TABLES: dict[str, p.Given] = {
    "unpartitioned": d.UNPARTITIONED | d.VECTORS,
    "clustered": d.CLUSTERED | d.VECTORS,
    "partitioned": d.VECTORS,
    "no vectors": d.UNPARTITIONED,
    "clustered, vectors disabled": d.CLUSTERED | {"properties": {"delta.enableDeletionVectors": "false"}},
    "preview": d.UNPARTITIONED | d.VECTORS,
}


@pytest.mark.parametrize(
    ("runtime", "photon", "table", "statement", "by_row"),
    [row[:5] for row in RUNTIMES],
    ids=[f"{row[5]}: {row[0]}, photon {row[1]}, {row[2]}" for row in RUNTIMES],
)
def test_where_conflicts_are_told_by_rows(
    runtime: str | None, photon: bool | None, table: str, statement: str, by_row: bool
) -> None:
    known = TABLES[table] | {"dialect": databricks(runtime, photon=photon)}
    verdict = d.loses(statement, p.DELETE, d.PREVIEW if table == "preview" else None, **known)
    assert (verdict.level, verdict.rule) == (Level.MAY, "same-rows" if by_row else "same-files"), verdict


COMPLEX = {
    "structs": "DELETE FROM {t} WHERE s.a = 1",
    "arrays": "DELETE FROM {t} WHERE xs[0] = 1",
    "maps": "DELETE FROM {t} WHERE m = map('a', 1)",
    "subqueries": "DELETE FROM {t} WHERE id IN (SELECT id FROM delta.`/lake/other`)",
    "non-deterministic expressions": "DELETE FROM {t} WHERE rand() < 0.5",
    "correlated subqueries": "DELETE FROM {t} WHERE EXISTS (SELECT 1 FROM delta.`/lake/other` o WHERE o.id = k)",
    "MERGE without a predicate on the target": d.MERGE_ROW.replace(" AND t.k = 1", ""),
    "MERGE clauses": d.MERGE_ROW.replace("WHEN MATCHED", "WHEN MATCHED AND uuid() = 'a'"),
    "UPDATE": "UPDATE {t} SET v = 'x' WHERE unix_timestamp() > k",
}


@pytest.mark.parametrize("limit", COMPLEX)
def test_d6_the_limits_of_row_level_concurrency(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        p, "COLUMNS", {**p.COLUMNS, "s": "struct<a:int>", "xs": "array<int>", "m": "map<string,int>"}
    )
    table = TABLES["unpartitioned"]
    assert d.loses(COMPLEX[limit], "DELETE FROM {t} WHERE id = 1", **table).rule == "same-files"
    assert d.loses("DELETE FROM {t} WHERE id = 1", COMPLEX[limit], **table).rule == "same-files"


@pytest.mark.parametrize("other", [d.UPDATE_ROW, d.DELETE_ROW, d.MERGE_ROW, d.OPTIMIZE, d.ZORDER])
@pytest.mark.parametrize("table", ["unpartitioned", "clustered", "partitioned"])
def test_d6_optimize_with_zorder_is_not_helped_by_deletion_vectors(other: str, table: str) -> None:
    for verdict in (d.loses(d.ZORDER, other, **TABLES[table]), d.loses(other, d.ZORDER, **TABLES[table])):
        assert (verdict.level, verdict.rule) == (Level.MAY, "optimize")


def test_d5_d8_clustering_without_the_property_the_documents_disagree_so_optimize_waits() -> None:
    """One document says by rows "unless you have disabled deletion vectors", another "not without deletion vectors enabled"."""
    assert d.loses(d.OPTIMIZE, p.UPDATE, **d.CLUSTERED).level is Level.MAY
    assert d.loses(d.OPTIMIZE, p.UPDATE, **(d.CLUSTERED | d.VECTORS)).level is Level.NEVER


@pytest.mark.parametrize("other", [p.OVERWRITE, p.DYNAMIC, p.REPLACE_WHERE])
def test_overwrites_beside_optimize_stand_in_no_matrix_so_they_wait(other: str) -> None:
    tables: tuple[p.Given, p.Given] = ({}, d.VECTORS)
    for table in tables:
        assert d.loses(d.OPTIMIZE, other, **table).level is Level.MAY
        assert d.loses(other, d.OPTIMIZE, **table).level is Level.MAY


def test_another_engine_beside_databricks_stands_in_no_document_so_deletion_vectors_do_not_help() -> None:
    facts = p.facts(**(d.OF_CURRENT | d.VECTORS))
    compacts = p.job({"sql": p.OPTIMIZE.replace("{t}", p.T), "runtime": {"deltaVersion": "4.4.0"}}, facts)
    assert pair_of(p.job(p.UPDATE, facts), compacts).first_loses.level is Level.MAY
    assert pair_of(p.job(p.UPDATE, facts), p.job(p.OPTIMIZE, facts)).first_loses.level is Level.NEVER


def test_auto_compaction_stands_in_no_matrix_so_others_wait_for_it() -> None:
    properties = {"delta.enableDeletionVectors": "true", "delta.autoOptimize.autoCompact": "true"}
    assert d.loses(p.UPDATE, p.APPEND, properties=properties).level is Level.MAY


# ---------------------------------------------------------------------------------------------------- reading nothing

READS = [
    "INSERT INTO {t} SELECT * FROM {t}",
    f"INSERT INTO {{t}} SELECT 1L, 1, 'v', {p.A} WHERE NOT EXISTS (SELECT 1 FROM {{t}} WHERE id = 1)",
    f"INSERT INTO {{t}} SELECT max(id) + 1, 1, 'v', {p.A} FROM {{t}}",
]


@pytest.mark.parametrize("insert", READS)
def test_d9_who_selects_from_the_target_reads_it(insert: str) -> None:
    assert d.loses(insert, p.DELETE).level is Level.MAY
    assert d.loses(p.APPEND, p.DELETE).rule == "blind-insert"


def test_d9_append_mode_reads_nothing() -> None:
    write = {"write": {"source": {"sql": p.row(p.A)}, "table": {"path": "/lake/t"}, "mode": "Append"}}
    assert d.pair(write, p.MERGE).together


# ---------------------------------------------------------------------------------------------------- partitions


def test_d12_the_two_statements_of_the_document() -> None:
    update = "UPDATE {t} SET v = 'x' WHERE date > '2010-01-01'"
    delete = "DELETE FROM {t} WHERE date < '2010-01-01'"
    assert d.pair(update, delete).together
    assert not d.pair(update, delete, **d.UNPARTITIONED).together
    clustered: p.Given = {"partitioned": False, "clustering_columns": ("date",)}
    assert not d.pair(update, delete, **(clustered | d.VECTORS)).together


MERGE_BY_COLUMN = p.MERGE.replace(f"t.date = {p.A}", "s.date = t.date")


def test_d13_a_merge_condition_must_pin_explicitly() -> None:
    other = p.MERGE_B
    assert d.loses(MERGE_BY_COLUMN, other).exception == CA
    pinned = MERGE_BY_COLUMN.replace("s.date = t.date", f"s.date = t.date AND t.date = {p.A}")
    assert d.pair(pinned, other).together


def test_d20_the_literal_instead_of_the_columns() -> None:
    assert d.pair(p.MERGE, p.MERGE_B).together


def test_d25_a_merge_condition_must_pin_explicitly() -> None:
    pinned = MERGE_BY_COLUMN.replace("s.date = t.date", f"s.date = t.date AND t.date = {p.A}")
    known: p.Given = {"dialect": oss("3.3.1")}
    assert d.loses(MERGE_BY_COLUMN, p.MERGE_B, **known).exception == CA
    assert d.pair(pinned, p.MERGE_B, **known).together


# ---------------------------------------------------------------------------------------------------- the six exceptions


@pytest.mark.parametrize("winner", [p.APPEND, p.UPDATE, p.MERGE, "DELETE FROM {t} WHERE id = 1"])
def test_d13_files_added_where_it_reads(winner: str) -> None:
    assert d.loses(p.MERGE, winner, **d.SERIALIZABLE).exception == CA
    assert (
        d.loses("DELETE FROM {t} WHERE k = 1", winner, **(d.UNPARTITIONED | d.SERIALIZABLE)).exception == CA
    )


@pytest.mark.parametrize("winner", [p.UPDATE, p.MERGE, "DELETE FROM {t} WHERE id = 1"])
def test_d20_under_write_serializable_only_rewritten_files_count(
    winner: str,
) -> None:
    assert d.loses(p.MERGE, winner).exception == CA
    assert d.loses(p.MERGE, p.APPEND).level is Level.NEVER


@pytest.mark.parametrize("loser", WRITERS)
def test_d13_under_write_serializable_blind_inserts_conflict_with_no_operation(
    loser: str,
) -> None:
    assert d.loses(loser, p.APPEND).level is Level.NEVER
    assert d.loses(loser, p.APPEND, **d.UNPARTITIONED).level is Level.NEVER


def test_d14_a_file_that_was_read_is_gone() -> None:
    assert d.loses(p.MERGE, p.DELETE_PARTITION).exception == CDR
    assert d.loses(p.MERGE, p.TRUNCATE).exception == CDR


def test_d15_d21_two_compactions_remove_the_same_file() -> None:
    assert d.loses(p.OPTIMIZE, p.OPTIMIZE).exception == CDD


@pytest.mark.parametrize("change", [p.ADD_COLUMN, p.SET, p.ADD_CONSTRAINT])
def test_d16_alter_table_changes_metadata(change: str) -> None:
    assert d.loses(p.MERGE, change).exception == MC


def test_d16_a_write_that_updates_the_schema_changes_metadata() -> None:
    evolves = p.APPEND.replace("INSERT INTO", "INSERT WITH SCHEMA EVOLUTION INTO")
    assert d.loses(p.MERGE, evolves).exception == MC


def test_d17_the_same_checkpoint_twice() -> None:
    stream = {
        "stream": {
            "source": {"format": "rate"},
            "table": {"path": "/lake/t"},
            "checkpoint": "/lake/checkpoint",
            "trigger": {"availableNow": True},
        }
    }
    found = d.pair(stream, stream).first_loses
    assert (found.level, found.exception) == (Level.WILL, CT)
    other = {"stream": {**stream["stream"], "checkpoint": "/lake/another"}}
    assert d.pair(stream, other).together


def test_d18_d23_a_new_version_of_the_protocol() -> None:
    upgrade = (
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.minReaderVersion' = '3', 'delta.minWriterVersion' = '7')"
    )
    assert d.loses(p.MERGE, upgrade).exception == PC


@pytest.mark.parametrize("writer", ["CREATE TABLE {t} (id BIGINT) USING delta", p.REPLACE_TABLE])
def test_d18_d28_several_create_or_replace(writer: str) -> None:
    for exists in (True, False):
        assert d.loses(writer, p.REPLACE_TABLE, exists=exists).exception == PC


@pytest.mark.parametrize("writer", [p.APPEND, p.OVERWRITE])
def test_d18_d28_several_write_into_an_empty_path(writer: str) -> None:
    found = d.loses(writer, p.APPEND, exists=False)
    assert (found.level, found.exception) == (Level.MAY, PC)


# ---------------------------------------------------------------------------------------------------- what no document says


def test_no_document_on_write_conflicts_speaks_of_vacuum_so_it_goes_by_m5() -> None:
    for writer in WRITERS:
        assert d.pair(p.VACUUM, writer).together
    assert d.loses(p.VACUUM, p.ADD_COLUMN).level is Level.MAY


def test_no_document_speaks_of_vacuum_beside_restore_which_may_shorten_how_long_files_are_kept() -> None:
    assert d.loses(p.RESTORE, p.VACUUM).rule == "shorter-retention"


def test_two_writes_under_one_transaction_id_wait_though_no_document_says_so() -> None:
    write = {
        "write": {
            "source": {"sql": p.row(p.A)},
            "table": {"path": "/lake/t"},
            "mode": "Append",
            "txnAppId": "mine",
            "txnVersion": 1,
        }
    }
    assert d.pair(write, write).first_loses.exception == CT


def test_an_unknown_engine_passes_only_what_all_engines_do() -> None:
    unknown: p.Given = {"dialect": None}
    assert d.pair(p.DELETE, p.DELETE_B, **unknown).together
    assert not d.pair(p.DELETE, p.APPEND, **unknown).together  # open-source Delta is Serializable
    assert not d.pair(p.APPEND, p.APPEND, **(unknown | IDENTITY)).together  # Databricks lets no two through
    assert not d.pair(d.OPTIMIZE, d.UPDATE_ROW, **(unknown | d.VECTORS)).together

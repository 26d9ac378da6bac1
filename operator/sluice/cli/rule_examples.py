"""A pair of statements for each conflict rule, and the tests that prove the rule: data for the page of all rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import common, databricks, delta_rs, oss
from sluice.conflicts.oracle import worst_for
from sluice.conflicts.race import Race
from sluice.conflicts.verdict import Verdict
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import Dialect, LogStore, TableFacts, key_of_name
from sluice.tables import databricks as runtime
from sluice.tables import delta_rs as rust
from sluice.tables import oss as delta

_COLUMNS = {"id": "bigint", "amount": "int", "date": "date"}
_APPEND = "INSERT INTO orders VALUES (1, 10, DATE '2026-11-18')"
_OVERWRITE = "INSERT OVERWRITE orders VALUES (1, 10, DATE '2026-11-18')"
_DELETE = "DELETE FROM orders WHERE date = DATE '2026-11-18' AND amount = 0"
_UPDATE = "UPDATE orders SET amount = 0 WHERE id = 2"
_OPTIMIZE = "OPTIMIZE orders"
_VECTORS = MappingProxyType({"delta.enableDeletionVectors": "true"})
_RULES = "tests/unit/conflicts/test_databricks_rules.py"
_CELLS = "tests/unit/conflicts/test_databricks_matrices.py::test_a_cell"
_DIFFER = "tests/unit/conflicts/test_documents_differ.py"
_MATRICES = "tests/unit/conflicts/test_matrices.py"
_CHANGED = "tests/unit/conflicts/test_changed_sources.py"
_VACUUMED = "tests/unit/conflicts/test_vacuumed_reads.py"
_STREAMED = "tests/unit/conflicts/test_streamed_tables.py"
_DELTA_RS = "tests/unit/conflicts/test_delta_rs.py"
_BATCH = "tests/unit/cli/test_batch.py"
_TOLD = "tests/unit/conflicts/test_replay.py"
_REPLAY = f"{_TOLD}::test_no_pair_that_delta_aborted_is_never"

Rule = Callable[..., Verdict | None]


@dataclass(frozen=True)
class Example:
    rule: Rule
    loser: str | Mapping[str, Any]
    winner: str | Mapping[str, Any]
    proof: tuple[str, ...]
    dialect: Dialect
    partitioned: bool = True
    table: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the table beside its columns."""

    @property
    def jobs(self) -> tuple[JobFootprint, JobFootprint]:
        facts = TableFacts(
            columns=Table.of(_COLUMNS, ["date"] if self.partitioned else []),
            dialect=self.dialect,
            **{"log_store": LogStore.SAFE, **self.table},
        )
        return _job(self.loser, facts), _job(self.winner, facts)

    @property
    def verdict(self) -> Verdict:
        return worst_for(*self.jobs)[1]

    @property
    def race(self) -> Race:
        """On the table that the winner writes first."""
        loser, winner = self.jobs
        table = loser.streams_from[0] if loser.streams_from else winner.tables[0].table
        return Race(loser.tables[0], winner.tables[0], loser, winner, table, on_one_table=True)


def _job(spec: str | Mapping[str, Any], facts: TableFacts) -> JobFootprint:
    given = {"sql": spec} if isinstance(spec, str) else spec
    known = {key_of_name(name): facts for name in ("orders", "archive")}
    return footprint_of(DeltaWriteJobSpec.model_validate(given), {}, facts=known, sources=known)


def _stream(**more: Any) -> Mapping[str, Any]:
    plain = {
        "source": {"format": "rate"},
        "checkpoint": "/checkpoints/orders",
        "trigger": {"availableNow": True},
    }
    return {"stream": {**plain, **more}}


def _oss(
    rule: Rule, loser: str | Mapping[str, Any], winner: str | Mapping[str, Any], *proof: str, **more: Any
) -> Example:
    return Example(rule, loser, winner, (*proof, _REPLAY), delta("4.4.0"), **more)


def _otherwise(
    rule: Rule, loser: str | Mapping[str, Any], winner: str | Mapping[str, Any], *proof: str, **more: Any
) -> Example:
    """Of what no recorded race would call safe without the rule: because it is about none, or another rule speaks then."""
    return Example(rule, loser, winner, proof, delta("4.4.0"), **more)


def _rs(
    rule: Rule, loser: str | Mapping[str, Any], winner: str | Mapping[str, Any], *proof: str, **more: Any
) -> Example:
    return Example(rule, loser, winner, proof, rust("1.3.0"), **more)


def _dbx(
    rule: Rule, loser: str | Mapping[str, Any], winner: str | Mapping[str, Any], *proof: str, **more: Any
) -> Example:
    return Example(rule, loser, winner, proof, runtime("15.4", photon=True), **more)


_TO_ORDERS = _stream(table={"name": "orders"})
_FROM_ORDERS = _stream(table={"name": "report"}, readsTables=[{"name": "orders"}])
_STREAMED_ORDERS = _stream(
    source={"format": "delta"}, table={"name": "report"}, readsTables=[{"name": "orders"}]
)
_SET = "ALTER TABLE orders SET TBLPROPERTIES ('owner' = 'sales')"
_ENABLE = "ALTER TABLE orders SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
_IDS = MappingProxyType({"identity_columns": frozenset({"id"})})
_EMPTY = MappingProxyType({"exists": False})
_DYNAMIC = f"SET spark.sql.sources.partitionOverwriteMode = dynamic; {_OVERWRITE}"
_WRITE = {
    "write": {
        "source": {"sql": "SELECT 1L AS id, 10 AS amount, DATE '2026-11-18' AS date"},
        "table": {"name": "orders"},
        "mode": "Append",
        "txnAppId": "nightly",
        "txnVersion": 1,
    }
}

EXAMPLES = (
    _otherwise(
        common.lost_commits,
        _APPEND,
        _APPEND,
        f"{_BATCH}::test_an_unsafe_store_is_unsafe_for_everything",
        f"{_BATCH}::test_a_link_store_beside_another_is_unsafe",
        table={"log_store": LogStore.S3_SINGLE_DRIVER},
    ),
    _otherwise(
        common.vacuum_under_a_run,
        _APPEND,
        "VACUUM orders RETAIN 2 HOURS",
        f"{_BATCH}::test_vacuum_below_a_writers_lifetime_is_unsafe",
        _REPLAY,
    ),
    _otherwise(
        common.vacuum_under_a_read,
        "INSERT INTO report SELECT date, SUM(amount) FROM orders GROUP BY date",
        "VACUUM orders RETAIN 2 HOURS",
        f"{_VACUUMED}::test_a_reader_loses_its_files_to_a_vacuum_that_keeps_them_too_shortly",
    ),
    _otherwise(
        common.streamed_rows,
        _STREAMED_ORDERS,
        _DELETE,
        f"{_STREAMED}::test_a_change_of_rows_breaks_a_stream_that_reads_them",
        f"{_STREAMED}::test_options_of_the_source_let_changes_pass",
    ),
    _otherwise(
        common.changed_source,
        "INSERT INTO archive SELECT * FROM orders WHERE date = DATE '2026-11-18'",
        "ALTER TABLE orders ADD COLUMNS (note STRING FIRST)",
        f"{_CHANGED}::test_what_may_change_the_source_s_columns_waits",
        f"{_TOLD}::test_no_pair_that_delta_aborted_after_a_third_job_was_let_run_beside_it",
    ),
    _otherwise(
        common.same_checkpoint,
        _TO_ORDERS,
        _TO_ORDERS,
        f"{_RULES}::test_seed_000_ConcurrentTransactionException_the_same_checkpoint_twice",
    ),
    _oss(
        oss.single_attempt,
        "RESTORE TABLE orders TO VERSION AS OF 1",
        _APPEND,
        f"{_MATRICES}::test_a_restore_commits_in_one_attempt",
        f"{_DIFFER}::test_no_document_speaks_of_restore_in_the_code_it_has_one_attempt",
    ),
    _oss(
        oss.first_commit,
        _APPEND,
        _APPEND,
        f"{_MATRICES}::test_first_commits_exclude_each_other",
        table=_EMPTY,
    ),
    _otherwise(
        oss.protocol_changed,
        "ALTER TABLE orders SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
        _ENABLE,
        f"{_MATRICES}::test_changes_of_metadata_exclude_each_other_but_not_writers",
        f"{_TOLD}::test_a_change_of_the_protocol_that_aborted_was_told_as_one",
    ),
    _oss(
        oss.metadata_changed,
        _APPEND,
        _SET,
        f"{_MATRICES}::test_a_change_of_metadata_will_abort_what_surely_commits",
        f"{_MATRICES}::test_enabling_a_feature_lets_others_commit_from_a_version_on",
    ),
    _oss(
        oss.same_domain,
        _OVERWRITE,
        "ALTER TABLE orders CLUSTER BY (amount)",
        f"{_MATRICES}::test_clustering_columns_are_a_domain_of_their_own",
        partitioned=False,
        table={"clustering_columns": ("id",)},
    ),
    _oss(
        oss.same_transaction_id,
        _WRITE,
        _WRITE,
        f"{_MATRICES}::test_one_transaction_id_lets_one_of_two_writes_commit",
    ),
    _oss(
        oss.added_files,
        _DELETE,
        _APPEND,
        f"{_MATRICES}::test_who_reads_a_partition_may_lose_to_files_added_there",
        f"{_DIFFER}::test_seed_000_defaults_to_WriteSerializable_the_code_to_Serializable",
        f"{_DIFFER}::test_seed_000_tells_conflicts_by_rows_the_code_never",
    ),
    _oss(
        oss.removed_files,
        _OPTIMIZE,
        _DELETE,
        f"{_MATRICES}::test_compaction_may_lose_its_files",
        f"{_DIFFER}::test_seed_000_two_compactions_ConcurrentDeleteDelete_the_code_ConcurrentDeleteRead",
    ),
    _oss(
        oss.removed_twice,
        _DYNAMIC,
        "DELETE FROM orders WHERE date = DATE '2026-11-18'",
        f"{_MATRICES}::test_dynamic_overwrite_is_the_way_to_delete_twice",
    ),
    _otherwise(
        oss.streaming_read,
        _FROM_ORDERS,
        "ALTER TABLE orders ADD COLUMNS (note STRING)",
        f"{_STREAMED}::test_a_change_of_the_schema_may_break_a_stream_until_it_starts_again",
    ),
    _otherwise(
        oss.nothing_meets,
        _DELETE,
        _APPEND.replace("18", "19"),
        f"{_MATRICES}::test_writers_of_other_partitions_pass_each_other",
        f"{_TOLD}::test_hardly_any_pair_waits_needlessly",
    ),
    _dbx(
        databricks.identity_columns,
        "INSERT INTO orders (amount, date) VALUES (10, CURRENT_DATE())",
        _APPEND,
        f"{_RULES}::test_seed_000_notes_on_both_matrices_identity_columns_allow_no_concurrent_transactions",
        f"{_DIFFER}::test_seed_000_identity_columns_allow_no_two_transactions_the_code_lets_explicit_values_through",
        table=_IDS,
    ),
    _dbx(
        databricks.first_commit,
        _APPEND,
        _APPEND,
        f"{_RULES}::test_seed_000_seed_002_ProtocolChangedException_several_write_into_an_empty_path",
        f"{_RULES}::test_seed_000_seed_002_ProtocolChangedException_several_create_or_replace",
        f"{_DIFFER}::test_seed_000_seed_002_replacing_fails_with_ProtocolChanged_in_the_code_with_MetadataChanged",
        table=_EMPTY,
    ),
    _dbx(
        databricks.protocol_changed,
        _APPEND,
        _ENABLE,
        f"{_RULES}::test_seed_000_importante_a_metadata_change_fails_every_concurrent_write",
        f"{_RULES}::test_seed_000_seed_001_ProtocolChangedException_a_new_version_of_the_protocol",
        f"{_DIFFER}::test_seed_000_enabling_a_feature_fails_every_write_the_code_lets_data_through",
    ),
    _dbx(
        databricks.metadata_changed,
        _APPEND,
        _SET,
        f"{_RULES}::test_seed_000_importante_a_change_of_schema_or_properties_will_fail_what_surely_commits",
        f"{_RULES}::test_seed_000_MetadataChangedException_alter_table",
        f"{_DIFFER}::test_seed_000_a_change_of_metadata_fails_every_write_the_code_spares_optimize",
    ),
    _dbx(
        databricks.streaming_read,
        _FROM_ORDERS,
        "ALTER TABLE orders ADD COLUMNS (note STRING)",
        f"{_RULES}::test_seed_000_importante_streaming_reads_fail_at_a_metadata_change",
    ),
    _dbx(
        databricks.same_transaction_id,
        _WRITE,
        _WRITE,
        f"{_RULES}::test_two_writes_under_one_transaction_id_wait_though_no_document_says_so",
    ),
    _dbx(
        databricks.vacuum,
        "VACUUM orders",
        _DELETE,
        f"{_RULES}::test_vacuum_is_spoken_of_in_no_document_so_it_goes_by_the_code",
    ),
    _dbx(
        databricks.blind_insert,
        _APPEND,
        _DELETE,
        f"{_RULES}::test_seed_000_quando_confirma_sem_ler_a_tabela_not_with_subqueries_on_the_target",
    ),
    _dbx(
        databricks.write_serializable,
        _DELETE,
        _APPEND,
        _CELLS,
        f"{_RULES}::test_seed_000_seed_003_txn1_txn2_readers_may_see_what_the_history_says_never_existed",
        f"{_DIFFER}::test_seed_000_defaults_to_WriteSerializable_the_code_to_Serializable",
    ),
    _dbx(
        databricks.compaction,
        _OPTIMIZE,
        _DELETE,
        _CELLS,
        f"{_RULES}::test_seed_000_limits_optimize_with_zorder_is_not_helped_by_deletion_vectors",
        f"{_DIFFER}::test_seed_000_optimize_cannot_conflict_with_deletion_vectors_in_the_code_it_does_both_ways",
        table={"properties": _VECTORS},
    ),
    _dbx(
        databricks.changed_rows,
        _DELETE,
        _UPDATE,
        _CELLS,
        f"{_RULES}::test_seed_000_evitar_conflitos_usando_particionamento_the_two_statements_of_the_document",
        f"{_RULES}::test_seed_000_ConcurrentAppendException_a_merge_condition_must_pin_explicitly",
        f"{_RULES}::test_where_conflicts_are_told_by_rows",
        f"{_DIFFER}::test_seed_000_pins_by_the_merge_condition_the_code_by_conditions_of_clauses_too",
    ),
    _dbx(
        databricks.undocumented,
        "RESTORE TABLE orders TO VERSION AS OF 1",
        _APPEND,
        f"{_RULES}::test_what_others_do_to_a_metadata_change_no_document_says_so_it_waits",
    ),
    _rs(
        delta_rs.single_attempt,
        "RESTORE TABLE orders TO VERSION AS OF 1",
        _APPEND,
        f"{_DELTA_RS}::test_what_tries_once_may_lose_to_everything",
    ),
    _rs(
        delta_rs.first_commit,
        _APPEND,
        _APPEND,
        f"{_DELTA_RS}::test_first_commits_exclude_each_other",
        table=_EMPTY,
    ),
    _rs(
        delta_rs.protocol_changed,
        _APPEND,
        _ENABLE,
        f"{_DELTA_RS}::test_x08_two_changes_of_the_protocol",
    ),
    _rs(
        delta_rs.metadata_changed,
        _APPEND,
        _SET,
        f"{_DELTA_RS}::test_x07_any_metadata_action_aborts_everything",
    ),
    _rs(
        delta_rs.added_files,
        _DELETE,
        _APPEND,
        f"{_DELTA_RS}::test_x05_x15_files_added_where_the_predicate_may_match",
    ),
    _rs(
        delta_rs.removed_files,
        _APPEND,
        _DELETE,
        f"{_DELTA_RS}::test_x10_a_plain_append_loses_to_any_removal",
    ),
    _rs(
        delta_rs.removed_twice,
        _OPTIMIZE,
        _OPTIMIZE,
        f"{_DELTA_RS}::test_x14_two_compactions_may_remove_the_same_files",
    ),
    _rs(
        delta_rs.same_transaction_id,
        _WRITE,
        _WRITE,
        f"{_DELTA_RS}::test_x17_one_transaction_id_twice",
    ),
    _rs(
        delta_rs.nothing_meets,
        _APPEND,
        _OPTIMIZE,
        f"{_DELTA_RS}::test_x12_a_compactions_files_are_no_deletes",
    ),
)

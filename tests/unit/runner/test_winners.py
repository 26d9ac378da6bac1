"""Who won a conflict and where is read from the messages of all of Delta's versions, and completed from the log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner.commits import Commit
from sluice_runner.winners import Winner, completed, partition_in, winner_in

APPEND_4_4 = (
    "[DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT] Transaction conflict detected. a concurrent WRITE added data to"
    " table delta.`file:/lake/t` committed at version 4. The concurrent operation modified data in the partition"
    " [d=2026-01-01] that should have been read by this operation. Please retry the operation."
)
DELETE_READ_4_4 = (
    "[DELTA_CONCURRENT_DELETE_READ.WITH_PARTITION_HINT] Transaction conflict detected, a concurrent CREATE OR REPLACE"
    " TABLE AS SELECT deleted data from table delta.`file:/lake/t` (committed at version 25) that this transaction read."
    " The concurrent operation deleted data in the partition [d=2026-01-01, e=b] that was read by this operation."
)
DELETE_DELETE_4_4 = (
    "[DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT] Transaction conflict detected, a concurrent DELETE deleted data from"
    " table delta.`file:/lake/t` (committed at version 3) that this transaction attempted to delete. The concurrent"
    " operation deleted data that was read by this operation. Please retry the operation."
)
COMMIT_3_3 = (
    # As Delta 3.3.3 writes it: parameters without quotes, so the whole is no JSON.
    '\nConflicting commit: {"timestamp":1795220424629,"operation":"WRITE",'
    '"operationParameters":{"mode":Append,"partitionBy":[]},"readVersion":3,"isolationLevel":"Serializable",'
    '"isBlindAppend":true,"operationMetrics":{"numFiles":"1"},"userMetadata":"{\\"sluice\\":{\\"runKey\\":\\"W\\"}}",'
    '"engineInfo":"Apache-Spark/3.5.9 Delta-Lake/3.3.3","txnId":"c1ac"}\nRefer to https://docs.delta.io for more details.'
)
APPEND_3_3 = (
    "[DELTA_CONCURRENT_APPEND] ConcurrentAppendException: Files were added to partition [d=2026-01-01] by a concurrent"
    f" update. Please try the operation again.{COMMIT_3_3}"
)
TRANSACTION_4_4 = (
    "[DELTA_CONCURRENT_TRANSACTION] ConcurrentTransactionException: This error occurs when multiple streaming queries are"
    " using the same checkpoint to write into this table."
    '\nConflicting commit: {"timestamp":1,"operation":"DELETE","operationParameters":{"predicate":'
    '"[\\"(x = \\\\\\"userMetadata\\\\\\":\\\\\\"y\\")]"},"readVersion":7,"engineInfo":"delta-rs:1.6"}'
)
STAMP = '{"sluice":{"runKey":"W"}}'


@pytest.mark.parametrize(
    ("message", "version", "operation", "stamp", "engine"),
    [
        (APPEND_4_4, 4, "WRITE", None, None),
        (DELETE_READ_4_4, 25, "CREATE OR REPLACE TABLE AS SELECT", None, None),
        (DELETE_DELETE_4_4, 3, "DELETE", None, None),
        (APPEND_3_3, None, "WRITE", {"runKey": "W"}, "Apache-Spark/3.5.9 Delta-Lake/3.3.3"),
        (TRANSACTION_4_4, None, "DELETE", None, "delta-rs:1.6"),
        ('Conflicting commit: {"operation":"WRITE","userMetadata":"by hand"}', None, "WRITE", None, None),
        ('Conflicting commit: {"userMetadata":"bad \\x escape"}', None, None, None, None),
        ("Conflicting commit: {", None, None, None, None),
    ],
)
def test_the_winning_commit_is_read_from_the_messages_of_all_versions(
    message: str, version: int | None, operation: str | None, stamp: object, engine: str | None
) -> None:
    winner = winner_in(message)
    assert winner is not None
    assert (winner.version, winner.operation, winner.stamp, winner.engine) == (
        version,
        operation,
        stamp,
        engine,
    )


def test_a_message_that_tells_no_winner_has_none() -> None:
    assert (
        winner_in("[DELTA_METADATA_CHANGED] MetadataChangedException: the metadata has been changed") is None
    )


@pytest.mark.parametrize(
    ("message", "partition"),
    [
        (APPEND_4_4, "d=2026-01-01"),
        (DELETE_READ_4_4, "d=2026-01-01, e=b"),
        (DELETE_DELETE_4_4, None),
        (APPEND_3_3, "d=2026-01-01"),
        ("Files were added to the root of the table by a concurrent update.", "the root of the table"),
        (
            "one or more files that were deleted (for example part-0.parquet in partition [d=1]) by a concurrent update.",
            "d=1",
        ),
        (
            "one or more files that were deleted (for example part-0.parquet in the root of the table) by a concurrent update",
            "the root of the table",
        ),
        (
            "one or more files that were deleted (for example d=1/part-0.parquet) by a concurrent update.",
            "d=1/part-0.parquet",
        ),
        # What the winner's own commit says is none of Delta's words.
        (
            f"the metadata has been changed.{COMMIT_3_3} in the partition [x=1] that was read by this operation",
            None,
        ),
    ],
)
def test_where_the_two_met_is_read_from_the_messages_of_all_versions(
    message: str, partition: str | None
) -> None:
    assert partition_in(message) == partition


def commit(version: int, operation: str = "WRITE", metadata: str | None = STAMP, **more: int) -> Commit:
    return Commit("file:/t", version, operation, {}, metadata, "Apache-Spark/4.2.0 Delta-Lake/4.4.0", **more)


def test_a_version_is_looked_up_in_the_log() -> None:
    found = completed(Winner(4, "WRITE", None), [commit(3), commit(4), commit(5)])
    assert found is not None
    assert (found.version, found.stamp, found.foreign) == (4, {"runKey": "W"}, False)
    assert found.table == "file:/t"
    assert found.engine == "Apache-Spark/4.2.0 Delta-Lake/4.4.0"


def test_a_commit_without_a_stamp_is_foreign_once_the_log_says_so() -> None:
    told = Winner(4, "WRITE", None)
    assert told.foreign is None
    found = completed(told, [commit(4, metadata="by hand")])
    assert found is not None
    assert found.foreign is True


def test_a_commit_that_says_nothing_of_itself_is_found_by_its_version() -> None:
    found = completed(Winner(4, "WRITE", None), [commit(3), Commit("file:/t", 4, "", {}, None)])
    assert found is not None
    assert (found.version, found.operation, found.foreign, found.table) == (4, "WRITE", True, "file:/t")


def test_a_commit_info_is_found_by_what_it_says() -> None:
    told = winner_in(TRANSACTION_4_4)
    assert told is not None
    log = [
        Commit("file:/t", version, "DELETE", {}, None, "delta-rs:1.6", read_version)
        for version, read_version in ((8, 7), (9, 8))
    ]
    found = completed(told, log)
    assert found is not None
    assert found.version == 8


def test_which_of_two_commits_won_is_not_guessed() -> None:
    told = Winner(None, "WRITE", STAMP)
    assert completed(told, [commit(3), commit(4)]) is told
    assert completed(told, []) is told
    assert completed(None, [commit(3), commit(4)]) is None
    assert completed(Winner(4, "MERGE", None), [commit(4, "WRITE")]) == Winner(4, "MERGE", None)


def test_the_only_commit_since_the_statement_began_is_the_one_that_won() -> None:
    """Delta 3.3 does not name the winner of a ConcurrentWriteException."""
    found = completed(None, [commit(3, "OPTIMIZE")])
    assert found is not None
    assert (found.version, found.operation) == (3, "OPTIMIZE")


@given(st.text(max_size=300))
def test_any_conflicting_commit_can_be_read(text: str) -> None:
    assert winner_in("Conflicting commit: {" + text) is not None


@given(st.text(max_size=300))
def test_any_message_can_be_read(text: str) -> None:
    for message in (f"Files were added to partition [{text}", f"in the partition [{text}] that was read by"):
        told = partition_in(message)
        assert told is None or told in message

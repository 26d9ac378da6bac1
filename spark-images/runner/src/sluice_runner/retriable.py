"""The one table of what is worth another attempt. Whatever is not in it is not: an attempt costs as much as the first one
and most failures only come again.

A class counts by its full name, and an error class only beside the class of Delta that carries it: a user's own
ConcurrentWriteException, or raise_error with Delta's words, is none of these.
"""

from __future__ import annotations

from dataclasses import dataclass

DELTA = "io.delta.exceptions."
_DELTA_FORMERLY = "org.apache.spark.sql.delta."
_KERNEL = "io.delta.kernel.exceptions."
_STORAGE = "io.delta.storage.commit."
_OURS = "dev.sluice.delta."

_OTHERS_CHANGED = "another commit changed what this one had read; nothing of it was committed"

_NEW_SCHEMA = "the table that the stream reads has a new schema, with which the next attempt begins"
_ROWS_CHANGED = "rows of the table that the stream reads were changed or deleted, which it takes only if it skips such commits"


@dataclass(frozen=True)
class Known:
    """A failure of which it is known whether another attempt may end better."""

    java_class: str
    error_class: str | None
    """None: whatever error class it carries."""
    retriable: bool
    why: str


_CONFLICTS = {
    "ConcurrentAppendException": ("DELTA_CONCURRENT_APPEND", _OTHERS_CHANGED),
    "ConcurrentDeleteDeleteException": ("DELTA_CONCURRENT_DELETE_DELETE", _OTHERS_CHANGED),
    "ConcurrentDeleteReadException": ("DELTA_CONCURRENT_DELETE_READ", _OTHERS_CHANGED),
    "ConcurrentTransactionException": (
        "DELTA_CONCURRENT_TRANSACTION",
        "another commit used the same txnAppId, checkpoint or metadata domain; the next attempt sees which version that wrote",
    ),
    "ConcurrentWriteException": (
        "DELTA_CONCURRENT_WRITE",
        "RESTORE, CLONE and CONVERT try to commit only once; nothing was committed",
    ),
    "MetadataChangedException": (
        "DELTA_METADATA_CHANGED",
        "the next attempt begins with the new schema and properties",
    ),
    "ProtocolChangedException": (
        "DELTA_PROTOCOL_CHANGED",
        "the next attempt begins with the new protocol, or with the table that another one created",
    ),
}
"""Delta's conflicts, with their error class. Their abstract base, DeltaConcurrentModificationException, is never thrown."""

CONFLICTS = frozenset(package + name for package in (DELTA, _DELTA_FORMERLY) for name in _CONFLICTS)
"""Every class that means a lost conflict. Those of `org.apache.spark.sql.delta`, which the others extend, are still thrown
at a few places, and without an error class."""

CONFLICT_NAMES = frozenset(_CONFLICTS)
"""What people call them."""

SQL_STATE = "2D521"
"""The SQLSTATE of all of io.delta.exceptions, from 3.3 to 4.4."""

TABLE: tuple[Known, ...] = (
    *(Known(DELTA + name, code, True, why) for name, (code, why) in _CONFLICTS.items()),
    *(Known(_DELTA_FORMERLY + name, None, True, why) for name, (_, why) in _CONFLICTS.items()),
    Known(
        _DELTA_FORMERLY + "DeltaTableFeatureException",
        "DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL",
        True,
        "another commit was made while the feature was dropped; the next attempt drops it from what is there then",
    ),
    Known(
        _DELTA_FORMERLY + "DeltaIllegalStateException",
        "DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
        True,
        "others committed all the while; nothing of this was committed",
    ),
    Known(
        _DELTA_FORMERLY + "DeltaIllegalStateException",
        "DELTA_ROW_TRACKING_BACKFILL_RUNNING_CONCURRENTLY_WITH_UNBACKFILL",
        True,
        "row tracking was being enabled while it was disabled; once that has ended it can be",
    ),
    *(
        Known(_DELTA_FORMERLY + "DeltaIllegalStateException", code, True, _NEW_SCHEMA)
        for code in (
            "DELTA_SCHEMA_CHANGED",
            "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS",
            "DELTA_SCHEMA_CHANGED_WITH_VERSION",
            "DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART",
        )
    ),
    Known(
        _DELTA_FORMERLY + "DeltaRuntimeException",
        "DELTA_STREAMING_METADATA_EVOLUTION",
        True,
        _NEW_SCHEMA,
    ),
    *(
        Known(_DELTA_FORMERLY + "DeltaUnsupportedOperationException", code, False, _ROWS_CHANGED)
        for code in ("DELTA_SOURCE_IGNORE_DELETE", "DELTA_SOURCE_TABLE_IGNORE_CHANGES")
    ),
    Known(_KERNEL + "ConcurrentWriteException", None, True, _OTHERS_CHANGED),
    Known(_KERNEL + "MetadataChangedException", None, True, _CONFLICTS["MetadataChangedException"][1]),
    Known(_KERNEL + "ProtocolChangedException", None, True, _CONFLICTS["ProtocolChangedException"][1]),
    Known(
        _KERNEL + "MaxCommitRetryLimitReachedException",
        None,
        True,
        "others committed all the while; nothing of this was committed",
    ),
    Known(
        _KERNEL + "ConcurrentTransactionException",
        None,
        False,
        "the table already has this or a later version of the transaction: so would the next attempt find it",
    ),
    Known(
        _STORAGE + "CommitFailedException",
        None,
        False,
        "the commit coordinator refused; Delta itself has tried again what is worth it",
    ),
    Known(
        _STORAGE + "uccommitcoordinator.CommitCompletionUnknownException",
        None,
        False,
        "the commit may have landed: only the table's log knows",
    ),
    Known(
        _DELTA_FORMERLY + "DeltaRuntimeException",
        "DELTA_POST_COMMIT_HOOK_FAILED",
        False,
        "the commit has landed; what failed, be it a conflict, came after it",
    ),
    Known(
        _DELTA_FORMERLY + "DeltaRuntimeException",
        "DELTA_DUPLICATE_ACTIONS_FOUND",
        False,
        "not a conflict, although it has the SQLSTATE of one: the job itself adds one file twice",
    ),
    Known(
        _OURS + "UnknownOutcomeException",
        None,
        False,
        "the commit may have landed, or may still: only the table's log knows",
    ),
    Known(
        _OURS + "UnsafeStoreException",
        None,
        False,
        "the store can't keep commits of several drivers apart; nothing was committed, and the next attempt finds the same store",
    ),
    Known(
        "java.nio.file.AccessDeniedException",
        None,
        False,
        "the storage, such as S3, refused the driver's account; the next attempt has the same one",
    ),
    Known(
        "org.apache.hadoop.security.AccessControlException",
        None,
        False,
        "HDFS refused the driver's account; the next attempt has the same one",
    ),
)


def find(java_class: str, error_class: str | None) -> Known | None:
    main_class = None if error_class is None else error_class.partition(".")[0]
    for known in TABLE:
        if known.java_class != java_class:
            continue
        if java_class in CONFLICTS or known.error_class in (None, main_class):
            return known
    return None


def error_class_of(java_class: str) -> str | None:
    """The error class that a conflict's class stands for, where the text of its message is without one."""
    known = find(java_class, None) if java_class in CONFLICTS else None
    return None if known is None else known.error_class

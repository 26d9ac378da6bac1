"""What a Delta table that a stream reads may do to it: Delta's error classes for a source that is not as it was."""

from sluice.api.job_status import AttemptException

CURED_BY_A_RESTART = frozenset(
    {
        "DELTA_SCHEMA_CHANGED",
        "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS",
        "DELTA_SCHEMA_CHANGED_WITH_VERSION",
        "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS",
        "DELTA_STREAMING_METADATA_EVOLUTION",
        "DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART",
    }
)
"""The stream goes on with the new schema of its source, or of a table that its query joins to it."""

RESTARTS_THAT_CURE = 3
"""After so many attempts in a row that met a changed schema before any batch had ended, no other one goes on with it: the table
went back to a schema that lacks what its log has in between, as RESTORE does."""

WENT_BACK = (
    "its source's table has gone back to a schema of before, as RESTORE does, or has forgotten what its columns were, as "
    "DROP FEATURE typeWidening does, and no restart reads what lies in between: create the job again with a new checkpoint, from "
    "which it reads the whole table again"
)

_SKIP = (
    'if it can leave such changes out, create the job again with skipChangeCommits: "true" under spec.stream.source.options; if '
    "not, with a new checkpoint, from which it reads the whole table again"
)
_ANEW = "create the job again with a new checkpoint, from which it reads the whole table again"
_CUT_OFF = (
    "the log of its source's table no longer has what it was to read next, because the stream stood still or was behind for longer "
    f"than the table's delta.logRetentionDuration: make that longer, and {_ANEW}"
)
_NO_SUCH_VERSION = (
    "the log no longer has, or doesn't have yet, the version that the stream is to begin with, or that a query names: set another "
    "startingVersion under spec.stream.source.options, or none, by which it reads the whole table, or change the query"
)
_BY_HAND = (
    "the column was renamed, dropped or given another type: create the job again with schemaTrackingLocation under "
    "spec.stream.source.options, in its checkpoint, or with a new checkpoint"
)

_ADVICE = {
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES": _SKIP,
    "DELTA_SOURCE_IGNORE_DELETE": _SKIP,
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE": _ANEW,
    "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE": _CUT_OFF,
    "DELTA_VERSION_NOT_FOUND": _NO_SUCH_VERSION,
    "DELTA_MISSING_FILES_UNEXPECTED_VERSION": _ANEW,
    "DELTA_STREAMING_TRAILING_COMMIT_MISSING": _ANEW,
    "DELTA_MISSING_CHANGE_DATA": _ANEW,
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE": _BY_HAND,
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG": _BY_HAND,
    "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION": (
        "bring the change to the tables that it writes, then create the job again with the setting that Delta's message names"
    ),
}
"""No restart goes on with these: a person has to say what is to become of the stream."""


def is_cured_by_a_restart(exception: AttemptException) -> bool:
    return _class_of(exception) in CURED_BY_A_RESTART


def ends_the_stream(exception: AttemptException) -> bool:
    return _class_of(exception) in _ADVICE


def with_advice(exception: AttemptException | None) -> AttemptException | None:
    advice = _ADVICE.get(_class_of(exception)) if exception is not None else None
    if exception is None or advice is None or exception.advice is not None:
        return exception
    return exception.model_copy(update={"advice": advice})


def _class_of(exception: AttemptException) -> str:
    """Without the part that tells one case of it from others."""
    return (exception.error_class or "").partition(".")[0]

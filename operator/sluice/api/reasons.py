"""The words that tell why: each reason of a job's status and its conditions, of a policy's, and of an Event about a job. The lists
are closed, and docs/api.md has them from here."""

from enum import StrEnum
from typing import Self


class _Word(StrEnum):
    """A word with its meaning."""

    _value_: str
    meaning: str

    def __new__(cls, word: str, meaning: str) -> Self:
        one = str.__new__(cls, word)
        one._value_ = word
        one.meaning = meaning
        return one


class Reason(_Word):
    READING_SPEC = (
        "ReadingSpec",
        "Pending: its spec is being read, or waits for that, which takes longer than a second.",
    )
    READING_TABLES = (
        "ReadingTables",
        "Pending: the logs of its tables are being read, which takes longer than a second.",
    )
    LEASES_UNAVAILABLE = (
        "LeasesUnavailable",
        "Pending: nothing is granted until it is certain who holds what; the message says what is wrong with Redis.",
    )
    HOLDER_UNREADABLE = (
        "HolderUnreadable",
        "Pending: somebody may write, and nobody can tell which tables; a person has to put that object right.",
    )
    LEASE_UNEXPLAINED = (
        "LeaseUnexplained",
        "Pending, Starting: it has a lease that no object explains; the message has the command that frees it.",
    )
    EARLIER_ATTEMPT = "EarlierAttempt", "Pending: what is left of its earlier attempt is being ended first."
    GRANT_GIVEN_BACK = (
        "GrantGivenBack",
        "Pending: it was granted its tables, but that could not be written down; it queues again.",
    )
    ATTEMPT_TAKEN_BACK = (
        "AttemptTakenBack",
        "Pending: its attempt was taken back before anything ran; it queues again.",
    )
    SPARK_OPERATOR_MISSING = (
        "SparkOperatorMissing",
        "Pending: the cluster serves no SparkApplications of its engine, or `engines` does not name that; it goes on by itself.",
    )
    DEFINITIONS_OUTDATED = (
        "DefinitionsOutdated",
        "Pending: the cluster has older definitions of Sluice's resources; it goes on once they are updated.",
    )
    BLOCKED = (
        "Blocked",
        "Waiting: others are in its way, see status.blockedBy. Skipped, Failed: they were, and admission.whenBlocked says so.",
    )
    AWAITS_LOOK = (
        "AwaitsLook",
        "Pending: its policy has yet to see that the table still is to be changed; the message says what is in the way.",
    )
    SUSPENDED = "Suspended", "Suspended: held by spec.admission.suspend."
    APPLICATION_REFUSED = (
        "ApplicationRefused",
        "Starting, BackingOff: the API server refuses its SparkApplication, for a quota or a webhook; the message quotes it.",
    )
    RETRYING = (
        "Retrying",
        "BackingOff: an attempt failed, and another one queues when the message says. Pending: somebody asked for another one.",
    )
    ADMITTED = "Admitted", "Starting: it holds its leases, and its SparkApplication is being created."
    ATTEMPT_RESTORED = (
        "AttemptRestored",
        "Starting: its attempt was missing from the status, and was found by its SparkApplication.",
    )
    DRIVER_STARTING = (
        "DriverStarting",
        "Starting: its SparkApplication is there, and its driver doesn't run yet.",
    )
    WAITING_FOR_COMPUTE = (
        "WaitingForCompute",
        "Starting: it has no compute yet (its SparkApplication is suspended, or its driver's pod has no node); the message says "
        "what it waits for. Ending, BackingOff: it waited for as long as admission.quotaTimeout lets it, and queues again.",
    )
    START_TIMED_OUT = (
        "StartTimedOut",
        "Ending: its driver didn't start within admission.startTimeout, so the attempt is being ended.",
    )
    NAME_TAKEN = (
        "NameTaken",
        "Starting: somebody else's SparkApplication has the name; it goes on once that is deleted.",
    )
    SPEC_CHANGED = (
        "SpecChanged",
        "Starting: its spec isn't the one that it was admitted with, so nothing is created; put it back, or delete the job.",
    )
    DRIVER_RUNNING = "DriverRunning", "Running: its driver runs."
    STREAMING = (
        "Streaming",
        "Running: its stream that runs for ever has ended a batch, or has found nothing to do; status.stream tells how far it is.",
    )
    PAUSING = "Pausing", "Running: its stream was asked to stop at a batch boundary; the message says why."
    PAUSE_NOT_HEEDED = (
        "PauseNotHeeded",
        "Running: its stream was asked to stop at a batch boundary long ago, and goes on; nobody ends it, and who waits for it "
        "goes on waiting.",
    )
    YIELDED = (
        "Yielded",
        "Paused: its stream stopped for the jobs that status.pause names, and goes on once they have ended.",
    )
    RESTARTING = (
        "Restarting",
        "Pending: its stream stopped at a batch boundary, and queues again to go on as its spec says, or is understood, now.",
    )
    CHECKPOINT_IN_USE = (
        "CheckpointInUse",
        "Failed: another job that has not ended uses the checkpoint; the message names it. Pending: that one is being deleted.",
    )
    PAUSE_EXCEEDED = (
        "PauseExceeded",
        "Ending, BackingOff: streams had paused for it for as long as their maxPause says, so it gives way to them. Failed: it ran "
        "by then, and was ended; the message says what it had committed.",
    )
    DEADLINE_EXCEEDED = (
        "DeadlineExceeded",
        "Ending: it has run for as long as activeDeadlineSeconds lets it, and is being ended. Failed: that is done; the message "
        "says what it had committed.",
    )
    PREEMPTED = (
        "Preempted",
        "Ending: its SparkApplication was suspended while its driver ran, and is being removed.",
    )
    APPLICATION_NOT_OVER = (
        "ApplicationNotOver",
        "Ending: its driver has ended, and the Spark operator hasn't said yet that no other one starts.",
    )
    DRIVER_LOST = (
        "DriverLost",
        "Ending: nothing proves that its driver has ended, so it keeps its leases. Failed: its driver was ended from outside, or "
        "declared dead.",
    )
    COMMITTED = "Committed", "Succeeded: its run committed, or had nothing to commit."
    ALREADY_COMMITTED = "AlreadyCommitted", "Succeeded: earlier attempts of the run had done everything."
    TIMED_OUT = (
        "TimedOut",
        "Failed: it waited for others as long as admission.timeout, or a policy's admission.defaultTimeout, lets it.",
    )
    NOT_UNDERSTOOD = (
        "NotUnderstood",
        "Failed: its manifest could not be understood, or doesn't fit its tables; the message names the place. Running: the spec "
        "of a stream was changed into one that can't be understood, and the stream goes on as it was; put the spec right.",
    )
    NOT_PERMITTED = (
        "NotPermitted",
        "Failed: the operator's jobPermissions don't let jobs of its namespace ask for what it asks of its pods.",
    )
    NAMESPACE_NOT_ALLOWED = (
        "NamespaceNotAllowed",
        "Failed: a policy of its tables doesn't list its namespace in allowedNamespaces.",
    )
    RISK_NOT_ALLOWED = (
        "RiskNotAllowed",
        "Failed: it says admission.risk: Optimistic, and a policy of its tables doesn't, or there is none.",
    )
    FOOTPRINT_UNKNOWN = (
        "FootprintUnknown",
        "Failed: its spec doesn't tell what it does to a table whose policy says admission.unknownFootprint: Reject.",
    )
    RUN_LOST = (
        "RunLost",
        "Failed: nothing tells any more by which transaction id its earlier attempts committed, so that another one could do twice "
        "what they did.",
    )
    DRIVER_NOT_STARTED = "DriverNotStarted", "Failed: no driver was started, and that is proved."
    DRIVER_KILLED = (
        "DriverKilled",
        "Failed: its driver was killed (out of memory, a person), and Kubernetes names no reason of its own.",
    )
    APPLICATION_DELETED = "ApplicationDeleted", "Failed: somebody deleted its SparkApplication while it ran."
    RESULT_MISSING = (
        "ResultMissing",
        "Failed: its driver left no result; the message says what the tables' logs tell.",
    )
    RUN_FAILED = (
        "RunFailed",
        "Failed: its run failed with an exception that has no reason of its own; the message and status.attempts[].exception "
        "name it.",
    )
    CONCURRENT_APPEND = (
        "ConcurrentAppendException",
        "Failed: another commit added files where it had read.",
    )
    CONCURRENT_DELETE_READ = (
        "ConcurrentDeleteReadException",
        "Failed: another commit removed a file that it had read.",
    )
    CONCURRENT_DELETE_DELETE = (
        "ConcurrentDeleteDeleteException",
        "Failed: another commit removed a file that it removes as well.",
    )
    CONCURRENT_TRANSACTION = (
        "ConcurrentTransactionException",
        "Failed: another commit with its transaction id came first.",
    )
    CONCURRENT_WRITE = "ConcurrentWriteException", "Failed: any other commit came first."
    METADATA_CHANGED = (
        "MetadataChangedException",
        "Failed: another commit changed the table's schema or properties.",
    )
    PROTOCOL_CHANGED = (
        "ProtocolChangedException",
        "Failed: another commit changed the table's protocol, or made the table.",
    )
    RUN_KEY_REUSED = (
        "RunKeyReused",
        "Failed: another job of the same run key did other work on one of its tables.",
    )
    PROMISE_BROKEN = (
        "PromiseBrokenException",
        "Failed: it would have added rows where spec.writes promises none; nothing of that was committed.",
    )
    PROMISE_UNCHECKED = (
        "UncheckedPromiseError",
        "Failed: it could not be looked up before a commit whether spec.writes holds; nothing of that was committed.",
    )
    ACCESS_DENIED = (
        "AccessDeniedException",
        "Failed: the store refused the driver, or it had no credentials.",
    )
    STORAGE_UNREACHABLE = (
        "UnreachableStorageError",
        "Failed: a path could not be looked up: no such bucket, endpoint or region.",
    )
    STORE_UNSAFE = (
        "UnsafeStoreException",
        "Failed: the store can't keep commits of several drivers apart; nothing was committed.",
    )
    OUTCOME_UNKNOWN = (
        "UnknownOutcomeException",
        "Failed: the store didn't say whether the commit was made: look into the table's log before you create the job again.",
    )
    ANALYSIS = (
        "AnalysisException",
        "Failed: Spark found a name, a type or the like in a statement that isn't there or doesn't fit.",
    )
    NOT_AS_JUDGED = (
        "NotAsJudgedError",
        "Failed: its driver is not what its runtime profile says, runs on a later day, or a name leads elsewhere in its catalog "
        "than the job was judged by; the message says which, whether nothing was run or only a statement was not, and what to do.",
    )
    NOT_A_DELTA_TABLE = "NotADeltaTableError", "Failed: it names a folder or a table of another kind."
    MISSING_TABLE = (
        "MissingTableError",
        "Failed: a write that replaces part of a table needs the table to exist.",
    )
    MISSING_SECRET = (
        "MissingSecretError",
        "Failed: an option's value should come from a Secret, and isn't there.",
    )
    STATEMENT_REFUSED = (
        "RefusedStatementError",
        "Failed: a statement was not run, because it can't be told beforehand what it would do.",
    )
    TARGET_UNKNOWN = (
        "UnknownTargetError",
        "Failed: a statement would write a table that the job was not judged by.",
    )
    RUNS_FORGOTTEN = (
        "RunsForgottenError",
        "Failed: a table doesn't remember its runs for good, so that a run key can't be kept.",
    )
    PLAN_NOT_UNDERSTOOD = (
        "PlanError",
        "Failed: the runner in its image doesn't understand this operator: their versions don't fit.",
    )
    CHECKPOINT_OF_ANOTHER = (
        "CheckpointOfAnotherStreamError",
        "Failed: the checkpoint tells how far another stream has come, whose table or source is another.",
    )
    CHECKPOINT_IN_A_TABLE = (
        "CheckpointInATableError",
        "Failed: the checkpoint lies among the files of a table, where VACUUM would delete it.",
    )
    STREAM_STOPPED = (
        "StreamStoppedError",
        "Failed: Spark ended the stream without an exception, though nobody had asked for it.",
    )
    TERMINATED = (
        "Terminated",
        "Failed: its driver was told to end, and nothing else tells by whom; the message says what it had committed.",
    )
    OPERATOR_FAILED = (
        "OperatorFailed",
        "Stalled in any phase: the operator failed on this job, and tries again; please report it.",
    )
    API_SERVER_REFUSES = (
        "ApiServerRefuses",
        "Stalled in any phase: the API server refuses a request for this job; it is tried again.",
    )
    STATUS_UNREADABLE = (
        "StatusUnreadable",
        "Stalled in any phase: somebody wrote something into its status that can't be read; its tables are held.",
    )
    HELD = "Held", "Of the condition FootprintHeld: its commits touched only what it was judged to touch."
    FOOTPRINT_STRAYED = (
        "FootprintStrayed",
        "Of the condition FootprintHeld: its commits touched more than it was judged to touch.",
    )
    FOOTPRINT_DOUBTFUL = (
        "FootprintDoubtful",
        "Of the condition FootprintHeld: nothing tells whether its application kept to its footprint.",
    )


CONFLICTS = frozenset(
    {
        Reason.CONCURRENT_APPEND,
        Reason.CONCURRENT_DELETE_READ,
        Reason.CONCURRENT_DELETE_DELETE,
        Reason.CONCURRENT_TRANSACTION,
        Reason.CONCURRENT_WRITE,
        Reason.METADATA_CHANGED,
        Reason.PROTOCOL_CHANGED,
    }
)
"""Delta refused the commit for another one."""

_OF_EXCEPTIONS = {
    reason.value: reason
    for reason in (
        *CONFLICTS,
        Reason.RUN_KEY_REUSED,
        Reason.PROMISE_BROKEN,
        Reason.PROMISE_UNCHECKED,
        Reason.ACCESS_DENIED,
        Reason.STORAGE_UNREACHABLE,
        Reason.STORE_UNSAFE,
        Reason.OUTCOME_UNKNOWN,
        Reason.ANALYSIS,
        Reason.NOT_AS_JUDGED,
        Reason.NOT_A_DELTA_TABLE,
        Reason.MISSING_TABLE,
        Reason.MISSING_SECRET,
        Reason.STATEMENT_REFUSED,
        Reason.TARGET_UNKNOWN,
        Reason.RUNS_FORGOTTEN,
        Reason.PLAN_NOT_UNDERSTOOD,
        Reason.CHECKPOINT_OF_ANOTHER,
        Reason.CHECKPOINT_IN_A_TABLE,
        Reason.STREAM_STOPPED,
        Reason.TERMINATED,
    )
}


def reason_of(exception: str) -> Reason:
    """Returns the reason of a run that failed with the exception of this class."""
    return _OF_EXCEPTIONS.get(exception, Reason.RUN_FAILED)


class EventReason(_Word):
    QUEUED = "Queued", "It waits for others; the message says for whom and why."
    ADMITTED = "Admitted", "It holds its leases; the message names the tables."
    STARTED = "Started", "Its driver was first seen running."
    SUCCEEDED = "Succeeded", "It ended well; the message says what it committed."
    SKIPPED = "Skipped", "Others were in its way, and admission.whenBlocked is Skip."
    TIMED_OUT = "TimedOut", "It waited as long as it may."
    WAITING_FOR_COMPUTE = (
        "WaitingForCompute",
        "It waited for compute for as long as it may; it gave its leases back, and queues again.",
    )
    DEADLINE_EXCEEDED = "DeadlineExceeded", "It was ended, because it ran for longer than it may."
    PAUSING = (
        "Pausing",
        "Of a stream: it was asked to stop at a batch boundary; the message says for whom, or why.",
    )
    PAUSED = "Paused", "Of a stream: it has stopped at a batch boundary; the message says when it goes on."
    RESUMED = (
        "Resumed",
        "Of a stream: its pause is over, so that it goes on or queues; the message says which, and how long the pause was.",
    )
    PAUSE_NOT_HEEDED = (
        "PauseNotHeeded",
        "Of a stream, and of who waits for it: it was asked to stop at a batch boundary long ago, and goes on.",
    )
    CHECKPOINT_REPLACED = (
        "CheckpointReplaced",
        "Of a stream: somebody has emptied or replaced its checkpoint, so that it writes anew what it had written before.",
    )
    PAUSE_ASKED = "PauseAsked", "The streams in its way were asked to pause for it; the message names them."
    PAUSE_EXCEEDED = (
        "PauseExceeded",
        "Streams had paused for it for as long as they may, so it gave way to them.",
    )
    CONFLICT = (
        "Conflict",
        "Delta refused its commit for another one: with which exception, who won, by which rule, and what to change.",
    )
    FAILED = (
        "Failed",
        "It was refused, or failed for anything but a conflict; the message has the reason in its status.",
    )
    RETRYING = (
        "Retrying",
        "An attempt failed and another one follows, or somebody asked for one; the message says when it queues.",
    )
    NOT_RETRIED = "NotRetried", "Somebody asked for another attempt, and there is none; the message says why."
    APPLICATION_REFUSED = "ApplicationRefused", "The API server refuses its SparkApplication."
    DRIVER_LOST = (
        "DriverLost",
        "Nothing proves that its driver has ended; the message has the command that says so.",
    )
    SECOND_APPLICATION = "SecondApplication", "A second SparkApplication or pod bears its labels."
    FOOTPRINT_STRAYED = "FootprintStrayed", "Its commits touched more than it was judged to touch."
    LEASE_REVOKED = "LeaseRevoked", "A lease of it was revoked by hand."
    OPERATOR_FAILED = "OperatorFailed", "The operator failed on what is left of it."
    API_SERVER_REFUSES = "ApiServerRefuses", "The API server refuses a request for what is left of it."
    TABLE_CHANGE_BEGUN = (
        "TableChangeBegun",
        "Of a policy: it created a job that changes its table to what it wants; the message says what that sets.",
    )
    TABLE_CHANGED = (
        "TableChanged",
        "Of a policy: such a job has ended well; the message says what it has set.",
    )
    TABLE_CHANGE_FAILED = "TableChangeFailed", "Of a policy: such a job has failed; the message says why."
    TABLE_CHANGES_STALLED = (
        "TableChangesStalled",
        "Of a policy: nothing of its table is changed before somebody sees to it: it is set back each time, jobs have "
        "failed too often, or none can be made; the message has the reason in its status.",
    )
    MAINTENANCE_CREATED = (
        "MaintenanceCreated",
        "Of a policy: it created a job for its maintenance; the message says why it is worth a run.",
    )
    MAINTENANCE_LEFT_OUT = (
        "MaintenanceLeftOut",
        "Of a policy: a run of its maintenance was due or asked for, and there is no job; the message says why.",
    )
    MAINTENANCE_REFUSED = (
        "MaintenanceRefused",
        "Of a policy: the API server does not take a job for its maintenance, for a quota or a webhook; the message quotes it, and "
        "the job is created once that takes it.",
    )
    TABLE_QUARANTINED = (
        "TableQuarantined",
        "Of a job or a policy: the log of its table has ended two readers, and is not read for ten minutes; the message says why.",
    )
    STATUS_UNREADABLE = "StatusUnreadable", "Its status can't be read, and has no place to say so."


class PolicyReason(_Word):
    """Each stands with the condition that is True."""

    COUNTS = "Counts", "Ready: all that it says counts, and it wants nothing of the table."
    AS_WANTED = "AsWanted", "Ready: all that it says counts, and the table is as it wants."
    NOT_READ_YET = "NotReadYet", "Reconciling: the table's log has not been read since the policy is there."
    TABLE_MISSING = (
        "TableMissing",
        "Reconciling: there is no table yet; once there is one, it is compared with the policy.",
    )
    NOT_A_DELTA_TABLE = (
        "NotADeltaTable",
        "Stalled: other things lie in the table's folder, and no Delta log; the message names one of them. It is looked at again "
        "all the same.",
    )
    DRIFTED = (
        "Drifted",
        "Stalled: the table differs from the policy, and nothing changes that by itself; status.drift has each difference.",
    )
    CHANGING = (
        "Changing",
        "Reconciling: a job that changes the table to what it wants is under way, or is being made.",
    )
    RETRYING = "Retrying", "Reconciling: such a job has failed, and the next one is made after a pause."
    FIGHT = "Fight", "Stalled: somebody sets the table back each time; nothing of it is changed any more."
    REMEDY_FAILED = "RemedyFailed", "Stalled: the jobs that change the table have failed too often in a row."
    NAME_TAKEN = "NameTaken", "Stalled: somebody else's job has the name that a job of the policy would have."
    NAMESPACE_NOT_ALLOWED = (
        "NamespaceNotAllowed",
        "Stalled: it wants jobs of its own, and its allowedNamespaces leaves out its own namespace, in which they would be.",
    )
    RUNTIME_UNKNOWN = (
        "RuntimeUnknown",
        "Stalled: it wants jobs of its own, and the operator has no runtime profile of the name in runtimeRef.",
    )
    API_SERVER_REFUSES = (
        "ApiServerRefuses",
        "Stalled: the API server refuses a job of the policy; it is tried again.",
    )
    TABLE_UNREAD = (
        "TableUnread",
        "Stalled: the table's log could not be read, twice in a row where it could be before; it is read again all the same.",
    )
    IMPOSSIBLE = (
        "Impossible",
        "Stalled: it wants what no table can be, or its maintenance has a schedule, a time zone or a condition that is none; "
        "the rest of it counts.",
    )
    VACUUM_NEVER_RUNS = (
        "VacuumNeverRuns",
        "Stalled: none of its VACUUMs runs, because the table's property keeps files for a shorter time than its "
        "maintenance.vacuum.retention, or says nothing that is understood; the rest of it counts.",
    )
    LEFT_OUT = (
        "LeftOut",
        "Stalled: there is an older policy for the same table, or, of a policy by name alone, another one for the table to which "
        "runs led that name; only the name binding of this one counts.",
    )
    AMBIGUOUS = (
        "Ambiguous",
        "Stalled: another policy, perhaps in another namespace, binds its name to another path, so that the name leads nowhere; "
        "the older one goes on for the table at its path, of the younger one only the name binding counts.",
    )
    NOT_OWNER = (
        "NotOwner",
        "Stalled: the operator's tableOwners leaves policies for this table to other namespaces; nothing of this one counts.",
    )
    NOT_UNDERSTOOD = "NotUnderstood", "Stalled: it does not count; the message names the place."

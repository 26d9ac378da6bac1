"""The status that Sluice writes back into a DeltaWriteJob. At every moment it answers: which state, since when, why, who is in
the way, what happens next."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictBool

from sluice.api.base import Model
from sluice.api.bounds import Int32, Int64, ShortText, Text, cut_to
from sluice.api.conditions import ConditionList
from sluice.api.engine_kind import EngineKind
from sluice.api.sql import ONE_LINE, ReportedTableName

ShownPredicate = Annotated[str, Field(max_length=4096), cut_to(4096)]
ObjectKey = Annotated[str, Field(max_length=320)]
Count = Annotated[Int64, Field(ge=0)]
Token = Annotated[Int64, Field(ge=0)]

MAX_BLOCKERS = 10
MAX_ATTEMPTS = 10
MAX_COMMITS = 64
MAX_FOOTPRINTS = 64
MAX_NAMES = 16
MAX_LOCATION = 1024

Location = Annotated[str, Field(max_length=MAX_LOCATION, pattern=ONE_LINE), cut_to(MAX_LOCATION)]
"""Anything else that somebody wrote there would be a name that may be any table."""


class Phase(StrEnum):
    PENDING = "Pending"
    WAITING = "Waiting"
    SUSPENDED = "Suspended"
    BACKING_OFF = "BackingOff"
    STARTING = "Starting"
    RUNNING = "Running"
    PAUSED = "Paused"
    ENDING = "Ending"
    SUCCEEDED = "Succeeded"
    SKIPPED = "Skipped"
    FAILED = "Failed"

    @property
    def is_terminal(self) -> bool:
        return self in (Phase.SUCCEEDED, Phase.SKIPPED, Phase.FAILED)


OVER = frozenset(phase.value for phase in Phase if phase.is_terminal)
"""The same as objects say it."""


class ShownFootprint(Model):
    """What one statement does to one table, as Sluice understood it."""

    table: Location
    """The table's identity."""
    statement: Annotated[Int32, Field(ge=1)] | None = None
    """Number of the statement within the job, from 1. Absent: your own application made it, and named none."""
    operation: ShortText
    """Kind of operation."""
    reads: ShownPredicate
    """Rows that it reads, as a predicate; false: none (a blind write), true: all."""
    writes: ShownPredicate
    """Where it adds rows, as a predicate; false: nowhere, true: anywhere."""
    deletes: ShownPredicate | None = None
    """Where it deletes all rows but those that it writes, as a predicate; true: in all of the table. Absent: nowhere, or only rows
    that match a condition on more than partitions."""
    metadata: StrictBool = False
    """Whether it changes the table's schema, properties or protocol."""
    widened: Annotated[tuple[Text, ...], Field(max_length=16), cut_to(16)] = ()
    """What was not understood, so that the statement is taken to touch more."""


class Blocker(Model):
    """A job in the way: this job would conflict with it, and it holds leases or waits ahead in the queue."""

    job: ObjectKey
    """The job, as namespace/name; "a job in another namespace" if the operator's sharedNamespaces don't hold both namespaces."""
    uid: ShortText | None = None
    """Its uid. Absent: it is not named."""
    table: Location
    """The table that both touch."""
    verdict: ShortText
    """How sure the conflict is: may, will or unsafe."""
    rule: ShortText
    """Id of the rule that says so, as listed in docs/conflict-rules.md; `reason` is what it says about this pair."""
    exception: ShortText | None = None
    """The exception that waiting avoids."""
    overlap: ShownPredicate | None = None
    """The partitions that both touch. Absent: partitions don't tell the two apart."""
    reason: Text
    """The reason in a sentence."""
    advice: Text | None = None
    """What to change so that both can run together."""


class Commit(Model):
    """A commit that the job made."""

    table: Location
    """The table."""
    version: Count
    """Version of the table that it made."""
    statement: Annotated[Int32, Field(ge=1)] | None = None
    """Number of the statement within the job, from 1. Absent: your own application made it, and named none."""
    operation: ShortText
    """Operation as named in Delta's log."""
    metrics: Annotated[dict[str, Int64], Field(max_length=32)] | None = None
    """Numbers from Delta's log, such as rows inserted."""


class ConflictingCommit(Model):
    """The commit that made this job's attempt abort."""

    table: Location | None = None
    """The table that both wrote to. Absent: the commit was not found in a log."""
    version: Count | None = None
    """Its version."""
    operation: ShortText | None = None
    """Its operation as named in Delta's log."""
    engine: ShortText | None = None
    """What made it, as Delta's log names it, such as Apache-Spark/4.2.0 Delta-Lake/4.4.0."""
    job: ObjectKey | None = None
    """The Sluice job that made it, as namespace/name; "a job in another namespace" if the operator's sharedNamespaces
    don't hold both namespaces. Absent: no Sluice job (`foreign`), or unknown."""
    foreign: StrictBool | None = None
    """Whether no Sluice job made it. Absent: its log entry could not be read."""


class AttemptException(Model):
    """Why an attempt failed."""

    class_: Annotated[str, Field(alias="class", max_length=256), cut_to(256)]
    """Name of the exception, such as ConcurrentAppendException."""
    error_class: ShortText | None = None
    """Delta's or Spark's error class, such as DELTA_CONCURRENT_APPEND."""
    sql_state: Annotated[str, Field(max_length=16), cut_to(16)] | None = None
    """SQLSTATE of the error class, such as 2D521."""
    statement: Annotated[Int32, Field(ge=1)] | None = None
    """Number of the statement that failed, from 1."""
    message: Text
    """The message, shortened."""
    partition: Annotated[str, Field(max_length=512), cut_to(512)] | None = None
    """Where the two commits met, as Delta says it: a partition, such as date=2026-11-19, or the root of the table, or a
    file. Absent: Delta does not say."""
    retriable: StrictBool | None = None
    """Whether another attempt may end better, by the table in docs/runner.md. Absent: the runner did not say, or an
    application failed of what isn't in that table."""
    conflicting_commit: ConflictingCommit | None = None
    """Who was in the way."""
    rule: ShortText | None = None
    """Id of the conflict rule that aborted it, as listed in docs/conflict-rules.md. Absent: it cannot be told for sure."""
    advice: Text | None = None
    """What to change so that it does not happen again. Absent: it cannot be told for sure."""


class Outcome(StrEnum):
    SUCCEEDED = "Succeeded"
    ALREADY_COMMITTED = "AlreadyCommitted"
    """Earlier attempts of the run had done everything."""
    PAUSED = "Paused"
    """A stream that stopped at a batch boundary because it was asked to."""
    FAILED = "Failed"
    KILLED = "Killed"
    DRIVER_LOST = "DriverLost"
    """Kubernetes, or its node, ended the driver, or the driver was declared dead."""
    NOT_STARTED = "NotStarted"
    UNKNOWN = "Unknown"
    WITHDRAWN = "Withdrawn"
    """Whether it gave its leases back before a driver ran, so that it does not count as a run."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """Sluice ended it, because it ran for longer than activeDeadlineSeconds, or than streams pause for it."""


class EndingReason(StrEnum):
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """It ran for longer than activeDeadlineSeconds."""
    START_TIMED_OUT = "StartTimedOut"
    """Its driver didn't start within admission.startTimeout."""
    WAITING_FOR_COMPUTE = "WaitingForCompute"
    """It waited for compute for longer than admission.quotaTimeout, or was suspended before its driver ran."""
    PREEMPTED = "Preempted"
    """Its SparkApplication was suspended while its driver ran, so that it would start another one when it is resumed."""
    PAUSE_EXCEEDED = "PauseExceeded"
    """Streams had paused for it for as long as their maxPause says."""


class PauseReason(StrEnum):
    YIELDS = "Yields"
    """Others wait for it, and its yield says that it pauses for them."""
    SPEC_CHANGED = "SpecChanged"
    """It goes on as its spec says now."""
    UNDERSTOOD_OTHERWISE = "UnderstoodOtherwise"
    """Its spec is the same, and Sluice or its runtime profile is another, by which it touches something else."""
    SUSPENDED = "Suspended"
    """spec.admission.suspend holds it back."""


class WaitsForPause(Model):
    """A job for which a stream pauses."""

    job: ObjectKey
    """The job, as namespace/name; "a job in another namespace" if the operator's sharedNamespaces don't hold both namespaces."""
    uid: ShortText
    """Its uid."""


class StreamPause(Model):
    """Why a stream was asked to stop at a batch boundary. It is written before its driver is told, so that whoever leads next
    knows it."""

    reason: PauseReason
    """Yields (others wait for it), SpecChanged (it goes on as its spec says now), UnderstoodOtherwise (Sluice or its runtime
    profile is another, by which it touches something else than it was admitted for) or Suspended (spec.admission.suspend)."""
    for_: Annotated[tuple[WaitsForPause, ...], Field(alias="for", max_length=MAX_BLOCKERS)] = ()
    """For whom it pauses, where its reason is Yields."""
    since: datetime
    """When this was decided."""
    until: datetime | None = None
    """When it goes on at the latest, where its reason is Yields: its maxPause after it has stopped. Absent: it has not stopped
    yet."""


class LastCommit(Model):
    """The newest commit of a run."""

    table: Location
    """The table."""
    version: Count
    """Version of the table that it made."""


class AttemptProgress(Model):
    """How far a run has come, as its driver said."""

    statement: Annotated[Int32, Field(ge=1)]
    """Number of the statement that runs, from 1."""
    of: Annotated[Int32, Field(ge=1)]
    """How many statements there are."""
    operation: ShortText
    """First word of the statement."""
    since: datetime
    """When the driver saw it begin, or the last commit."""
    last_commit: LastCommit | None = None
    """The last commit that is known to be its own."""
    copied_at: datetime | None = None
    """When it was read from the driver's pod, which may know more by now: at most once a minute."""


class StreamLag(Model):
    """How far a stream is behind its source, as far as the source tells."""

    files: Count | None = None
    """Files of a Delta table that are still to be read."""
    bytes: Count | None = None
    """Bytes that are still to be read."""
    rows: Count | None = None
    """Rows that are still to be read, such as Kafka's records."""


class ReplacedCheckpoint(Model):
    """How far a stream had come by a checkpoint that it has no longer."""

    query_id: ShortText
    """Id of the query, which that checkpoint kept."""
    batch: Count
    """Number of the last batch that was known to have ended."""


class StreamProgress(Model):
    """How far a stream has come, as its driver said last."""

    query_id: ShortText | None = None
    """Id of the query, which its checkpoint keeps for ever."""
    batch: Count | None = None
    """Number of the last batch that ended, from 0 at the checkpoint's beginning. Absent: none has."""
    batches: Count = 0
    """How many batches with rows have ended in the latest attempt."""
    rows: Count | None = None
    """Rows that the last of them read."""
    batch_at: datetime | None = None
    """When the last of them ended."""
    batch_seconds: Count | None = None
    """How long the last of them took, in whole seconds."""
    idle_since: datetime | None = None
    """Since when it has found nothing to do. Absent: it is at work."""
    lag: StreamLag | None = None
    """How far it is behind its source. Absent: the source does not tell."""
    last_commit: LastCommit | None = None
    """The last commit of it."""
    replaced: ReplacedCheckpoint | None = None
    """Somebody has emptied or replaced the checkpoint of this very job, the last time after this batch: what had been read before
    is read and written again, as far as the source still has it."""
    attempt: Annotated[Int32, Field(ge=1)] | None = None
    """Number of the attempt whose driver said so; what it has not said yet is from those before it."""
    told_at: datetime | None = None
    """When this was read from its driver, which may know more by now: at most once a minute while it runs."""


class AttemptReport(Model):
    """Where the driver left its full report: all statements and commits, versions, settings, and its tables as it saw them."""

    config_map: ShortText | None = None
    """Name of the ConfigMap, in the job's namespace."""
    missing: Text | None = None
    """Why there is none."""


class ReportedName(Model):
    """Where a catalog name led in the driver's catalog, which others use as well."""

    name: ReportedTableName
    """The name, with its catalog and its schema; Spark's own catalog may be left out."""
    table: Location
    """The table's location."""


class AttemptDriver(Model):
    """Where there is more to read of a driver than its result."""

    pod: ShortText
    """Its pod, in the job's namespace: `kubectl logs` shows its log, `kubectl port-forward` to port 4040 Spark's own page on it
    while it runs."""
    pod_uid: ShortText | None = None
    """The pod's uid: another pod of that name is not this driver. Absent: an earlier version of Sluice saw it running."""
    node: ShortText | None = None
    """The node that it ran on. Absent likewise."""
    spark_application: ShortText | None = None
    """Its id in Spark: event logs are called after it. Absent: its pod did not say."""
    history: Location | None = None
    """Its page on the Spark history server. Absent: its runtime names none, or writes no event logs."""


class AttemptEnding(Model):
    """Why Sluice ends an attempt. It is written before anything is deleted, so that whoever leads next knows it."""

    reason: EndingReason
    """DeadlineExceeded (it ran for longer than activeDeadlineSeconds), StartTimedOut (no driver within
    admission.startTimeout), WaitingForCompute (no compute within admission.quotaTimeout), Preempted (its
    SparkApplication was suspended while it ran) or PauseExceeded (streams had paused for it for as long as they may)."""
    since: datetime
    """When this was decided."""
    message: Text
    """The same in a sentence, with what the pod or the SparkApplication said."""


class DriverLoss(Model):
    """A loss of the driver: nothing tells whether it still runs."""

    at: datetime
    """When it was told. A person's word that the driver is dead names this moment (sluice.dev/driver-is-dead), and counts for no
    other loss."""
    pod_uid: ShortText | None = None
    """Uid of the driver's pod. Absent: it was gone."""
    silent_since: ShortText | None = None
    """Since when the driver's node is silent, as its pod says. Absent: the pod doesn't say so."""


class Attempt(Model):
    """One SparkApplication of the job: the intent before it is created, and afterwards what became of it."""

    number: Annotated[Int32, Field(ge=1)]
    """Number of the attempt, from 1."""
    token: Token
    """Token of the lease: the leader's epoch in the upper half, a counter in the lower."""
    hash: ShortText
    """Hash of the spec and footprint that the lease was granted for."""
    application: Annotated[str, Field(max_length=63)]
    """Name of the SparkApplication, fixed before it is created."""
    engine: EngineKind = EngineKind.KUBEFLOW
    """The Spark operator for which it is made. Absent: kubeflow."""
    granted_at: datetime
    """When the leases were granted."""
    started_at: datetime | None = None
    """When the driver was first seen running."""
    ended_at: datetime | None = None
    """When the end of the driver was proved."""
    driver: AttemptDriver | None = None
    """Its driver. Absent: none was seen running."""
    loss: DriverLoss | None = None
    """That its driver is lost, or was declared dead. Absent: it isn't, or it was heard of again."""
    ending: AttemptEnding | None = None
    """Why Sluice ends it, or ended it. Absent: it comes to its end by itself."""
    pause: StreamPause | None = None
    """Why the stream was asked to stop at a batch boundary. Absent: it was not."""
    outcome: Outcome | None = None
    """Its outcome. Absent: it has not ended."""
    exit_code: Int32 | None = None
    """Exit code of the driver."""
    message: Text | None = None
    """The outcome in a sentence; until then, why its SparkApplication cannot be created."""
    commits: Annotated[tuple[Commit, ...], Field(max_length=MAX_COMMITS)] = ()
    """Commits that it made."""
    commits_known: StrictBool = False
    """true: it made no other commits than these. Absent: nobody could tell."""
    footprint_held: StrictBool | None = None
    """Whether its commits touched only what the job was judged to touch. Absent: nobody has looked at all of them. Where it
    is false, jobs with this very spec are taken to touch all of their tables, for as long as this job is there."""
    exception: AttemptException | None = None
    """Why it failed."""
    progress: AttemptProgress | None = None
    """How far it had come, while it runs for longer than a minute. The driver's pod has it newer, as its annotation
    sluice.dev/progress."""
    report: AttemptReport | None = None
    """The driver's full report. Absent: it could say nothing of one."""
    names: Annotated[tuple[ReportedName, ...], Field(max_length=MAX_NAMES), cut_to(MAX_NAMES)] = ()
    """Where catalog names of its statements led, as its driver found them: at most 16, and only those of catalogs that others use
    as well."""


class ShownRun(Model):
    """By what Delta knows the job's commits, so that another attempt does only what is left."""

    app_id: Annotated[str, Field(max_length=64, pattern=r"^sluice/slot/[1-9][0-9]{0,5}$")]
    """Delta's transaction id (txnAppId). It is a slot, sluice/slot/<number>, which jobs use one after another; it stays this
    job's until the job has succeeded or is gone."""
    first_token: Token
    """Token of the first attempt that could commit under it: what has a lower one is of other jobs."""


class DeltaWriteJobStatus(Model):
    """What Sluice understood, decided and observed."""

    observed_generation: Count | None = None
    """Generation of the spec that this status describes."""
    phase: Phase | None = None
    """Where the job is: Pending, Waiting, Suspended, BackingOff, Starting, Running, Paused (a stream, for another job), Ending,
    Succeeded, Skipped or Failed."""
    since: datetime | None = None
    """When it entered this phase."""
    reason: Annotated[str, Field(max_length=63)] | None = None
    """Why, in one word of the list in docs/api.md."""
    message: Text | None = None
    """Why, in a sentence, and what happens next."""
    conditions: ConditionList = ()
    """Ready, Reconciling and Stalled by the kstatus convention, and FootprintHeld once a run's commits were looked at."""
    run_key: Annotated[str, Field(max_length=128)] | None = None
    """The run key in force."""
    tables: Text | None = None
    """Tables that the job touches, in short."""
    footprint: Annotated[tuple[ShownFootprint, ...], Field(max_length=MAX_FOOTPRINTS)] = ()
    """What the job reads and writes, as Sluice understood it, and what was widened and why."""
    blocked_by: Annotated[tuple[Blocker, ...], Field(max_length=MAX_BLOCKERS)] = ()
    """Jobs in the way, at most 10. Set when the job begins to wait, and updated as soon as possible once one of them
    is gone."""
    blocked_by_count: Annotated[Int32, Field(ge=0)] | None = None
    """How many jobs were in the way in all at that time; a lower bound where there are too many to count."""
    runs_beside: Annotated[tuple[Blocker, ...], Field(max_length=MAX_BLOCKERS)] = ()
    """Jobs that the latest attempt ran beside though one of the two may abort the other, at most 10: their tables' policies and
    they themselves accept that (admission.risk: Optimistic)."""
    queued_at: datetime | None = None
    """When the job joined the queue; its age counts from here."""
    resumed_at: datetime | None = None
    """When the job was last let go on after spec.admission.suspend; the time that it may wait counts from here."""
    attempt: Annotated[Int32, Field(ge=0)] | None = None
    """Number of the latest attempt."""
    attempts: Annotated[tuple[Attempt, ...], Field(max_length=MAX_ATTEMPTS)] = ()
    """The latest attempts, at most 10."""
    run: ShownRun | None = None
    """By what Delta knows its commits, if it may be retried and has no run key."""
    retries: Annotated[Int32, Field(ge=0)] | None = None
    """How many of the retries that its retry allows have begun, or are about to. Those that somebody asked for aren't among
    them. Of a stream with processingTime: how many attempts in a row have failed."""
    retry_at: datetime | None = None
    """When the latest retry queues, or queued."""
    retry_asked: ShortText | None = None
    """The last value of the annotation sluice.dev/retry that was heeded."""
    stream: StreamProgress | None = None
    """How far its stream has come."""
    pause: StreamPause | None = None
    """Why its stream pauses, or paused before it queued again. Absent: it doesn't."""
    finished_at: datetime | None = None
    """When the job ended."""
    writer_epoch: Annotated[Int32, Field(ge=0)] | None = None
    """Epoch of the leader that wrote this status. The API server refuses what a former leader writes late, where the chart's
    admission policy is in force."""

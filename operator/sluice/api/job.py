"""DeltaWriteJob: one piece of write work on one or more Delta tables."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, JsonValue, StrictBool
from pydantic.alias_generators import to_camel

from sluice.api.base import Model, exactly_one
from sluice.api.bounds import EACH_ONCE, NOT_EMPTY, WITHIN_64_BITS, Int32, Int64, bounded_int
from sluice.api.durations import Interval, Limit, LimitOfPauses, Pause
from sluice.api.engine_kind import EngineKind
from sluice.api.identifiers import ObjectName, RunKey, TxnAppId
from sluice.api.job_status import DeltaWriteJobStatus
from sluice.api.parameters import Parameters
from sluice.api.runtime import Runtime
from sluice.api.sql import GivenPredicate, Sql, TablePath
from sluice.api.tables import Source, StreamSource, TableRef
from sluice.api.validation import Checked, TransitionValidation, Validation


class WriteMode(StrEnum):
    APPEND = "Append"
    OVERWRITE = "Overwrite"
    OVERWRITE_PARTITIONS = "OverwritePartitions"


class Write(Model):
    """A DataFrame write: the rows of a source go into one table."""

    table: TableRef
    """The table that is written."""
    source: Source
    """Where the rows come from."""
    mode: WriteMode = WriteMode.APPEND
    """Append (the default) adds rows and reads none, so hardly any other writer is in its way. Overwrite replaces all
    rows, or those of replaceWhere. OverwritePartitions replaces the partitions that the source has rows for. They
    cannot be known beforehand: the job waits for all other writers, unless spec.writes names them."""
    replace_where: GivenPredicate | None = None
    """With mode Overwrite, replaces only the rows that match this predicate, such as "date = DATE '2026-11-19'" or
    "date = :day" with a parameter. All rows of the source must match it as well. On partition columns it lets the job
    run beside writers of other partitions."""
    schema_evolution: StrictBool = False
    """true lets the write add columns to the table. That may change the table's metadata, which aborts every other
    writer: the job then waits for all of them."""
    txn_app_id: TxnAppId | None = None
    """Your own transaction id for idempotent writes (Delta's txnAppId)."""
    txn_version: Annotated[Int64, Field(ge=0), WITHIN_64_BITS] | None = None
    """Version of txnAppId: Delta skips a write whose version is not higher than the last one it has seen."""

    validations = (
        Validation(
            "!has(self.replaceWhere) || self.mode == 'Overwrite'",
            "replaceWhere needs mode: Overwrite: set it, or remove replaceWhere",
            lambda write: write.replace_where is None or write.mode is WriteMode.OVERWRITE,
        ),
        Validation(
            "has(self.txnAppId) == has(self.txnVersion)",
            "txnAppId and txnVersion go together: set both or none",
            lambda write: (write.txn_app_id is None) == (write.txn_version is None),
        ),
    )


class Trigger(Model):
    """When a stream runs its next micro-batch."""

    available_now: StrictBool | None = None
    """true: processes in batches what is there when the stream starts, then ends as Succeeded. Suits jobs that a
    scheduler creates."""
    processing_time: Interval | None = None
    """Runs for ever, one micro-batch each interval, such as '30 seconds' or '5 minutes'; at most 1 day. '0 seconds' begins
    the next one at once."""

    validations = (
        exactly_one(
            ("availableNow", "processingTime"), "a trigger is exactly one of availableNow and processingTime"
        ),
        Validation(
            "!has(self.availableNow) || self.availableNow",
            "availableNow can only be true: use processingTime for a stream that runs for ever",
            lambda trigger: trigger.available_now is not False,
        ),
    )


class Yield(StrEnum):
    NEVER = "Never"
    METADATA = "Metadata"
    AGED = "Aged"


class Stream(Model):
    """A streaming write, which holds its checkpoint and its table as long as it runs."""

    source: StreamSource
    """What the stream reads. Its rows are the view `source` in query or, batch by batch, the view `batch` in sql."""
    query: Sql | None = None
    """A query over the view `source` whose rows are appended to table, such as "SELECT id, CAST(ts AS DATE) AS date
    FROM source". Absent: all rows as they are."""
    table: TableRef | None = None
    """The table that is appended to. Exactly one of table and sql."""
    sql: Sql | None = None
    """Statements that run for each micro-batch over the view `batch`, such as MERGE INTO t USING batch ON ...
    (foreachBatch): INSERT, MERGE, UPDATE and DELETE alone, because only of these a table's log tells that they are done.
    So a batch that runs again leaves them out, and nothing is applied twice."""
    checkpoint: TablePath
    """Location of the checkpoint, from which the stream goes on after a pause or a failure, or in another job. Only
    one stream at a time may use it: a second job with the same checkpoint is refused. In the folder of a table that the
    stream writes or reads it may lie only below a folder that VACUUM passes over, such as _checkpoints."""
    trigger: Trigger
    """When the next micro-batch runs: processingTime for a stream that runs for ever, availableNow for one that
    ends."""
    reads_tables: Annotated[tuple[TableRef, ...], Field(max_length=16)] | None = None
    """Delta tables that the stream reads, beside those of its source and its query, which count by themselves. A job that
    changes their schema waits for the stream, or has it pause as yield says, after which it goes on with the new schema. One
    that runs UPDATE, DELETE or MERGE on them would break it, and waits as long as the stream is there, unless the source's
    option skipChangeCommits is set."""
    yield_: Annotated[Yield, Field(alias="yield")] = Yield.NEVER
    """Whether the stream pauses at a batch boundary for a job that waits for it: Never (the default), Metadata (only
    for jobs that change the table's metadata), or Aged (also for any job that has waited long enough to count as
    aged). It goes on from its checkpoint when that job has ended. May be changed at any time."""
    max_pause: LimitOfPauses | None = None
    """Longest time for which it pauses for others, such as 30m. After that it goes on: a job that has not ended by then
    is ended, and one that has not begun when a quarter of it is left queues again later; both say so. Absent: 15m. A
    shorter one counts at once, a longer one from the next pause on."""

    validations = (
        exactly_one(
            ("table", "sql"), "a stream writes by exactly one of table (append) and sql (each micro-batch)"
        ),
        Validation(
            "!has(self.query) || has(self.table)",
            "query belongs to table: remove it, and put the query into sql itself",
            lambda stream: stream.query is None or stream.table is not None,
        ),
    )


_NOT_IN_A_SPEC: dict[str, JsonValue] = {
    "type": "string",
    "maxLength": 253,
    "description": "Do not use it: the template is the spec alone.",
}
_OF_SCHEDULED_ONES: dict[str, JsonValue] = {
    "type": "string",
    "maxLength": 253,
    "description": "Do not use it: each job runs one application, once.",
}


class Application(Model):
    """Your own Spark application, run unchanged under leases for the footprint that you declare."""

    engine: EngineKind
    """Which Spark operator runs it: kubeflow (sparkoperator.k8s.io/v1beta2) or apache (spark.apache.org/v1)."""
    template: Annotated[
        dict[str, Any],
        Field(
            min_length=1,
            json_schema_extra={
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {
                    **dict.fromkeys(("apiVersion", "kind"), _NOT_IN_A_SPEC),
                    "schedule": _OF_SCHEDULED_ONES,
                },
            },
        ),
        Checked(
            Validation(
                "!has(self.apiVersion) && !has(self.kind)",
                "takes only the spec of a SparkApplication: remove apiVersion, kind and metadata, and move the "
                "contents of spec directly under template",
                lambda template: not {"apiVersion", "kind"} & template.keys(),
            ),
            Validation(
                "!has(self.schedule)",
                "is the spec of a ScheduledSparkApplication, and a job runs one application once: move what stands under its "
                "own template directly here, and have a CronJob or a CronWorkflow create a job on that schedule",
                lambda template: "schedule" not in template,
            ),
        ),
    ]
    """The spec of that operator's SparkApplication, as its own documentation describes it. It passes through as it is, but for
    what Sluice needs to prove its end and to tell its commits: docs/applications.md lists that, and sluice render shows it. What
    would hide the driver's end is refused; all else is the Spark operator's to judge."""


class Operation(StrEnum):
    APPEND = "Append"
    OVERWRITE = "Overwrite"
    OVERWRITE_PARTITIONS = "OverwritePartitions"
    DELETE = "Delete"
    UPDATE = "Update"
    MERGE = "Merge"
    OPTIMIZE = "Optimize"
    VACUUM = "Vacuum"
    ALTER = "Alter"
    CREATE = "Create"
    REPLACE = "Replace"
    RESTORE = "Restore"
    CLONE = "Clone"
    STREAM = "Stream"


class DeclaredFootprint(Model):
    """What the job does to one table, declared. A job that does more than it declares may abort others, or be
    aborted. A table that it only reads needs no entry, unless somebody vacuums it with a retention shorter than the
    job's run: then declare an Append that writes "false"."""

    table: TableRef
    """The table, by path or by name. A table that the job writes in several ways is listed once for each."""
    operation: Operation
    """The kind of operation, which decides which of Delta's conflict rules apply: Append, Overwrite (with or without
    replaceWhere), OverwritePartitions (dynamic), Delete, Update, Merge, Optimize, Vacuum, Alter, Create, Replace,
    Restore, Clone, or Stream for a streaming append."""
    reads: GivenPredicate | None = None
    """Rows that it reads to decide what to write, as a predicate on partition columns such as "date = DATE
    '2026-11-19'": "false" is a blind write, "true" is everything. Absent: everything, but nothing for Append and
    Stream."""
    writes: GivenPredicate | None = None
    """Where it adds rows, as a predicate on partition columns: "true" is anywhere, "false" nowhere. A bound on reads
    is no bound on writes: a MERGE adds its new rows wherever its source says. Absent: anywhere."""
    metadata: StrictBool = False
    """true: it changes the table's schema, properties or protocol, which aborts every other writer."""
    checkpoint: TablePath | None = None
    """Checkpoint of a stream within the application, held as long as it runs: no other job may use it."""
    txn_app_id: TxnAppId | None = None
    """The transaction id (txnAppId) that its writes carry: two jobs with the same id never write one table together."""


Footprint = Annotated[tuple[DeclaredFootprint, ...], Field(max_length=32), Checked(NOT_EMPTY)]


class WhenBlocked(StrEnum):
    WAIT = "Wait"
    SKIP = "Skip"
    FAIL = "Fail"


class Risk(StrEnum):
    STRICT = "Strict"
    OPTIMISTIC = "Optimistic"


class Admission(Model):
    """How the job waits for its turn."""

    timeout: Limit | None = None
    """Longest wait in the queue, such as 2h; after that the job ends as Failed without having run. Absent: as the
    policies of its tables say in admission.defaultTimeout (the shortest counts), otherwise no limit. It counts from
    queuedAt; for a job that was suspended from resumedAt, for a retry from retryAt, and for a stream that had stopped between
    two batches from when it queued again, if these are later."""
    quota_timeout: Limit | None = None
    """Longest wait for compute once the job is admitted, such as 15m: while the API server refuses its SparkApplication (a
    quota, a webhook), while that is suspended (as by Kueue), and while its driver's pod has no node. Meanwhile it keeps
    others off its tables without using them. After that it gives its leases back, pauses for the same time (twice as
    long with each further wait in vain, at most 10m) and queues again, keeping its age. Absent: 10m."""
    start_timeout: Limit | None = None
    """Longest wait for the driver to start once the job is admitted, such as 10m: it counts the wait for compute, and what
    comes after it, such as pulling the image. After that the attempt is ended and counts as NotStarted for retry. A driver
    that runs by then is left alone. Absent: no limit of its own."""
    when_blocked: WhenBlocked = WhenBlocked.WAIT
    """What the job does when another one is in its way: Wait in the queue (the default), Skip (ends at once as
    Skipped: for upkeep that the next run makes up for; as Failed if an attempt of it has failed before) or Fail (ends at
    once as Failed). status.blockedBy names the jobs that were in the way. A stream that had stopped between two batches waits,
    whatever this says."""
    risk: Risk | None = None
    """Strict: runs only beside jobs that it cannot conflict with. Optimistic: also runs beside jobs that it may
    conflict with, if they accept that, too; the policy of each of its tables must say Optimistic, or the job is refused.
    The one that loses has run in vain, and is retried as its retry says. Absent: as the policies say, otherwise Strict."""
    suspend: StrictBool = False
    """true holds a waiting job back: it keeps its age, blocks nobody, and queues again once this is false. A stream that runs
    stops at a batch boundary, and goes on from its checkpoint once this is false; no other running job is stopped: delete the
    job for that. May be changed at any time."""


class RetryCause(StrEnum):
    CONFLICT = "Conflict"
    DRIVER_LOST = "DriverLost"
    NOT_STARTED = "NotStarted"
    ERROR = "Error"


class Retry(Model):
    """Whether a failed attempt is followed by another one, under fresh leases. That does only what is left: what the attempts
    before it had committed is known by the job's run key, or by a transaction id (a slot) that is its own while it may be
    retried. An application runs again as it is, and leaves out only what it marks as steps of its own. What an absent
    field means in a job, the policies of its tables say: of several the smallest limit, the longest backoff, and the
    causes that all of them name."""

    limit: Annotated[Int32, bounded_int(0, 20)] | None = None
    """How many attempts may follow the first; 0 is none. Absent: as the policies say, otherwise 0. For an application they do
    not count, because Sluice cannot know whether running it twice does harm. A job with statements that another attempt
    could neither find in a table's log nor do again (CACHE TABLE, several INSERTs after one FROM, DROP FEATURE) is refused
    if it sets this, and is not retried if a policy does. Of a stream with processingTime: how many attempts in a row may
    follow that end no batch; absent, as many as it takes, whatever policies say, and after any failure that may pass."""
    backoff: Pause | None = None
    """Wait from the end of the failed attempt, such as 30s; at most 24h, and never 0. It doubles with each further retry, up to
    10m (a longer one stays as it is), and is then half of that to one and a half times as long, differently for each job.
    Meanwhile the job holds nothing and blocks nobody; then it queues with its old age. Absent: as the policies say, otherwise
    30s."""
    on: (
        Annotated[
            tuple[RetryCause, ...],
            Field(max_length=4),
            Checked(NOT_EMPTY, EACH_ONCE),
        ]
        | None
    ) = None
    """Which failures are retried: Conflict (Delta aborted it because of another commit), DriverLost (its driver was ended
    from outside: evicted, node gone), NotStarted (no driver was started), Error (its driver was killed, such as out of
    memory, or left no result, or its exception says that another attempt may end better; of an application any failure of
    its own). Any other exception is never retried. Absent: as the policies say, otherwise all but Error. Write the name in
    quotes, as "on", because YAML reads the bare word as true."""
    bare_on: Annotated[Annotated[tuple[RetryCause, ...], Field(max_length=4)] | None, Field(alias="true")] = (
        None
    )
    """Do not use it: this is what YAML makes of the bare word on. Write "on" in quotes."""

    validations = (
        Validation(
            "!has(self.__true__)",
            'write "on" in quotes: YAML reads the bare word as true',
            lambda retry: retry.bare_on is None,
        ),
    )


_IMMUTABLE = (
    "sql",
    "write",
    "application",
    "stream.table",
    "stream.checkpoint",
    "parameters",
    "footprint",
    "writes",
    "runKey",
    "retry",
    "runtimeRef",
    "runtime",
    "activeDeadlineSeconds",
    "admission.timeout",
    "admission.quotaTimeout",
    "admission.startTimeout",
    "admission.whenBlocked",
    "admission.risk",
)


_SAID_BY_TEMPLATES = tuple(name for name in Runtime.model_fields if name != "delta_version")


class DeltaWriteJobSpec(Model):
    """The work (exactly one of sql, write, stream and application) and how to run it."""

    sql: Sql | None = None
    """One or more statements in Spark SQL, separated by semicolons: INSERT, MERGE, UPDATE, DELETE, OPTIMIZE, ALTER,
    RESTORE, VACUUM, CREATE OR REPLACE, TRUNCATE and so on; SET, USE, CREATE SCHEMA IF NOT EXISTS, views, SELECT, SHOW,
    DESCRIBE, EXPLAIN, CACHE and REFRESH may stand between them, and BEGIN ... END around all of them but SET. Control
    flow, transactions, variables, EXECUTE IMMEDIATE and DROP TABLE are refused. Sluice understands from the SQL what
    they read and write: the more closely WHERE and ON bound the partition columns, the more jobs can run beside this
    one."""
    write: Write | None = None
    """A DataFrame write: the rows of a query, of files or of another system go into one table."""
    stream: Stream | None = None
    """A streaming write, which holds its checkpoint and its table as long as it runs."""
    application: Application | None = None
    """Your own Spark application, run unchanged; needs footprint, because Sluice cannot read what it writes."""
    parameters: Parameters | None = None
    """Named and typed values, such as {day: {date: "2026-11-19"}}, used as :day in SQL and predicates. They become literals
    of their types, never pasted text: no quoting, no injection."""
    footprint: Footprint | None = None
    """What the job does to each table, declared. Required with application. With sql, write and stream it replaces
    what Sluice understands from them: a promise that you keep, for what the SQL cannot say."""
    writes: Annotated[tuple[GivenPredicate, ...], Field(max_length=8), Checked(NOT_EMPTY)] | None = None
    """Predicates on partition columns that hold for every row this job adds to its one table, such as "date = DATE
    '2026-11-19'": a promise that lets it run beside more jobs where the SQL alone does not bound its rows. The driver
    makes no commit that breaks it: the job fails instead (PromiseBrokenException). All of them hold together, so that
    alternatives stand in one, with OR. Rows that are only written again don't count. The table must be there already,
    or an earlier statement creates it."""
    run_key: RunKey | None = None
    """Names one logical run, such as orders/2026-11-19: within the namespace the same run key never takes effect
    twice on a table, even when GitOps creates a finished job again: that one ends as AlreadyCommitted, or does what
    was left. Jobs with the same key run one after another. One whose work (sql, write, application, parameters, writes) is another
    fails as RunKeyReused if they share a table. Of an application only sluice_runner.attempt in its program keeps that. Absent:
    the job's uid, so that each job is a run of its own."""
    priority: Annotated[Int32, bounded_int(-1000, 1000)] = 0
    """Among waiting jobs that conflict with one another the highest goes first; -1000 to 1000, by default 0. A job
    that has waited longer than its table's policy says in admission.ageAfter (by default 2m) goes ahead of any
    priority. May be changed at any time."""
    admission: Admission = Admission()
    """How the job waits for its turn: how long, at which risk, and what it does while another one is in its way. By
    default it waits as long as it takes."""
    retry: Retry | None = None
    """Whether a failed attempt is followed by another one, under fresh leases. What it leaves open the policies of its tables
    say; for an application it is no."""
    runtime_ref: ObjectName | None = None
    """Profile in the operator's configuration that sets image, versions, service account, resources and Spark
    settings. Absent: the profile named default."""
    runtime: Runtime | None = None
    """What differs from the profile, field by field."""
    active_deadline_seconds: Annotated[Int64, bounded_int(1, 2**31 - 1)] | None = None
    """Longest time that one attempt may run, in seconds, from when its driver started (attempts[].startedAt). After that its
    SparkApplication is deleted, and the job ends as Failed with the reason DeadlineExceeded once its driver is proved to have
    ended; what it had committed until then stays. A run that succeeds before it is ended counts as succeeded. It is not
    retried. Absent: no limit."""
    ttl_seconds_after_finished: Annotated[Int64, bounded_int(0, 2**31 - 1)] | None = None
    """Deletes the job this many seconds after its end; 0 is at once. Absent: as the operator's configuration says,
    usually never. May be changed at any time."""

    validations = (
        exactly_one(
            ("sql", "write", "stream", "application"),
            "set exactly one of sql, write, stream and application: a job is one piece of work",
        ),
        Validation(
            "!has(self.application) || has(self.footprint)",
            "application needs footprint: declare which tables it writes, Sluice cannot read that from the template",
            lambda spec: spec.application is None or spec.footprint is not None,
        ),
        Validation(
            "!has(self.application) || !has(self.runtimeRef)",
            "runtimeRef says what sql, write and stream run on, and an application's template says that itself: remove runtimeRef",
            lambda spec: spec.application is None or spec.runtime_ref is None,
        ),
        Validation(
            "!has(self.application) || !has(self.runtime) || "
            f"!({' || '.join(f'has(self.runtime.{to_camel(name)})' for name in _SAID_BY_TEMPLATES)})",
            "of runtime an application takes deltaVersion alone, because its template says all else: remove the other fields",
            lambda spec: (
                spec.application is None
                or spec.runtime is None
                or all(getattr(spec.runtime, name) is None for name in _SAID_BY_TEMPLATES)
            ),
        ),
        Validation(
            "!has(self.application) || !has(self.writes)",
            "writes is a promise that Sluice's runner keeps, and an application runs without it: say where it adds rows in "
            "footprint[].writes",
            lambda spec: spec.application is None or spec.writes is None,
        ),
        Validation(
            "!has(self.stream) || !has(self.runKey)",
            "runKey names one run, and a stream goes on for ever: its checkpoint tells what is done. Remove runKey",
            lambda spec: spec.stream is None or spec.run_key is None,
        ),
        Validation(
            "!has(self.stream) || !has(self.writes)",
            "writes is a promise that is kept for sql and write: of a stream say in footprint[].writes where it adds rows",
            lambda spec: spec.stream is None or spec.writes is None,
        ),
        Validation(
            "!has(self.runKey) || !has(self.write) || !has(self.write.txnAppId)",
            "set runKey or write.txnAppId, not both: Delta knows a run by one id, and a run key is one",
            lambda spec: spec.run_key is None or spec.write is None or spec.write.txn_app_id is None,
        ),
    )


_NO_ATTEMPT = "!has(oldSelf.status) || !has(oldSelf.status.attempts) || size(oldSelf.status.attempts) == 0"


def _present(owner: str, path: str) -> str:
    """Tests fields one by one: CEL's optional chaining would read better, but the API server cannot bound what
    comparing optionals costs."""
    parts = path.split(".")
    return " && ".join(f"has({owner}.spec.{'.'.join(parts[:depth])})" for depth in range(1, len(parts) + 1))


def _immutability(path: str) -> TransitionValidation:
    before, after = _present("oldSelf", path), _present("self", path)
    return TransitionValidation(
        f"{_NO_ATTEMPT} || (({before}) ? ({after} && self.spec.{path} == oldSelf.spec.{path}) : !({after}))",
        f"spec.{path} cannot change once an attempt exists: create a new job",
    )


class DeltaWriteJob(Model):
    """One piece of write work on one or more Delta tables. Sluice admits it beside jobs that it cannot conflict with,
    queues it behind those it could conflict with, runs it on Spark and reports the outcome."""

    api_version: Literal["sluice.dev/v1alpha1"]
    kind: Literal["DeltaWriteJob"]
    metadata: dict[str, Any]
    spec: DeltaWriteJobSpec
    """The work (exactly one of sql, write, stream and application) and how it waits, is retried and is run. Once an
    attempt exists, only admission.suspend, priority, ttlSecondsAfterFinished and a stream's own spec (without its
    table and checkpoint) may change."""
    status: DeltaWriteJobStatus | None = None
    """What Sluice understood, decided and observed."""

    validations = (
        Validation(
            "size(self.metadata.name) <= 63",
            "metadata.name takes at most 63 characters, because it becomes a label of the job's pods: shorten it",
            lambda job: len(job.metadata.get("name", "")) <= 63,
        ),
    )
    transitions: ClassVar[tuple[TransitionValidation, ...]] = (*(_immutability(path) for path in _IMMUTABLE),)

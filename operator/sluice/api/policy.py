"""DeltaTablePolicy: what one table should be, and how writes to it are admitted."""

import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from sluice.api.base import Model
from sluice.api.bounds import EACH_ONCE, NOT_EMPTY, Int32, bounded_int
from sluice.api.desired_table import CONTRADICTIONS, ClusteringColumns, Features, Properties
from sluice.api.durations import Duration, Limit
from sluice.api.identifiers import DatabricksRuntime, NamespaceName, ObjectName, SemanticVersion
from sluice.api.job import Retry, Risk
from sluice.api.maintenance import MaintenancePlan
from sluice.api.policy_status import DeltaTablePolicyStatus
from sluice.api.sql import ColumnName, TableName, TablePath
from sluice.api.validation import Checked, Validation


class PolicyTable(Model):
    """The table: its path, its catalog name, or both, which binds the name to the path."""

    path: TablePath | None = None
    """Location of the table, such as s3://lake/orders."""
    name: TableName | None = None
    """Name in the catalog, such as sales.orders."""

    validations = (
        Validation(
            "has(self.path) || has(self.name)",
            "name the table by path, by name, or by both (which binds the name to the path)",
            lambda table: table.path is not None or table.name is not None,
        ),
    )


class DialectName(StrEnum):
    OSS = "oss"
    DATABRICKS = "databricks"
    DELTA_RS = "delta-rs"


class GivenDialect(Model):
    """Which engine's conflict rules hold for writers that do not say so themselves."""

    name: DialectName
    """oss (open-source Delta Lake on Spark), databricks, or delta-rs (the deltalake package for Python and Rust): their
    conflict rules differ."""
    version: SemanticVersion | None = None
    """With oss, the version of Delta Lake, such as 4.4.0; with delta-rs, the version of deltalake. Absent: only what
    is true in every version counts."""
    runtime: DatabricksRuntime | None = None
    """With databricks, the version of the runtime, such as 15.4."""
    photon: StrictBool | None = None
    """With databricks, whether Photon is on."""

    validations = (
        Validation(
            "self.name == 'databricks' || (!has(self.runtime) && !has(self.photon))",
            "runtime and photon belong to the dialect databricks: set name: databricks, or remove them",
            lambda d: d.name is DialectName.DATABRICKS or (d.runtime is None and d.photon is None),
        ),
        Validation(
            "self.name != 'databricks' || !has(self.version)",
            "version belongs to the dialects oss and delta-rs: for databricks set runtime",
            lambda d: d.name is not DialectName.DATABRICKS or d.version is None,
        ),
    )


class IsolationLevel(StrEnum):
    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"


class LogStoreKind(StrEnum):
    SAFE = "Safe"
    S3_SINGLE_DRIVER = "S3SingleDriver"
    S3_DYNAMODB = "S3DynamoDB"
    S3_CONDITIONAL = "S3Conditional"


class Enforcement(StrEnum):
    ENFORCE = "Enforce"
    OBSERVE = "Observe"


class UnknownFootprint(StrEnum):
    EXCLUSIVE = "Exclusive"
    REJECT = "Reject"


AGE_AFTER = "2m"
"""How long a job waits until it has aged, where neither a policy nor the operator's configuration says so."""


class PolicyAdmission(Model):
    """How writes to the table are admitted."""

    max_writers: Annotated[Int32, bounded_int(1, 10000)] | None = None
    """The largest number of jobs that may write the table at a time. Absent: all that cannot conflict with one
    another. A job that has waited for as long as ageAfter says, and that no such job is
    in the way of, has the next place that gets free."""
    risk: Risk = Risk.STRICT
    """Strict (the default): jobs that may conflict wait for one another. Optimistic: jobs that may conflict run
    together, unless one of them says Strict, and the one that loses has run in vain, and is retried as its retry says. Those that
    will conflict wait, and so do those that would lose data. status.runsBeside tells who took which risk."""
    unknown_footprint: UnknownFootprint = UnknownFootprint.EXCLUSIVE
    """What happens to a job of which it is not understood what it does to this table: it runs alone (Exclusive, the
    default), or it fails as FootprintUnknown, with the reasons, and is not run (Reject). Not understood is a statement
    that is too large to be read or runs under a setting that may change anything, and one that reads by a name, a
    function or a part of a query that may lead to this table; a log that cannot be read and a condition that tells no
    partitions are not among it."""
    default_timeout: Limit | None = None
    """Longest wait in the queue for jobs that set no admission.timeout of their own; the shortest of a job's tables
    counts. Absent: no limit."""
    age_after: Duration | None = None
    """A job that has waited this long, such as 30m, goes ahead of any priority, and from the moment at which no such job
    of its tables is in its way any more, nothing that conflicts with it overtakes it. 0s comes nearest to first come,
    first served. Of a job's tables the shortest counts. Absent: as the operator's configuration says, by default 2m."""


Columns = Annotated[tuple[ColumnName, ...], Field(max_length=32), Checked(EACH_ONCE)]
Namespaces = Annotated[tuple[NamespaceName, ...], Field(max_length=256), Checked(NOT_EMPTY, EACH_ONCE)]


_MAY_BE_ON_S3 = "(?i)^(/|s3[an]?:)"
"""A path without a scheme may lead to S3, too."""


class DeltaTablePolicySpec(Model):
    """One table: facts about it that are checked against its log, what it should be, and how writes to it are
    admitted."""

    table: PolicyTable
    """The table, by path, by catalog name, or by both, which binds the name to the path for all jobs."""
    partition_by: Columns | None = None
    """Fact, checked against the log: the partition columns, in order. Empty: unpartitioned."""
    dialect: GivenDialect | None = None
    """Fact: which engine's conflict rules hold for writers that do not say so themselves (as runtime.deltaVersion of
    a job or of its profile does). Absent: only what is true under all of them counts."""
    isolation_level: IsolationLevel | None = None
    """Fact, checked against the log: the isolation level. Under Serializable a blind append can make others abort."""
    log_store: LogStoreKind | None = None
    """Fact: how writers commit. S3Conditional: S3 with Sluice's log store. S3DynamoDB: S3 with Delta's DynamoDB log
    store. S3SingleDriver: S3 with neither, where two drivers at once lose data, so only one job at a time runs. Safe:
    store and log store together let only one of two writers win; never S3 with Delta's own log store, which does not
    ask the store, whatever the store can do. The settings of a job's runtime profile win: a job that does not name
    the store commits without it, whatever stands here. Absent: judged by the location and the jobs' settings."""
    properties: Properties | None = None
    """Wanted: table properties, such as delta.enableChangeDataFeed: "true". Names that begin with delta. are a closed list,
    others are your own. What is not named here is left as it is."""
    features: Features | None = None
    """Wanted: table features, each of changeDataFeed, columnMapping, deletionVectors, inCommitTimestamp, rowTracking,
    typeWidening and v2Checkpoint. One that the table lacks is added to its protocol, for which Enforce needs
    allowIrreversible. What is not named here is left as it is."""
    cluster_by: ClusteringColumns | None = None
    """Wanted: columns of liquid clustering, at most 4. Empty: the table is to have none. Absent: they are left as they are.
    Cannot be set together with partitionBy."""
    enforcement: Enforcement = Enforcement.OBSERVE
    """Observe (the default) reports in status.drift where the table differs from what is wanted, and changes nothing of it;
    Enforce also creates the jobs that change it. Maintenance is done under either."""
    allow_irreversible: StrictBool = False
    """true lets Enforce make changes that cannot be undone, such as a protocol upgrade. Which they would be, and why, stands
    in status.drift (irreversible, heldBack)."""
    runtime_ref: ObjectName | None = None
    """Profile in the operator's configuration for the jobs that the policy creates. Absent: the profile named default."""
    allowed_namespaces: Namespaces | None = None
    """Namespaces whose jobs may write the table; a job of another one fails as NamespaceNotAllowed before it queues.
    What runs already goes on. Jobs that the policy creates are in its own namespace, which has to be among them then.
    Leases hold across all namespaces in any case. Absent: all."""
    admission: PolicyAdmission = PolicyAdmission()
    """How writes to the table are admitted: how many, at which risk, and how long they wait."""
    retry: Retry | None = None
    """How jobs that write the table are retried, field by field, where they do not say so themselves. It does not count for
    applications."""
    maintenance: MaintenancePlan | None = None
    """Jobs that the policy creates on a schedule, whatever enforcement says: compaction and clean-up. The annotation
    sluice.dev/run with the value optimize or vacuum asks for one now. status.maintenance tells what becomes of them; a run that
    waits, or whose job fails, does not change how the policy stands."""

    validations = (
        Validation(
            "!has(self.partitionBy) || size(self.partitionBy) == 0 || !has(self.clusterBy) || size(self.clusterBy) == 0",
            "a table is partitioned or clustered, not both: remove partitionBy or clusterBy",
            lambda spec: not (spec.partition_by and spec.cluster_by),
        ),
        Validation(
            "!has(self.logStore) || self.logStore == 'Safe' || !has(self.table.path) "
            f"|| self.table.path.matches('{_MAY_BE_ON_S3}')",
            "logStore names a log store of S3, and table.path is in another store: remove logStore, or correct the path",
            lambda spec: (
                spec.log_store in (None, LogStoreKind.SAFE)
                or spec.table.path is None
                or re.match(_MAY_BE_ON_S3, spec.table.path) is not None
            ),
        ),
        *CONTRADICTIONS,
    )


class DeltaTablePolicy(Model):
    """What one Delta table is and should be, and how writes to it are admitted. One policy per table."""

    api_version: Literal["sluice.dev/v1alpha1"]
    kind: Literal["DeltaTablePolicy"]
    metadata: dict[str, Any]
    spec: DeltaTablePolicySpec
    """The table, facts about it that are checked against its log, what it should be, and how writes to it are
    admitted."""
    status: DeltaTablePolicyStatus | None = None
    """What Sluice found."""

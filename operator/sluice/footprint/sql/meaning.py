"""What each setting of Spark and Delta may change, as a closed list: a key that isn't sorted here may change anything."""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache, lru_cache

from sluice.footprint.sql.known import VERSIONS, Version, settings_of


class Meaning(Enum):
    HARMLESS = "harmless"
    """It changes neither what a statement means nor what its commit records."""
    UNDERSTOOD = "understood"
    """Whoever reads the statement asks for it."""
    NEW_TABLES = "new tables"
    """It may change what a table is that is made or made anew; those that are there stay as they are."""
    COMMITS = "commits"
    """It may change what commits survive."""
    TOUCHES = "touches"
    """It may also change what is read, as Delta records it, or which files are written anew."""
    ANYTHING = "anything"


_OF_SQL = (
    "spark.sql.",
    "spark.databricks.",
    "spark.delta.",
    "spark.io.delta.",
    "spark.hive.",
    "spark.hadoop.",
)
"""What Spark's SQL, Delta and the file systems read. Spark's core knows no tables, whatever it is told."""

_LOCK_SETTINGS = ("spark.", "spark.hadoop.")

_UNDERSTOOD = frozenset(
    {
        "spark.databricks.delta.autoCompact.enabled",
        "spark.databricks.delta.autoCompact.modifiedPartitionsOnly.enabled",
        "spark.databricks.delta.rowLevelConcurrencyPreview",
        "spark.databricks.delta.schema.autoMerge.enabled",
        "spark.delta.logStore.",
        *(f"{prefix}io.delta.storage.S3DynamoDBLogStore.ddb.region" for prefix in _LOCK_SETTINGS),
        *(f"{prefix}io.delta.storage.S3DynamoDBLogStore.ddb.tableName" for prefix in _LOCK_SETTINGS),
        "spark.hadoop.fs.default.name",
        "spark.hadoop.fs.defaultFS",
        "spark.sql.ansi.enabled",
        "spark.sql.caseSensitive",
        "spark.sql.defaultCatalog",
        "spark.sql.session.timeZone",
        "spark.sql.sources.partitionOverwriteMode",
        "spark.sql.storeAssignmentPolicy",
    }
)

_COMMITS = frozenset(
    {
        "spark.databricks.delta.conflictChecker.",
        "spark.databricks.delta.conflictDetection.",
        "spark.databricks.delta.featureEnablement.",
        "spark.databricks.delta.maxCommitAttempts",
        "spark.databricks.delta.replaceWhere.",
    }
)

_NEW_TABLES = frozenset({"spark.databricks.delta.properties.defaults."})

_TOUCHES = frozenset(
    {
        "spark.databricks.delta.dynamicPartitionOverwrite.",
        "spark.databricks.delta.merge.optimizeInsertOnlyMerge.",
        "spark.databricks.delta.merge.optimizeMatchedOnlyMerge.",
        "spark.databricks.delta.stats.",
        "spark.sql.optimizer.",
    }
)

_HARMLESS: Mapping[str, tuple[str, ...]] = {
    "the same rows, cut up otherwise: how many tasks, shuffles and files, and how large": (
        "spark.sql.adaptive.",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.broadcastExchange.",
        "spark.sql.broadcastTimeout",
        "spark.sql.exchange.reuse",
        "spark.sql.execution.broadcastHashJoin.",
        "spark.sql.execution.rangeExchange.",
        "spark.sql.execution.removeRedundantProjects",
        "spark.sql.execution.removeRedundantSorts",
        "spark.sql.execution.replaceHashWithSortAgg",
        "spark.sql.execution.reuseSubquery",
        "spark.sql.execution.sortBeforeRepartition",
        "spark.sql.execution.topKSortFallbackThreshold",
        "spark.sql.execution.usePartitionEvaluator",
        "spark.sql.execution.useObjectHashAggregateExec",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.files.maxPartitionNum",
        "spark.sql.files.maxRecordsPerFile",
        "spark.sql.files.minPartitionNum",
        "spark.sql.files.openCostInBytes",
        "spark.sql.join.preferSortMergeJoin",
        "spark.sql.leafNodeDefaultParallelism",
        "spark.sql.limit.initialNumPartitions",
        "spark.sql.limit.scaleUpFactor",
        "spark.sql.maxBroadcastTableSize",
        "spark.sql.maxConcurrentOutputFileWriters",
        "spark.sql.maxSinglePartitionBytes",
        "spark.sql.requireAllClusterKeysForCoPartition",
        "spark.sql.requireAllClusterKeysForDistribution",
        "spark.sql.resultQueryStage.",
        "spark.sql.shuffle.",
        "spark.sql.shuffleDependency.",
        "spark.sql.shuffleExchange.",
        "spark.sql.shuffledHashJoinFactor",
        "spark.sql.bucketing.",
        "spark.sql.sources.bucketing.",
        "spark.sql.sources.fileCompressionFactor",
        "spark.sql.sources.ignoreDataLocality",
        "spark.sql.sources.parallelPartitionDiscovery.",
        "spark.sql.sources.useListFilesFileSystemList",
        "spark.sql.sources.v2.bucketing.",
        "spark.sql.subquery.maxThreadThreshold",
        "spark.databricks.delta.merge.materializeSource",
        "spark.databricks.delta.merge.materializeSource.",
        "spark.databricks.delta.merge.repartitionBeforeWrite.enabled",
        "spark.databricks.delta.optimizeWrite.",
        "spark.databricks.delta.snapshotPartitions",
    ),
    "the order of joins: conditions stand at the scans before it is chosen": (
        "spark.sql.cbo.",
        "spark.sql.statistics.",
        "spark.sql.defaultSizeInBytes",
    ),
    "which of the files that it may rewrite OPTIMIZE or auto-compaction takes": (
        "spark.databricks.delta.autoCompact.earlySkipPartitionTable.enabled",
        "spark.databricks.delta.autoCompact.maxFileSize",
        "spark.databricks.delta.autoCompact.maxNumModifiedPartitions",
        "spark.databricks.delta.autoCompact.maxTablePartitionStats",
        "spark.databricks.delta.autoCompact.minFileSize",
        "spark.databricks.delta.autoCompact.minNumFiles",
        "spark.databricks.delta.autoCompact.nonBlindAppend.enabled",
        "spark.databricks.delta.autoCompact.partitionStatsSize",
        "spark.databricks.delta.autoCompact.recordPartitionStats.enabled",
        "spark.databricks.delta.autoCompact.reservePartitions.enabled",
        "spark.databricks.delta.optimize.maxDeletedRowsRatio",
        "spark.databricks.delta.optimize.maxFileSize",
        "spark.databricks.delta.optimize.maxThreads",
        "spark.databricks.delta.optimize.minFileSize",
        "spark.databricks.delta.optimize.repartition.enabled",
        "spark.databricks.delta.optimize.zorder.",
    ),
    "memory, spilling and caching": (
        "spark.sql.cache.serializer",
        "spark.sql.cartesianProductExec.",
        "spark.sql.columnVector.",
        "spark.sql.defaultCacheStorageLevel",
        "spark.sql.filesourceTableRelationCacheSize",
        "spark.sql.inMemoryColumnarStorage.",
        "spark.sql.inMemoryTableScanStatistics.",
        "spark.sql.metadataCacheTTLSeconds",
        "spark.sql.objectHashAggregate.",
        "spark.sql.sessionWindow.buffer.",
        "spark.sql.sort.enableRadixSort",
        "spark.sql.sortMergeJoinExec.",
        "spark.sql.window.segmentTree.",
        "spark.sql.windowExec.",
        "spark.databricks.delta.snapshotCache.",
        "spark.databricks.delta.delta.log.",
    ),
    "generated code, which computes what interpreted code does": (
        "spark.sql.codegen.",
        "spark.sql.subexpressionElimination.",
    ),
    "what people and programs are shown": (
        "spark.sql.cli.",
        "spark.sql.dataFrameQueryContext.",
        "spark.sql.dataframeCache.logLevel",
        "spark.sql.debug",
        "spark.sql.debug.",
        "spark.sql.error.messageFormat",
        "spark.sql.event.truncate.length",
        "spark.sql.expressionTreeChangeLog.",
        "spark.sql.lightweightPlanChangeValidation",
        "spark.sql.maxMetadataStringLength",
        "spark.sql.maxPlanStringLength",
        "spark.sql.nameResolutionLog.",
        "spark.sql.extendedExplainProviders",
        "spark.sql.planChangeLog.",
        "spark.sql.planChangeValidation",
        "spark.sql.queryExecutionListeners",
        "spark.sql.redaction.",
        "spark.sql.streaming.streamingQueryListeners",
        "spark.sql.repl.",
        "spark.sql.stackTracesInDataFrameContext",
        "spark.sql.thriftServer.",
        "spark.sql.thriftserver.",
        "spark.sql.ui.",
        "spark.databricks.delta.commitMetrics.",
        "spark.databricks.delta.commitStats.",
        "spark.databricks.delta.dmlMetricsFromMetadata.enabled",
        "spark.databricks.delta.history.",
        "spark.databricks.delta.metrics.",
        "spark.databricks.delta.snapshot.logging.",
    ),
    "how files hold the values, and how they are read": (
        "spark.sql.avro.",
        "spark.sql.csv.",
        "spark.sql.files.ignoreCorruptFiles",
        "spark.sql.files.ignoreMissingFiles",
        "spark.sql.json.",
        "spark.sql.jsonGenerator.",
        "spark.sql.orc.",
        "spark.sql.parquet.",
        "spark.sql.legacy.avro.",
        "spark.sql.legacy.parquet.",
        "spark.sql.python.filterPushdown.enabled",
    ),
    "how folders of other formats are committed: Delta commits by its log": (
        "spark.sql.sources.commitProtocolClass",
        "spark.sql.sources.outputCommitterClass",
    ),
    "Python's and R's side of the work": (
        "spark.sql.artifact.",
        "spark.sql.execution.arrow.",
        "spark.sql.execution.pandas.",
        "spark.sql.execution.pyspark.",
        "spark.sql.execution.python.",
        "spark.sql.execution.pythonUDF.",
        "spark.sql.execution.pythonUDTF.",
        "spark.sql.planner.pythonExecution.memory",
        "spark.sql.pyspark.",
        "spark.sql.session.localRelationBatchOfChunksSizeBytes",
        "spark.sql.session.localRelationCacheThreshold",
        "spark.sql.session.localRelationChunkSizeBytes",
        "spark.sql.session.localRelationChunkSizeLimit",
        "spark.sql.session.localRelationChunkSizeRows",
        "spark.sql.session.localRelationSizeLimit",
    ),
    "state, progress and clean-up of a stream: which rows a batch holds is unknown anyway": (
        "spark.sql.streaming.fileSource.",
        "spark.sql.streaming.metricsEnabled",
        "spark.sql.streaming.minBatchesToRetain",
        "spark.sql.streaming.noDataMicroBatches.enabled",
        "spark.sql.streaming.noDataProgressEventInterval",
        "spark.sql.streaming.numRecentProgressUpdates",
        "spark.sql.streaming.pollingDelay",
        "spark.sql.streaming.stateStore.",
        "spark.sql.streaming.stopTimeout",
        "spark.sql.streaming.ui.",
    ),
    "where the catalog keeps names: a name counts as a table only where a policy or a log says so": (
        "spark.sql.catalogImplementation",
        "spark.sql.hive.",
        "spark.sql.warehouse.dir",
        "spark.hadoop.datanucleus.",
        "spark.hadoop.hive.",
        "spark.hadoop.javax.jdo.",
        "spark.hive.",
    ),
    "the log's own upkeep: checkpoints and checksums say what the commits say": (
        "spark.databricks.delta.allFilesInCrc.",
        "spark.databricks.delta.checkpoint.",
        "spark.databricks.delta.checkpointV2.",
        "spark.databricks.delta.checksum.",
        "spark.databricks.delta.incremental.commit.",
        "spark.databricks.delta.lastCheckpoint.",
        "spark.databricks.delta.snapshotLoading.",
        "spark.databricks.delta.versionChecksum.",
        "spark.databricks.delta.writeChecksumFile.",
    ),
    "said by the runner for each statement anew": ("spark.databricks.delta.commitInfo.userMetadata",),
    "locks and checks of one JVM, which runs one job": ("spark.databricks.delta.commitLock.enabled",),
    "VACUUM says itself how old the files are that it removes": (
        "spark.databricks.delta.retentionDurationCheck.enabled",
        "spark.databricks.delta.vacuum.logging.enabled",
        "spark.databricks.delta.vacuum.parallelDelete.",
    ),
    "whether rows are marked as deleted or their files written anew: in the same partitions": (
        "spark.databricks.delta.delete.deletionVectors.persistent",
        "spark.databricks.delta.merge.deletionVectors.persistent",
        "spark.databricks.delta.update.deletionVectors.persistent",
        "spark.databricks.delta.deletionVectors.packing.targetSize",
    ),
    "parameters, which the runner needs to be bound so": (
        "spark.sql.legacy.parameterSubstitution.constantsOnly",
    ),
    "how stores and file systems are reached: which they are, a path says": (
        "spark.hadoop.dfs.",
        "spark.hadoop.fs.azure.",
        "spark.hadoop.fs.gs.",
        "spark.hadoop.fs.oci.",
        "spark.hadoop.fs.s3.",
        "spark.hadoop.fs.s3a.",
        "spark.hadoop.fs.s3n.",
        "spark.hadoop.fs.viewfs.",
        "spark.hadoop.google.cloud.",
        "spark.hadoop.hadoop.",
        "spark.hadoop.io.compression.",
        "spark.hadoop.io.file.",
        "spark.hadoop.io.native.",
        *(
            f"{prefix}io.delta.storage.S3DynamoDBLogStore.{name}"
            for prefix in _LOCK_SETTINGS
            for name in (
                "credentials.provider",
                "ddb.ttl",
                "provisionedThroughput.rcu",
                "provisionedThroughput.wcu",
            )
        ),
        "spark.hadoop.ipc.",
        "spark.hadoop.mapred.",
        "spark.hadoop.mapreduce.",
        "spark.hadoop.net.",
        "spark.hadoop.orc.",
        "spark.hadoop.parquet.",
        "spark.hadoop.yarn.",
        "spark.hadoop.sluice.test.",
    ),
}

_HARMLESS_VALUES: Mapping[str, frozenset[str]] = {
    "spark.sql.extensions": frozenset({"io.delta.sql.DeltaSparkSessionExtension"}),
    "spark.sql.catalog.spark_catalog": frozenset({"org.apache.spark.sql.delta.catalog.DeltaCatalog"}),
    "spark.sql.sources.default": frozenset({"delta", "parquet"}),
    "spark.hadoop.fs.file.impl": frozenset({"org.apache.hadoop.fs.LocalFileSystem"}),
    "spark.hadoop.fs.hdfs.impl": frozenset({"org.apache.hadoop.hdfs.DistributedFileSystem"}),
    "spark.hadoop.fs.s3.impl": frozenset({"org.apache.hadoop.fs.s3a.S3AFileSystem"}),
    "spark.hadoop.fs.s3a.impl": frozenset({"org.apache.hadoop.fs.s3a.S3AFileSystem"}),
    "spark.hadoop.fs.s3n.impl": frozenset({"org.apache.hadoop.fs.s3a.S3AFileSystem"}),
    "spark.hadoop.fs.gs.impl": frozenset({"com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"}),
    "spark.hadoop.fs.AbstractFileSystem.s3a.impl": frozenset({"org.apache.hadoop.fs.s3a.S3A"}),
    "spark.hadoop.fs.AbstractFileSystem.gs.impl": frozenset(
        {"com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS"}
    ),
    "spark.hadoop.fs.abfs.impl": frozenset({"org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem"}),
    "spark.hadoop.fs.abfss.impl": frozenset({"org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem"}),
}
"""Those that are harmless as everybody sets them, and anything otherwise."""

_CATALOGS = "spark.sql.catalog."
"""Declares catalogs and how they are reached: what they know is names."""
_REMEMBERED = 4096
_UNLISTED = ("spark.hadoop.", "spark.hive.", "spark.io.delta.")
"""Settings of which Spark has no list."""


@lru_cache(_REMEMBERED)
def meaning_of(key: str, value: str, spark: Version | None) -> Meaning:
    """`spark`: version of Spark; None if it isn't known."""
    if not key.lower().startswith(_OF_SQL):
        return Meaning.HARMLESS
    if key in _HARMLESS_VALUES:
        return Meaning.HARMLESS if value in _HARMLESS_VALUES[key] else Meaning.ANYTHING
    if _is_among(key, _UNDERSTOOD):
        return Meaning.UNDERSTOOD
    if _is_default(key, value, spark) or _is_harmless(key):
        return Meaning.HARMLESS
    if _is_among(key, _TOUCHES):
        return Meaning.TOUCHES
    if _is_among(key, _NEW_TABLES):
        return Meaning.NEW_TABLES
    return Meaning.COMMITS if _is_among(key, _COMMITS) else Meaning.ANYTHING


def _is_harmless(key: str) -> bool:
    """What Spark and Delta don't list among their settings may be one of another version, and no group speaks for it."""
    if key.startswith(_CATALOGS):
        return True
    listed = key.startswith(_UNLISTED) or any(key in settings_of(version) for version in VERSIONS)
    return listed and any(_is_among(key, keys) for keys in _HARMLESS.values())


def _is_among(key: str, keys: Iterable[str]) -> bool:
    """With a dot at its end one stands for all that begin so."""
    return any(key.startswith(found) if found.endswith(".") else key == found for found in keys)


def _is_default(key: str, value: str, spark: Version | None) -> bool:
    """Whether it says what holds anyway, in each version that it may be."""
    defaults = {
        settings_of(version)[key].default
        for version in (VERSIONS if spark not in VERSIONS else (spark,))
        if key in settings_of(version)
    }
    if len(defaults) != 1:
        return False
    default = defaults.pop()
    return value == default or value.lower() == default in ("true", "false")


@lru_cache(_REMEMBERED)
def right_spelling(key: str) -> str | None:
    """Of a key that Spark would not know for its upper and lower case; None of any other."""
    found = _spelled().get(key.lower())
    return None if found == key else found


def is_static(key: str) -> bool:
    """Whether Spark reads it when it starts and no session can change it."""
    return any(key in settings_of(version) and settings_of(version)[key].static for version in VERSIONS)


@cache
def _spelled() -> Mapping[str, str]:
    listed = (key for version in VERSIONS for key in settings_of(version))
    named = (key for key in (*_UNDERSTOOD, *_COMMITS, *_HARMLESS_VALUES) if not key.endswith("."))
    return {key.lower(): key for key in (*listed, *named)}

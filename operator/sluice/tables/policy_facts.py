"""Reads what a policy declares about its table, and decides what counts once the log has been read: the log overrides it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sluice.api.job import Retry, Risk
from sluice.api.policy import (
    DeltaTablePolicySpec,
    DialectName,
    IsolationLevel,
    LogStoreKind,
    UnknownFootprint,
)
from sluice.tables.dialect import Dialect, databricks, delta_rs, oss
from sluice.tables.facts import TableFacts
from sluice.tables.log_store import LogStore

LOG_STORES = {
    LogStoreKind.SAFE: LogStore.SAFE,
    LogStoreKind.S3_SINGLE_DRIVER: LogStore.S3_SINGLE_DRIVER,
    LogStoreKind.S3_DYNAMODB: LogStore.S3_DYNAMODB,
    LogStoreKind.S3_CONDITIONAL: LogStore.S3_CONDITIONAL,
}


@dataclass(frozen=True)
class AdmissionRules:
    """How writes to the table are admitted. Durations are as the manifest writes them."""

    max_writers: int | None = None
    """Absent: any number."""
    risk: Risk = Risk.STRICT
    unknown_footprint: UnknownFootprint = UnknownFootprint.EXCLUSIVE
    default_timeout: str | None = None
    """Absent: no limit."""
    age_after: str | None = None
    """Absent: as the operator's configuration says."""
    allowed_namespaces: frozenset[str] | None = None
    """Absent: all."""

    def allows(self, namespace: str) -> bool:
        return self.allowed_namespaces is None or namespace in self.allowed_namespaces


@dataclass(frozen=True)
class Declared:
    partition_by: tuple[str, ...] | None = None
    isolation_level: IsolationLevel | None = None
    dialect: Dialect | None = None
    log_store: LogStore | None = None
    admission: AdmissionRules = AdmissionRules()
    retry: Retry | None = None
    """How jobs are retried that don't say so themselves."""


def declared_by(spec: DeltaTablePolicySpec) -> Declared:
    dialect = None
    if spec.dialect is not None:
        given = spec.dialect
        dialect = {
            DialectName.OSS: oss(given.version),
            DialectName.DATABRICKS: databricks(given.runtime, photon=given.photon),
            DialectName.DELTA_RS: delta_rs(given.version),
        }[given.name]
    admission = spec.admission
    return Declared(
        partition_by=spec.partition_by,
        isolation_level=spec.isolation_level,
        dialect=dialect,
        log_store=None if spec.log_store is None else LOG_STORES[spec.log_store],
        retry=spec.retry,
        admission=AdmissionRules(
            max_writers=admission.max_writers,
            risk=admission.risk,
            unknown_footprint=admission.unknown_footprint,
            default_timeout=admission.default_timeout,
            age_after=admission.age_after,
            allowed_namespaces=None
            if spec.allowed_namespaces is None
            else frozenset(spec.allowed_namespaces),
        ),
    )


def known(found: TableFacts, declared: Declared | None, assumed: TableFacts | None = None) -> TableFacts:
    """All that is known of a table: what was found, plus what a policy adds that no log says. Nothing that logs do
    say, such as columns, is taken from a policy: it names no types, and without them two conditions cannot be
    compared. `assumed` is what to assume about its columns where nothing was found."""
    if declared is None:
        return found
    if found.unread is not None and assumed is not None:
        level = declared.isolation_level
        found = replace(
            assumed,
            write_serializable=level is IsolationLevel.WRITE_SERIALIZABLE,
            serializable=level is IsolationLevel.SERIALIZABLE,
        )
    return replace(
        found,
        dialect=declared.dialect or found.dialect,
        log_store=declared.log_store or found.log_store,
    )


@dataclass(frozen=True)
class WrongFact:
    """A fact that a policy states, and that the log contradicts."""

    field: str
    """The policy's field."""
    stated: str
    found: str


def wrong_facts_in(found: TableFacts, declared: Declared) -> tuple[WrongFact, ...]:
    if not found.exists or found.unread is not None:
        return ()
    weak = found.is_write_serializable(declared.dialect)
    level = IsolationLevel.WRITE_SERIALIZABLE if weak else IsolationLevel.SERIALIZABLE
    columns = tuple(column.name for column in found.columns.partition_columns)
    return tuple(wrong_facts(declared, columns, level))


def wrong_facts(
    declared: Declared, partition_by: tuple[str, ...], level: IsolationLevel
) -> Iterator[WrongFact]:
    """Compares with what the log says. Another order of the columns is no difference."""
    stated = declared.partition_by
    if stated is not None and sorted(map(str.lower, stated)) != sorted(map(str.lower, partition_by)):
        yield WrongFact("partitionBy", listed(stated), listed(partition_by))
    if declared.isolation_level not in (None, level):
        yield WrongFact("isolationLevel", str(declared.isolation_level), str(level))


def listed(columns: tuple[str, ...]) -> str:
    return ", ".join(columns) or "none"

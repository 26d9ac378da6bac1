"""Derives a job's footprint from its spec: reads it from SQL, a write or a stream, or takes the declared one."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sluice.api.job import DeltaWriteJobSpec, Operation
from sluice.footprint.checkpoints import checkpoints_of, refuse_checkpoints_in_tables
from sluice.footprint.days import Days
from sluice.footprint.declared_footprint import declared_footprint
from sluice.footprint.default_fs import refuse_folders_elsewhere
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import (
    EVERYTHING,
    NOTHING,
    Follows,
    JobFootprint,
    Metadata,
    Parts,
    ProtocolChange,
    TableFootprint,
)
from sluice.footprint.promise import promised, promised_region
from sluice.footprint.run_keys import run_of
from sluice.footprint.sources import NO_SOURCES, Sources, together
from sluice.footprint.sql.allowance import Allowance
from sluice.footprint.sql.known import Version, version_of
from sluice.footprint.sql.parameters import promise_at, statements_of, text_of
from sluice.footprint.sql.settings import Settings, refuse_settings
from sluice.footprint.sql.statement_context import StatementContext, Surroundings, not_understood
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.statements.micro_batch import refuse_what_no_batch_runs
from sluice.footprint.statements.refused_statements import refuse_what_never_runs
from sluice.footprint.statements.script import Script
from sluice.footprint.write import (
    Texts,
    follows,
    is_delta,
    looked_into,
    read_by_stream,
    streamed,
    streamed_tables,
    write_footprint,
)
from sluice.predicates import Region
from sluice.tables import Dialect, Names, TableFacts, TableKey, key_of_path, oss


def footprint_of(
    spec: DeltaWriteJobSpec,
    spark_conf: Mapping[str, str],
    *,
    facts: Mapping[TableKey, TableFacts] | None = None,
    sources: Mapping[TableKey, TableFacts] | None = None,
    names: Names | None = None,
    delta_version: str | None = None,
    spark_version: str | None = None,
    texts: Texts | None = None,
    has_all_settings: bool = False,
    namespace: str = "",
    days: Days | None = None,
) -> JobFootprint:
    """Returns the job's footprint. `spark_conf` and the versions are what the job will run with, including its
    runtime profile. `facts` are about the tables that it writes, `sources` about those that it selects from, each
    under the one key that `names` gives it. `has_all_settings`: a runtime profile has been asked, and the driver will
    have no others. `namespace` is the job's own: run keys are of one. `days` are those
    on which its statements may run. `texts` are the spec's, as `texts_of` returns
    them; they cache what was read, so that nothing is read twice when facts change."""
    refuse_settings(spark_conf)
    settings = Settings.of(spark_conf, _spark(spec, spark_version))
    facts, names = facts or {}, names or Names()
    dialect = _dialect(spec, delta_version, facts, settings)
    around = Surroundings(
        settings=settings,
        names=names,
        facts=facts,
        sources=sources or {},
        has_all_settings=has_all_settings,
        cautious=dialect is None or not dialect.is_oss,
        days=() if days is None else days.all,
    )
    texts = texts_of(spec) if texts is None else texts
    refuse_what_no_batch_runs(texts)
    script = _read(spec, texts, around)
    if dialect is not None and _may_bend_rules(script):
        dialect, around = None, replace(around, cautious=True, allowance=Allowance())
        script = _read(spec, texts, around)
    tables, settings = script.tables, script.around.settings
    if not tables:
        raise NotUnderstoodError("spec.sql has no statement that writes a table")
    if spec.writes is not None:
        promise = tuple(text_of(texts, promise_at(number)) for number in range(len(spec.writes)))
        tables = _promised(tables, promise, replace(around, days=()))
    if settings.changes_anything is not None:
        why = f"{settings.changes_anything} may change anything: Sluice does not know this setting"
        tables = tuple(_unknown(footprint, why) for footprint in tables)
    elif settings.changes_what_is_touched is not None:
        why = f"{settings.changes_what_is_touched} may change what is read and rewritten"
        tables = tuple(_widest(footprint, why) for footprint in tables)
    streams_from = tuple(map(around.one_key, streamed_tables(spec.stream))) if spec.stream is not None else ()
    reads = _only_read(spec, script, around)
    read = {*streams_from, *reads.tables, *(key for footprint in tables for key in footprint.told_by)}
    found = JobFootprint(
        tables=tuple(_with_compaction(tables, anywhere=settings.compacts_elsewhere)),
        dialect=dialect,
        streams_from=streams_from,
        looks_into=looked_into(spec.stream, texts, around) if spec.stream is not None else (),
        follows=follows(spec.stream.source) if spec.stream is not None else Follows.APPENDS,
        streams_surely=spec.stream is not None and is_delta(spec.stream.source),
        reads=reads,
        ids_of_sources=around.ids_of(read),
        run=run_of(spec, namespace, texts.values(), facts),
    )
    checkpoints = (checkpoint for _, checkpoint in checkpoints_of(spec))
    refuse_folders_elsewhere(
        spark_conf, (*found.keys, *found.streams_from, *found.reads.tables, *checkpoints)
    )
    refuse_checkpoints_in_tables(spec, found)
    return found


def _dialect(
    spec: DeltaWriteJobSpec,
    delta_version: str | None,
    facts: Mapping[TableKey, TableFacts],
    settings: Settings,
) -> Dialect | None:
    """Returns the job's own dialect, which overrides what is known of its tables; None under settings that change the
    rules."""
    if settings.changes_commit_rules is not None:
        return None
    own = spec.runtime.delta_version if spec.runtime is not None else None
    version = own or delta_version
    if version is not None:
        return oss(version)
    found = {known.dialect for known in facts.values() if known.dialect is not None}
    return found.pop() if len(found) == 1 else None


def _may_bend_rules(script: Script) -> bool:
    settings = script.around.settings
    if settings.changes_commit_rules is not None:
        return True
    return settings.changes_new_tables is not None and not all(
        footprint.facts is not None
        and footprint.facts.exists
        and not (footprint.creates or footprint.replaces)
        for footprint in script.tables
    )


def _spark(spec: DeltaWriteJobSpec, spark_version: str | None) -> Version | None:
    own = spec.runtime.spark_version if spec.runtime is not None else None
    return version_of(own or spark_version or "")


def _only_read(spec: DeltaWriteJobSpec, script: Script, around: Surroundings) -> Sources:
    """Returns what the job only reads. A declared footprint is believed: what it does not name is not read."""
    stream = spec.stream
    from_stream = read_by_stream(stream).under(around.one_key) if stream is not None else NO_SOURCES
    found = together([*(footprint.sources for footprint in script.tables), script.selected, from_stream])
    written = {footprint.table for footprint in script.tables if footprint.operation is not Operation.VACUUM}
    return replace(found, tables=tuple(key for key in found.tables if key not in written))


def texts_of(spec: DeltaWriteJobSpec) -> Texts:
    """Cuts the spec's texts into statements, with the parameters' values in them; refuses a text that can't be cut."""
    return statements_of(spec)


def _read(spec: DeltaWriteJobSpec, texts: Texts, around: Surroundings) -> Script:
    if spec.footprint is not None:
        for statement in texts.get("spec.sql", ()):
            refuse_what_never_runs(statement)
        found = tuple(
            declared_footprint(declared, around, f"spec.footprint.{position}")
            for position, declared in enumerate(spec.footprint)
        )
        if spec.stream is not None:
            # What is declared is what it does to tables: its checkpoint is its own in any case.
            checkpoint = key_of_path(spec.stream.checkpoint).text
            found = tuple(replace(footprint, checkpoint=checkpoint) for footprint in found)
        return Script(around, found)
    script = Script(around)
    if spec.sql is not None:
        return script.then(*texts["spec.sql"])
    try:
        if spec.write is not None:
            return replace(script, tables=(write_footprint(spec.write, texts, around),))
        if spec.stream is not None:
            return streamed(spec.stream, texts, around)
    except RecursionError as error:
        field = "spec.stream" if spec.write is None else "spec.write"
        raise NotUnderstoodError(f"{field}: its SQL is nested too deeply to be read") from error
    raise NotUnderstoodError("spec.application needs spec.footprint: declare which tables it writes")


def _promised(
    tables: tuple[TableFootprint, ...], promise: tuple[str, ...], around: Surroundings
) -> tuple[TableFootprint, ...]:
    if len({footprint.table for footprint in tables}) > 1:
        raise NotUnderstoodError(
            "spec.writes is for one table, but the job writes several: use spec.footprint"
        )
    regions: dict[bool, Region] = {}
    found = []
    for footprint in tables:
        is_known = footprint.facts is not None
        if is_known not in regions:
            then = around if is_known else replace(around, facts={})
            reading = StatementContext(Statement(1, "", 1, ()), footprint.table, then, field="spec.writes")
            regions[is_known] = promised_region(reading, promise, len(tables))
        found.append(promised(footprint, regions[is_known]))
    return tuple(found)


def _widest(footprint: TableFootprint, why: str) -> TableFootprint:
    """Widens a footprint that touches some of a table to all of it; blind appends and changes of metadata stay as
    they are."""
    touched = (footprint.reads, footprint.adds, footprint.removes)
    if footprint.blind or not footprint.data_change or all(region.is_empty for region in touched):
        return footprint
    return not_understood(
        replace(
            footprint,
            reads=EVERYTHING,
            reads_files=EVERYTHING,
            adds=NOTHING if footprint.adds.is_empty else EVERYTHING,
            removes=EVERYTHING,
            reads_advice=None,
            writes_advice=None,
        ),
        why,
    )


def _unknown(footprint: TableFootprint, why: str) -> TableFootprint:
    """Widens a footprint to all that it could be: under an unknown setting nothing that was read of it holds."""
    return not_understood(
        replace(
            footprint,
            reads=EVERYTHING,
            reads_files=EVERYTHING,
            adds=EVERYTHING,
            removes=EVERYTHING,
            deletes=None if footprint.deletes is None else EVERYTHING,
            blind=False,
            data_change=True,
            metadata=Metadata.MAY_CHANGE,
            protocol=ProtocolChange.MAY_ADD,
            ends_readers=True,
            leaves_retention_hours=0.0,
            certain=False,
            adds_surely=False,
            keeps_no_row=False,
            single_attempt=True,
            retries_itself=False,
            keeps_partition_columns=False,
            reads_advice=None,
            writes_advice=None,
        ),
        why,
    )


def touching_all(found: JobFootprint, why: str) -> JobFootprint:
    """The footprint of a job that may do anything to the tables that it writes."""
    return replace(found, tables=tuple(_unknown(footprint, why) for footprint in found.tables))


def _with_compaction(tables: tuple[TableFootprint, ...], *, anywhere: bool) -> Iterator[TableFootprint]:
    """Adds auto-compaction, which rewrites small files after the job's own commit, in the partitions that it wrote or
    in any. It adds nothing where a table is unknown and the job itself may rewrite all of it."""
    for footprint in tables:
        yield footprint
        if footprint.facts is None and footprint.removes.is_everything:
            continue
        if footprint.compacts and footprint.data_change and not footprint.adds.is_empty:
            region = EVERYTHING if anywhere else footprint.adds
            yield replace(
                footprint,
                operation=Operation.OPTIMIZE,
                reads=NOTHING,
                reads_files=region,
                adds=region,
                removes=region,
                deletes=None,
                data_change=False,
                blind=False,
                hook=True,
                parts=Parts(sources=region if anywhere else NOTHING),
                certain=False,
                adds_surely=False,
                txn_app_id=None,
                checkpoint=None,
                single_attempt=False,
            )

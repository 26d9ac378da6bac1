"""DataFrame writes and streams, read as the SQL statements that they amount to when the runner runs them."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from sluice.api.job import Operation, Stream, Write, WriteMode
from sluice.api.tables import Source, StreamSource
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import EVERYTHING, Follows, Metadata, TableFootprint
from sluice.footprint.queries.reads import Reads, reads_of
from sluice.footprint.queries.rows import surely_some
from sluice.footprint.queries.stream_queries import NEED_A_SCHEMA, unstreamed
from sluice.footprint.sources import ANY_SOURCES, NO_SOURCES, Sources, files_at
from sluice.footprint.sql.parameters import text_of
from sluice.footprint.sql.statement_context import StatementContext, Surroundings
from sluice.footprint.sql.statement_splitter import Statement, query_in, split
from sluice.footprint.sql.table_names import key_of, key_of_source_at
from sluice.footprint.statements import insert
from sluice.footprint.statements.script import Script
from sluice.tables import TableKey, key_of_path

_BEGINS_A_QUERY = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})
_PASSES_OVER_CHANGES = frozenset({"skipchangecommits", "ignorechanges", "readchangefeed", "readchangedata"})
_KEEPS_A_SCHEMA = frozenset({"schematrackinglocation", "schemalocation"})
"""Options by which a stream reads its source by the columns that it had when the stream came by."""
_OLDER = exp.Version(this="VERSION", kind="AS OF", expression=exp.Literal.number(0))
"""Some older version, of which nothing is known."""
_CHANGES = frozenset({"INSERT", "DELETE", "UPDATE", "MERGE"})
_ALL_OF_IT = "SELECT * FROM source"


Texts = Mapping[str, tuple[Statement, ...]]
"""The statements of each of a job's texts, by the text's place in the spec."""


def write_footprint(write: Write, texts: Texts, around: Surroundings) -> TableFootprint:
    key = key_of(write.table)
    sql = write.source.sql
    query = _query(sql, "spec.write.source.sql", texts) if sql is not None else None
    statement = Statement(number=1, text=write.replace_where or "", line=1, tokens=())
    reading = StatementContext(statement, key, around, field="spec.write")
    source = _read_by(write.source, query, reading)
    lands = insert.landing(reading, query, None, {})
    certain = query is not None and surely_some(query, around.settings.spark)
    identity = insert.adds_identity(reading, insert.output_names(query, reading))
    if write.mode is WriteMode.APPEND:
        found = insert.append(reading, lands, source, certain=certain, identity=identity)
    elif write.replace_where is not None:
        condition = text_of(texts, "spec.write.replaceWhere")
        found = insert.replace_where(reading, condition, lands, source, certain=certain, identity=identity)
    elif write.mode is WriteMode.OVERWRITE_PARTITIONS and not reading.is_unpartitioned:
        found = insert.overwrite_partitions(reading, lands, source, identity=identity)
    else:
        found = insert.overwrite(reading, lands, source, certain=certain, identity=identity)
    if write.schema_evolution:
        appends = write.mode is WriteMode.APPEND
        keeps = appends and found.keeps_partition_columns  # any other mode takes the schema of the rows
        found = replace(
            found, metadata=Metadata.MAY_CHANGE, ends_readers=not appends, keeps_partition_columns=keeps
        )
    return replace(
        found,
        txn_app_id=write.txn_app_id,
        sources=_sources(write.source, query, around).under(around.one_key),
        creates=_may_create(reading),
    )


def streamed(stream: Stream, texts: Texts, around: Surroundings) -> Script:
    """Reads a stream: its rows are the view `source` to its query, one batch of them is the view `batch` to its statements. Only
    one of the two is there: the other name is a table's."""
    view = "source" if stream.sql is None else "batch"
    around = replace(
        around, views={**around.views, view: _view(stream.source)}, promised_in="spec.footprint[].writes"
    )
    _refuse_files_without_schema(stream.source, around)
    checkpoint = key_of_path(stream.checkpoint).text
    if stream.sql is not None:
        script = Script(around).then(*texts["spec.stream.sql"])
        tables = (replace(found, checkpoint=checkpoint, certain=False) for found in script.tables)
        return replace(script, tables=tuple(tables))
    if stream.table is None:
        raise NotUnderstoodError("spec.stream needs table or sql")
    query = _query(stream.query or _ALL_OF_IT, "spec.stream.query", texts)
    if query is not None:
        _refuse_what_spark_never_streams(query, around)
    statement = Statement(number=1, text="", line=1, tokens=())
    reading = StatementContext(statement, key_of(stream.table), around, field="spec.stream")
    reads = _read_by_query(query, reading)
    if not reads.nothing:
        reads = Reads(EVERYTHING, reads.widened)  # a stream that reads its own table reads all of it
    lands = insert.landing(reading, query, None, {})
    identity = insert.adds_identity(reading, insert.output_names(query, reading))
    found = insert.append(reading, lands, reads, certain=False, identity=identity)
    found = replace(
        found,
        operation=Operation.STREAM,
        checkpoint=checkpoint,
        sources=around.selected_by(query).under(around.one_key),
        creates=_may_create(reading),
    )
    return Script(around, (found,))


def _refuse_files_without_schema(source: StreamSource, around: Surroundings) -> None:
    if (
        source.schema_ is None
        and source.format.lower() in NEED_A_SCHEMA
        and not around.settings.infers_schemas_of_streams
    ):
        raise NotUnderstoodError(
            f"spec.stream.source: Spark streams no {source.format} whose columns it isn't told: give source.schema, "
            "each column by its name and type"
        )


def _refuse_what_spark_never_streams(query: exp.Expr, around: Surroundings) -> None:
    if not around.settings.checks_streams:
        return
    found = unstreamed(query, case_sensitive=around.settings.session.case_sensitive)
    if found is not None:
        raise NotUnderstoodError(
            f"spec.stream.query: Spark refuses {found.what} in a stream: {found.instead}"
        )


def streamed_tables(stream: Stream) -> tuple[TableKey, ...]:
    source, named = stream.source, [key_of(table) for table in stream.reads_tables or ()]
    found = _read_from(source) if is_delta(source) else NO_SOURCES
    if found.any_table and not named:
        raise NotUnderstoodError(
            "spec.stream.source does not say which Delta table it reads, so that what would break it could not be kept away: "
            "name it by source.path, or in stream.readsTables"
        )
    return tuple(dict.fromkeys([*found.tables, *named]))


def looked_into(stream: Stream, texts: Texts, around: Surroundings) -> tuple[TableKey, ...]:
    """The tables that the stream's query reads beside its source. Statements of sql are read anew in each batch, a query is not."""
    if stream.query is None:
        return ()
    query = _query(stream.query, "spec.stream.query", texts)
    around = replace(around, views={**around.views, "source": None})
    return around.selected_by(query).under(around.one_key).tables


def is_delta(source: StreamSource) -> bool:
    return "delta" in source.format.lower()


def follows(source: StreamSource) -> Follows:
    """Reads which commits the stream survives from its options. Spark ignores the case of their names. The contents
    of a Secret are not known, so they do not count."""
    given = {
        name.lower() for name, value in (source.options or {}).items() if value.strip().lower() == "true"
    }
    if given & _PASSES_OVER_CHANGES:
        return Follows.CHANGES
    return Follows.DELETES if "ignoredeletes" in given else Follows.APPENDS


def read_by_stream(stream: Stream) -> Sources:
    """Returns what the stream reads, including files, which may belong to a Delta table."""
    found = _read_from(stream.source)
    return replace(found, tables=tuple(dict.fromkeys((*found.tables, *streamed_tables(stream)))))


def _view(source: StreamSource) -> exp.Expr | None:
    """Returns the view's query; None if it can't be a Delta table."""
    if not is_delta(source):
        return None
    if source.path is None:
        return exp.select("*").from_(exp.Table(this=exp.to_identifier("unknown_source")))
    table = exp.Table(
        this=exp.to_identifier(source.path, quoted=True), db=exp.to_identifier("delta", quoted=True)
    )
    given = {*(source.options or {}), *(ref.option for ref in source.options_from or ())}
    if _KEEPS_A_SCHEMA.intersection(name.lower() for name in given):
        table.set("version", _OLDER.copy())
    return exp.select("*").from_(table)


def _query(sql: str, place: str, texts: Texts) -> exp.Expr | None:
    """Returns the tree of a query that is a text of its own; None if it's too large. Anything but a query is refused,
    because Spark would execute it."""
    statements = texts[place] if place in texts else split(sql, place)
    if len(statements) > 1:
        raise NotUnderstoodError(f"{place} holds more than one statement: write one query")
    tokens = statements[0].tokens
    first = tokens[0].text.upper()
    if first not in _BEGINS_A_QUERY:
        raise NotUnderstoodError(
            f"{place} begins with {tokens[0].text!r}, not as a query does: use spec.sql for other statements"
        )
    if first in ("WITH", "FROM"):
        for token in tokens:
            if token.text.upper() in _CHANGES and token.token_type not in (
                TokenType.STRING,
                TokenType.IDENTIFIER,
            ):
                raise NotUnderstoodError(
                    f"{place} holds {token.text!r} (line {token.line}), so it may be more than a query: "
                    "use spec.sql, or put names that are such words into backticks"
                )
    return statements[0].once("query", lambda: query_in(tokens, sql, place))


def _read_by(source: Source, query: exp.Expr | None, reading: StatementContext) -> Reads:
    table: TableKey = reading.key
    if source.sql is not None:
        return _read_by_query(query, reading)
    if "delta" not in str(source.format).lower():
        return Reads()  # reads no Delta log, so Delta does not count it as a reader of the table
    found = _read_from(source)
    if not found.any_table and not any(reading.around.one_key(key).may_equal(table) for key in found.tables):
        return Reads()
    return Reads(EVERYTHING, (f"the source of format {source.format} may read {table}",))


def _read_by_query(query: exp.Expr | None, reading: StatementContext) -> Reads:
    if query is None:
        return Reads(EVERYTHING, ("the query is too large to be read",))
    return reads_of(query, reading)


def _sources(source: Source, query: exp.Expr | None, around: Surroundings) -> Sources:
    if source.sql is not None:
        return around.selected_by(query)
    return _read_from(source)


def _read_from(source: Source | StreamSource) -> Sources:
    """Returns the location that a source reads. Spark ignores the case of options' names, and also takes the location
    from one of them."""
    given = {name.lower(): value for name, value in (source.options or {}).items()}
    kept = {ref.option.lower() for ref in source.options_from or ()}
    location = source.path if source.path is not None else given.get("path")
    reads_delta = "delta" in str(source.format).lower()
    if "paths" in given or kept & {"path", "paths"}:
        return ANY_SOURCES
    if location is None:
        return ANY_SOURCES if reads_delta else NO_SOURCES
    if reads_delta:
        return Sources((key_of_source_at(location),))
    return files_at(location, below="recursivefilelookup" in given)


def _may_create(reading: StatementContext) -> bool:
    """Whether the write may create the table: unlike SQL, which fails where there is none, a DataFrame write creates
    one."""
    return reading.facts is None or not reading.facts.exists

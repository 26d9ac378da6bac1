"""What the operator asks for: decoded from the arguments, and refused as a whole if any part isn't understood.

The plan comes as base64(zlib(JSON)) in pieces: Kubernetes would expand `$(X)` in plain arguments, and Linux accepts
no argument longer than 128 KiB.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice_runner import txn
from sluice_runner.assumptions import NOTHING_ASSUMED, Assumed, Days
from sluice_runner.fields import Fields, PlanError

VERSION = 2
PREFIX = "--plan="
VARIABLE = "SLUICE_PLAN"
"""The environment variable with the plan of an application that isn't the runner's own."""
MAX_JSON_BYTES = 16 * 1024 * 1024
"""More than any manifest can hold, and so little that a hostile plan can't fill the driver's memory."""

_MOST_PARTS = 3
"""Of a name: catalog, schema and table."""
MODES = ("Append", "Overwrite", "OverwritePartitions")


@dataclass(frozen=True)
class Job:
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True)
class Statement:
    number: int
    text: str
    line: int | None


@dataclass(frozen=True)
class Sql:
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Target:
    """A table by its path or its name; exactly one is set."""

    path: str | None
    name: str | None


@dataclass(frozen=True)
class Source:
    """The rows of a query or of a format; exactly one is set."""

    sql: str | None
    format: str | None
    path: str | None
    options: Mapping[str, str]
    options_from_env: Mapping[str, str]


@dataclass(frozen=True)
class Write:
    table: Target
    source: Source
    mode: str
    replace_where: str | None
    schema_evolution: bool
    txn_app_id: str | None
    txn_version: int | None


@dataclass(frozen=True)
class Stream:
    """Rows of a source, batch by batch. They are appended to a table, or statements run for each batch; exactly one is set."""

    source: Source
    schema: str | None
    query: str | None
    """Over the view `source`; None: all rows as they are. Only for an append."""
    table: Target | None
    statements: tuple[Statement, ...]
    """Over the view `batch`."""
    checkpoint: str
    every: str | None
    """The interval between two batches; None: ends once it has processed what is there."""


@dataclass(frozen=True)
class Application:
    """A program of the job's own: what it does isn't in the plan."""


@dataclass(frozen=True)
class Run:
    """Under which appId a run commits. By it Delta stops an attempt that a later one has fenced off."""

    app_id: str
    closes: bool
    """Whether the appId is the run key's own, so that a closing commit ends the run for good. Otherwise it is a slot, which
    runs use one after another."""
    first_token: int
    """The token of the job's first attempt: what has a lower one on a slot is of other runs."""
    tables: tuple[Target, ...]
    """Every table that the job may write."""


@dataclass(frozen=True)
class Touched:
    """What a statement was judged to do to a table."""

    statement: int | None
    """None: any of them, where the job declares what it does as a whole."""
    table: Target
    adds: str | None
    """A condition on the partitions to which it may add files; None: anywhere."""
    removes: str | None
    """Likewise, from which it may remove files."""


@dataclass(frozen=True)
class BoundName:
    """A name and the location that it was judged to lead to."""

    parts: tuple[str, ...]
    """Catalog, schema and table; the first one or two may be missing, as they may be in SQL."""
    path: str
    is_reported: bool = False
    """Whether earlier runs found it to lead there, and no policy says so: then it is compared, and never bound."""


@dataclass(frozen=True)
class Plan:
    job: Job
    run_key: str
    spec_hash: str
    attempt: int
    token: int
    work: Sql | Write | Stream | Application
    assumed: Assumed
    run: Run | None = None
    """Absent: nothing is fenced, and nothing is left out because it was done before."""
    writes: tuple[str, ...] = ()
    """Conditions that hold for all rows that the job adds; only such commits are made. Absent: it may add rows anywhere."""
    touched: tuple[Touched, ...] = ()
    """What its statements were judged to do: looked at afterwards. Absent: nothing is looked at."""
    names: tuple[BoundName, ...] = ()
    """Where names were judged to lead. Absent: only the driver's own catalogs know names."""

    @property
    def secret_options(self) -> Mapping[str, str]:
        """The options of the job's source that come from Secrets, and the environment variables that bring them."""
        return self.work.source.options_from_env if isinstance(self.work, Write | Stream) else {}


def decode(arguments: Sequence[str]) -> Plan:
    """The plan of the runner's own work."""
    if not arguments:
        raise PlanError(f"no plan: expected arguments of the form {PREFIX}<chunk>")
    for argument in arguments:
        if not argument.startswith(PREFIX):
            raise PlanError(f"unknown argument {argument[:80]!r}: expected {PREFIX}<chunk> only")
    plan = _plan(Fields(_json("".join(argument[len(PREFIX) :] for argument in arguments)), "plan"))
    if isinstance(plan.work, Application):
        raise PlanError("plan.application: is the work of a program of its own, and this is the runner")
    return plan


def decode_application(encoded: str) -> Plan:
    """The plan of an application of the job's own."""
    plan = _plan(Fields(_json(encoded), "plan"))
    if not isinstance(plan.work, Application):
        raise PlanError("plan: sql, write and stream are the runner's work, and this is a program of its own")
    return plan


def _json(encoded: str) -> Any:
    try:
        packed = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PlanError(f"the plan is not base64 ({error}): is a chunk missing?") from error
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(packed, MAX_JSON_BYTES + 1)
    except zlib.error as error:
        raise PlanError(
            f"the plan is not zlib data ({error}): is a chunk missing or out of order?"
        ) from error
    if len(raw) > MAX_JSON_BYTES:
        raise PlanError(f"the plan is larger than {MAX_JSON_BYTES} bytes")
    if not unpacker.eof:
        raise PlanError("the plan's zlib data ends too early: is the last chunk missing?")
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise PlanError(f"the plan is not JSON ({error})") from error
    except RecursionError as error:
        raise PlanError("the plan is nested too deeply") from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise PlanError(f"the plan has the field {key!r} twice in one object")
        result[key] = value
    return result


def _no_constant(name: str) -> Any:
    raise PlanError(f"the plan holds {name}, which is not a JSON number")


def _plan(fields: Fields) -> Plan:
    version = fields.integer("version")
    if version != VERSION:
        raise PlanError(
            f"plan.version: this runner understands version {VERSION}, not {version}:"
            " use an image of the operator's version"
        )
    job = fields.object("job")
    work = _work(fields)
    # Of an application's own settings the operator may know nothing.
    assumes_nothing = isinstance(work, Application) and not fields.has("assumed")
    plan = Plan(
        job=Job(job.text("namespace"), job.text("name"), job.text("uid")),
        run_key=fields.text("runKey"),
        spec_hash=fields.text("specHash"),
        attempt=fields.integer("attempt", minimum=1),
        token=fields.integer("token", minimum=0),
        work=work,
        assumed=NOTHING_ASSUMED if assumes_nothing else _assumed(fields.object("assumed")),
        writes=_promise(fields) if fields.has("writes") else (),
        touched=tuple(map(_touched, fields.objects("touched"))) if fields.has("touched") else (),
        names=tuple(map(_bound_name, fields.objects("names"))) if fields.has("names") else (),
        run=_run(fields.object("run")) if fields.has("run") else None,
    )
    job.end()
    fields.end()
    if plan.run is not None:
        _refuse_what_has_no_txn_version(plan, plan.run)
    if isinstance(plan.work, Application):
        _refuse_what_only_the_runner_keeps(plan)
    if isinstance(plan.work, Stream) and plan.writes:
        raise PlanError("plan.writes: is kept for sql and write, and this is a stream")
    return plan


def _refuse_what_only_the_runner_keeps(plan: Plan) -> None:
    for name, asked in (("writes", plan.writes), ("names", plan.names)):
        if asked:
            raise PlanError(
                f"plan.{name}: can be kept only by the runner, which starts Spark with what that needs"
            )


def _promise(fields: Fields) -> tuple[str, ...]:
    conditions = fields.texts("writes")
    for index, text in enumerate(conditions):
        place = f"{fields.place('writes')}[{index}]"
        if not _as_written(text, place).strip():
            raise PlanError(f"{place}: is empty")
    return conditions


def _touched(fields: Fields) -> Touched:
    touched = Touched(
        statement=fields.optional_integer("statement", 1, 2**31),
        table=_target(fields.object("table")),
        adds=_optional_as_written(fields, "adds"),
        removes=_optional_as_written(fields, "removes"),
    )
    fields.end()
    return touched


def _bound_name(fields: Fields) -> BoundName:
    parts = tuple(fields.text("name").split("."))
    if not all(parts) or len(parts) > _MOST_PARTS:
        raise PlanError(f"{fields.place('name')}: expected one to three parts with dots between them")
    bound = BoundName(parts, fields.text("path"), fields.optional_boolean("reported"))
    fields.end()
    return bound


def _run(fields: Fields) -> Run:
    run = Run(
        app_id=fields.text("appId"),
        closes=fields.boolean("closes"),
        first_token=fields.integer("firstToken", minimum=0),
        tables=tuple(_target(item) for item in fields.objects("tables")),
    )
    fields.end()
    return run


def _refuse_what_has_no_txn_version(plan: Plan, run: Run) -> None:
    if plan.token < run.first_token:
        raise PlanError(
            f"plan.run.firstToken: the job's first attempt has the lowest token, found {run.first_token} above {plan.token}"
        )
    if plan.token > txn.MAX_TOKEN:
        raise PlanError(f"plan.token: expected at most {txn.MAX_TOKEN}, found {plan.token}")
    if isinstance(plan.work, Sql):
        last = plan.work.statements[-1].number
        if last > txn.MAX_STATEMENT:
            raise PlanError(
                f"plan.sql.statements: a run has at most {txn.MAX_STATEMENT} statements, found {last}"
            )
    elif isinstance(plan.work, Stream):
        raise PlanError("plan.run: a stream has none: its checkpoint tells what is done")
    elif isinstance(plan.work, Write) and plan.work.txn_app_id is not None:
        raise PlanError(
            "plan.write.txnAppId: a write with an id of its own has no run: Delta takes one of the two"
        )


def _assumed(fields: Fields) -> Assumed:
    assumed = Assumed(
        spark_version=fields.text("sparkVersion"),
        delta_version=fields.optional_text("deltaVersion"),
        spark_conf=fields.optional_texts_by_name("sparkConf"),
        days=_days(fields.object("days")) if fields.has("days") else None,
    )
    fields.end()
    return assumed


def _days(fields: Fields) -> Days:
    days = Days(first=fields.day("first"), last=fields.day("last"))
    fields.end()
    return days


def _work(fields: Fields) -> Sql | Write | Stream | Application:
    kinds = [name for name in ("sql", "write", "stream", "application") if fields.has(name)]
    if len(kinds) != 1:
        raise PlanError(
            f"plan: expected exactly one of sql, write, stream and application, found {', '.join(fields.names())}"
        )
    if kinds == ["sql"]:
        return _sql(fields.object("sql"))
    if kinds == ["write"]:
        return _write(fields.object("write"))
    if kinds == ["stream"]:
        return _stream(fields.object("stream"))
    fields.object("application").end()
    return Application()


def _sql(fields: Fields) -> Sql:
    statements = _statements(fields)
    fields.end()
    return Sql(statements)


def _statements(fields: Fields) -> tuple[Statement, ...]:
    statements = []
    for item in fields.objects("statements"):
        text = _as_written(item.text("text"), item.place("text"))
        if not text.strip():
            raise PlanError(f"{item.place('text')}: is empty")
        statements.append(Statement(item.integer("number", 1), text, item.optional_integer("line", 0, 2**31)))
        item.end()
    numbers = [statement.number for statement in statements]
    if sorted(set(numbers)) != numbers:
        raise PlanError(f"{fields.place('statements')}: numbers must rise, found {numbers}")
    return tuple(statements)


def _optional_as_written(fields: Fields, name: str) -> str | None:
    text = fields.optional_text(name)
    return None if text is None else _as_written(text, fields.place(name))


def _as_written(text: str, place: str) -> str:
    if "${" in text:
        raise PlanError(
            f"{place}: Spark would put the value of a setting or of a variable in place of ${{...}}: the job was judged by the "
            "text as it is"
        )
    return text


def _write(fields: Fields) -> Write:
    write = Write(
        table=_target(fields.object("table")),
        source=_source(fields.object("source")),
        mode=fields.one_of("mode", MODES, default="Append"),
        replace_where=_optional_as_written(fields, "replaceWhere"),
        schema_evolution=fields.optional_boolean("schemaEvolution"),
        txn_app_id=fields.optional_text("txnAppId"),
        txn_version=fields.optional_integer("txnVersion", 0, 2**63 - 1),
    )
    if write.replace_where is not None and write.mode != "Overwrite":
        raise PlanError(f"{fields.place('replaceWhere')}: needs mode Overwrite, found {write.mode}")
    if (write.txn_app_id is None) != (write.txn_version is None):
        raise PlanError(f"{fields.place('txnAppId')}: txnAppId and txnVersion go together")
    fields.end()
    return write


def _target(fields: Fields) -> Target:
    target = Target(fields.optional_text("path"), fields.optional_text("name"))
    if (target.path is None) == (target.name is None):
        raise PlanError(f"{fields.place('path')}: expected exactly one of path and name")
    fields.end()
    return target


def _stream(fields: Fields) -> Stream:
    source = fields.object("source")
    schema = source.optional_text("schema")
    stream = Stream(
        source=_source_of_format(source),
        schema=schema,
        query=_optional_as_written(fields, "query"),
        table=_target(fields.object("table")) if fields.has("table") else None,
        statements=_statements(fields) if fields.has("statements") else (),
        checkpoint=fields.text("checkpoint"),
        every=_interval(fields.object("trigger")),
    )
    if (stream.table is None) == (not stream.statements):
        raise PlanError(f"{fields.place('table')}: expected exactly one of table and statements")
    if stream.query is not None and stream.table is None:
        raise PlanError(f"{fields.place('query')}: belongs to table, found statements")
    fields.end()
    return stream


def _source_of_format(fields: Fields) -> Source:
    if fields.has("sql"):
        raise PlanError(f"{fields.place('sql')}: a stream reads a format, not a query")
    return _source(fields)


def _interval(fields: Fields) -> str | None:
    every = fields.optional_text("processingTime")
    ends = fields.optional_boolean("availableNow")
    if ends == (every is not None):
        raise PlanError(
            f"{fields.place('availableNow')}: expected exactly one of availableNow: true and processingTime"
        )
    fields.end()
    return every


def _source(fields: Fields) -> Source:
    source = Source(
        sql=_optional_as_written(fields, "sql"),
        format=fields.optional_text("format"),
        path=fields.optional_text("path"),
        options=fields.optional_texts_by_name("options"),
        options_from_env=fields.optional_texts_by_name("optionsFromEnv"),
    )
    if (source.sql is None) == (source.format is None):
        raise PlanError(f"{fields.place('sql')}: expected exactly one of sql and format")
    if source.sql is not None and (source.path or source.options or source.options_from_env):
        raise PlanError(f"{fields.place('sql')}: path, options and optionsFromEnv belong to format")
    fields.end()
    return source

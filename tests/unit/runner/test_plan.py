"""The plan is understood as a whole or refused with the place and the reason, whatever arrives."""

import base64
import contextlib
import json
import zlib
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice_runner.assumptions import NOTHING_ASSUMED, Assumed, Days
from sluice_runner.fields import PlanError
from sluice_runner.plan import (
    MAX_JSON_BYTES,
    Application,
    BoundName,
    Plan,
    Sql,
    Stream,
    Target,
    Write,
    decode,
    decode_application,
)

Document = dict[str, Any]

JOB = {"namespace": "sales", "name": "daily", "uid": "1d3f"}


def packed(document: object) -> str:
    return base64.b64encode(zlib.compress(json.dumps(document).encode())).decode()


TOUCHED: Document = {"statement": 1, "table": {"path": "/lake/t"}}
ONE_WORK = "exactly one of sql, write, stream and application"
ONE: Document = {"number": 1, "text": "a"}
RUN: Document = {"appId": "sluice/sales/x", "closes": True, "firstToken": 1, "tables": [{"path": "/lake/t"}]}


def decoded(document: object) -> Plan:
    return decode([f"--plan={packed(document)}"])


def sql_plan(**changes: object) -> Document:
    plan: Document = {
        "version": 2,
        "job": JOB,
        "runKey": "daily-2026-11-19",
        "specHash": "abc",
        "attempt": 2,
        "token": 4294967297,
        "sql": {"statements": [{"number": 1, "text": "OPTIMIZE t", "line": 3}]},
        "assumed": {"sparkVersion": "4.2.0", "deltaVersion": "4.4.0", "sparkConf": {"spark.x": "y"}},
    }
    return {**plan, **changes}


def stream_plan(**changes: object) -> Document:
    stream: Document = {
        "source": {"format": "delta", "path": "/lake/raw", "options": {"maxFilesPerTrigger": "10"}},
        "table": {"path": "/lake/orders"},
        "checkpoint": "/lake/_checkpoints/orders",
        "trigger": {"processingTime": "30 seconds"},
    }
    stream = {name: value for name, value in {**stream, **changes}.items() if value is not None}
    return {**{name: value for name, value in sql_plan().items() if name != "sql"}, "stream": stream}


def statements(*items: object) -> Document:
    return sql_plan(sql={"statements": items})


def write_plan(**changes: object) -> Document:
    plan = sql_plan()
    del plan["sql"]
    write: Document = {"table": {"path": "/lake/t"}, "source": {"sql": "SELECT 1"}}
    return {**plan, "write": {**write, **changes}}


def test_a_plan_of_statements_is_read() -> None:
    plan = decoded(sql_plan())
    assert isinstance(plan.work, Sql)
    assert plan.writes == ()
    assert [statement.text for statement in plan.work.statements] == ["OPTIMIZE t"]
    assert (plan.job.namespace, plan.job.name, plan.job.uid) == ("sales", "daily", "1d3f")
    assert (plan.attempt, plan.token, plan.run_key, plan.spec_hash) == (
        2,
        4294967297,
        "daily-2026-11-19",
        "abc",
    )
    assert plan.assumed == Assumed("4.2.0", "4.4.0", {"spark.x": "y"})


def test_the_days_on_which_statements_may_begin_are_read() -> None:
    assumed = {"sparkVersion": "4.2.0", "days": {"first": "2026-11-18", "last": "2026-11-21"}}
    assert decoded(sql_plan(assumed=assumed)).assumed.days == Days(date(2026, 11, 18), date(2026, 11, 21))


def test_names_are_read_with_the_locations_that_they_lead_to() -> None:
    assert decoded(sql_plan()).names == ()
    plan = decoded(sql_plan(names=[{"name": "prod.sales.orders", "path": "s3a://lake/orders"}]))
    assert plan.names == (BoundName(("prod", "sales", "orders"), "s3a://lake/orders"),)
    [reported] = decoded(sql_plan(names=[{"name": "t", "path": "/lake/t", "reported": True}])).names
    assert reported == BoundName(("t",), "/lake/t", is_reported=True)


def test_a_plan_comes_in_any_number_of_chunks_and_keeps_dollars_and_quotes() -> None:
    text = "INSERT INTO t VALUES ('$(HOME) \\ \" ü 😀')"
    encoded = packed(sql_plan(sql={"statements": [{"number": 1, "text": text}]}))
    for size in (1, 7, len(encoded)):
        chunks = [f"--plan={encoded[start : start + size]}" for start in range(0, len(encoded), size)]
        work = decode(chunks).work
        assert isinstance(work, Sql)
        assert work.statements[0].text == text


def test_a_write_takes_its_defaults_and_a_null_says_the_same_as_nothing() -> None:
    work = decoded(write_plan(mode=None, replaceWhere=None, schemaEvolution=None, txnAppId=None)).work
    assert isinstance(work, Write)
    assert (work.mode, work.replace_where, work.schema_evolution, work.txn_app_id) == (
        "Append",
        None,
        False,
        None,
    )


def test_a_write_with_everything_is_read() -> None:
    work = decoded(
        write_plan(
            table={"name": "lake.sales.orders"},
            source={
                "format": "jdbc",
                "options": {"url": "jdbc:x"},
                "optionsFromEnv": {"password": "SLUICE_OPTION_0"},
            },
            mode="Overwrite",
            replaceWhere="date = DATE '2026-11-19'",
            schemaEvolution=True,
            txnAppId="mine",
            txnVersion=7,
        )
    ).work
    assert isinstance(work, Write)
    assert work.table.name == "lake.sales.orders"
    assert work.source.options_from_env == {"password": "SLUICE_OPTION_0"}
    assert (work.txn_app_id, work.txn_version, work.schema_evolution) == ("mine", 7, True)


def application_plan(**changes: object) -> Document:
    plan = {**sql_plan(), "application": {}}
    del plan["sql"], plan["assumed"]
    return {**plan, **changes}


def test_a_plan_of_an_application_is_read_with_and_without_what_it_was_judged_by() -> None:
    plan = decode_application(packed(application_plan(touched=[TOUCHED], run=RUN)))
    assert (plan.work, plan.assumed) == (Application(), NOTHING_ASSUMED)
    assert (len(plan.touched), plan.run is not None) == (1, True)
    assumed = decode_application(packed(application_plan(assumed={"sparkVersion": "4.2.0"}))).assumed
    assert assumed == Assumed("4.2.0", None, {})


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (sql_plan(), "sql, write and stream are the runner's work"),
        (application_plan(sql={"statements": []}), ONE_WORK),
        (application_plan(application={"file": "x"}), r"plan\.application: unknown field file"),
        (application_plan(writes=["date = 1"]), r"plan\.writes: can be kept only by the runner"),
        (application_plan(names=[{"name": "t", "path": "/lake/t"}]), r"plan\.names: can be kept only by the runner"),
        (application_plan(token=2**62, run=RUN), r"plan\.token: expected at most"),
        ("text", "plan: expected an object"),
    ],
)  # fmt: skip
def test_an_application_takes_no_plan_that_it_could_not_keep(document: object, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        decode_application(packed(document))


def test_a_stream_appends_to_a_table_or_runs_statements_for_each_batch() -> None:
    work = decoded(stream_plan(query="SELECT id FROM source")).work
    assert isinstance(work, Stream)
    assert (work.table, work.query, work.statements) == (
        Target("/lake/orders", None),
        "SELECT id FROM source",
        (),
    )
    assert (work.checkpoint, work.every, work.source.path) == (
        "/lake/_checkpoints/orders",
        "30 seconds",
        "/lake/raw",
    )
    plan = decoded(
        stream_plan(
            source={
                "format": "kafka",
                "optionsFromEnv": {"password": "SLUICE_SOURCE_OPTION_0"},
                "schema": "id BIGINT",
            },
            table=None,
            statements=[{"number": 1, "text": "MERGE", "line": 1}],
            trigger={"availableNow": True},
        )
    )
    work = plan.work
    assert isinstance(work, Stream)
    assert (work.table, work.every, work.schema, len(work.statements)) == (None, None, "id BIGINT", 1)
    assert plan.secret_options == {"password": "SLUICE_SOURCE_OPTION_0"}


def test_an_application_says_which_part_of_its_plan_is_no_plan() -> None:
    with pytest.raises(PlanError, match="not base64"):
        decode_application("%%%")


REFUSED: list[tuple[str, object, str]] = [
    ("the plan of an application", application_plan(), r"plan\.application: is the work of a program of its own"),
    ("a list", [], r"plan: expected an object"),
    ("a later version", sql_plan(version=3), r"understands version 2, not 3"),
    ("an earlier version", sql_plan(version=1), r"understands version 2, not 1"),
    ("a version that is true", sql_plan(version=True), r"plan\.version: expected an integer"),
    ("an unknown field", sql_plan(streams={}), r"unknown field streams.*image of the operator's version"),
    ("nothing assumed", {k: v for k, v in sql_plan().items() if k != "assumed"}, r"plan\.assumed: is missing"),
    ("no version of Spark assumed", sql_plan(assumed={}), r"plan\.assumed\.sparkVersion: is missing"),
    ("a day that is none", sql_plan(assumed={"sparkVersion": "4", "days": {"first": "18 Nov"}}), r"first: expected a date"),
    ("an unknown assumption", sql_plan(assumed={"sparkVersion": "4.2.0", "x": 1}), r"plan\.assumed: unknown field x"),
    ("no job", {k: v for k, v in sql_plan().items() if k != "job"}, r"plan\.job: is missing"),
    ("a job without uid", sql_plan(job={"namespace": "a", "name": "b"}), r"plan\.job\.uid: is missing"),
    ("an unknown field of the job", sql_plan(job={**JOB, "x": 1}), r"plan\.job: unknown field x"),
    ("a run key that is a number", sql_plan(runKey=5), r"plan\.runKey: expected a string, found 5"),
    ("attempt 0", sql_plan(attempt=0), r"plan\.attempt: expected an integer of 1"),
    ("a negative token", sql_plan(token=-1), r"plan\.token: expected an integer of 0"),
    ("a token past 64 bits", sql_plan(token=2**63), r"plan\.token: expected an integer"),
    ("neither sql nor write", {k: v for k, v in sql_plan().items() if k != "sql"}, ONE_WORK),
    ("both sql and write", {**sql_plan(), "write": {}}, ONE_WORK),
    ("a stream with a run", stream_plan() | {"run": RUN}, r"plan\.run: a stream has none"),
    ("a stream with a promise", stream_plan() | {"writes": ["a = 1"]}, r"plan\.writes: is kept for sql and write"),
    ("a stream of a query", stream_plan(source={"sql": "SELECT 1"}), r"source\.sql: a stream reads a format"),
    ("a stream without format", stream_plan(source={"path": "/a"}), r"source\.sql: expected exactly one"),
    ("a stream without checkpoint", stream_plan(checkpoint=None), r"stream\.checkpoint: is missing"),
    ("a stream that writes nothing", stream_plan(table=None), r"exactly one of table and statements"),
    ("a stream that writes twice", stream_plan(statements=[ONE]), r"one of table and statements"),
    ("a stream with two queries", stream_plan(table=None, query="a", statements=[ONE]), r"query: belongs to table"),
    ("a query with a variable", stream_plan(query="SELECT ${x}"), r"stream\.query: Spark would put"),
    ("a trigger that never fires", stream_plan(trigger={}), r"exactly one of availableNow: true and processingTime"),
    ("a trigger that is false", stream_plan(trigger={"availableNow": False}), r"exactly one of availableNow: true"),
    ("two triggers", stream_plan(trigger={"availableNow": True, "processingTime": "1 day"}), r"exactly one of available"),
    ("an unknown trigger", stream_plan(trigger={"availableNow": True, "once": True}), r"trigger: unknown field once"),
    ("an unknown field of a stream", stream_plan(yields=True), r"plan\.stream: unknown field yields"),
    ("no statements", sql_plan(sql={"statements": []}), r"statements: expected a list that is not empty"),
    ("statements that are a string", sql_plan(sql={"statements": "x"}), r"statements: expected a list"),
    ("an empty statement", statements({"number": 1, "text": " "}), r"statements\[0\]\.text: is empty"),
    ("a statement that is a string", statements("x"), r"statements\[0\]: expected an object"),
    ("numbers that repeat", statements({"number": 1, "text": "a"}, {"number": 1, "text": "b"}), r"numbers must rise"),
    ("numbers that fall", statements({"number": 2, "text": "a"}, {"number": 1, "text": "b"}), r"numbers must rise"),
    ("an unknown field of a statement", statements({"number": 1, "text": "a", "as": "x"}), r"statements\[0\]: unknown field as"),
    ("a table without path and name", write_plan(table={}), r"exactly one of path and name"),
    ("a table with path and name", write_plan(table={"path": "/a", "name": "b"}), r"exactly one of path and name"),
    ("a source of sql and format", write_plan(source={"sql": "SELECT 1", "format": "csv"}), r"exactly one of sql and format"),
    ("a source of sql with a path", write_plan(source={"sql": "SELECT 1", "path": "/x"}), r"belong to format"),
    ("an unknown mode", write_plan(mode="Merge"), r"write\.mode: expected one of Append, .*found 'Merge'"),
    ("replaceWhere beside Append", write_plan(replaceWhere="a = 1"), r"needs mode Overwrite, found Append"),
    ("half a transaction id", write_plan(txnAppId="x"), r"txnAppId and txnVersion go together"),
    ("an option that is a number", write_plan(source={"format": "csv", "options": {"a": 1}}), r"options\['a'\]: expected a string"),
    ("schemaEvolution as a string", write_plan(schemaEvolution="yes"), r"schemaEvolution: expected true or false"),
    ("an unknown field of the write", write_plan(partitionBy=["d"]), r"plan\.write: unknown field partitionBy"),
    ("a statement that Spark would fill in", statements({"number": 1, "text": "OPTIMIZE ${env:T}"}), r"text: Spark would put"),
    ("a query that Spark would fill in", write_plan(source={"sql": "SELECT '${x}'"}), r"source\.sql: Spark would put"),
    ("a replaced part that Spark would fill in", write_plan(mode="Overwrite", replaceWhere="a = ${x}"), r"replaceWhere: Spark"),
    ("a token below the first one", sql_plan(run={**RUN, "firstToken": 2**40}), r"firstToken: the job's first attempt has"),
    ("an unknown field of the run", sql_plan(run={**RUN, "x": 1}), r"plan\.run: unknown field x"),
    ("touched tables that are none", sql_plan(touched=[]), r"plan\.touched: expected a list that is not empty"),
    ("a touched table without a table", sql_plan(touched=[{"statement": 1}]), r"plan\.touched\[0\]\.table: is missing"),
    ("an unknown field of what is touched", sql_plan(touched=[{**TOUCHED, "x": 1}]), r"plan\.touched\[0\]: unknown field x"),
    ("a promise that is a string", sql_plan(writes="d = 1"), r"plan\.writes: expected a list that is not empty"),
    ("an empty promise", sql_plan(writes=["d = 1", " "]), r"plan\.writes\[1\]: is empty"),
    ("a promise that is a number", sql_plan(writes=[1]), r"plan\.writes\[0\]: expected a string"),
    ("a promise that Spark would fill in", sql_plan(writes=["d = ${x}"]), r"plan\.writes\[0\]: Spark would put"),
    ("names that are none", sql_plan(names=[]), r"plan\.names: expected a list that is not empty"),
    ("a name without a path", sql_plan(names=[{"name": "t"}]), r"plan\.names\[0\]\.path: is missing"),
    ("a name of four parts", sql_plan(names=[{"name": "a.b.c.d", "path": "/t"}]), r"names\[0\]\.name: expected one to three"),
    ("a name with an empty part", sql_plan(names=[{"name": "a..b", "path": "/t"}]), r"names\[0\]\.name: expected one to three"),
    ("a report as a word", sql_plan(names=[{"name": "t", "path": "/t", "reported": "yes"}]), r"names\[0\]\.reported: expected"),
    ("an unknown field of a name", sql_plan(names=[{"name": "t", "path": "/t", "x": 1}]), r"plan\.names\[0\]: unknown field x"),
    ("parameters", sql_plan(parameters={"n": 1}), r"plan: unknown field parameters"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_not_understood_is_refused_with_its_place(document: object, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        decoded(document)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no plan"),
        (["--job=x"], "unknown argument '--job=x'"),
        (["--plan=%%%"], "not base64"),
        (["--plan=" + base64.b64encode(b"not zlib").decode()], "not zlib"),
        (["--plan=" + base64.b64encode(zlib.compress(b"{}" * 1000)[:-8]).decode()], "ends too early"),
        (["--plan=" + base64.b64encode(zlib.compress(b"{")).decode()], "not JSON"),
        (["--plan=" + base64.b64encode(zlib.compress(b"\xff\xfe")).decode()], "not JSON"),
        (["--plan=" + base64.b64encode(zlib.compress(b'{"a":1,"a":2}')).decode()], "'a' twice"),
        (["--plan=" + base64.b64encode(zlib.compress(b'{"a":NaN}')).decode()], "not a JSON number"),
        (["--plan=" + base64.b64encode(zlib.compress(b"[" * 100_000)).decode()], "nested too deeply"),
    ],
)
def test_arguments_that_hold_no_plan_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        decode(arguments)


def test_a_small_plan_that_unpacks_to_gigabytes_is_refused_before_it_fills_the_memory() -> None:
    bomb = zlib.compress(b" " * (MAX_JSON_BYTES + 1), 9)
    assert len(bomb) < 100_000
    with pytest.raises(PlanError, match="larger than"):
        decode(["--plan=" + base64.b64encode(bomb).decode()])


KEYS = st.sampled_from(sorted([*sql_plan(), "write", "date"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_any_json_at_all_is_read_or_refused_but_never_crashes(document: object) -> None:
    with contextlib.suppress(PlanError):
        decoded(document)


@given(st.sampled_from(sorted(sql_plan())), JSON)
@settings(max_examples=100, deadline=None)
def test_any_field_of_a_good_plan_may_be_anything(field: str, value: object) -> None:
    with contextlib.suppress(PlanError):
        decoded(sql_plan(**{field: value}))

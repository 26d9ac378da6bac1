"""Carries out the spec of a DeltaWriteJob as the runner does: each statement stamped, writes by the runner's own code.

The runner itself also looks before and after each statement into the table's log; that changes nothing for Delta, and
would double the time of a recording.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from contract.harness.rows import Spec
from contract.harness.session import activate
from sluice_runner import stamp
from sluice_runner import write as runner_write
from sluice_runner.assumptions import Assumed
from sluice_runner.plan import Job, Plan, Source, Sql, Target, Write


def execute(session: SparkSession, spec: Spec, run_key: str) -> None:
    """Runs the whole job in this session and thread; its commits carry the run key in their stamp."""
    activate(session)
    for key, value in spec.get("runtime", {}).get("sparkConf", {}).items():
        session.conf.set(key, value)
    for number, step in enumerate(_steps(session, spec), start=1):
        with stamp.stamped(session, stamp.stamp(_plan(run_key), number)):
            step()


def changes_its_session(spec: Spec) -> bool:
    """Whether the job may leave settings, views or functions behind."""
    text = spec.get("sql", "").upper()
    return "runtime" in spec or "stream" in spec or "SET SPARK." in text or "TEMPORARY" in text


def _plan(run_key: str) -> Plan:
    job = Job("truth", run_key, run_key)
    return Plan(job, run_key, "0", attempt=1, token=1, work=Sql(()), assumed=Assumed("", None, {}))


def _steps(session: SparkSession, spec: Spec) -> list[Callable[[], object]]:
    if "sql" in spec:
        return [_statement(session, text) for text in _statements(spec["sql"])]
    if "write" in spec:
        return [lambda: runner_write.run(session, _write(spec["write"]))]
    return [lambda: _stream(session, spec["stream"])]


def _statements(text: str) -> list[str]:
    """The recorder's own statements hold no semicolon within."""
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def _statement(session: SparkSession, text: str) -> Callable[[], object]:
    return lambda: session.sql(text)


def _write(write: Spec) -> Write:
    source = Source(write["source"]["sql"], format=None, path=None, options={}, options_from_env={})
    return Write(
        table=Target(write["table"]["path"], name=None),
        source=source,
        mode=write["mode"],
        replace_where=write.get("replaceWhere"),
        schema_evolution=write.get("schemaEvolution", False),
        txn_app_id=write.get("txnAppId"),
        txn_version=write.get("txnVersion"),
    )


def _stream(session: SparkSession, stream: Spec) -> None:
    rows = session.readStream.format(stream["source"]["format"]).load(stream["source"]["path"])
    if "query" in stream:
        rows.createOrReplaceTempView("source")
        rows = session.sql(stream["query"])
    writer = rows.writeStream.option("checkpointLocation", stream["checkpoint"]).trigger(availableNow=True)
    run = _appended_to(stream["table"]["path"]) if "table" in stream else _each_batch(stream["sql"])
    query = writer.foreachBatch(run).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def _appended_to(path: str) -> Callable[[DataFrame, int], None]:
    def run(batch: DataFrame, number: int) -> None:
        query_id = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        writer = batch.write.format("delta").mode("append").option("txnAppId", query_id)
        writer.option("txnVersion", number).save(path)

    return run


def _each_batch(text: str) -> Callable[[DataFrame, int], None]:
    def run(batch: DataFrame, _number: int) -> None:
        batch.createOrReplaceTempView("batch")
        for statement in _statements(text):
            batch.sparkSession.sql(statement)

    return run

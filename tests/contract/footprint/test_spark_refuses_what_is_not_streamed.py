"""A query of a stream that Sluice refuses is one that Spark refuses when the stream begins, and those close by it takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from contract.harness.session import activate
from sluice.footprint.queries.stream_queries import NEED_A_SCHEMA
from unit.footprint.streamed_queries import REFUSED, RUN


@pytest.fixture
def streaming(session: SparkSession) -> SparkSession:
    activate(session)
    rows = session.readStream.format("rate").load()
    rows.selectExpr("value AS id", "'x' AS v").createOrReplaceTempView("source")
    session.sql("SELECT id, 'x' AS v FROM range(3)").createOrReplaceTempView("other")
    return session


def streams(session: SparkSession, query: str) -> bool:
    """By the very check that Spark makes of each query that is started, and before it by our runner, which wants a stream."""
    jvm = session._jvm
    assert jvm is not None
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        rows = session.sql(query)
        checker.checkForStreaming(
            rows._jdf.queryExecution().analyzed(), jvm.org.apache.spark.sql.streaming.OutputMode.Append()
        )
    except PySparkException:
        return False
    return rows.isStreaming


def test_spark_refuses_each_query_that_is_refused_and_streams_each_that_is_not(
    streaming: SparkSession,
) -> None:
    assert [query for query in REFUSED if streams(streaming, query)] == []
    assert [query for query in RUN if not streams(streaming, query)] == []


def test_spark_streams_no_files_whose_columns_it_is_not_told(session: SparkSession, tmp_path: Path) -> None:
    activate(session)
    for kind in NEED_A_SCHEMA:
        with pytest.raises(PySparkException, match="Schema must be specified"):
            session.readStream.format(kind).load(str(tmp_path))
        assert session.readStream.format(kind).schema("id INT").load(str(tmp_path)).isStreaming

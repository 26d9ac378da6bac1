"""Who a table's log says that streams are: two of them are two writers, also where one program, under one name, runs both."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from contract.harness.session import activate
from contract.harness.streams import SCHEMA, USER_METADATA, Feed
from sluice.offline.api import history

BATCHES = 2


def _streamed(session: SparkSession, feed: Feed, table: Path) -> str:
    """Two batches, by Delta's own sink. Returns the query's id, which its checkpoint keeps."""
    ids = set()
    for _ in range(BATCHES):
        feed.give()
        rows = session.readStream.format("json").schema(SCHEMA).load(str(feed.folder))
        writer = rows.writeStream.format("delta").option("checkpointLocation", f"{feed.folder}-checkpoint")
        query = writer.trigger(availableNow=True).start(str(table))
        query.awaitTermination()
        ids.add(query.id)
    (found,) = ids
    return found


def test_two_streams_of_real_spark_are_two_writers(session: SparkSession, tmp_path: Path) -> None:
    activate(session)
    session.conf.set(USER_METADATA, "orders")
    try:
        table = tmp_path / "orders"
        ids = [_streamed(session, Feed(tmp_path / name), table) for name in ("north", "south")]
        session.sql(f"DELETE FROM delta.`{table}` WHERE id = 1")
    finally:
        session.conf.unset(USER_METADATA)
    infos = [
        json.loads(line)["commitInfo"]
        for file in sorted((table / "_delta_log").glob("*.json"))
        for line in file.read_text("utf-8").splitlines()
        if "commitInfo" in line
    ]
    assert {info["operationParameters"].get("queryId") for info in infos} == {*ids, None}
    found = {(writer.name, writer.commits) for writer in history(table).writers}
    assert found == {
        *((f"orders, stream {one[:8]}: STREAMING UPDATE", BATCHES) for one in ids),
        ("orders: DELETE", 1),
    }

"""Streams on real Spark, with all real parts: what others change stops them between two batches, and no row is lost or doubled.

In the order of the file, because a driver takes longer to start than all that it does here: the streams of the first test go on.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from integration.pipeline.conftest import PATIENCE_SECONDS, Pipeline
from integration.pipeline.feeds import Feed, rows_in
from integration.pipeline.foreign import rows
from integration.waiting import eventually
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(1500)

RETRY = {"backoff": "1s"}
TRIGGER = {"processingTime": "1 second"}
"""A real stream's is longer: here it shall be idle soon."""
ROUNDS = 5
RESUMES_WITHIN = 5.0
"""Seconds from the end of what a stream has paused for until it is granted again."""


class Streams:
    """Two that write one table, and one that reads it and writes another."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.feeds = [Feed(pipeline.lake / "raw" / name) for name in ("one", "two")]
        self.names = (*(feed.name for feed in self.feeds), "reader")
        write_deltalake(pipeline.lake / "events", rows("id", (-1, "first")).rename_columns(["id", "who"]))
        for feed in self.feeds:
            self._apply(feed.name, {"source": feed.source, "table": {"path": str(pipeline.lake / "events")}})
        self._apply(
            "reader",
            {
                "source": {"format": "delta", "path": str(pipeline.lake / "events")},
                "query": "SELECT id, who FROM source",
                "table": {"path": str(pipeline.lake / "copy")},
            },
        )

    def _apply(self, name: str, stream: Json) -> None:
        own = {
            "checkpoint": str(self.pipeline.lake / "checkpoints" / name),
            "trigger": TRIGGER,
            "yield": "Metadata",
        }
        self.pipeline.apply(name, {"stream": stream | own, "retry": RETRY})

    @property
    def given(self) -> Counter[tuple[int, str]]:
        found = [(number, feed.name) for feed in self.feeds for number in feed.given]
        return Counter([(-1, "first"), *found])

    def until_all_is_there(self) -> None:
        for table in ("events", "copy"):
            self._until_all_is_in(table)

    def _until_all_is_in(self, table: str) -> None:
        def told() -> str:
            statuses = {name: self.pipeline.status(name) for name in self.names}
            return f"{rows_in(self.pipeline.lake / table)} of {self.given}: {statuses}"

        eventually(
            lambda: rows_in(self.pipeline.lake / table) == self.given,
            f"{table} has each row once",
            seconds=PATIENCE_SECONDS,
            show=told,
        )

    def attempts(self) -> list[Json]:
        return [attempt for name in self.names for attempt in self.pipeline.status(name)["attempts"]]


@pytest.fixture(scope="module")
def streams(streaming: Pipeline) -> Streams:
    return Streams(streaming)


def test_a_column_is_added_and_properties_are_set_while_two_streams_write_and_one_reads(
    streaming: Pipeline, streams: Streams, capsys: pytest.CaptureFixture[str]
) -> None:
    for feed in streams.feeds:
        feed.give(1, 2)
    streams.until_all_is_there()
    _each_had_a_turn(streaming, streams.names)
    events = streaming.table("events")
    streaming.apply(
        "alter",
        {
            "sql": f"ALTER TABLE {events} ADD COLUMNS (remark STRING);\n"
            f"ALTER TABLE {events} SET TBLPROPERTIES ('team' = 'sales')"
        },
    )
    for number in range(3, 8):
        for feed in streams.feeds:
            feed.give(number)
    altered = streaming.until("alter", "Succeeded")
    streams.until_all_is_there()
    assert [attempt.get("exception") for attempt in streams.attempts()] == [None] * len(streams.attempts())
    for name in streams.names:
        ended = [attempt.get("outcome") for attempt in streaming.status(name)["attempts"]]
        assert ended == ["Paused", None], name
    assert len(altered["attempts"]) == 1
    assert altered["attempts"][0].get("exception") is None
    assert "remark" in {one.name for one in DeltaTable(streaming.lake / "events").schema().fields}
    with capsys.disabled():
        print()
        for name in streams.names:
            print(_pause(streaming, name, altered, streaming.status(name)["attempts"], "resumed"))


def test_a_killed_driver_s_batch_is_done_once(streaming: Pipeline, streams: Streams) -> None:
    feed = streams.feeds[0]
    before = len(streaming.status(feed.name)["attempts"])
    feed.go_on(0.2)
    eventually(
        lambda: rows_in(streaming.lake / "events").total() >= streams.given.total() - 5,
        "batches keep up with what is given",
        seconds=PATIENCE_SECONDS,
    )
    eventually(
        lambda: (
            (told := streaming.status(feed.name).get("stream", {})).get("attempt") == before
            and told.get("batches")
        ),
        "its driver has begun to work",
        seconds=PATIENCE_SECONDS,
        show=lambda: streaming.status(feed.name),
    )
    os.kill(streaming.driver(feed.name).pid, signal.SIGKILL)
    eventually(
        lambda: len(streaming.status(feed.name)["attempts"]) > before,
        "there is another attempt",
        seconds=PATIENCE_SECONDS,
        show=lambda: streaming.status(feed.name),
    )
    feed.stop()
    streams.until_all_is_there()
    attempts = streaming.status(feed.name)["attempts"]
    killed = attempts[before - 1]
    # Its Python outlives its JVM, and may have the time to say that Spark is gone.
    was_told = killed.get("exception", {}).get("class") == "Terminated"
    assert was_told or killed["outcome"] in ("Killed", "DriverLost"), killed
    assert attempts[-1].get("exception") is None


def test_a_checkpoint_spelled_otherwise_is_refused_while_its_stream_lives(
    streaming: Pipeline, streams: Streams
) -> None:
    streaming.apply(
        "twin",
        {
            "stream": {
                "source": streams.feeds[0].source,
                "table": {"path": str(streaming.lake / "elsewhere")},
                "checkpoint": f"file://{streaming.lake}//checkpoints//one/",
                "trigger": {"availableNow": True},
            }
        },
    )
    status = streaming.until("twin", "Failed")
    assert status["reason"] == "CheckpointInUse"
    assert f"{streaming.namespace}/one" in status["message"]
    assert not (streaming.lake / "elsewhere").exists()


def test_what_would_break_a_reader_waits_and_says_how_the_reader_could_live_with_it(
    streaming: Pipeline, streams: Streams
) -> None:
    streaming.apply("erase", {"sql": f"DELETE FROM {streaming.table('events')} WHERE id = 1"})
    blockers = eventually(
        lambda: streaming.status("erase").get("blockedBy"),
        "it waits",
        seconds=PATIENCE_SECONDS,
        show=lambda: streaming.status("erase"),
    )
    [by_reader] = [one for one in blockers if one["job"].endswith("/reader")]
    assert by_reader["rule"] == "streamed-rows"
    assert "skipChangeCommits" in by_reader["advice"]
    assert streaming.kubectl("delete", "deltawritejob", "erase", "-n", streaming.namespace).returncode == 0
    for name in streams.names:
        assert streaming.status(name)["phase"] == "Running", name
        gone = streaming.kubectl("delete", "deltawritejob", name, "-n", streaming.namespace)
        assert gone.returncode == 0


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param("merged", ROUNDS),
        *(pytest.param(f"merged-{part}", 25, marks=pytest.mark.long(minutes=15)) for part in range(2)),
    ],
)
def test_a_merge_of_each_batch_beside_optimize_loses_to_none(
    streaming: Pipeline,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
    name: str,
    wanted: int,
) -> None:
    feed, merged, upsert = Feed(streaming.lake / "raw" / name), streaming.lake / name, f"upsert-{name}"
    write_deltalake(merged, rows("id", (-1, "first")).rename_columns(["id", "who"]))
    _age_soon(streaming, name)
    streaming.apply(
        upsert,
        {
            "stream": {
                "source": feed.source,
                "sql": f"MERGE INTO {streaming.table(name)} t USING batch b ON t.id = b.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
                "checkpoint": str(streaming.lake / "checkpoints" / upsert),
                "trigger": TRIGGER,
                "yield": "Aged",
            },
            "retry": RETRY,
        },
    )
    feed.go_on(0.5)
    optimized, told_of = [], dict[int, Json]()
    for number in range(wanted):
        eventually(
            lambda: DeltaTable(merged).history(1)[0]["operation"] == "MERGE",
            "there is something to compact again",
            seconds=PATIENCE_SECONDS,
        )
        streaming.apply(f"optimize-{name}-{number}", {"sql": f"OPTIMIZE {streaming.table(name)}"})
        optimized.append(streaming.until(f"optimize-{name}-{number}", "Succeeded"))
        told_of |= _attempts_by_number(streaming, upsert)
    feed.stop()
    expected = Counter([(-1, "first"), *((number, name) for number in feed.given)])
    eventually(
        lambda: rows_in(merged) == expected,
        "each row is merged once",
        seconds=PATIENCE_SECONDS,
        show=lambda: f"{streaming.status(upsert)}: {rows_in(merged)}",
    )
    told_of |= _attempts_by_number(streaming, upsert)
    attempts = [told_of[number] for number in sorted(told_of)]
    assert len(attempts) == attempts[-1]["number"], "the status keeps the latest ten"
    operations = [one["operation"] for one in reversed(DeltaTable(merged).history())]
    told = [_pause(streaming, upsert, status, attempts, f"round {n}") for n, status in enumerate(optimized)]
    with capsys.disabled():
        print("", *told, sep="\n")
    for status in optimized:
        assert [attempt.get("exception") for attempt in status["attempts"]] == [None]
    assert all(attempt.get("exception") is None for attempt in attempts)
    compactions = [position for position, operation in enumerate(operations) if operation == "OPTIMIZE"]
    assert len(compactions) == wanted, operations
    for one, next_one in pairwise(compactions):
        assert "MERGE" in operations[one:next_one], operations
    assert max(_resumed_after(status, attempts) for status in optimized) <= RESUMES_WITHIN
    record_property("rounds of a stream beside OPTIMIZE", wanted)


def _attempts_by_number(pipeline: Pipeline, name: str) -> dict[int, Json]:
    return {one["number"]: one for one in pipeline.status(name)["attempts"]}


def _age_soon(pipeline: Pipeline, table: str) -> None:
    manifest = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaTablePolicy",
        "metadata": {"name": table, "namespace": pipeline.namespace},
        "spec": {"table": {"path": str(pipeline.lake / table)}, "admission": {"ageAfter": "1s"}},
    }
    done = pipeline.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    assert done.returncode == 0, done.stderr


def _each_had_a_turn(pipeline: Pipeline, names: tuple[str, ...]) -> None:
    for name in names:
        pipeline.until(name, "Running")


def _pause(pipeline: Pipeline, name: str, waiter: Json, attempts: list[Json], title: str) -> str:
    """What a pause went to: the stream's last attempt before the waiter's, and its first after it."""
    of_waiter = waiter["attempts"][-1]
    before = max((one for one in attempts if _ended_before(one, of_waiter)), key=lambda one: one["number"])
    after = next((one for one in attempts if one["number"] == before["number"] + 1), None)
    at: list[tuple[str, Any]] = [
        ("asked", before["pause"]["since"]),
        ("stopped", before["endedAt"]),
        ("granted", of_waiter["grantedAt"]),
        ("its driver started", of_waiter["startedAt"]),
        ("ran", of_waiter["endedAt"]),
        ("released, stream granted", None if after is None else after["grantedAt"]),
        ("its driver started", None if after is None else after.get("startedAt")),
    ]
    known = [(what, _at(when)) for what, when in at if when is not None]
    steps = ", ".join(f"{what} {now - then:+.1f} s" for (_, then), (what, now) in pairwise(known))
    return f"{name} {title}: {steps}; together {known[-1][1] - known[0][1]:.1f} s"


def _ended_before(attempt: Json, other: Json) -> bool:
    return (
        "pause" in attempt and "endedAt" in attempt and _at(attempt["endedAt"]) <= _at(other["grantedAt"]) + 1
    )


def _resumed_after(waiter: Json, attempts: list[Json]) -> float:
    """Seconds from the end of the waiter's driver to the stream's next grant."""
    ended = _at(waiter["attempts"][-1]["endedAt"])
    return min(_at(one["grantedAt"]) - ended for one in attempts if _at(one["grantedAt"]) >= ended)


def _at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()

"""A stream whose driver fails, and one that paused for too long, on real Spark: others get through, and no row is lost or doubled.

In the order of the file, because a driver takes longer to start than all that it does here: the stream of the first test goes on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from deltalake import DeltaTable, write_deltalake

from integration.pipeline.conftest import PATIENCE_SECONDS, Pipeline
from integration.pipeline.feeds import Feed, rows_in
from integration.pipeline.foreign import rows
from integration.waiting import eventually
from sluice.api.base import Json

pytestmark = [pytest.mark.long(minutes=3), pytest.mark.timeout(1500)]

POISON = 1000
QUERY = (
    f"SELECT id, IF(id = {POISON} AND who = 'poison', raise_error('a poisoned row'), who) AS who FROM source"
)
MAX_PAUSE = "30s"
MINUTES_LONG = "SELECT 2000, reflect('java.lang.Thread', 'sleep', 600000L)"


@pytest.fixture(scope="module")
def feed(streaming: Pipeline) -> Feed:
    """Of a stream that writes a table, and has ended a batch."""
    feed, table = Feed(streaming.lake / "raw" / "fed"), streaming.lake / "events"
    write_deltalake(table, rows("id", (-1, "first")).rename_columns(["id", "who"]))
    stream = {
        "source": feed.source,
        "query": QUERY,
        "table": {"path": str(table)},
        "checkpoint": str(streaming.lake / "checkpoints" / "fed"),
        "trigger": {"processingTime": "1 second"},
        "yield": "Metadata",
        "maxPause": MAX_PAUSE,
    }
    feed.give(1, 2)
    streaming.apply("fed", {"stream": stream, "retry": {"backoff": "10s"}})
    _has(streaming, feed)
    return feed


def test_a_stream_that_fails_at_a_row_keeps_nobody_waiting_and_goes_on_once_the_row_is_mended(
    streaming: Pipeline, feed: Feed
) -> None:
    poison = feed.folder / "poison.json"
    _puts(feed, poison, "poison")
    failed = _says(streaming, lambda status: status["phase"] == "BackingOff")
    streaming.apply("erases", {"sql": f"DELETE FROM {streaming.table('events')} WHERE id = 1"})
    feed.give(3)
    erased = streaming.until("erases", "Succeeded")
    again = _says(streaming, lambda status: status.get("retries") == 2 and status["phase"] == "BackingOff")
    assert erased["attempts"][0].get("exception") is None
    for attempt in again["attempts"]:
        assert attempt["outcome"] == "Failed"
        assert "a poisoned row" in attempt["exception"]["message"]
    first, second = again["attempts"]
    assert failed["attempts"][0] == first
    assert first["endedAt"] <= erased["attempts"][0]["grantedAt"]
    assert erased["attempts"][0]["endedAt"] <= second["grantedAt"]
    assert failed["retries"] == 1
    _puts(feed, poison, feed.name)
    feed.given.append(POISON)
    feed.given.remove(1)
    _has(streaming, feed)
    status = _says(streaming, lambda status: status.get("reason") == "Streaming")
    assert len(status["attempts"]) == 3


def test_who_runs_for_longer_than_a_stream_pauses_is_ended_and_the_stream_goes_on(
    streaming: Pipeline, feed: Feed
) -> None:
    events = streaming.table("events")
    before = len(streaming.status("fed")["attempts"])
    streaming.apply(
        "runs-long",
        {
            "sql": f"ALTER TABLE {events} SET TBLPROPERTIES ('team' = 'sales');\nINSERT INTO {events} {MINUTES_LONG}"
        },
    )
    paused = _says(streaming, lambda status: status["phase"] == "Paused")
    feed.give(4)
    ended = streaming.until("runs-long", "Failed")
    assert ended["reason"] == "PauseExceeded", ended
    assert f"{streaming.namespace}/fed" in ended["message"]
    [attempt] = ended["attempts"]
    assert attempt["endedAt"] >= paused["pause"]["until"]
    log = DeltaTable(streaming.lake / "events").history()
    known = [one["version"] for one in attempt.get("commits", [])]
    assert known == [one["version"] for one in log if one["operation"] == "SET TBLPROPERTIES"]
    _has(streaming, feed)
    attempts = streaming.status("fed")["attempts"]
    assert [one.get("outcome") for one in attempts[before - 1 :]] == ["Paused", None]
    assert attempt["endedAt"] <= attempts[-1]["grantedAt"]


def _puts(feed: Feed, file: object, who: str) -> None:
    """A file with the row, in the place of the one that was there before."""
    hidden = feed.folder / ".poison.json"
    hidden.write_text(json.dumps({"id": POISON, "who": who}), encoding="utf-8")
    hidden.rename(str(file))


def _says(pipeline: Pipeline, look: Callable[[Json], object]) -> Json:
    def looked() -> Json | None:
        status = pipeline.status("fed")
        return status if status and look(status) else None

    return eventually(
        looked,
        "the stream has come so far",
        seconds=PATIENCE_SECONDS,
        show=lambda: pipeline.status("fed"),
    )


def _has(pipeline: Pipeline, feed: Feed) -> None:
    expected = Counter([(-1, "first"), *((number, feed.name) for number in feed.given)])
    eventually(
        lambda: rows_in(pipeline.lake / "events") == expected,
        "each row is there once",
        seconds=PATIENCE_SECONDS,
        show=lambda: f"{pipeline.status('fed')}: {rows_in(pipeline.lake / 'events')}",
    )

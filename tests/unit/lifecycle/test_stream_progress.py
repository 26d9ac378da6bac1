"""What the drivers of a stream say, one after another, is put together so that nothing known is lost."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.api.job_status import LastCommit, ReplacedCheckpoint, StreamLag, StreamProgress
from sluice.api.reasons import EventReason
from sluice.lifecycle.attempt import job_events
from sluice.lifecycle.streams.stream_progress import (
    got_anywhere,
    in_words,
    of_attempt,
    put_together,
    says_news,
)
from unit.lifecycle.streaming import NOW, progress

LATER = NOW + timedelta(minutes=5)
BATCH = progress(batch=17, batches=4, rows=1200, batchAt="2026-11-19T10:00:03Z", batchSeconds=4)


def test_a_driver_that_has_only_begun_takes_nothing_back_of_what_those_before_it_did() -> None:
    known = put_together(
        None, BATCH.model_copy(update={"last_commit": LastCommit(table="file:/a", version=3)}), 1, NOW
    )
    begun = put_together(known, progress(), 2, LATER)
    assert (begun.batch, begun.rows, begun.batch_seconds) == (17, 1200, 4)
    assert begun.last_commit == LastCommit(table="file:/a", version=3)
    assert (begun.batches, begun.attempt, begun.told_at) == (0, 2, LATER)


def test_what_a_driver_said_before_a_later_word_takes_nothing_back() -> None:
    known = put_together(None, BATCH, 1, NOW)
    late = put_together(known, progress(batch=16, batches=3), 1, LATER)
    assert (late.batch, late.batches) == (17, 4)
    assert not says_news(known, late)


def test_an_attempt_that_runs_a_batch_again_says_so() -> None:
    known = put_together(None, BATCH, 1, NOW)
    again = put_together(known, progress(batch=17, batches=1, rows=1200), 2, LATER)
    assert (again.batch, again.batches, again.attempt) == (17, 1, 2)


def test_another_query_counts_its_batches_anew() -> None:
    known = put_together(None, BATCH, 1, NOW)
    other = put_together(known, progress(queryId="other"), 2, LATER)
    assert (other.query_id, other.batch) == ("other", None)


def test_that_its_checkpoint_was_replaced_is_told_once_and_stays_said() -> None:
    """It writes anew what it had written before, and nobody else would tell."""
    known = put_together(None, BATCH, 1, NOW)
    other = put_together(known, progress(queryId="other"), 2, LATER)
    assert other.replaced == ReplacedCheckpoint(query_id="9c2b", batch=17)
    told = job_events.checkpoint_replaced(known, other)
    assert told is not None
    assert (told.reason, told.is_warning) == (EventReason.CHECKPOINT_REPLACED, True)
    assert "after batch 17 of the query 9c2b" in told.message
    later = put_together(other, progress(queryId="other", batch=0, batches=1), 2, LATER)
    assert job_events.checkpoint_replaced(other, later) is None
    assert "its checkpoint was emptied or replaced after batch 17" in in_words(later)
    once_more = put_together(later, progress(queryId="third"), 3, LATER)
    assert once_more.replaced == ReplacedCheckpoint(query_id="other", batch=0)
    assert job_events.checkpoint_replaced(later, once_more) is not None


def test_a_driver_that_said_nothing_of_its_query_at_first_is_believed_when_it_does() -> None:
    """Its batches are counted anew, and are fewer than those before it had."""
    known = put_together(None, BATCH, 1, NOW)
    begun = put_together(known, progress(queryId=None), 2, LATER)
    told = put_together(begun, progress(queryId="other", batch=0, batches=1), 2, LATER)
    assert (told.query_id, told.batch) == ("other", 0)
    assert told.replaced == ReplacedCheckpoint(query_id="9c2b", batch=17)


def test_nothing_is_done_twice_by_a_new_checkpoint_where_no_batch_had_ended() -> None:
    begun = put_together(None, progress(), 1, NOW)
    assert put_together(begun, progress(queryId="other"), 2, LATER).replaced is None


def test_no_driver_says_itself_that_its_checkpoint_was_replaced() -> None:
    claimed = BATCH.model_copy(update={"replaced": ReplacedCheckpoint(query_id="x", batch=1)})
    known = put_together(None, claimed, 1, NOW)
    assert known.replaced is None
    assert put_together(known, claimed, 1, LATER).replaced is None


def test_a_query_that_has_no_id_yet_keeps_the_known_one() -> None:
    known = put_together(None, BATCH, 1, NOW)
    assert put_together(known, progress(queryId=None), 2, LATER).query_id == "9c2b"


def test_only_what_its_own_driver_said_counts_for_an_attempt() -> None:
    known = put_together(None, BATCH, 1, NOW)
    assert of_attempt(known, 1) == known
    assert of_attempt(known, 2) is None
    assert of_attempt(None, 1) is None


def test_a_stream_works_once_it_has_ended_a_batch_or_found_nothing_to_do() -> None:
    assert got_anywhere(BATCH)
    assert got_anywhere(progress(idleSince="2026-11-19T10:00:03Z"))
    assert not got_anywhere(progress(batch=17))
    assert not got_anywhere(None)


def test_the_time_at_which_it_was_read_is_no_news() -> None:
    known = put_together(None, BATCH, 1, NOW)
    assert not says_news(known, put_together(known, BATCH, 1, LATER))
    assert says_news(known, put_together(known, progress(batch=18, batches=5), 1, LATER))
    assert says_news(None, known)


def _told(said: StreamProgress) -> str:
    return in_words(said.model_copy(update={"told_at": datetime(2026, 11, 19, 11, tzinfo=UTC)}))


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_moment_that_somebody_wrote_at_the_ends_of_the_calendar_is_told_as_well(at: str) -> None:
    moment = datetime.fromisoformat(at)
    forged = BATCH.model_copy(update={"batch_at": moment, "idle_since": moment, "told_at": moment})
    assert in_words(forged).startswith("nothing to do since ")
    assert "batch 17 ended at " in in_words(forged)


def test_it_is_told_in_words() -> None:
    assert _told(BATCH) == "batch 17 ended at 10:00:03 UTC with 1200 rows in 4 s"
    behind = BATCH.model_copy(update={"lag": StreamLag(files=3, rows=1)})
    assert _told(behind) == "batch 17 ended at 10:00:03 UTC with 1200 rows in 4 s; 3 files and 1 row behind"
    idle = behind.model_copy(update={"idle_since": datetime(2026, 11, 18, 12, tzinfo=UTC)})
    assert _told(idle) == (
        "nothing to do since 2026-11-18 12:00:00 UTC; batch 17 ended at 10:00:03 UTC with 1200 rows in 4 s"
    )
    assert in_words(None) == "no batch of it has ended yet"
    assert _told(progress()) == "no batch of it has ended yet"
    assert _told(progress(batch=1, lag={"bytes": 5})) == "batch 1 has ended"

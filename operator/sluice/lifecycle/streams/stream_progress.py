"""How far a stream has come: what its drivers say one after another is put together, and told in words.

Its checkpoint knows more than any driver has said: a driver that has only begun says nothing of the batches before it, and one that
is killed says nothing any more. So what was known stays until another word replaces it.
"""

from datetime import UTC, datetime

from sluice.api.job_status import ReplacedCheckpoint, StreamLag, StreamProgress

GOES_ON = "it goes on from its checkpoint"

_LAST_BATCH = ("batch", "rows", "batch_at", "batch_seconds", "last_commit")
"""What is told of the last batch that ended, together."""


def put_together(
    known: StreamProgress | None, said: StreamProgress, attempt: int, now: datetime
) -> StreamProgress:
    """What is known once a driver has said this. `attempt`: the driver's. What it said itself before this counts no more than once:
    what arrives late takes nothing back."""
    if known is not None and known.attempt == attempt and _is_older(said, known):
        said = known
    replaced = None if known is None else known.replaced
    news = said.model_copy(update={"attempt": attempt, "told_at": now, "replaced": replaced})
    if known is None:
        return news
    if _is_of_another_query(said, known):
        return news.model_copy(update={"replaced": _last_of(known) or replaced})
    update = {"query_id": said.query_id or known.query_id}
    if said.batch is None:
        update |= {field: getattr(known, field) for field in _LAST_BATCH}
    return news.model_copy(update=update)


def _is_of_another_query(said: StreamProgress, known: StreamProgress) -> bool:
    """Whether somebody has replaced the checkpoint, so that batches are counted anew."""
    return None not in (said.query_id, known.query_id) and said.query_id != known.query_id


def _last_of(known: StreamProgress) -> ReplacedCheckpoint | None:
    """What is known of the query that is gone; nothing if no batch of it had ended: then nothing is done twice."""
    if known.query_id is None or known.batch is None:
        return None
    return ReplacedCheckpoint(query_id=known.query_id, batch=known.batch)


def _is_older(said: StreamProgress, known: StreamProgress) -> bool:
    if _is_of_another_query(said, known):
        return False
    if said.batches < known.batches:
        return True
    return said.batch is not None and known.batch is not None and said.batch < known.batch


def of_attempt(known: StreamProgress | None, attempt: int) -> StreamProgress | None:
    """What is known, if it is this attempt's driver that has said so."""
    return known if known is not None and known.attempt == attempt else None


def says_news(known: StreamProgress | None, now: StreamProgress) -> bool:
    return known is None or now != known.model_copy(update={"told_at": now.told_at})


def got_anywhere(said: StreamProgress | None) -> bool:
    """Whether the driver has ended a batch, or has found that there is nothing to do: it works."""
    return said is not None and (said.batches > 0 or said.idle_since is not None)


def in_words(said: StreamProgress | None) -> str:
    """Of one that has said nothing, that no batch has ended."""
    if said is None:
        return "no batch of it has ended yet"
    at = said.told_at or said.batch_at
    batch = _batch(said, at)
    idle = f"nothing to do since {_time(said.idle_since, at)}" if said.idle_since is not None else ""
    lag = _lag(said.lag) if said.lag is not None and not idle else ""
    replaced = in_words_of_replaced(said.replaced) if said.replaced is not None else ""
    return "; ".join(filter(None, (idle, batch, lag, replaced)))


def in_words_of_replaced(replaced: ReplacedCheckpoint) -> str:
    return (
        f"its checkpoint was emptied or replaced after batch {replaced.batch} of the query {replaced.query_id}, so that what it "
        "had read before is read and written again"
    )


def _batch(said: StreamProgress, at: datetime | None) -> str:
    if said.batch is None:
        return "no batch of it has ended yet"
    when = f" ended at {_time(said.batch_at, at)}" if said.batch_at is not None else " has ended"
    rows = f" with {said.rows} row{'' if said.rows == 1 else 's'}" if said.rows is not None else ""
    took = f" in {said.batch_seconds} s" if said.batch_seconds is not None else ""
    return f"batch {said.batch}{when}{rows}{took}"


def _lag(lag: StreamLag) -> str:
    told = ((lag.files, "file"), (lag.rows, "row"))
    behind = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in told if count is not None]
    return f"{' and '.join(behind)} behind" if behind else ""


def _time(at: datetime, now: datetime | None) -> str:
    at = _in_utc(at)
    is_today = now is not None and at.date() == _in_utc(now).date()
    return f"{at:%H:%M:%S} UTC" if is_today else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _in_utc(at: datetime) -> datetime:
    """At the ends of the calendar, where no driver is and whoever may write statuses may put it, a moment has no time in UTC."""
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return at.replace(tzinfo=UTC)

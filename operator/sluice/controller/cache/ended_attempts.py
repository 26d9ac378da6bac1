"""Which attempts of a job have ended, and when, as its status says on the API server.

Whoever may write statuses may have written anything: what is no attempt is told where the job is read, and passed over here.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sluice.api.base import Json


def ended_attempts(body: Json) -> Iterator[tuple[Json, datetime]]:
    status = body.get("status")
    attempts = status.get("attempts") if isinstance(status, dict) else None
    for attempt in attempts if isinstance(attempts, list) else ():
        if isinstance(attempt, dict) and (at := _time(attempt.get("endedAt"))) is not None:
            yield attempt, at


def _time(given: Any) -> datetime | None:
    with suppress(TypeError, ValueError):
        at = datetime.fromisoformat(given)
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return None

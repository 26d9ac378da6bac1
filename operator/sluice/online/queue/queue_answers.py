"""Writes the queues as JSON, and who waits for whom in short phrases."""

from collections.abc import Sequence
from datetime import datetime

from sluice.api.base import Json
from sluice.online.access.driver_pods import DriverPods, progress_in
from sluice.online.access.job_objects import (
    AT_REST,
    HOLDING,
    attempts_of,
    key_of,
    objects_in,
    pause_in,
    phase_of,
    status_in,
    whole_number,
)
from sluice.online.access.stream_progress import stream_in
from sluice.online.queue.table_queues import Queued, Queues, TableQueue, granted_at


def queues_json(
    queues: Queues, pods: DriverPods, namespace: str | None, not_seen: Sequence[str], now: datetime
) -> Json:
    return {
        "at": now.isoformat(),
        "namespace": namespace,
        "tables": [_table(queue, queues, pods) for queue in queues.tables],
        "notJudged": list(queues.not_judged),
        "notWatched": list(queues.unwatched),
        "notSeen": list(not_seen),
    }


def _table(queue: TableQueue, queues: Queues, pods: DriverPods) -> Json:
    return {
        "table": queue.table,
        "names": list(queue.names),
        "policy": queue.policy,
        "maxWriters": queue.max_writers,
        "holders": [_holder(job, queues, pods) for job in queue.holders],
        "waiters": [_waiter(number, one, queues) for number, one in enumerate(queue.waiters, start=1)],
        "aside": [_aside(job, pods) for job in queue.aside],
    }


def _holder(job: Json, queues: Queues, pods: DriverPods) -> Json:
    attempts = attempts_of(job)
    latest = attempts[-1] if attempts else {}
    progress = progress_in(job, pods)
    usual = queues.estimates.usual(job)
    end = queues.estimates.end(job)
    return {
        "job": key_of(job),
        "phase": phase_of(job),
        "reason": status_in(job).get("reason"),
        "message": status_in(job).get("message"),
        "attempt": whole_number(status_in(job).get("attempt")),
        "since": granted_at(job) or None,
        "startedAt": latest.get("startedAt"),
        "progress": progress and progress.model_dump(mode="json", by_alias=True, exclude_none=True),
        "stream": stream_in(job, pods),
        "pause": pause_in(job),
        "estimate": None if end is None or usual is None else {"endsAt": end.isoformat(), "runs": usual.runs},
    }


def _waiter(position: int, one: Queued, queues: Queues) -> Json:
    status = status_in(one.body)
    start = queues.estimates.start(one.body)
    blockers = objects_in(status.get("blockedBy"))
    return {
        "position": position,
        "job": key_of(one.body),
        "priority": one.priority,
        "queuedAt": one.queued_at.isoformat(),
        "aged": one.has_aged,
        "message": status.get("message"),
        "waitsFor": [_blocker(blocker, queues) for blocker in blockers],
        "waitsForCount": whole_number(status.get("blockedByCount")) or len(blockers),
        "estimate": None if start is None else {"startsAt": start.isoformat()},
    }


def _blocker(blocker: Json, queues: Queues) -> Json:
    there = queues.by_uid.get(str(blocker.get("uid")))
    return {
        "job": blocker.get("job"),
        "holds": None if there is None else phase_of(there) in HOLDING,
        "atRest": None if there is None else phase_of(there) in AT_REST,
        "table": blocker.get("table"),
        "verdict": blocker.get("verdict"),
        "rule": blocker.get("rule"),
        "overlap": blocker.get("overlap"),
        "exception": blocker.get("exception"),
    }


def _aside(job: Json, pods: DriverPods) -> Json:
    status = status_in(job)
    return {
        "job": key_of(job),
        "phase": phase_of(job),
        "since": status.get("since"),
        "message": status.get("message"),
        "stream": stream_in(job, pods),
        "pause": pause_in(job),
    }

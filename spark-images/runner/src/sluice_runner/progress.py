"""How far a run has come, on the driver's own pod: an annotation that people's tools and the operator read.

A thread looks at the run, so that an API server that doesn't answer holds no statement up.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sluice_runner.cluster import MERGE, Cluster, NoClusterError, RequestError
from sluice_runner.plan import Application, Plan, Sql, Stream

if TYPE_CHECKING:
    from sluice_runner.job_statements import Progress

ANNOTATION = "sluice.dev/progress"
PAUSE = 10.0
"""Seconds between two writes: each one wakes everybody who watches pods."""
PAUSE_OF_STREAMS = 60.0
"""Of a stream that works: there may be thousands, each of which changes with each of its batches for as long as it lives."""
_LOOKS_EACH = 0.5
_MOST_TABLE = 256
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)
_FORBIDDEN = 403
_PAUSE_IF_FORBIDDEN = 60.0
"""A stream runs for months, and the right may be given, or an API server know of it again, while it does."""


def state_of(progress: Progress) -> dict[str, Any] | None:
    """None before the first statement."""
    statements = tuple(progress.statements)  # another thread adds to them
    if progress.running is None:
        return None
    is_stream = isinstance(progress.plan.work, Stream)
    state: dict[str, Any] = {
        "statement": 1 if is_stream else progress.running,
        "of": _count(progress.plan, progress.running),
        "operation": progress.doing or _operation(progress.plan, progress.running),
    }
    if is_stream:
        stream = progress.stream.document()
        last_commit = stream.get("lastCommit")
        return state | ({"lastCommit": last_commit} if last_commit else {}) | {"stream": stream}
    last = next((one.commits[-1] for one in reversed(statements) if one.commits), None)
    if last is not None:
        state["lastCommit"] = {"table": last.table[:_MOST_TABLE], "version": last.version}
    return state


def _works(state: dict[str, Any] | None) -> bool:
    """Whether it is a stream's that has ended a batch, or found nothing to do: others' turn, and who waits for it to be Ready,
    depend on that."""
    stream = (state or {}).get("stream", {})
    return stream.get("batches", 0) > 0 or "idleSince" in stream


def _count(plan: Plan, running: int) -> int:
    """Of an application nobody knows how many steps will follow."""
    if isinstance(plan.work, Application):
        return running
    return len(plan.work.statements) if isinstance(plan.work, Sql) else 1


def _operation(plan: Plan, number: int) -> str:
    """The first word of the statement: what Delta will call it is known once it has run."""
    if isinstance(plan.work, Application):
        return "APPLICATION"
    if isinstance(plan.work, Stream):
        return "STREAM"
    if not isinstance(plan.work, Sql):
        return "WRITE"
    text = next((one.text for one in plan.work.statements if one.number == number), "")
    found = _FIRST_WORD.match(text)
    return found[1].upper()[:32] if found is not None else "UNKNOWN"


class Teller:
    def __init__(
        self,
        progress: Progress,
        mask: Callable[[str], str],
        cluster: Callable[[], Cluster] = Cluster.of_pod,
        pause: float = PAUSE,
        *,
        pause_of_streams: float = PAUSE_OF_STREAMS,
        pause_if_forbidden: float = _PAUSE_IF_FORBIDDEN,
    ) -> None:
        self._progress = progress
        self._mask = mask
        self._cluster = cluster
        self._pause = pause
        self._pause_of_streams = pause_of_streams
        self._pause_if_forbidden = pause_if_forbidden
        self._ends = threading.Event()
        self._told: dict[str, Any] | None = None
        self._next_at = 0.0
        self._is_refused = False
        self._has_complained = False

    def start(self) -> None:
        try:
            cluster = self._cluster()
        except NoClusterError:
            return  # the report says so
        threading.Thread(target=self._tell, args=(cluster,), name="progress", daemon=True).start()

    def end(self) -> None:
        """Doesn't wait for a request that is under way: the thread ends with the process."""
        self._ends.set()

    def _tell(self, cluster: Cluster) -> None:
        since: tuple[dict[str, Any] | None, str] = (None, "")
        while not self._ends.wait(_LOOKS_EACH):
            state = state_of(self._progress)
            if state is None or state == self._told:
                continue
            if state != since[0]:
                since = (state, _now())
            if self._is_time(state):
                self._write(cluster, state, since[1])

    def _is_time(self, state: dict[str, Any]) -> bool:
        """That a stream begins to work is told at once."""
        begins_to_work = _works(state) and not _works(self._told) and not self._is_refused
        return begins_to_work or time.monotonic() >= self._next_at

    def _write(self, cluster: Cluster, state: dict[str, Any], since: str) -> None:
        pause = self._pause_of_streams if _works(state) else self._pause
        try:
            _write(cluster, self._progress.plan.job.namespace, state | {"since": since})
            self._told, self._is_refused = state, False
        except RequestError as error:
            self._is_refused = True
            pause = self._pause_if_forbidden if error.code == _FORBIDDEN else self._pause
            if not self._has_complained:
                self._has_complained = True
                sys.stderr.write(f"sluice: progress is not told: {self._mask(str(error))}\n")
        self._next_at = time.monotonic() + pause


def _write(cluster: Cluster, namespace: str, state: dict[str, Any]) -> None:
    pod = quote(f"{cluster.application}-driver", safe="")
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    patch = {"metadata": {"annotations": {ANNOTATION: text}}}
    cluster.request("PATCH", f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{pod}", patch, MERGE)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")  # noqa: UP017 - images may have Python 3.10

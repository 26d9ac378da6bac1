"""Which streams pause, or were asked to, for which jobs: so that a change of such a job has its streams looked at, and it is known
until when each may go on. It follows each change of a job, and costs nothing of those that are no streams."""

from collections.abc import Iterator
from typing import Any

from sluice.api.base import Json
from sluice.controller.cache.references import References
from sluice.kube.mirror import uid_of
from sluice.lifecycle.evidence.finished_jobs import has_ended


class PausedStreams:
    def __init__(self) -> None:
        self._pausing: References[None] = References()

    def follow(self, before: Json | None, now: Json | None) -> list[str]:
        """Returns those that are to be looked at: the streams that pause for this job, and those for whom this one does."""
        body = now if now is not None else before
        if body is None:
            return []
        uid = uid_of(body)
        found = list(self._pausing.who_name(uid))
        was = self._pausing.named_by(uid)
        if "stream" not in _object(body.get("spec")) and not was:
            return found
        named = frozenset(_named_in(now)) if now else frozenset[str]()
        self._pausing.names(uid, named, None)
        return [*found, *(was | named)]

    def of(self, waiter: str) -> list[str]:
        """The streams that pause for this job, or were asked to."""
        return list(self._pausing.who_name(waiter))


def _named_in(job: Json) -> Iterator[str]:
    status = _object(job.get("status"))
    attempts = status.get("attempts")
    latest = attempts[-1] if isinstance(attempts, list) and attempts else None
    is_open = "outcome" not in _object(latest)
    if has_ended(job):
        return
    for pause in (status.get("pause"), _object(latest).get("pause") if is_open else None):
        waiters = _object(pause).get("for")
        for one in waiters if isinstance(waiters, list) else ():
            uid = _object(one).get("uid")
            if isinstance(uid, str):
                yield uid


def _object(given: Any) -> Json:
    return given if isinstance(given, dict) else {}

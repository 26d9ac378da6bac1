"""Which streams pause, or were asked to, for which jobs: so that a change of such a job has its streams looked at, and it is known
until when each may go on. It follows each change of a job, and costs nothing of those that are no streams."""

from collections.abc import Iterator
from typing import Any

from sluice.api.base import Json
from sluice.kube.mirror import uid_of
from sluice.lifecycle.finished import has_ended


class PausedStreams:
    def __init__(self) -> None:
        self._named: dict[str, frozenset[str]] = {}
        """Those for whom a stream pauses, by its uid; all by uid."""
        self._streams: dict[str, dict[str, None]] = {}
        """The streams that pause for a job, by its uid."""

    def follow(self, before: Json | None, now: Json | None) -> list[str]:
        """Returns those that are to be looked at: the streams that pause for this job, and those for whom this one does."""
        body = now if now is not None else before
        if body is None:
            return []
        uid = uid_of(body)
        found = list(self._streams.get(uid, ()))
        if "stream" not in _object(body.get("spec")) and uid not in self._named:
            return found
        was, named = self._named.get(uid, frozenset()), frozenset(_named_in(now)) if now else frozenset()
        self._name(uid, was, named)
        return [*found, *(was | named)]

    def of(self, waiter: str) -> list[str]:
        """The streams that pause for this job, or were asked to."""
        return list(self._streams.get(waiter, ()))

    def _name(self, uid: str, was: frozenset[str], named: frozenset[str]) -> None:
        for waiter in was - named:
            del self._streams[waiter][uid]
            if not self._streams[waiter]:
                del self._streams[waiter]
        for waiter in named - was:
            self._streams.setdefault(waiter, {})[uid] = None
        if named:
            self._named[uid] = named
        else:
            self._named.pop(uid, None)


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

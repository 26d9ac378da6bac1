"""Objects of one kind as they were last seen, by name and by the job that their label names."""

import time
from collections.abc import Callable
from typing import Any

from sluice.api import names

Json = dict[str, Any]

GONE_SECONDS = 60.0
"""Longer than an answer can be under way that was given while a deleted object was still there."""


class Gone:
    """A uid never comes back, but a list or an answer that was given before its end may still come in."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._at

    def note(self, uid: str) -> None:
        now = time.monotonic()
        self._at.setdefault(uid, now)
        while now - next(iter(self._at.values())) > GONE_SECONDS:
            del self._at[next(iter(self._at))]


class Objects:
    def __init__(self, gone: Gone, changed: Callable[[str], None]) -> None:
        self._gone = gone
        self._changed = changed
        """Is told the uid of the job."""
        self._known: dict[tuple[str, str], Json] = {}
        self._of: dict[str, dict[tuple[str, str], Json]] = {}

    def get(self, namespace: str, name: str) -> Json | None:
        return self._known.get((namespace, name))

    def of(self, uid: str) -> list[Json]:
        return list(self._of.get(uid, {}).values())

    @property
    def uids(self) -> set[str]:
        """Of all jobs that have any."""
        return set(self._of)

    def seen(self, body: Json) -> None:
        if uid_of(body) in self._gone:
            return
        known = self._known.get(_key(body))
        if known is None or uid_of(known) != uid_of(body) or is_newer(body, known):
            if known is not None:
                self._forget(known)
            self._known[_key(body)] = body
            self._of.setdefault(_job_uid(body), {})[_key(body)] = body
            self._changed(_job_uid(body))

    def gone(self, body: Json) -> None:
        self._gone.note(uid_of(body))
        known = self._known.get(_key(body))
        if known is not None and uid_of(known) == uid_of(body):
            self._forget(known)

    def listed(self, answer: Json, namespace: str | None) -> None:
        """A full list. What it does not show is gone, unless it is younger than the list."""
        there = {_key(body) for body in answer["items"]}
        for key, body in list(self._known.items()):
            if key not in there and was_there(body, answer, namespace):
                self.gone(body)
        for body in answer["items"]:
            self.seen(body)

    def _forget(self, body: Json) -> None:
        uid = _job_uid(body)
        del self._known[_key(body)]
        del self._of[uid][_key(body)]
        if not self._of[uid]:
            del self._of[uid]
        self._changed(uid)


def uid_of(body: Json) -> str:
    return str(body["metadata"]["uid"])


def was_there(body: Json, listed: Json, namespace: str | None) -> bool:
    """Whether a list of the namespace (None: of all) would show the object if it still existed."""
    if namespace is not None and body["metadata"]["namespace"] != namespace:
        return False
    return int(body["metadata"]["resourceVersion"]) <= int(listed["metadata"]["resourceVersion"])


def is_newer(body: Json, known: Json) -> bool:
    return int(body["metadata"]["resourceVersion"]) > int(known["metadata"]["resourceVersion"])


def _key(body: Json) -> tuple[str, str]:
    return body["metadata"]["namespace"], body["metadata"]["name"]


def _job_uid(body: Json) -> str:
    return str((body["metadata"].get("labels") or {}).get(names.LABEL_JOB_UID, ""))

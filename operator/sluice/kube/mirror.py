"""One kind of object as it was last seen, however it came: by a watch, a list, or the answer to a request."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sluice.api.base import Json
from sluice.kube.resources import Resource

Changed = Callable[[Json | None, Json | None], None]
"""Called with what was known of an object before, and what is known now; None: nothing."""
Keep = Callable[[Json], Json]
"""Returns what is to be kept of an object, with the metadata of identity and version."""

GONE_SECONDS = 60.0
"""Seconds, longer than an answer can be under way that was given while a deleted object was still there."""


_NOT_GONE = (0.0, 0)


class Mirror:
    """Late news takes nothing back: of two versions of one object the newer one stays, and a uid that is gone never comes
    back."""

    def __init__(
        self, resource: Resource, changed: Changed, *, selector: str = "", keep: Keep = lambda body: body
    ) -> None:
        self.resource = resource
        self.keep = keep
        self.selector = selector
        """Labels, by which the API server selects."""
        self.is_served: bool | None = None
        """Whether the API server served the kind when it was last listed; None: it was not listed yet."""
        self.may_be_undefined = False
        """Whether nothing is amiss where there is no definition of the kind."""
        self.is_undefined = False
        """Whether there was no definition of the kind when it was last listed, and so no object of it."""
        self.highest = 0
        """The highest resourceVersion that any list or object had: a list that is asked for later has at least that one."""
        self.went_back: Callable[[], None] = self.forget
        """Called when the API server shows an earlier time than it did before."""
        self.forgotten = 0
        """How often that happened: whoever follows the changes of an earlier time has to begin anew."""
        self._changed = changed
        self._known: dict[str, Json] = {}
        self._uids: dict[tuple[str, str], str] = {}
        """Objects by namespace and name."""
        self._gone: dict[str, tuple[float, int | None]] = {}
        """When an object went, by uid, and at which version. A list or an answer that was given before its end may still come
        in; if it is younger than its end, the object has only lost the label by which it is selected, and has it again."""
        self._lists_under_way = 0

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, uid: str) -> bool:
        return uid in self._known

    def values(self) -> list[Json]:
        return list(self._known.values())

    def by_uid(self, uid: str) -> Json | None:
        return self._known.get(uid)

    def get(self, namespace: str, name: str) -> Json | None:
        uid = self._uids.get((namespace, name))
        return None if uid is None else self._known[uid]

    def is_news(self, body: Json) -> bool:
        uid, version = uid_of(body), version_of(body)
        known = self._known.get(uid)
        if known is not None and version <= version_of(known):
            return False
        _, end = self._gone.get(uid, _NOT_GONE)
        return end is not None and version > end

    def is_of_the_past(self, body: Json, listed: int) -> bool:
        """Whether a list of this version shows an object as it was before that version was known of it. Restored stores count
        on from above all earlier versions, while their objects keep older ones."""
        known = self._known.get(uid_of(body))
        if known is None:
            return False
        version = version_of(known)
        return version_of(body) < version <= listed

    def seen(self, body: Json) -> None:
        if self.is_news(body):
            self.seen_kept(self.keep(body))

    def seen_kept(self, body: Json) -> None:
        """Takes in what is to be kept of an object. Of two objects with one name the younger one proves that the other is
        gone."""
        if not self.is_news(body):
            return
        uid, name = uid_of(body), _name(body)
        bearer = self._uids.get(name)
        if bearer is not None and bearer != uid:
            if version_of(self._known[bearer]) > version_of(body):
                return
            self.gone(bearer)
        known = self._known.get(uid)
        self._gone.pop(uid, None)
        self._known[uid], self._uids[name] = body, uid
        self.highest = max(self.highest, version_of(body))
        self._changed(known, body)

    def gone(self, uid: str, version: int | None = None) -> None:
        """Notes that an object is gone. `version`: when a watch or a list showed that nothing has its label any more; None:
        there is no such object."""
        self._note_gone(uid, version)
        known = self._known.pop(uid, None)
        if known is not None:
            del self._uids[_name(known)]
            self._changed(known, None)

    def forget(self) -> None:
        """Forgets everything, also what is gone: for an API server that went back to an earlier time, from which versions are
        counted again, and in which uids that were gone may exist."""
        known, self._known = self._known, {}
        self._uids.clear()
        self._gone.clear()
        self.highest = 0
        self.forgotten += 1
        for body in known.values():
            self._changed(body, None)

    def not_in(self, uids: set[str], version: int, namespace: str | None) -> list[str]:
        """The objects that are gone, if a full list of this version, of the namespace or of all, shows these."""
        return [
            uid
            for uid, body in self._known.items()
            if uid not in uids
            and version_of(body) <= version  # else younger than the list
            and namespace in (None, body["metadata"].get("namespace"))
        ]

    @contextmanager
    def being_listed(self) -> Iterator[None]:
        """Notes that a list is under way: for as long as it takes, a list of many pages shows what was there at its beginning."""
        self._lists_under_way += 1
        try:
            yield
        finally:
            self._lists_under_way -= 1

    def _note_gone(self, uid: str, version: int | None) -> None:
        now = time.monotonic()
        self._gone.setdefault(uid, (now, version))
        if self._lists_under_way:
            return
        while now - next(iter(self._gone.values()))[0] > GONE_SECONDS:
            del self._gone[next(iter(self._gone))]


def uid_of(body: Json) -> str:
    return str(body["metadata"]["uid"])


def version_of(body: Json) -> int:
    return int(body["metadata"]["resourceVersion"])


def _name(body: Json) -> tuple[str, str]:
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]

"""Which jobs use which checkpoint, of those that have not ended. It follows each change of a job."""

from collections.abc import Iterable, Iterator

from sluice.api.base import Json
from sluice.kube.mirror import uid_of
from sluice.lifecycle.checkpoints import used_by

_NONE: frozenset[str] = frozenset()


class Checkpoints:
    def __init__(self) -> None:
        self._of: dict[str, frozenset[str]] = {}
        """The checkpoints of each job that has any, by uid."""
        self._used: dict[str, dict[str, None]] = {}
        """Who uses each, by uid."""

    def follow(self, before: Json | None, now: Json | None) -> list[str]:
        """Returns those that may have a checkpoint now which this job used."""
        body = now if now is not None else before
        if body is None:
            return []
        uid = uid_of(body)
        was, uses = self._of.get(uid, _NONE), used_by(now) if now is not None else _NONE
        for one in uses - was:
            self._used.setdefault(one, {})[uid] = None
        for one in was - uses:
            del self._used[one][uid]
        if uses:
            self._of[uid] = uses
        else:
            self._of.pop(uid, None)
        freed = [other for one in was - uses for other in self._used[one]]
        for one in was - uses:
            if not self._used[one]:
                del self._used[one]
        return freed

    def users_of(self, checkpoints: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Those of these checkpoints that any job uses, each with the first of those jobs, by uid."""
        for one in checkpoints:
            for uid in self._used.get(one, ()):
                yield one, uid
                break

    def shared_by(self, uid: str) -> dict[str, list[str]]:
        """The other jobs that use each of a job's checkpoints, where there are any."""
        found = {one: [other for other in self._used[one] if other != uid] for one in self._of.get(uid, ())}
        return {one: others for one, others in found.items() if others}

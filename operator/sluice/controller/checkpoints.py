"""Which jobs use which checkpoint, of those that have not ended. It follows each change of a job."""

from collections.abc import Callable, Iterable, Iterator

from sluice.api.base import Json
from sluice.kube.mirror import uid_of
from sluice.lifecycle.checkpoints import Came, came, owner_of, used_by, was_refused

_NONE: frozenset[str] = frozenset()


class Checkpoints:
    def __init__(self) -> None:
        self._of: dict[str, frozenset[str]] = {}
        """The checkpoints of each job that has any, by uid."""
        self._used: dict[str, dict[str, Came]] = {}
        """Who uses each, by uid."""

    def follow(self, before: Json | None, now: Json | None) -> list[str]:
        """Returns those that may have a checkpoint now which this job used."""
        body = now if now is not None else before
        if body is None:
            return []
        uid = uid_of(body)
        was, uses = self._of.get(uid, _NONE), used_by(now) if now is not None else _NONE
        for one in uses:
            self._used.setdefault(one, {})[uid] = came(now)
        for one in was - uses:
            del self._used[one][uid]
        if uses:
            self._of[uid] = uses
        else:
            self._of.pop(uid, None)
        # Else each of thousands that are refused would have all others looked at.
        is_freed = now is None or not was_refused(now)
        freed = [other for one in was - uses for other in self._used[one]] if is_freed else []
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

    def owners(self, uid: str, holds: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """Those of a job's checkpoints that another one has, each with that one's uid."""
        for one in self._of.get(uid, ()):
            owner = owner_of(self._used[one].values(), holds)
            if owner is not None and owner != uid:
                yield one, owner

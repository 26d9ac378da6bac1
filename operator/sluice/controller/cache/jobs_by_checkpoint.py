"""Which jobs use which checkpoint, of those that have not ended. It follows each change of a job."""

from collections.abc import Callable, Iterable, Iterator

from sluice.api.base import Json
from sluice.controller.cache.references import References
from sluice.kube.mirror import uid_of
from sluice.lifecycle.streams.checkpoints import Came, came, owner_of, used_by, was_refused


class JobsByCheckpoint:
    def __init__(self) -> None:
        self._used: References[Came] = References()

    def follow(self, before: Json | None, now: Json | None) -> list[str]:
        """Returns those that may have a checkpoint now which this job used."""
        body = now if now is not None else before
        if body is None:
            return []
        uid, uses = uid_of(body), used_by(now) if now is not None else frozenset[str]()
        if not uses and not self._used.named_by(uid):
            return []
        dropped = self._used.names(uid, uses, came(body))
        if now is not None and was_refused(now):
            return []  # else each of thousands that are refused would have all others looked at
        return [other for one in dropped for other in self._used.who_name(one)]

    def users_of(self, checkpoints: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Those of these checkpoints that any job uses, each with the first of those jobs, by uid."""
        for one in checkpoints:
            for uid in self._used.who_name(one):
                yield one, uid
                break

    def owners(self, uid: str, holds: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """Those of a job's checkpoints that another one has, each with that one's uid."""
        for one in self._used.named_by(uid):
            owner = owner_of(self._used.who_name(one).values(), holds)
            if owner is not None and owner != uid:
                yield one, owner

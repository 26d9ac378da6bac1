"""Objects that belong to jobs, by the job that their label names."""

from collections.abc import Callable, Collection

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.kube.mirror import Keep, Mirror
from sluice.kube.resources import APPLICATIONS, Resource, applications_like


class OwnedObjects(Mirror):
    """Objects selected by their label on the server: of all pods of the cluster only few are ours."""

    def __init__(self, resource: Resource, changed: Callable[[str], None], keep: Keep) -> None:
        super().__init__(resource, self._moved, selector=names.LABEL_JOB_UID, keep=keep)
        self._of: dict[str, tuple[Json, ...]] = {}
        self._job_changed = changed
        """Called with the uid of the job."""

    def of(self, job_uid: str) -> list[Json]:
        return list(self._of.get(job_uid, ()))

    @property
    def uids(self) -> set[str]:
        """The jobs that have any such object."""
        return set(self._of)

    def _moved(self, before: Json | None, now: Json | None) -> None:
        if before is not None:
            uid = _job_uid(before)
            others = tuple(one for one in self._of.pop(uid) if one is not before)
            if others:
                self._of[uid] = others
            self._job_changed(uid)
        if now is not None:
            uid = _job_uid(now)
            self._of[uid] = (*self._of.get(uid, ()), now)
            self._job_changed(uid)


class OwnedApplications:
    """The applications of jobs, whichever Spark operator runs them. Each kind has a mirror of its own; their names are those of
    attempts, which no two share."""

    def __init__(self, kinds: Collection[EngineKind], changed: Callable[[str], None], keep: Keep) -> None:
        self._mirrors = {kind: OwnedObjects(APPLICATIONS[kind], changed, keep) for kind in kinds}
        for mirror in self.mirrors:
            mirror.may_be_undefined = len(kinds) > 1

    @property
    def mirrors(self) -> tuple[OwnedObjects, ...]:
        return tuple(self._mirrors.values())

    @property
    def kinds(self) -> tuple[EngineKind, ...]:
        return tuple(self._mirrors)

    @property
    def missing(self) -> tuple[EngineKind, ...]:
        """The kinds that the API server did not serve when it was last asked."""
        return tuple(kind for kind, mirror in self._mirrors.items() if mirror.is_served is False)

    @property
    def are_served(self) -> bool:
        """Whether all kinds were served when the API server was last asked."""
        return all(mirror.is_served for mirror in self.mirrors)

    @property
    def uids(self) -> set[str]:
        """The jobs that have any."""
        return set[str]().union(*(mirror.uids for mirror in self.mirrors))

    def of(self, job_uid: str) -> list[Json]:
        return [body for mirror in self.mirrors for body in mirror.of(job_uid)]

    def get(self, namespace: str, name: str) -> Json | None:
        return next(filter(None, (mirror.get(namespace, name) for mirror in self.mirrors)), None)

    def seen(self, body: Json) -> None:
        self.like(body).seen(body)

    def like(self, body: Json) -> OwnedObjects:
        """The mirror of its kind."""
        resource = applications_like(body)
        return next(mirror for mirror in self.mirrors if mirror.resource == resource)


def _job_uid(body: Json) -> str:
    return str((body["metadata"].get("labels") or {}).get(names.LABEL_JOB_UID, ""))

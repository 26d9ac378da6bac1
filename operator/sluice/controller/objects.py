"""Objects that belong to jobs, by the job that their label names."""

from collections.abc import Callable

from sluice.api import names
from sluice.api.base import Json
from sluice.kube.mirror import Keep, Mirror
from sluice.kube.resources import Resource


class Owned(Mirror):
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


def _job_uid(body: Json) -> str:
    return str((body["metadata"].get("labels") or {}).get(names.LABEL_JOB_UID, ""))

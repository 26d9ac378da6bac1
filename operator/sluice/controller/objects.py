"""Objects that belong to jobs, by the job that their label names."""

from collections.abc import Callable
from typing import Any

from sluice.api import names
from sluice.kube.mirror import Keep, Mirror, uid_of
from sluice.kube.resources import Resource

Json = dict[str, Any]


class Owned(Mirror):
    """Selected by the label on the server: of all pods of the cluster only few are ours."""

    def __init__(self, resource: Resource, changed: Callable[[str], None], keep: Keep) -> None:
        super().__init__(resource, self._moved, selector=names.LABEL_JOB_UID, keep=keep)
        self._of: dict[str, dict[str, Json]] = {}
        self._job_changed = changed
        """Is told the uid of the job."""

    def of(self, job_uid: str) -> list[Json]:
        return list(self._of.get(job_uid, {}).values())

    @property
    def uids(self) -> set[str]:
        """Of all jobs that have any."""
        return set(self._of)

    def _moved(self, before: Json | None, now: Json | None) -> None:
        if before is not None:
            uid = _job_uid(before)
            del self._of[uid][uid_of(before)]
            if not self._of[uid]:
                del self._of[uid]
            self._job_changed(uid)
        if now is not None:
            self._of.setdefault(_job_uid(now), {})[uid_of(now)] = now
            self._job_changed(_job_uid(now))


def _job_uid(body: Json) -> str:
    return str((body["metadata"].get("labels") or {}).get(names.LABEL_JOB_UID, ""))

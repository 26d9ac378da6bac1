"""Which slots are taken: each job that has one keeps it, from the grant of its first attempt until it has succeeded or is gone, so
that nobody else commits under it before the last of its attempts."""

from collections import Counter

from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.kube.mirror import uid_of
from sluice.lifecycle.spec.commit_ids import slot_of

_FREES_IT = (Phase.SUCCEEDED.value, Phase.SKIPPED.value)


class JobsBySlot:
    def __init__(self) -> None:
        self.kept: Counter[int] = Counter()
        """How many jobs keep each slot by their statuses: one, unless somebody wrote there."""
        self.granted: dict[str, int] = {}
        """Those of grants under way, by uid, of which no status and no lease tells yet."""

    def follow(self, before: Json | None, now: Json | None) -> None:
        for body, change in ((before, -1), (now, +1)):
            slot = _kept_in(body) if body is not None else None
            if slot is not None:
                self.kept[slot] += change
                if not self.kept[slot]:
                    del self.kept[slot]
        if before is not None and now is None:
            self.granted.pop(uid_of(before), None)


def _kept_in(job: Json) -> int | None:
    status = job.get("status")
    run = status.get("run") if isinstance(status, dict) else None
    if not isinstance(run, dict) or (isinstance(status, dict) and status.get("phase") in _FREES_IT):
        return None
    return slot_of(run.get("appId"))

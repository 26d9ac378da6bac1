"""Specs of which a run has touched more than Sluice had understood of them: what is read from such a spec is not believed again.

It is told from the attempts of jobs as they stand, so that a new leader knows it, too, for as long as such a job is there.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FootprintSaid:
    """What a run's end said of whether it has kept to what its job was judged to touch."""

    is_held: bool | None
    """None: it could be that it hasn't, and nothing tells."""
    message: str


class FootprintViolations:
    def __init__(self) -> None:
        self._by_job: dict[str, frozenset[str]] = {}
        self._jobs: Counter[str] = Counter()
        """How many jobs tell it of a spec."""

    def seen(self, uid: str, body: dict[str, Any]) -> frozenset[str]:
        """Takes in a job as it stands; returns the hashes of specs that weren't known before."""
        found = frozenset(_told_by(body.get("status")))
        news = frozenset(one for one in found if one not in self)
        self.gone(uid)
        if found:
            self._by_job[uid] = found
            self._jobs.update(found)
        return news

    def gone(self, uid: str) -> None:
        for one in self._by_job.pop(uid, ()):
            self._jobs[one] -= 1
            if not self._jobs[one]:
                del self._jobs[one]

    def __contains__(self, spec_hash: object) -> bool:
        return spec_hash in self._jobs

    def __bool__(self) -> bool:
        return bool(self._by_job)


def _told_by(status: Any) -> list[str]:
    """Fields that somebody wrote by hand may be anything that the schema lets through."""
    attempts = status.get("attempts") if isinstance(status, dict) else None
    return [
        attempt["hash"]
        for attempt in (attempts if isinstance(attempts, list) else ())
        if isinstance(attempt, dict)
        and attempt.get("footprintHeld") is False
        and isinstance(attempt.get("hash"), str)
    ]

"""Tells by a hash which spec a grant was for: what its author wrote, and what Sluice understood of it.

Each has a half of its own: another version of Sluice, or another runtime profile, may understand a spec otherwise whose author
changed nothing. A third part says that the spec was understood by the days on which the job may run. A field that is left out
counts as one that says its default, so that a new field with a default changes no hash.
"""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from json import dumps
from typing import Any

from sluice.api.job import DeltaWriteJobSpec

_BETWEEN = "-"
_BY_DAYS = "-days"
_MAY_CHANGE_LATER: Any = {
    "priority": True,
    "ttl_seconds_after_finished": True,
    "admission": {"suspend"},
    "stream": {"yield_", "max_pause"},
}


@dataclass(frozen=True)
class SpecHashes:
    spec: DeltaWriteJobSpec
    identity: tuple[tuple[object, ...], ...]
    """What was understood that it does, and to which tables."""
    by_days: bool = False

    @property
    def now(self) -> str:
        """It changes with everything that decides what a run does, and with nothing else."""
        return f"{self._for_any_day}{_BY_DAYS}" if self.by_days else self._for_any_day

    @cached_property
    def _for_any_day(self) -> str:
        written = self.spec.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude_defaults=True, exclude=_MAY_CHANGE_LATER
        )
        if not written.get("admission", True):
            del written["admission"]  # all that it says may change
        return f"{_hash_of(written)}{_BETWEEN}{_hash_of(self.identity)}"

    @cached_property
    def _in_one(self) -> str:
        """As it was told before there were halves: attempts that began then are still running."""
        written = self.spec.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude=_MAY_CHANGE_LATER
        )
        return _hash_of([written, self.identity])

    def are(self, granted: str) -> bool:
        """Whether a grant was for this spec, understood like this."""
        return granted == (self.now if _BETWEEN in granted else self._in_one)

    @property
    def however_told(self) -> tuple[str, str, str]:
        return self._for_any_day, f"{self._for_any_day}{_BY_DAYS}", self._in_one

    def are_written_as(self, granted: str) -> bool:
        """Whether a grant was for this spec, however it was understood. A hash in one piece doesn't tell that."""
        written, between, _ = granted.partition(_BETWEEN)
        return bool(between) and written == self.now.partition(_BETWEEN)[0]

    def how_changed(self, granted: str) -> str:
        """In words, for one that was for another spec, or for this one as it was understood then."""
        if self.are_written_as(granted):
            return (
                "Sluice, or the runtime profile, is another since, by which its spec is understood otherwise"
            )
        return "its spec has changed"


def is_by_days(granted: str) -> bool:
    """Whether a grant was for a spec as it was understood by the days on which the job may run."""
    return granted.endswith(_BY_DAYS)


def was_written_alike(granted: str, before: str) -> bool:
    """Whether two grants were for a spec that nobody changed in between. Hashes in one piece don't tell that."""
    (written, between, _), (written_before, between_before, _) = (
        one.partition(_BETWEEN) for one in (granted, before)
    )
    return granted == before or not (between and between_before) or written == written_before


def _hash_of(content: object) -> str:
    return sha256(dumps(content, sort_keys=True).encode()).hexdigest()[:16]

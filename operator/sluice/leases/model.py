"""What the lease table holds."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Self

_COUNTER_BITS = 32


@dataclass(frozen=True)
class Lease:
    """All leases of one attempt, on all its tables: granted and released as one."""

    uid: str
    attempt: int
    hash: str
    job: str
    tables: tuple[str, ...]
    reads: tuple[str, ...] | None = None
    """Tables that it only reads, under the keys that they had when it was granted. None if they may be any."""

    @property
    def holder(self) -> str:
        return f"{self.uid}/{self.attempt}"

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        found = cls(**json.loads(text))
        reads = None if found.reads is None else tuple(found.reads)
        return replace(found, tables=tuple(found.tables), reads=reads)


@dataclass(frozen=True)
class Grant:
    """A lease and the token under which it was granted."""

    lease: Lease
    token: int


class Epochs:
    """A token is its epoch and a counter within it, so that tokens of a later leader are always higher."""

    @staticmethod
    def token(epoch: int, counter: int) -> int:
        return epoch << _COUNTER_BITS | counter

    @staticmethod
    def of(token: int) -> int:
        return token >> _COUNTER_BITS

    @staticmethod
    def counter_of(token: int) -> int:
        return token & ((1 << _COUNTER_BITS) - 1)

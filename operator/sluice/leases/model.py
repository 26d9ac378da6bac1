"""What the lease table holds."""

import json
from dataclasses import asdict, dataclass
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

    @property
    def holder(self) -> str:
        return f"{self.uid}/{self.attempt}"

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        fields = json.loads(text)
        return cls(**(fields | {"tables": tuple(fields["tables"])}))


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

"""The records of the lease table: leases, grants, epochs."""

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sluice.leases.reach import Reach

_COUNTER_BITS = 32

_REMEMBERED = 8_192
_MOST_REMEMBERED = 2_048
"""Characters of a record: longer ones are read each time, so that nobody fills the memory with them."""


_LARGEST = 10**18 - 1


def number_in(text: object, most: int = _LARGEST) -> int | None:
    """The number as an operator writes it, in ASCII digits; None if the text is anything else, or more than `most`. All numbers
    that are kept as text are read by this: whoever may write there may write what int() ends a program on, or takes for a number
    all the same."""
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal() or len(text) > len(str(most)):
        return None
    number = int(text)
    return number if number <= most else None


_TYPES = {"uid": str, "attempt": int, "hash": str, "job": str, "tables": list}


@dataclass(frozen=True)
class Lease:
    """All leases of one attempt, on all its tables: granted and released as one."""

    uid: str
    attempt: int
    hash: str
    job: str
    tables: tuple[str, ...]
    reads: tuple[str, ...] | None = None
    """Tables that it only reads, under the keys that they had when it was granted; None if they may be any."""
    run: str | None = None
    """The run under whose id it commits, if it has a run key or may be retried: one holder of it at a time."""

    @property
    def holder(self) -> str:
        return f"{self.uid}/{self.attempt}"

    @property
    def rights(self) -> tuple[str, ...]:
        """What one holder alone may have, whatever it touches."""
        return () if self.run is None else (right_to_run(self.run),)

    def to_json(self) -> str:
        """Its record. A job without a run key has the one that operators wrote before there were run keys."""
        fields = {name: value for name, value in vars(self).items() if name != "run" or value is not None}
        return json.dumps(fields, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Lease":
        """Raises ValueError if the text is not a lease's record. Results are cached, because the same few are read again
        whenever anything of their jobs changes."""
        return _remembered(text) if len(text) <= _MOST_REMEMBERED else _read(text)


def _read(text: str) -> Lease:
    fields = json.loads(text)
    if not isinstance(fields, dict) or {*fields} - {"reads", "run"} != {*_TYPES}:
        raise ValueError("not the fields of a lease")
    if not all(type(fields[name]) is type_ for name, type_ in _TYPES.items()):
        raise ValueError("not the types of a lease's fields")
    reads = fields.get("reads")
    own = [fields["uid"], fields["hash"], fields["job"], fields.get("run", "")]
    if not (_are_texts(own) and _are_texts(fields["tables"]) and (reads is None or _are_texts(reads))):
        raise ValueError("not the texts of a lease's fields")
    return Lease(
        **fields | {"tables": tuple(fields["tables"]), "reads": None if reads is None else tuple(reads)}
    )


_remembered = lru_cache(_REMEMBERED)(_read)


def _are_texts(value: Any) -> bool:
    """Whether they are texts that can be written down: JSON's escapes can spell lone surrogates."""
    return isinstance(value, list) and all(
        isinstance(text, str) and (text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text))
        for text in value
    )


def right_to_run(run: str) -> str:
    return f"run {run}"


@dataclass(frozen=True)
class Grant:
    """A lease and the token under which it was granted."""

    lease: Lease
    token: int
    reach: Reach | None = field(default=None, compare=False)
    """How far the holder reaches, kept where only operators write; None if it isn't known."""

    def is_the_same_as(self, other: "Grant") -> bool:
        """Whether both are the same grant: no token is given twice, while others can write to a record."""
        return (self.lease.holder, self.token) == (other.lease.holder, other.token)


class Epochs:
    """A token is its epoch and a counter within it, so that tokens of a later leader are always higher."""

    END = 1 << 18
    """No epoch reaches this: a token has to fit into a txn version."""

    LAST = END - 2
    """The last epoch that another may follow."""

    @staticmethod
    def token(epoch: int, counter: int) -> int:
        return epoch << _COUNTER_BITS | counter

    @staticmethod
    def of(token: int) -> int:
        return token >> _COUNTER_BITS

    @staticmethod
    def counter_of(token: int) -> int:
        return token & ((1 << _COUNTER_BITS) - 1)

    @staticmethod
    def is_token(number: int) -> bool:
        """Whether an operator may have given this token."""
        return number > 0 and Epochs.of(number) < Epochs.END

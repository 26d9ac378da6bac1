"""Records how far a lease's holder reaches, as it was known when the lease was granted.

It answers for the holder where its job can't: before a new leader has read the job, and after it was edited or deleted.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_BYTES = 6
"""Bytes of a place's number."""


@dataclass(frozen=True)
class Reach:
    ids: Mapping[str, str]
    """The ids of the tables that it writes, as their logs tell."""
    sources: Mapping[str, str]
    """The ids of the tables that it reads, as far as a log was read."""
    told_by: frozenset[str]
    """Tables whose columns tell where its rows land."""
    asks: frozenset[int]
    stands: frozenset[int]
    """The places at which it may meet others, as numbers."""
    edition: int
    """The version of what the numbers mean."""
    names: str
    """A fingerprint of where names led."""
    lasts: bool
    """As long as names and locations lead where they led, nobody who reads its job and its tables again learns of another
    place."""

    def and_now(self, later: "Reach") -> "Reach":
        """Adds what was learned of it since."""
        return replace(
            later,
            ids={**later.ids, **self.ids},
            sources={**later.sources, **self.sources},
            told_by=self.told_by | later.told_by,
            asks=self.asks | later.asks,
            stands=self.stands | later.stands,
        )

    def to_json(self) -> str:
        told = {
            "edition": self.edition,
            "ids": dict(self.ids),
            "sources": dict(self.sources),
            "toldBy": sorted(self.told_by),
            "asks": _text(self.asks),
            "stands": _text(self.stands),
            "names": self.names,
            "lasts": self.lasts,
        }
        return json.dumps(told, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Reach | None":
        """Parses the text; None if it can't be read: then the reach isn't known."""
        try:
            told = json.loads(text)
            edition, names, lasts = told.pop("edition"), told.pop("names"), told.pop("lasts")
            ids, sources = _ids(told.pop("ids")), _ids(told.pop("sources"))
            told_by = _told_by(told.pop("toldBy"))
            asks, stands = _numbers(told.pop("asks")), _numbers(told.pop("stands"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if told or [type(edition), type(names), type(lasts)] != [int, str, bool]:
            return None
        return Reach(ids, sources, told_by, asks, stands, edition, names, lasts)


def _text(numbers: frozenset[int]) -> str:
    return b64encode(b"".join(number.to_bytes(_BYTES) for number in sorted(numbers))).decode()


def _numbers(text: str) -> frozenset[int]:
    given = b64decode(text, validate=True)
    if len(given) % _BYTES:
        raise ValueError("half a number")
    return frozenset(int.from_bytes(given[at : at + _BYTES]) for at in range(0, len(given), _BYTES))


def _ids(given: Any) -> dict[str, str]:
    _must_be_texts(list(given.values()))
    return dict(given)


def _told_by(given: Any) -> frozenset[str]:
    _must_be_texts(given)
    return frozenset(given)


def _must_be_texts(given: Any) -> None:
    if type(given) is not list or not all(type(text) is str for text in given):
        raise ValueError("not texts")

"""Which job names which things, told both ways."""

from collections.abc import Mapping
from typing import Generic, TypeVar

Said = TypeVar("Said")

_NOTHING: frozenset[str] = frozenset()


class References(Generic[Said]):
    """Jobs are known by their uids; each says something with what it names. Nothing is kept of those that name nothing."""

    def __init__(self) -> None:
        self._named: dict[str, frozenset[str]] = {}
        self._by: dict[str, dict[str, Said]] = {}

    def named_by(self, uid: str) -> frozenset[str]:
        return self._named.get(uid, _NOTHING)

    def who_name(self, what: str) -> Mapping[str, Said]:
        """Those that name it, in the order in which they came to, each with what it last said."""
        return self._by.get(what, {})

    def names(self, uid: str, named: frozenset[str], said: Said) -> frozenset[str]:
        """Replaces what this job names; returns what it names no more."""
        dropped = self.named_by(uid) - named
        for one in dropped:
            del self._by[one][uid]
            if not self._by[one]:
                del self._by[one]
        for one in named:
            self._by.setdefault(one, {})[uid] = said
        if named:
            self._named[uid] = named
        else:
            self._named.pop(uid, None)
        return dropped

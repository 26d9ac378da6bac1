"""The lease table through time, as Redis' commands made it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from integration.faults.monitor import Command
from sluice.leases import Epochs

_LEASES = ":leases"
_EPOCH = ":epoch"


@dataclass
class Held:
    """One lease, from when Redis had it until it had it no more."""

    holder: str
    token: int
    since: float
    until: float | None = None
    is_of_rebuild: bool = False
    """Whether a rebuild brought it, which a Redis without it was told of."""
    released: bool = False
    """Whether it ended by a release: else a rebuild didn't bring it again, or Redis forgot it."""

    @property
    def uid(self) -> str:
        return self.holder.partition("/")[0]

    @property
    def attempt(self) -> int:
        return int(self.holder.partition("/")[2])

    def at(self, moment: float) -> bool:
        return self.since <= moment and (self.until is None or moment < self.until)


@dataclass
class Rebuild:
    at: float
    epoch: int
    holders: frozenset[str]


@dataclass
class LeaseHistory:
    held: list[Held] = field(default_factory=list)
    rebuilds: list[Rebuild] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    """What scripts of another epoch than Redis' own did."""
    forgot: list[float] = field(default_factory=list)
    """When Redis lost everything."""

    @property
    def left(self) -> list[Held]:
        return [one for one in self.held if one.until is None]

    def of(self, holder: str) -> list[Held]:
        return [one for one in self.held if one.holder == holder]


def lease_history(commands: Iterable[Command], epoch: int) -> LeaseHistory:
    """`epoch`: Redis' own before the first command."""
    reading = _Reading(LeaseHistory(), epoch)
    for command in commands:
        reading.take(command)
    reading.finish()
    return reading.history


class _Reading:
    def __init__(self, history: LeaseHistory, epoch: int) -> None:
        self.history = history
        self._epoch = epoch
        self._now: dict[str, Held] = {}
        self._asker = 0
        """The epoch of whoever sent the script."""
        self._dropped: dict[str, Held] = {}
        """What the script that is under way has taken out, perhaps to put it back with more that was learned of it."""
        self._rebuilt_at = 0.0
        self._before: dict[str, Held] | None = None
        """What there was before the rebuild that is under way."""

    def take(self, command: Command) -> None:
        name, *words = command.words
        name = name.upper()
        if not command.is_of_script:
            self.finish()
            self._dropped = {}
            self._asker = int(words[2 + int(words[1])]) if name == "EVALSHA" and len(words) > 11 else 0
            if name in ("FLUSHALL", "FLUSHDB"):
                self._forget(command.at)
            return
        if name == "DEL" and any(word.endswith(_LEASES) for word in words):
            self._before, self._now = self._now, {}
            self._rebuilt_at = command.at
        elif name == "SET" and words[0].endswith(_EPOCH):
            self._epoch = int(words[1])
        elif name == "HSET" and words[0].endswith(_LEASES):
            self._set(command.at, words[1], words[2])
        elif name == "HDEL" and words[0].endswith(_LEASES):
            self._delete(command.at, words[1])

    def finish(self) -> None:
        """Ends the rebuild that was under way."""
        if self._before is None:
            return
        for holder, held in self._before.items():
            if holder not in self._now:
                held.until = self._rebuilt_at
        self.history.rebuilds.append(Rebuild(self._rebuilt_at, self._epoch, frozenset(self._now)))
        self._before = None

    def _set(self, at: float, holder: str, value: str) -> None:
        epoch, counter = value.partition("\n")[0].split(" ")
        token = Epochs.token(int(epoch), int(counter))
        known = self._dropped.get(holder) or (self._now if self._before is None else self._before).get(holder)
        if known is not None and known.token == token:
            known.until, known.released = None, False
            self._now[holder] = known
            return
        made = Held(holder, token, at, is_of_rebuild=self._before is not None)
        self._now[holder] = made
        self.history.held.append(made)
        if self._before is None:
            self._must_be_of_now("granted", holder)

    def _delete(self, at: float, holder: str) -> None:
        held = self._now.pop(holder, None)
        if held is not None:
            held.until, held.released = at, True
            self._dropped[holder] = held
            self._must_be_of_now("released", holder)

    def _must_be_of_now(self, did: str, holder: str) -> None:
        if self._asker != self._epoch:
            self.history.outdated.append(
                f"{holder} was {did} under epoch {self._asker}, while Redis was in {self._epoch}"
            )

    def _forget(self, at: float) -> None:
        for held in self._now.values():
            held.until = at
        self._now, self._epoch = {}, 0
        self.history.forgot.append(at)

"""Replays a log: which commits ran side by side, which of them would be in each other's way, and what would have kept them
apart.

A log holds winners only: a commit that lost has left no trace. So two kinds of pairs are looked at: commits that overlapped
(one began from a version before the other's), and commits of different writers shortly after one another, which is what a
retry, a queue or luck makes of those that can't overlap.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from sluice.offline.history.log import HistoryCommit, Log

_MOST_BACK = 100
"""How many earlier commits each one is compared with."""
_HOUR = 3_600_000


class CommitFate(IntEnum):
    """What becomes of two commits' writers if they run side by side; the higher, the harder to cure."""

    APART = 0
    """Delta lets them pass: what one wrote is outside of what the other said that it reads."""
    PIN = 1
    """They touched different partitions, but one did not say so: a condition on the partition column frees them."""
    SPLIT = 2
    """One touched more partitions than they share: as one job per partition most of it is free."""
    SAME = 3
    """They touched the same partitions, or one changed the table's metadata: they have to wait."""


@dataclass
class HistoryWriter:
    name: str
    commits: int = 0
    without_pin: int = 0
    """Commits that read the whole table by what they said, but touched only some of its partitions."""
    partitions: int = 0
    """The partitions that all its commits together touched."""
    is_named: bool = True
    """Whether it has a name of its own. All that have none are one writer here, by their user or engine."""


@dataclass
class Collision:
    """Two writers, and how their commits met."""

    writers: tuple[str, str]
    side_by_side: Counter[CommitFate] = field(default_factory=Counter)
    close_together: Counter[CommitFate] = field(default_factory=Counter)
    example: tuple[int, int] | None = None
    """The versions of the last two that met."""
    hours: Counter[int] = field(default_factory=Counter)
    """How many met in which hour of the day, in UTC, by when the later one committed."""
    at_stake: int = 0
    """For how long the later commits of those that met had run, in milliseconds: had they lost, in vain."""
    unmeasured: int = 0
    """How many of these don't say how long they ran."""

    @property
    def met(self) -> int:
        return sum(
            n for fates in (self.side_by_side, self.close_together) for fate, n in fates.items() if fate
        )

    def of(self, fate: CommitFate) -> int:
        return self.side_by_side[fate] + self.close_together[fate]


@dataclass
class HistoryReport:
    log: Log
    within_seconds: float
    writers: list[HistoryWriter]
    collisions: list[Collision]
    """The collisions, those that met most often first."""
    overlapping: int = 0
    """How many commits ran beside another one."""
    overlaps: int = 0
    widest: int = 0
    without_read_version: int = 0

    def total(self, fate: CommitFate) -> int:
        return sum(collision.of(fate) for collision in self.collisions)


def replayed(log: Log, within_seconds: float = 600) -> HistoryReport:
    commits = log.commits
    collisions: dict[tuple[str, str], Collision] = {}
    found = HistoryReport(log, within_seconds, _writers(commits), [])
    for position, loser in enumerate(commits):
        if loser.read_version is None:
            found.without_read_version += 1
        beside = 0
        met_with: set[tuple[str, str]] = set()
        for winner in _before(commits, position, within_seconds * 1000):
            together = loser.read_version is not None and winner.version > loser.read_version
            if not together and winner.writer == loser.writer:
                continue
            beside += together
            names = (min(winner.writer, loser.writer), max(winner.writer, loser.writer))
            collision = collisions.setdefault(names, Collision(names))
            fate = _count(collision, loser, winner, log.partition_columns, together=together)
            if fate is not CommitFate.APART and names not in met_with:  # it could lose its work once
                met_with.add(names)
                _weigh(collision, loser)
        found.overlapping += beside > 0
        found.overlaps += beside
        found.widest = max(found.widest, beside + 1)
    met = [collision for collision in collisions.values() if collision.met]
    found.collisions = sorted(met, key=lambda one: (-one.met, one.writers))
    return found


def _before(commits: Sequence[HistoryCommit], position: int, window: float) -> Iterator[HistoryCommit]:
    """Yields the commits that overlapped, and those that came shortly before."""
    own = commits[position]
    for winner in reversed(commits[max(0, position - _MOST_BACK) : position]):
        overlapped = own.read_version is not None and winner.version > own.read_version
        close = own.timestamp > 0 and abs(own.timestamp - winner.timestamp) <= window
        if not overlapped and not close:
            return
        yield winner


def _count(
    collision: Collision,
    loser: HistoryCommit,
    winner: HistoryCommit,
    columns: tuple[str, ...],
    *,
    together: bool,
) -> CommitFate:
    if together:
        fate = fate_of(loser, winner, columns)
        collision.side_by_side[fate] += 1
    else:  # either could have been the second
        fate = max(fate_of(loser, winner, columns), fate_of(winner, loser, columns))
        collision.close_together[fate] += 1
    if fate is not CommitFate.APART:
        collision.example = (winner.version, loser.version)
    return fate


def _weigh(collision: Collision, loser: HistoryCommit) -> None:
    if loser.timestamp > 0:
        collision.hours[loser.timestamp // _HOUR % 24] += 1
    if loser.took is None:
        collision.unmeasured += 1
    else:
        collision.at_stake += loser.took


def fate_of(loser: HistoryCommit, winner: HistoryCommit, columns: tuple[str, ...]) -> CommitFate:
    if winner.metadata:
        return CommitFate.SAME
    if loser.reads is None:
        return CommitFate.APART
    wrote = winner.touches if loser.data_change else winner.removes
    reads = loser.reads
    if not any(reads.hold(partition, columns) for partition in wrote):
        return CommitFate.APART
    shared = loser.touches & wrote
    if not shared:
        return CommitFate.PIN
    return CommitFate.SPLIT if len(loser.touches) > len(shared) else CommitFate.SAME


def _writers(commits: Sequence[HistoryCommit]) -> list[HistoryWriter]:
    found: dict[str, HistoryWriter] = {}
    touched: dict[str, set[object]] = defaultdict(set)
    everywhere = {partition for commit in commits for partition in commit.touches}
    for commit in commits:
        writer = found.setdefault(commit.writer, HistoryWriter(commit.writer, is_named=commit.is_named))
        writer.commits += 1
        touched[commit.writer] |= commit.touches
        if commit.reads is not None and commit.reads.is_everything and commit.touches:
            writer.without_pin += len(commit.touches) < len(everywhere)
    for name, writer in found.items():
        writer.partitions = len(touched[name])
    return sorted(found.values(), key=lambda writer: (-writer.commits, writer.name))

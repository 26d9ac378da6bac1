"""A verdict, which is what the oracle says about an ordered pair: the loser began, then the winner committed, then the loser
tries to commit."""

from enum import IntEnum
from typing import NamedTuple

from sluice.predicates import Region, overlap, to_sql


class Level(IntEnum):
    """How sure the conflict is; the higher, the worse."""

    NEVER = 0
    MAY = 1
    WILL = 2
    UNSAFE = 3

    def __str__(self) -> str:
        return self.name.lower()


class Verdict(NamedTuple):
    level: Level
    rule: str
    reason: str
    exception: str | None = None
    advice: str | None = None
    meeting: tuple[Region, Region] | None = None
    """The partitions of each that meet those of the other."""
    readers: str | None = None
    """What readers may see although, by the table's history, it never existed; no job aborts."""

    @property
    def overlap(self) -> str | None:
        """The partitions where they meet, as a condition; computed only on request."""
        if self.meeting is None:
            return None
        text = to_sql(overlap(*self.meeting), shorten=True)
        return text.lower() if text in ("TRUE", "FALSE") else text


def only_possible(verdict: Verdict) -> Verdict:
    """Weakens `will` to `may`: what one engine would surely abort, another may let pass."""
    if verdict.level is not Level.WILL:
        return verdict
    return verdict._replace(level=Level.MAY)

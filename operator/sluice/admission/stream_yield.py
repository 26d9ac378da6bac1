"""For whom a stream that runs for ever makes room, by pausing between two batches. Whoever else waits for it waits for ever."""

from dataclasses import dataclass
from enum import Enum

from sluice.api.job import Yield
from sluice.conflicts.readers import lasting
from sluice.conflicts.verdict import Verdict
from sluice.footprint.model import JobFootprint


class NoYield(Enum):
    ENDLESS_TOO = "the waiter runs for ever, too"
    YIELDS_NOT = "its yield doesn't name the waiter"


@dataclass(frozen=True)
class Breaks:
    """The waiter would break the stream for good, whether or not it pauses."""

    verdict: Verdict


def needed_for(waiter: JobFootprint) -> Yield:
    """The least `yield` by which a stream makes room for it."""
    return Yield.METADATA if waiter.changes_metadata else Yield.AGED


def why_no_room(
    yields: Yield, stream: JobFootprint, waiter: JobFootprint, *, is_endless: bool
) -> NoYield | Breaks | None:
    """Why the stream never makes room for the waiter; None: it does, if need be once that has aged. `is_endless`: whether the
    waiter runs for ever, too."""
    broken = lasting(stream, waiter)
    if broken is not None:
        return Breaks(broken[1])
    if is_endless:
        return NoYield.ENDLESS_TOO
    return None if yields in (Yield.AGED, needed_for(waiter)) else NoYield.YIELDS_NOT

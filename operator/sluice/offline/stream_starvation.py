"""Who stands behind a stream that runs for ever: would it wait for ever, or does the stream make room for it?"""

from dataclasses import dataclass

from sluice.admission.stream_yield import Breaks, NoYield, needed_for, why_no_room
from sluice.api.job import Stream, WhenBlocked
from sluice.conflicts.readers import lasting
from sluice.offline.pairs import Explanation, Understood


@dataclass(frozen=True)
class Starvation:
    stream: str
    job: str
    advice: str | None

    def __str__(self) -> str:
        advice = "" if self.advice is None else f": {self.advice}"
        return f"{self.job} waits for as long as {self.stream} runs, which is for ever{advice}"


@dataclass(frozen=True)
class StreamYields:
    stream: str
    job: str
    once_aged: bool
    """Whether only after the job has waited for so long that it counts as aged."""

    def __str__(self) -> str:
        when = ", once that has waited for so long that it counts as aged" if self.once_aged else ""
        return f"{self.stream} runs for ever, and pauses for {self.job} between two batches{when}"


def who_waits_for_ever(explanation: Explanation) -> tuple[Starvation, ...]:
    return () if explanation.pair.together else waits_for_ever(explanation.first, explanation.second)


def who_makes_room(explanation: Explanation) -> tuple[StreamYields, ...]:
    found = () if explanation.pair.together else _behind_each_other(explanation.first, explanation.second)
    return tuple(one for one in found if isinstance(one, StreamYields))


def waits_for_ever(first: Understood, second: Understood) -> tuple[Starvation, ...]:
    """`first`, `second`: two jobs that can't run together."""
    return tuple(one for one in _behind_each_other(first, second) if isinstance(one, Starvation))


def _behind_each_other(first: Understood, second: Understood) -> tuple[Starvation | StreamYields | None, ...]:
    """One that is refused for the other's checkpoint waits for nothing."""
    if first.checkpoints & second.checkpoints:
        return ()
    return _behind(first, second), _behind(second, first)


def _behind(one: Understood, job: Understood) -> Starvation | StreamYields | None:
    """None where it is no stream that runs for ever, or the job doesn't wait."""
    stream = one.job.spec.stream
    if stream is None or not _is_endless(stream):
        return None
    if job.job.spec.admission.when_blocked is not WhenBlocked.WAIT:
        return None  # it ends at once
    waits, is_endless = job.footprint, _is_endless(job.job.spec.stream)
    why = why_no_room(stream.yield_, one.footprint, waits, is_endless=is_endless)
    if why is None:
        return StreamYields(one.name, job.name, once_aged=not waits.changes_metadata)
    return Starvation(one.name, job.name, _advice(why, one, job))


def _advice(why: NoYield | Breaks, one: Understood, job: Understood) -> str | None:
    match why:
        case Breaks(verdict):
            return verdict.advice
        case NoYield.ENDLESS_TOO:
            return _of_two_streams(one, job)
        case NoYield.YIELDS_NOT:
            needed = needed_for(job.footprint)
            return f"have the stream pause for it between two batches, by spec.stream.yield: {needed}"


def _of_two_streams(one: Understood, other: Understood) -> str | None:
    """What lets the other go: a trigger that ends would let it begin, and what it reads would be broken meanwhile."""
    breaks = lasting(other.footprint, one.footprint)
    if breaks is not None:
        return breaks[1].advice
    return "a stream makes no room for one that runs for ever, too: let one of the two have the trigger availableNow"


def _is_endless(stream: Stream | None) -> bool:
    return stream is not None and stream.trigger.processing_time is not None

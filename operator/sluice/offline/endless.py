"""Who would wait for ever: behind a stream that runs for ever, and makes no room for it."""

from dataclasses import dataclass

from sluice.api.job import Stream, WhenBlocked, Yield
from sluice.conflicts.readers import lasting
from sluice.offline.pairs import Explanation, Understood


@dataclass(frozen=True)
class WaitsForEver:
    stream: str
    job: str
    advice: str | None

    def __str__(self) -> str:
        advice = "" if self.advice is None else f": {self.advice}"
        return f"{self.job} waits for as long as {self.stream} runs, which is for ever{advice}"


def who_waits_for_ever(explanation: Explanation) -> tuple[WaitsForEver, ...]:
    return () if explanation.pair.together else waits_for_ever(explanation.first, explanation.second)


def waits_for_ever(first: Understood, second: Understood) -> tuple[WaitsForEver, ...]:
    """`first`, `second`: two jobs that can't run together. One that is refused for the other's checkpoint waits for nothing."""
    if first.checkpoints & second.checkpoints:
        return ()
    found = (_behind(stream, job) for stream, job in ((first, second), (second, first)))
    return tuple(one for one in found if one is not None)


def _behind(one: Understood, job: Understood) -> WaitsForEver | None:
    """None where it is no stream that runs for ever, or makes room for the job."""
    stream = one.job.spec.stream
    if stream is None or not _is_endless(stream):
        return None
    if job.job.spec.admission.when_blocked is not WhenBlocked.WAIT:
        return None  # it ends at once
    breaks = lasting(one.footprint, job.footprint)
    if breaks is not None:
        return WaitsForEver(one.name, job.name, breaks[1].advice)
    if job.job.spec.stream is not None and _is_endless(job.job.spec.stream):
        return WaitsForEver(one.name, job.name, _of_two_streams(one, job))
    needed = Yield.METADATA if job.footprint.changes_metadata else Yield.AGED
    if stream.yield_ in (Yield.AGED, needed):
        return None
    advice = f"have the stream pause for it between two batches, by spec.stream.yield: {needed}"
    return WaitsForEver(one.name, job.name, advice)


def _of_two_streams(one: Understood, other: Understood) -> str | None:
    """What lets the other go: a trigger that ends would let it begin, and what it reads would be broken meanwhile."""
    breaks = lasting(other.footprint, one.footprint)
    if breaks is not None:
        return breaks[1].advice
    return "a stream makes no room for one that runs for ever, too: let one of the two have the trigger availableNow"


def _is_endless(stream: Stream) -> bool:
    return stream.trigger.processing_time is not None

"""What may be done so that two jobs may run together, in words and as the change of their footprints that it stands for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sluice.footprint.model import JobFootprint, TableFootprint

Jobs = tuple[JobFootprint, JobFootprint]
_MOST_NUMBERS = 4
"""The most statements of one job that are named by their numbers."""


@dataclass(frozen=True)
class Advice:
    """One thing to do so that two jobs may run together. All that are given for a pair have to be done."""

    words: str
    whose: int | None
    """0 for the first job, 1 for the second, None for both."""
    clause: str = ""
    """The statements that it is about, such as `MERGE`."""
    together: bool = True
    """False if they still wait for each other, but less can go wrong."""
    binds: str = ""
    """The one name that it is to bind, if it is about one."""

    def said(self, first: str, second: str) -> str:
        if self.whose is None:
            return self.words
        where = (
            f"{(first, second)[self.whose]}, {self.clause}" if self.clause else (first, second)[self.whose]
        )
        return f"{where}: {self.words}"


@dataclass(frozen=True)
class Step:
    advice: Advice
    change: Callable[[Jobs], Jobs] | None = None
    """What it does to the jobs; None if it changes statements of theirs."""
    lever: str = ""
    """What of these statements it changes."""
    of: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    """Which statements of either job, by their numbers."""


def label(statements: Iterable[TableFootprint], job: JobFootprint) -> str:
    """Names statements of a job, by their numbers only where it has several."""
    numbers: dict[str, dict[int, None]] = {}
    for one in statements:
        numbers.setdefault(str(one.operation).upper(), {})[one.statement] = None
    if len({one.statement for one in job.tables}) == 1:
        return " and ".join(numbers)
    return " and ".join(f"{operation} ({_numbered(tuple(of))})" for operation, of in numbers.items())


def _numbered(numbers: tuple[int, ...]) -> str:
    if len(numbers) == 1:
        return f"statement {numbers[0]}"
    named = numbers if len(numbers) <= _MOST_NUMBERS + 1 else numbers[:_MOST_NUMBERS]
    last = f"{len(numbers) - len(named)} more" if len(named) < len(numbers) else str(named[-1])
    before = named if len(named) < len(numbers) else named[:-1]
    return f"statements {', '.join(map(str, before))} and {last}"

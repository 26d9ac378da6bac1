"""What a measurement found, and the table of several, side by side by the number of jobs."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Measured:
    """One scenario with one number of jobs."""

    scenario: str
    jobs: int
    wanted: int = 0
    """What is counted: jobs admitted or finished, releases followed by a SparkApplication."""
    reached: int = 0
    note: str = ""
    """What the figures can't say: why it stopped short."""
    figures: dict[str, float] = field(default_factory=dict)
    writes: dict[str, float] = field(default_factory=dict)
    """Of the operator to the API server, for each of what is counted."""
    profile: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not self.note and self.reached >= self.wanted

    def as_json(self) -> dict[str, Any]:
        """JSON knows no nan."""
        figures = {name: None if math.isnan(value) else value for name, value in self.figures.items()}
        return {**asdict(self), "figures": figures, "complete": self.is_whole}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them do not exceed; nan of nothing."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def latencies(what: str, seconds: Sequence[float]) -> dict[str, float]:
    """In milliseconds."""
    shares = {"p50": 0.5, "p99": 0.99, "most": 1.0}
    return {f"{what}, ms, {name}": 1000 * percentile(seconds, share) for name, share in shares.items()}


def table(measured: Sequence[Measured], about: str) -> str:
    """Those of one scenario: a row for each figure, a column for each number of jobs."""
    rows = [[about, *(f"{one.jobs:,} jobs" for one in measured)]]
    rows.append(["reached", *(_reached(one) for one in measured)])
    rows += [
        [name, *(_shown(one.figures.get(name)) for one in measured)]
        for name in dict.fromkeys(name for one in measured for name in one.figures)
    ]
    rows += [
        [f"  {name}", *(_shown(one.writes.get(name)) for one in measured)]
        for name in dict.fromkeys(name for one in measured for name in one.writes)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(_placed, row, widths, range(len(row)))) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    lines += [f"{one.jobs:,} jobs: {one.note}" for one in measured if one.note]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _placed(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column else cell.ljust(width)


def _reached(one: Measured) -> str:
    return f"{one.reached:,} of {one.wanted:,}"


def _shown(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    places = 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 3
    return f"{value:.{places}f}"

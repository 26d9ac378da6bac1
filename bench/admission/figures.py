"""What a measurement found, and the table of several, side by side by the number of jobs."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any


@dataclass
class Measured:
    """One scenario with one number of jobs."""

    scenario: str
    jobs: int
    wanted: int = 0
    """What is counted: admitted or finished jobs, releases followed by a SparkApplication."""
    reached: int = 0
    note: str = ""
    """What the figures can't say, such as why it stopped short."""
    figures: dict[str, float] = field(default_factory=dict)
    writes: dict[str, float] = field(default_factory=dict)
    """Writes of the operator to the API server, per unit of what is counted."""
    profile: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not self.note and self.reached >= self.wanted

    def as_json(self) -> dict[str, Any]:
        """Figures as JSON, which knows neither nan nor infinity."""
        figures = {name: value if math.isfinite(value) else None for name, value in self.figures.items()}
        return {**asdict(self), "figures": figures, "complete": self.is_whole}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them do not exceed; nan if there are none."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def latencies(what: str, seconds: Sequence[float]) -> dict[str, float]:
    """Latencies in milliseconds."""
    shares = {"p50": 0.5, "p99": 0.99, "most": 1.0}
    return {f"{what}, ms, {name}": 1000 * percentile(seconds, share) for name, share in shares.items()}


def table(measured: Sequence[Measured], about: str) -> str:
    """The figures of one scenario: a row for each figure, a column for each number of jobs, and between two columns how many
    times as much the second is."""
    rows = [
        _row(about, [one.jobs for one in measured], [f"{one.jobs:,} jobs" for one in measured]),
        _row("reached", [None] * len(measured), [_reached(one) for one in measured]),
    ]
    for of in (_figures, _writes):
        for name in dict.fromkeys(name for one in measured for name in of(one)):
            values = [of(one).get(name) for one in measured]
            rows.append(
                _row(name if of is _figures else f"  {name}", values, [_shown(one) for one in values])
            )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(_placed, row, widths, range(len(row)))) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    lines += [f"{one.jobs:,} jobs: {one.note}" for one in measured if one.note]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _figures(one: Measured) -> dict[str, float]:
    return one.figures


def _writes(one: Measured) -> dict[str, float]:
    return one.writes


def _row(name: str, values: Sequence[float | None], shown: Sequence[str]) -> list[str]:
    row = [name, shown[0]]
    for (before, now), cell in zip(pairwise(values), shown[1:], strict=True):
        row += [_growth(before, now), cell]
    return row


def _growth(before: float | None, now: float | None) -> str:
    """How many times as much; empty where a figure is zero or isn't known."""
    if before is None or now is None or not math.isfinite(before * now) or before <= 0 or now <= 0:
        return ""
    return f"x{now / before:.1f}"


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

"""Both ways of running the same jobs, beside each other: nothing in here was not measured or read from a status."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sluice.api.base import Json
from sluice_runner.retriable import CONFLICT_NAMES


@dataclass(frozen=True)
class Run:
    """What became of one job."""

    outcome: str
    """Committed, or the reason why not: an exception's class, or the reason in the job's status."""
    succeeded: bool
    compute: float
    """Seconds that its driver ran; 0 if none was started."""
    waited: float | None = None
    """Seconds from the queue to the grant; None if it was never granted, or nothing grants."""
    skipped: bool = False
    """It asked not to run when others are in the way."""

    @property
    def aborted_by_delta(self) -> bool:
        return self.outcome in CONFLICT_NAMES


@dataclass(frozen=True)
class Way:
    """All jobs, run with Sluice or without."""

    runs: Mapping[str, Run]
    makespan: float
    """Seconds from when the jobs were applied until the last had ended."""
    rows: int
    """In the table of orders, afterwards."""
    rows_by_outcomes: int
    """As many as the jobs that say they succeeded make of it."""

    @property
    def committed(self) -> list[str]:
        return [name for name, run in self.runs.items() if run.succeeded]

    @property
    def aborted(self) -> list[str]:
        return [name for name, run in self.runs.items() if run.aborted_by_delta]

    @property
    def failed_otherwise(self) -> list[str]:
        return [
            name
            for name, run in self.runs.items()
            if not run.succeeded and not run.skipped and not run.aborted_by_delta
        ]

    @property
    def compute(self) -> float:
        return sum(run.compute for run in self.runs.values())

    @property
    def thrown_away(self) -> float:
        """Compute of jobs that committed nothing in the end."""
        return sum(run.compute for run in self.runs.values() if not run.succeeded)

    @property
    def rows_astray(self) -> int:
        """Rows too many (doubled) or, below zero, too few (lost)."""
        return self.rows - self.rows_by_outcomes


def with_sluice(status: Json) -> Run:
    """Read from the status of a job that has ended."""
    attempts = status.get("attempts") or []
    spans = [seconds_between(attempt.get("startedAt"), attempt.get("endedAt")) for attempt in attempts]
    granted = attempts[-1].get("grantedAt") if attempts else None
    waited = seconds_between(status.get("queuedAt"), granted)
    return Run(
        outcome=str(status.get("reason", "not known")),
        succeeded=status.get("phase") == "Succeeded",
        compute=sum(span or 0.0 for span in spans),
        waited=waited,
        skipped=status.get("phase") == "Skipped",
    )


def totals(way: Way) -> list[tuple[str, str]]:
    return [
        ("committed", f"{len(way.committed)} of {len(way.runs)}"),
        ("aborted by Delta", str(len(way.aborted))),
        ("failed otherwise", str(len(way.failed_otherwise))),
        ("compute thrown away", f"{way.thrown_away:.0f} s of {way.compute:.0f} s"),
        ("until the last has ended", f"{way.makespan:.1f} s"),
        ("rows lost or doubled", _astray(way.rows_astray)),
    ]


def document(plain: Way | None, dangers: Mapping[str, str], sluice: Way, problems: Mapping[str, str]) -> Json:
    """The table as JSON, for `-o json`."""
    return {
        "jobs": [
            {
                "job": name,
                "inDanger": dangers.get(name),
                "withoutSluice": _run_json(plain.runs[name]) if plain else None,
                "withSluice": _run_json(run),
                "problem": problems.get(name),
            }
            for name, run in sluice.runs.items()
        ],
        "withoutSluice": _way_json(plain) if plain else None,
        "withSluice": _way_json(sluice),
        "problems": dict(problems),
    }


def _run_json(run: Run) -> Json:
    return {
        "outcome": run.outcome,
        "succeeded": run.succeeded,
        "skipped": run.skipped,
        "abortedByDelta": run.aborted_by_delta,
        "computeSeconds": run.compute,
        "waitedSeconds": run.waited,
    }


def _way_json(way: Way) -> Json:
    return {
        "committed": way.committed,
        "abortedByDelta": way.aborted,
        "failedOtherwise": way.failed_otherwise,
        "computeSeconds": way.compute,
        "thrownAwaySeconds": way.thrown_away,
        "makespanSeconds": round(way.makespan, 1),
        "rows": way.rows,
        "rowsByOutcomes": way.rows_by_outcomes,
    }


def _astray(rows: int) -> str:
    if rows == 0:
        return "0"
    return f"{rows} doubled" if rows > 0 else f"{-rows} lost"


def seconds_between(start: str | None, end: str | None) -> float | None:
    if not start or not end:
        return None
    return max((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 0.0)

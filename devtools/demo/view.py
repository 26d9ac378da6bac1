"""What the demo shows: a live table on a terminal, a line a change in a pipe."""

import sys
import time
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from demo.scenario import DemoJob

Json = dict[str, Any]

_STYLES = {
    "Succeeded": "green",
    "Running": "bold cyan",
    "Starting": "cyan",
    "Waiting": "yellow",
    "Failed": "red",
    "Skipped": "magenta",
}


class View:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._shown: dict[str, tuple[str, str]] = {}

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, jobs: dict[str, Json], expected: list[DemoJob]) -> None:
        if self._live:
            self._live.update(_table(jobs, expected), refresh=True)
            return
        for job in expected:
            status = jobs.get(job.name, {}).get("status", {})
            seen = (str(status.get("phase", "")), _why(status))
            if seen[0] and self._shown.get(job.name) != seen:
                self._shown[job.name] = seen
                elapsed = time.monotonic() - self._began
                sys.stdout.write(f"{elapsed:6.1f}s  {job.name:16} {seen[0]:10} {seen[1]}\n")
                sys.stdout.flush()


def _table(jobs: dict[str, Json], expected: list[DemoJob]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("JOB", "PHASE", "WHY"):
        table.add_column(column, no_wrap=column != "WHY")
    for job in expected:
        status = jobs.get(job.name, {}).get("status", {})
        phase = status.get("phase", "")
        table.add_row(
            job.name, f"[{_STYLES.get(phase, 'dim')}]{phase}[/]", _why(status) or f"[dim]{job.what}[/]"
        )
    return table


def _why(status: Json) -> str:
    blockers = status.get("blockedBy", [])
    if status.get("phase") == "Waiting" and blockers:
        names = ", ".join(blocker["job"].split("/")[1] for blocker in blockers)
        return f"waits for {names}: {blockers[0]['reason']} ({blockers[0].get('exception') or blockers[0]['rule']} avoided)"
    return " ".join(str(status.get("message", "")).split())[:160]


def outcomes(
    console: Console, jobs: dict[str, Json], expected: list[DemoJob], problems: dict[str, str]
) -> None:
    """The closing table, read from the resources alone."""
    table = Table(
        title="What came of it", title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for column in ("", "JOB", "OUTCOME", "VERSIONS", "WAITED", "RAN", "MESSAGE"):
        table.add_column(column, no_wrap=column != "MESSAGE")
    for job in expected:
        status = jobs.get(job.name, {}).get("status", {})
        attempt = (status.get("attempts") or [{}])[-1]
        versions = ",".join(str(commit["version"]) for commit in attempt.get("commits", []))
        mark = "[red]✗[/]" if job.name in problems else "[green]✓[/]"
        table.add_row(
            mark,
            job.name,
            f"{status.get('phase', '?')}/{status.get('reason', '?')}",
            versions,
            _between(status.get("queuedAt"), attempt.get("grantedAt")),
            _between(attempt.get("grantedAt"), attempt.get("endedAt")),
            problems.get(job.name) or " ".join(str(status.get("message", "")).split())[:120],
        )
    console.print(table)


def _between(start: str | None, end: str | None) -> str:
    if not start or not end:
        return ""
    seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    return f"{max(seconds, 0.0):.1f}s"

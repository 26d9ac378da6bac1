"""What the demo shows: a live table on a terminal, a line a change in a pipe."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from demo.comparison import Run, Way, totals
from demo.scenario import DemoJob
from sluice.api.base import Json
from sluice.cli.outputs import shown

_LONGEST_IN_TABLE = 160
"""A live table that is taller than its terminal is cut off at the bottom."""
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
                self._console.file.write(f"{elapsed:6.1f}s  {job.name:16} {seen[0]:10} {shown(seen[1])}\n")
                self._console.file.flush()


def _table(jobs: dict[str, Json], expected: list[DemoJob]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("JOB", "PHASE", "WHY"):
        table.add_column(column, no_wrap=column != "WHY")
    for job in expected:
        status = jobs.get(job.name, {}).get("status", {})
        phase = status.get("phase", "")
        table.add_row(
            job.name,
            f"[{_STYLES.get(phase, 'dim')}]{phase}[/]",
            escape(_in_short(status)) or f"[dim]{job.what}[/]",
        )
    return table


def _why(status: Json) -> str:
    blockers = status.get("blockedBy", [])
    if status.get("phase") == "Waiting" and blockers:
        names = ", ".join(blocker["job"].split("/")[1] for blocker in blockers)
        return f"waits for {names}: {blockers[0]['reason']} ({blockers[0].get('exception') or blockers[0]['rule']} avoided)"
    return " ".join(str(status.get("message", "")).split())


def _in_short(status: Json) -> str:
    why = shown(_why(status))
    return why if len(why) <= _LONGEST_IN_TABLE else f"{why[: _LONGEST_IN_TABLE - 1].rstrip()}…"


def comparison(
    console: Console, plain: Way | None, dangers: Mapping[str, str], sluice: Way, problems: Mapping[str, str]
) -> None:
    """The closing table: both ways beside each other, or what the oracle says beside what was run."""
    without = ["WITHOUT SLUICE", "COMPUTE"] if plain else ["WITHOUT SLUICE, SAYS THE ORACLE"]
    columns = ["", "JOB", *without, "WITH SLUICE", "WAITED", "COMPUTE"]
    table = Table(
        title="What came of it", title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for column in columns:
        table.add_column(
            column,
            no_wrap=not column.endswith("ORACLE"),
            justify="right" if column in ("COMPUTE", "WAITED") else "left",
        )
    for name, run in sluice.runs.items():
        mark = "[red]✗[/]" if name in problems else "[green]✓[/]"
        beside = [_told(plain.runs[name]), _compute(plain.runs[name])] if plain else [dangers.get(name, "")]
        table.add_row(mark, name, *beside, _told(run), _seconds(run.waited), _compute(run))
    console.print(table)
    console.print(_totals(plain, sluice))
    for name, problem in problems.items():
        console.print(f"[red]✗ {escape(shown(f'{name}: {problem}'))}[/]")


def _totals(plain: Way | None, sluice: Way) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("ALL OF THEM", *(["WITHOUT SLUICE"] if plain else []), "WITH SLUICE"):
        table.add_column(column, no_wrap=True)
    beside = [text for _, text in totals(plain)] if plain else []
    for number, (what, text) in enumerate(totals(sluice)):
        table.add_row(what, *([beside[number]] if beside else []), text)
    return table


def _told(run: Run) -> str:
    if run.succeeded:
        return "[green]committed[/]"
    if run.skipped:
        return f"[magenta]skipped: {escape(run.outcome)}[/]"
    return f"[red]{'aborted' if run.aborted_by_delta else 'failed'}: {escape(run.outcome)}[/]"


def _compute(run: Run) -> str:
    """Kubernetes tells a driver's start and end in whole seconds."""
    return f"{run.compute:.0f} s"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f} s"

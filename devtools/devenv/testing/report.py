"""What came of the sections: a table of minutes, CPU minutes against budgets, failures, flaky tests, what was left out."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devenv.progress import say

OVER_BUDGET = 2.0
"""What the loop that measures a machine can't tell makes up as much again: lanes side by side take each other's caches."""
FLAKY_ALLOWED = 2
TOGETHER = "all"
"""The line of all sections."""
MOST_LINES, LONGEST_LINE = 12, 200
"""Of what a flaky test said: the lines that pytest marks as its error."""
SECTIONS_THAT_TELL = 4
"""So many other sections show the machine's pace by what they cost; it takes more than one of them that grew to mislead."""


@dataclass
class Report:
    """What came of one section."""

    name: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    budget_minutes: float | None = None
    slowness: float = 1.0
    ran: bool = True
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    """What failed tests said at first. CI's machine is gone with its files before a person can look."""
    left_out: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """What its tests counted: faults, sequences, shapes."""
    told: Path | None = None
    """Where what the failed tests said can be read."""

    def result(self) -> str:
        if self.failures:
            return "FAILED"
        if not self.ran:
            return "left out"
        return "FLAKY" if self.flaky else "passed"

    def _told_of_flaky(self, test: str) -> list[str]:
        errors = [line for line in self.said.get(test, "").splitlines() if line.startswith("E ")]
        return [
            f"      FLAKY: {test} (failed, then passed alone: a bug to mend)",
            *(f"        {line[:LONGEST_LINE]}" for line in errors[:MOST_LINES]),
        ]

    def lines(self) -> list[str]:
        budget = "" if self.budget_minutes is None else f"{self.budget_minutes:8.1f}"
        figures = f"{self.seconds / 60:8.2f} {self.cpu_seconds / 60:8.2f} {budget}".rstrip()
        return [
            f"  {self.name:<12} {self.result():<9} {figures}",
            *(f"      failed: {failure}" for failure in self.failures),
            *(line for test in self.flaky for line in self._told_of_flaky(test)),
            *([] if self.told is None else [f"      what they said: {self.told}"]),
            *(f"      left out: {left_out}" for left_out in self.left_out),
        ]


def over_budget(reports: Sequence[Report]) -> dict[str, str]:
    """Says of sections, and of all of them together, why they are over budget. Time mustn't creep back: a section may cost
    twice its budget, and on a slow machine accordingly more.

    A machine can be slower in its caches than the measuring loop sees. Then all sections cost more, so each is held
    against the others as well. What all of them cost together is held against the loop's measure alone.
    """
    held = [
        (report, report.budget_minutes)
        for report in reports
        if report.ran and report.budget_minutes is not None
    ]
    shares = {report.name: report.cpu_seconds / 60 / budget for report, budget in held}
    said = {}
    for report, budget in held:
        others = [share for name, share in shares.items() if name != report.name]
        pace = statistics.median(others) if len(others) >= SECTIONS_THAT_TELL else 1.0
        said[report.name] = _over(report.cpu_seconds, budget, max(report.slowness, pace))
    if len(held) > SECTIONS_THAT_TELL:
        slowness = statistics.fmean(report.slowness for report, _ in held)
        said[TOGETHER] = _over(
            sum(report.cpu_seconds for report, _ in held), sum(budget for _, budget in held), slowness
        )
    return {name: why for name, why in said.items() if why is not None}


def _over(cpu_seconds: float, budget: float, slowness: float) -> str | None:
    allowed = budget * OVER_BUDGET * slowness
    if cpu_seconds / 60 <= allowed:
        return None
    return (
        f"took {cpu_seconds / 60:.2f} CPU minutes, more than {allowed:.2f}: its budget is {budget:g}, and this machine "
        f"computes {slowness:.2f} times as long as the usual one. Make its tests cheaper, or raise the budget in "
        f"devtools/devenv/testing/sections.py and say why"
    )


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def summarise(
    reports: Sequence[Report], *, set_up_seconds: float, seconds: float, kept: Path, strict: bool = False
) -> int:
    """Prints the summary; the exit code is 1 when anything failed, was over budget, was flaky too often, or when nothing ran."""
    over = over_budget(reports)
    for report in reports:
        if report.name in over:
            report.failures.append(over[report.name])
    say("\n### summary")
    say(f"  {'section':<12} {'result':<9} {'minutes':>8} {'CPU min':>8} {'budget':>8}")
    say(f"  {'set-up':<12} {'':<9} {set_up_seconds / 60:8.2f}")
    for report in reports:
        for line in report.lines():
            say(line)
    cpu_minutes = sum(report.cpu_seconds for report in reports) / 60
    say(f"  {TOGETHER:<12} {'':<9} {(set_up_seconds + seconds) / 60:8.2f} {cpu_minutes:8.2f}")
    if TOGETHER in over:
        say(f"      failed: {over[TOGETHER]}")
    say(f"  output, results and evidence: {kept}")
    passed, skipped = sum(report.passed for report in reports), sum(report.skipped for report in reports)
    failed = sum(len(report.failures) for report in reports)
    if passed or failed or skipped:
        say(f"{passed} passed, {failed} failed, {skipped} skipped")
    counts = sum((report.counts for report in reports), Counter[str]())
    if counts:
        say(f"counted: {counted(counts)}")
    if not any(report.ran for report in reports):
        say("  nothing ran")
        return 1
    flaky = sum(len(report.flaky) for report in reports)
    if flaky > FLAKY_ALLOWED or (strict and flaky):
        allowed = "with --strict none is allowed" if strict else f"more than {FLAKY_ALLOWED} are not allowed"
        say(f"  FAILED: {flaky} flaky; {allowed}")
        return 1
    return 1 if over or any(report.failures for report in reports) else 0

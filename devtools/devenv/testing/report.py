"""What came of the sections: a table of minutes, CPU minutes against budgets, failures, flaky tests, what was left out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devenv.progress import say

OVER_BUDGET = 2.0
"""What the loop that measures a machine can't tell makes up as much again: lanes side by side take each other's caches."""
FLAKY_ALLOWED = 2


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
    left_out: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """What its tests counted: faults, sequences, shapes."""
    told: Path | None = None
    """Where what the failed tests said can be read."""

    def over_budget(self) -> str | None:
        """Says why the section is over its budget. Time mustn't creep back: a section may cost twice its budget, and on a slow
        machine accordingly more."""
        if self.budget_minutes is None:
            return None
        allowed = self.budget_minutes * OVER_BUDGET * self.slowness
        if self.cpu_seconds / 60 <= allowed:
            return None
        return (
            f"took {self.cpu_seconds / 60:.2f} CPU minutes, more than {allowed:.2f}: its budget is "
            f"{self.budget_minutes:g}, and this machine computes {self.slowness:.2f} times as long as the usual one. "
            f"Make its tests cheaper, or raise the budget in devtools/devenv/testing/sections.py and say why"
        )

    def result(self) -> str:
        if self.failures:
            return "FAILED"
        if not self.ran:
            return "left out"
        return "FLAKY" if self.flaky else "passed"

    def lines(self) -> list[str]:
        budget = "" if self.budget_minutes is None else f"{self.budget_minutes:8.1f}"
        figures = f"{self.seconds / 60:8.2f} {self.cpu_seconds / 60:8.2f} {budget}".rstrip()
        return [
            f"  {self.name:<12} {self.result():<9} {figures}",
            *(f"      failed: {failure}" for failure in self.failures),
            *(f"      FLAKY: {test} (failed, then passed alone: a bug to mend)" for test in self.flaky),
            *([] if self.told is None else [f"      what they said: {self.told}"]),
            *(f"      left out: {left_out}" for left_out in self.left_out),
        ]


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def summarise(
    reports: Sequence[Report], *, set_up_seconds: float, seconds: float, kept: Path, strict: bool = False
) -> int:
    """Prints the summary; the exit code is 1 when anything failed, was flaky too often, or when nothing ran."""
    say("\n### summary")
    say(f"  {'section':<12} {'result':<9} {'minutes':>8} {'CPU min':>8} {'budget':>8}")
    say(f"  {'set-up':<12} {'':<9} {set_up_seconds / 60:8.2f}")
    for report in reports:
        for line in report.lines():
            say(line)
    cpu_minutes = sum(report.cpu_seconds for report in reports) / 60
    say(f"  {'all':<12} {'':<9} {(set_up_seconds + seconds) / 60:8.2f} {cpu_minutes:8.2f}")
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
    return 1 if any(report.failures for report in reports) else 0

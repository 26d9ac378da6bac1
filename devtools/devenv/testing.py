"""Runs test sections and reports on them: minutes, failures, and what was left out and why.

Nothing is skipped silently: every skip is listed, and one whose reason isn't on the short list of what no set-up of
ours can bring onto a machine is a failure.
"""

import re
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devenv.environment import Prepared
from devenv.errors import DevError, NotOnThisMachineError
from devenv.processes import descendants, end_descendants, spawn, wait_until
from devenv.progress import say
from devenv.project import ROOT
from devenv.sections import Section

ALLOWED_SKIPS = (
    re.compile(r"^needs SLUICE_SHARED\b"),
    re.compile(r"^needs (root|apt)\b"),
)
NO_TESTS_RAN = 5
INTERRUPT_PATIENCE = 30.0
GRACE_SECONDS = 10.0
# Where tests/conftest.py writes what it deselected.
LEFT_OUT_FILE = "SLUICE_LEFT_OUT_FILE"


@dataclass
class Report:
    """What came of one section."""

    name: str
    seconds: float = 0.0
    ran: bool = True
    failures: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        result = "FAILED" if self.failures else "passed" if self.ran else "left out"
        return [
            f"  {self.name:<12} {result:<9} {self.seconds / 60:6.2f} min",
            *(f"      failed: {failure}" for failure in self.failures),
            *(f"      left out: {left_out}" for left_out in self.left_out),
        ]


def skips_in(junit: Path) -> list[tuple[str, str]]:
    """(test, reason) of every test that pytest reported as skipped; an expected failure isn't a skip."""
    found = []
    for case in ET.parse(junit).getroot().iter("testcase"):  # noqa: S314 - our own pytest has just written it
        for skipped in case.findall("skipped"):
            if skipped.get("type") != "pytest.xfail":
                test = f"{case.get('classname', '')}::{case.get('name', '')}"
                found.append((test, skipped.get("message", "")))
    return found


def may_be_skipped(reason: str) -> bool:
    return any(pattern.search(reason) for pattern in ALLOWED_SKIPS)


def run_sections(sections: Sequence[Section], prepared: Prepared, options: Sequence[str]) -> list[Report]:
    """Runs them in order, each with its output passed through."""
    reports = []
    for section in sections:
        say(f"\n### {section.name}")
        try:
            variables = prepared.variables(*section.needs)
        except NotOnThisMachineError as reason:
            reports.append(Report(section.name, ran=False, left_out=[str(reason)]))
        except DevError as error:
            reports.append(Report(section.name, ran=False, failures=[str(error)]))
        else:
            reports.append(_run(section, variables, options))
    return reports


def summarise(reports: Sequence[Report], set_up_seconds: float) -> int:
    """Prints the summary; the exit code is 1 when anything failed, or when nothing ran."""
    say("\n### summary")
    say(f"  {'set-up':<12} {'':<9} {set_up_seconds / 60:6.2f} min")
    for report in reports:
        for line in report.lines():
            say(line)
    total = set_up_seconds + sum(report.seconds for report in reports)
    say(f"  {'all':<12} {'':<9} {total / 60:6.2f} min")
    if not any(report.ran for report in reports):
        say("  nothing ran")
        return 1
    return 1 if any(report.failures for report in reports) else 0


def _run(section: Section, variables: Mapping[str, str], options: Sequence[str]) -> Report:
    report = Report(section.name, ran=False)
    began = time.monotonic()
    before = descendants()
    for command in section.commands:
        if command[0] == "pytest":
            _run_pytest([*command, *options], variables, report)
        else:
            report.ran = True
            code = _call(command, variables)
            if code != 0:
                report.failures.append(f"{' '.join(command)} ended with {code}")
    # A JVM notices only after a moment that the Python that it served is gone.
    wait_until(lambda: descendants().keys() <= before.keys(), GRACE_SECONDS)
    report.failures += [
        f"left a process behind: {line[:200]}" for line in end_descendants(spare=before).values()
    ]
    report.seconds = time.monotonic() - began
    return report


def _run_pytest(command: Sequence[str], variables: Mapping[str, str], report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="sluice-test-") as temporary:
        junit = Path(temporary) / "junit.xml"
        deselected = Path(temporary) / "left-out"
        code = _call([*command, f"--junitxml={junit}"], {**variables, LEFT_OUT_FILE: str(deselected)})
        if code == NO_TESTS_RAN:
            report.left_out.append("no test matched")
        else:
            report.ran = True
            report.failures += [] if code == 0 else [f"pytest ended with {code}"]
        if deselected.exists():
            report.left_out += deselected.read_text(encoding="utf-8").splitlines()
        for test, reason in skips_in(junit) if junit.exists() else []:
            report.left_out.append(f"{test}: {reason}")
            if not may_be_skipped(reason):
                report.failures.append(f"{test} was skipped, for a reason that a set-up could cure: {reason}")


def _call(command: Sequence[str], variables: Mapping[str, str]) -> int:
    sys.stdout.flush()
    process = spawn(command, environment=variables, folder=ROOT, own_session=True)
    try:
        return process.wait()
    except BaseException:
        # In a session of its own it didn't see Ctrl-C: one interrupt lets pytest tear its fixtures down.
        process.send_signal(signal.SIGINT)
        if not wait_until(lambda: process.poll() is not None, INTERRUPT_PATIENCE):
            process.kill()
            process.wait()
        raise

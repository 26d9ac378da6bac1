"""The results of tests, as our pytest plugin wrote them down."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

RECORDS_FILE = "SLUICE_RECORDS_FILE"
"""The variable that names the file our pytest plugin writes to."""
ONLY_FILE = "SLUICE_ONLY_TESTS_FILE"
"""The variable that names a file with the only tests to run."""
ALLOWED_SKIPS: Mapping[re.Pattern[str], Callable[[], bool]] = {
    re.compile(r"^needs root\b"): lambda: os.geteuid() != 0,
    re.compile(r"^needs apt\b"): lambda: which("apt-get") is None,
}
"""Reasons that no set-up of ours can cure, and whether they hold on this machine."""
PHASES = ("setup", "call", "teardown")


@dataclass(frozen=True)
class Record:
    """One phase of one test, the collecting of one file, that a test was to run, that a worker died, or that pytest came to its
    end."""

    test: str
    when: str
    outcome: str
    seconds: float
    """What it took; of a test that was to run, what it declares to take."""
    text: str
    counts: Mapping[str, int] = field(default_factory=dict)
    """What the test counted by `record_property`, such as faults."""


def read(file: Path) -> list[Record]:
    """All that was written; the last line of a run that was killed may be torn, and is left out."""
    return list(_read(file)) if file.exists() else []


def _read(file: Path) -> Iterator[Record]:
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield Record(**json.loads(line))
        except (ValueError, TypeError):
            continue


def failures(records: list[Record]) -> dict[str, str]:
    """What each test that failed said, in the order of failing."""
    said: dict[str, str] = {}
    for record in records:
        if record.outcome == "failed" and record.test:
            said[record.test] = "\n".join(filter(None, [said.get(record.test), record.text]))
    return said


def collected(records: list[Record]) -> set[str]:
    """The tests that were to run."""
    return {record.test for record in records if record.when == "collected"}


def fallen_workers(records: list[Record]) -> list[str]:
    """Of what each process with tests died that did not come to its end, in a line each."""
    return [record.text.rstrip().rpartition("\n")[2] for record in records if record.when == "worker"]


def uncollected(records: list[Record]) -> set[str]:
    """Files whose tests aren't known, because reading them failed."""
    return {record.test for record in records if record.when == "collect" and record.outcome == "failed"}


def passed(records: list[Record]) -> set[str]:
    """The tests that ran to their end and in which no phase failed."""
    called = {record.test for record in records if record.when == "call" and record.outcome == "passed"}
    return called & _torn_down(records) - failures(records).keys()


def counts(records: list[Record]) -> Counter[str]:
    """What the tests counted that passed."""
    sound, found = passed(records), Counter[str]()
    for record in records:
        if record.when == "call" and record.test in sound:
            found.update(record.counts)
    return found


def anything_ran(records: list[Record]) -> bool:
    return any(record.when in PHASES for record in records)


def unfinished(records: list[Record]) -> list[str]:
    """The tests that were to run, but of which neither the end nor a failure is known."""
    known = _torn_down(records) | failures(records).keys()
    return [record.test for record in records if record.when == "collected" and record.test not in known]


def came_to_its_end(records: list[Record]) -> bool:
    """Whether pytest itself came to its end: a test that exits takes it along, with whatever exit code."""
    return any(record.when == "ended" for record in records)


def _torn_down(records: list[Record]) -> set[str]:
    return {record.test for record in records if record.when == "teardown"}


def skips(records: list[Record]) -> list[tuple[str, str]]:
    """(test, reason) of every test that was skipped."""
    return [(record.test, record.text) for record in records if record.outcome == "skipped"]


def may_be_skipped(reason: str) -> bool:
    return any(pattern.search(reason) and holds() for pattern, holds in ALLOWED_SKIPS.items())


def seconds_by_test(records: list[Record]) -> Mapping[str, float]:
    """The seconds that each test took, fixtures included."""
    seconds: dict[str, float] = {}
    for record in records:
        if record.when not in PHASES:
            continue
        seconds[record.test] = seconds.get(record.test, 0.0) + record.seconds
    return seconds

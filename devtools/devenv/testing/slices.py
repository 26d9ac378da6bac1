"""Slices of the long tests, and the table of what became of each slice when it last ran.

Every long test declares its minutes. A slice takes tests until it is full, so that it ends within forty minutes.
"""

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

from devenv.errors import DevError, UsageError
from devenv.processes import spawn
from devenv.project import ROOT, TESTS
from devenv.testing import records
from devenv.testing.records import RECORDS_FILE
from devenv.testing.report import Report, counted
from devenv.testing.run import NOT_FROM_OUTSIDE, PLUGIN
from devenv.testing.sections import Section, section_of

LONG, OPTION = "--long", "--slice"
FULL_MINUTES = 30.0
"""A slice is full at so many declared minutes: set-up and a slower machine take the rest of the forty."""
USUAL_COUNT = 40
"""The number of slices that docs/testing.md records."""
PAGE = ROOT / "docs" / "testing.md"
FAILED = "FAILED"
LAST_LINES = 20
_TABLE = re.compile(
    r"(?<=<!-- slices: written by `./dev test --long --slice K/N` -->\n).*?(?=<!-- /slices -->)", re.DOTALL
)
_ROW = re.compile(r"^\| (?P<number>\d+)/(?P<count>\d+) \|.*$", re.MULTILINE)
_COUNT = re.compile(r"(?P<count>[\d,]+) (?P<name>[A-Za-z][A-Za-z ]*)")
HEAD = "| slice | commit | date | result |\n| --- | --- | --- | --- |\n"


@dataclass(frozen=True)
class Slice:
    """Part `number` of `count`."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def of(cls, text: str) -> "Slice | None":
        """Reads K/N with K from 1 to N."""
        read = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
        return cls(int(read[1]), int(read[2])) if read and int(read[1]) <= int(read[2]) else None


def taken_from(options: Sequence[str]) -> tuple[Slice | None, list[str]]:
    """Separates the slice from the other options of a command line."""
    found: list[str] = []
    others: list[str] = []
    words = iter(options)
    for word in words:
        if word == OPTION:
            found.append(next(words, ""))
        elif word.startswith(f"{OPTION}="):
            found.append(word.removeprefix(f"{OPTION}="))
        else:
            others.append(word)
    if not found:
        return None, others
    usage = f"Write {LONG} {OPTION} 3/{USUAL_COUNT} for the third of {USUAL_COUNT} slices."
    part = Slice.of(found[0])
    if len(found) > 1 or part is None:
        raise UsageError(f"{OPTION} takes one K/N with K from 1 to N, but got: {' '.join(found)}. {usage}")
    if LONG not in others:
        raise UsageError(f"{OPTION} selects long tests and needs {LONG}. {usage}")
    return part, others


def declared_minutes(variables: Mapping[str, str], tests: Path = TESTS) -> dict[str, float]:
    """Every long test with the minutes that it declares."""
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "records", Path(folder) / "log"
        command = ("pytest", str(tests), *PLUGIN, "--collect-only", "--quiet", LONG, "-m", "long")
        environment = {key: value for key, value in variables.items() if key not in NOT_FROM_OUTSIDE}
        environment[RECORDS_FILE] = str(file)
        with log.open("wb") as output:
            code = spawn(command, output, environment=environment, folder=tests.parent).wait()
        if code != 0:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
            raise DevError("\n".join([f"The long tests can't be listed: pytest ended with {code}.", *last]))
        found = records.read(file)
    skipped = [f"{record.test}: {record.text}" for record in found if record.when == "collect"]
    if skipped:
        raise DevError("\n".join(["The long tests can't be listed: these were not read.", *skipped]))
    return {record.test: record.seconds / 60 for record in found if record.when == "collected"}


def split(minutes: Mapping[str, float], count: int) -> list[list[str]]:
    """The tests of each slice.

    Each file prefers the slices in an order of its own, which only its name decides. A test goes to the first slice with
    room for it, the longest tests first; when every slice is full, to the emptiest one. So a file's tests stay together,
    and a new test moves few others.
    """

    @cache
    def preferred(file: str) -> list[int]:
        return sorted(range(count), key=lambda place: hashlib.sha256(f"{file} {place}".encode()).digest())

    slices: list[list[str]] = [[] for _ in range(count)]
    full = [0.0] * count
    for test in sorted(minutes, key=lambda test: (-minutes[test], test)):
        places = preferred(test.partition("::")[0])
        room = (place for place in places if full[place] + minutes[test] <= FULL_MINUTES)
        place = next(room, min(range(count), key=full.__getitem__))
        slices[place].append(test)
        full[place] += minutes[test]
    return slices


def narrowed(sections: Sequence[Section], tests: Sequence[str]) -> list[Section]:
    """The sections that have one of these tests, each with the files of its own."""
    files: dict[str, dict[str, None]] = {}
    for test in tests:
        file = test.partition("::")[0]
        files.setdefault(section_of(ROOT / file).name, {})[file] = None
    return [section.part(list(files[section.name])) for section in sections if section.name in files]


def note(part: Slice, commit: str, day: str, result: str, page: Path = PAGE) -> None:
    """Writes the row of a slice. The rows of another number of slices go: they would count tests twice."""
    with page.open("r+", encoding="utf-8") as file:
        flock(file, LOCK_EX)  # another slice may end now
        text = file.read()
        found = _TABLE.search(text)
        if found is None:
            raise DevError(f"{page} has no table of slices: write back the two comments named slices.")
        written = (
            text[: found.start()]
            + _with_row(found[0], part, f"{commit} | {day} | {result}")
            + text[found.end() :]
        )
        file.seek(0)
        file.write(written)
        file.truncate()


def _with_row(table: str, part: Slice, content: str) -> str:
    """Sums up the slices that passed."""
    rows = {int(row["number"]): row[0] for row in _ROW.finditer(table) if int(row["count"]) == part.count}
    rows[part.number] = f"| {part} | {content} |"
    kept = [rows[number] for number in sorted(rows)]
    passed = [row for row in kept if FAILED not in row]
    sums: Counter[str] = Counter()
    for row in passed:
        for one in _COUNT.finditer(row.partition(": ")[2]):
            sums[one["name"].strip()] += int(one["count"].replace(",", ""))
    lines = "".join(f"{row}\n" for row in kept)
    return f"\n{HEAD}{lines}\n{len(passed)} of {part.count} slices have passed: {counted(sums)}.\n\n"


def result_of(reports: Sequence[Report], code: int, seconds: float) -> str:
    """What became of a slice, with what its tests counted."""
    counts = Counter(tests=sum(report.passed for report in reports), minutes=round(seconds / 60))
    for report in reports:
        counts += report.counts
    left_out = [report.name for report in reports if not report.ran and not report.failures]
    without = f" without {' and '.join(left_out)}" if left_out else ""
    return f"{FAILED if code else 'passed'}{without}: {counted(counts)}"

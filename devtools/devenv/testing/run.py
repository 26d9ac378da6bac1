"""Runs sections, those of different lanes side by side, and what failed once more when all the others are done.

Nothing is skipped silently: every skip is listed, and one whose reason isn't on the short list of what no set-up of
ours can bring onto a machine is a failure.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from devenv.environment import Prepared, Variables
from devenv.errors import DevError, NotOnThisMachineError
from devenv.progress import say
from devenv.testing import records
from devenv.testing.coverage import SETTINGS_FILE
from devenv.testing.measured import Measurement
from devenv.testing.records import ONLY_FILE, RECORDS_FILE
from devenv.testing.report import Report
from devenv.testing.results import Results
from devenv.testing.sections import Section, remedy
from devenv.testing.watched import Watch

NO_TESTS_RAN = 5
SOME_FAILED = 1
# More at once isn't chance, and each may take minutes.
RUN_AGAIN_AT_MOST = 8
NAMED_AT_MOST = 3
# Where tests/conftest.py writes what it deselected.
LEFT_OUT_FILE = "SLUICE_LEFT_OUT_FILE"
EVIDENCE_FOLDER = "SLUICE_EVIDENCE"
# From which tests/long_parts.py draws: the same for a test that runs once more behind midnight.
LONG_SEED = "SLUICE_LONG_SEED"
# What a shell around ./dev may hold, and what would choose among the tests or change them without being seen.
NOT_FROM_OUTSIDE = {"PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", ONLY_FILE, SETTINGS_FILE}
PLUGIN = ("-p", "devenv.testing.plugin")


@dataclass
class _Running:
    """One section while it runs."""

    section: Section
    variables: Variables
    report: Report
    failed: dict[str, str] = field(default_factory=dict)


class Run:
    """One `./dev test`: sections, their variables, and where output is kept."""

    def __init__(
        self,
        prepared: Prepared,
        results: Results,
        options: Sequence[str] = (),
        only: Sequence[str] = (),
        coverage: Mapping[str, str] | None = None,
    ) -> None:
        """`only`: the ids of the tests to run, if not all. `coverage`: the variables that make processes measure themselves."""
        self._prepared = prepared
        self._results = results
        self._options = list(options)
        self._only = list(only)
        self._coverage = coverage
        self._stop = threading.Event()
        self._several = False
        self._day = time.strftime("%Y%m%d", time.gmtime())

    def sections(self, sections: Sequence[Section]) -> list[Report]:
        """The sections' reports, in their order."""
        self._several = len({section.lane for section in sections}) > 1
        running = [self._prepare(section) for section in sections]
        lanes: dict[str, list[_Running]] = {}
        for one in running:
            if one.report.ran:
                lanes.setdefault(one.section.lane, []).append(one)
        self._side_by_side(list(lanes.values()))
        for one in running:
            self._settle(one)
        return [one.report for one in running]

    def _prepare(self, section: Section) -> _Running:
        # A part of a section tells nothing about the cost of the whole, and measuring coverage costs by itself.
        budget = None if self._options or self._coverage else section.cpu_minutes
        report = Report(section.name, budget_minutes=budget)
        variables: Variables = {}
        try:
            variables = self._prepared.variables(*section.needs)
        except NotOnThisMachineError as reason:
            report.ran = False
            report.left_out.append(str(reason))
        except DevError as error:
            report.ran = False
            report.failures.append(str(error))
        return _Running(section, variables, report)

    def _side_by_side(self, lanes: Sequence[Sequence[_Running]]) -> None:
        with ThreadPoolExecutor(max_workers=max(1, len(lanes))) as pool:
            try:
                works = [pool.submit(self._lane, lane) for lane in lanes]
                wait(works)
            except BaseException:
                self._stop.set()
                raise
        for work in works:
            work.result()

    def _lane(self, lane: Sequence[_Running]) -> None:
        for one in lane:
            if not self._stop.is_set():
                say(f"\n### {one.section.name}: {one.section.about}")
                self._run(one)

    def _run(self, one: _Running) -> None:
        report = one.report
        report.ran = False
        began = time.monotonic()
        slowness = []
        for command in one.section.commands:
            if self._stop.is_set():
                return
            if command[0] == "pytest":
                slowness.append(self._pytest(one, command).slowness)
            else:
                report.ran = True
                measurement = self._measured(one, command, one.variables)
                slowness.append(measurement.slowness)
                if measurement.code != 0:
                    report.failures.append(
                        f"{' '.join(command)} ended with {measurement.code}{remedy(command)}"
                    )
        if one.failed:
            self._write_failed(one, dict.fromkeys(one.failed, "(not yet)"))
        report.seconds = time.monotonic() - began
        report.slowness = max(slowness, default=1.0)
        say(f"### {report.name}: {'failed' if report.failures or one.failed else 'done'}"
            f" after {report.seconds / 60:.2f} min")  # fmt: skip

    def _pytest(self, one: _Running, command: Sequence[str]) -> Measurement:
        name, report = one.section.name, one.report
        file = self._results.records(name)
        variables = self._of_tests(name, one.variables) | {RECORDS_FILE: str(file)}
        if self._only:
            variables[ONLY_FILE] = self._write_only(name, self._only)
        measurement = self._measured(one, [*command, *PLUGIN, *self._options], variables)
        written = records.read(file)
        one.failed = records.failures(written)
        report.ran = records.anything_ran(written) or measurement.code not in (0, NO_TESTS_RAN)
        report.failures += self._stopped_early(one, measurement.code, written)
        unread = records.uncollected(written)
        report.failures += [f"{test} can't be read as tests" for test in sorted(unread)]
        one.failed = {test: text for test, text in one.failed.items() if test not in unread}
        there = records.collected(written)
        gone = [test for test in self._only if test.partition("::")[0] in command and test not in there]
        if gone:
            report.failures.append(f"{len(gone)} chosen tests are not there, the first of them {gone[0]}")
        report.left_out += self._deselected(name)
        skips = records.skips(written)
        report.passed, report.skipped = len(records.passed(written)), len(skips)
        report.counts += records.counts(written)
        for test, reason in skips:
            report.left_out.append(f"{test}: {reason}")
            if not records.may_be_skipped(reason):
                report.failures.append(f"{test} was skipped, for a reason that a set-up could cure: {reason}")
        if not report.ran and not report.failures:
            if report.left_out or self._options:
                report.left_out.append("no test ran")
            else:
                report.failures.append("no test ran, and no option left them out")
        return measurement

    def _deselected(self, name: str) -> list[str]:
        file = self._results.deselected(name)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        if len(lines) <= NAMED_AT_MOST:
            return lines
        return [f"{len(lines)} tests that take long; --long runs them, and {file} names them"]

    def _stopped_early(self, one: _Running, code: int, written: list[records.Record]) -> list[str]:
        """Why what is written isn't all that there was to report."""
        log, said = self._results.log(one.section.name), []
        if code not in (0, NO_TESTS_RAN) and not (code == SOME_FAILED and one.failed):
            said.append(f"pytest ended with {code}: {log}")
        elif not records.came_to_its_end(written):
            said.append(f"pytest ended with {code}, but was ended by something in it: {log}")
        said += [f"a worker of pytest died ({why}): {log}" for why in records.fallen_workers(written)]
        unfinished = records.unfinished(written)
        if unfinished and one.report.ran:
            tests = "1 test" if len(unfinished) == 1 else f"{len(unfinished)} tests"
            said.append(f"{tests} did not come to an end, the first of them {unfinished[0]}")
        return said

    def _of_tests(self, name: str, variables: Variables) -> Variables:
        return {
            **{key: value for key, value in variables.items() if key not in NOT_FROM_OUTSIDE},
            **(self._coverage or {}),
            LONG_SEED: variables.get(LONG_SEED) or self._day,
            LEFT_OUT_FILE: str(self._results.deselected(name)),
            EVIDENCE_FOLDER: str(self._results.evidence),
        }

    def _measured(
        self, one: _Running, command: Sequence[str], variables: Variables, *, counts: bool = True
    ) -> Measurement:
        name = one.section.name
        prefix = f"[{name}] " if self._several else ""
        watch = Watch(prefix, self._results.log(name), self._stop)
        measurement = watch.run(command, variables, self._results.measurement(name))
        if counts:
            one.report.cpu_seconds += measurement.cpu_seconds
        one.report.failures += [f"left a process behind: {line[:200]}" for line in measurement.left_behind]
        return measurement

    def _settle(self, one: _Running) -> None:
        """Failed tests run once more, alone."""
        report = one.report
        if one.failed:
            again = self._again(one)
            report.said = dict(one.failed)
            report.flaky = [test for test, text in again.items() if text is None]
            report.passed += len(report.flaky)
            report.failures += [test for test, text in again.items() if text is not None]
            self._write_failed(one, again)

    def _again(self, one: _Running) -> dict[str, str | None]:
        """Returns what each failed test said the second time, or None if it passed then."""
        section = one.section
        if not section.runs_again or len(one.failed) > RUN_AGAIN_AT_MOST:
            return dict.fromkeys(one.failed, "(not run again)")
        say(f"\n### {section.name}: once more, alone, what failed")
        name = f"{section.name}.again"
        file, only = self._results.records(name), self._write_only(name, list(one.failed))
        variables = self._of_tests(name, one.variables) | {RECORDS_FILE: str(file), ONLY_FILE: only}
        files = dict.fromkeys(test.split("::")[0] for test in one.failed)
        # With --long: a test that ran because of it is left out without it.
        options = [option for option in self._options if option == "--long"]
        code = self._measured(one, ["pytest", *files, *PLUGIN, *options], variables, counts=False).code
        written = records.read(file)
        sound = code in (0, SOME_FAILED) and records.came_to_its_end(written)
        passed, said = records.passed(written) if sound else set(), records.failures(written)
        one.report.counts += records.counts(written) if sound else Counter()
        return {
            test: None if test in passed else said.get(test, f"(not told: pytest ended with {code})")
            for test in one.failed
        }

    def _write_only(self, name: str, tests: list[str]) -> str:
        file = self._results.folder / f"{name}.json"
        file.write_text(json.dumps(tests), encoding="utf-8")
        return str(file)

    def _write_failed(self, one: _Running, again: dict[str, str | None]) -> None:
        one.report.told = self._results.failed(one.section.name)
        with one.report.told.open("w", encoding="utf-8", errors="backslashreplace") as file:
            for test, text in one.failed.items():
                second = again[test]
                file.write(f"=== {test}\n--- at first\n{text}\n")
                file.write(f"--- once more, alone\n{'passed' if second is None else second}\n\n")

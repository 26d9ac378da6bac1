"""What we ask of pytest: write down each result as it comes, and run only the tests that are named, if some are.

One JSON object a line, written at once, so what is known survives a run that is killed.
"""

import json
import os
from pathlib import Path

import pytest

RECORDS_FILE = "SLUICE_RECORDS_FILE"
ONLY_FILE = "SLUICE_ONLY_TESTS_FILE"


class Recorder:
    """Appends to the file of records."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        expected = hasattr(report, "wasxfail")
        self._write(
            test=report.nodeid,
            when=str(report.when),
            outcome="passed" if expected and report.skipped else report.outcome,
            seconds=round(report.duration, 3),
            text=_text(report),
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self._write(
                test=report.nodeid, when="collect", outcome=report.outcome, seconds=0.0, text=_text(report)
            )

    def _write(self, **record: object) -> None:
        with self._file.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{json.dumps(record)}\n")


def pytest_configure(config: pytest.Config) -> None:
    """Of several workers only their leader, who hears of every result, writes."""
    file = os.environ.get(RECORDS_FILE)
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(file)), "sluice-recorder")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Names stand in a file, not on the command line: a test's id may hold anything."""
    file = os.environ.get(ONLY_FILE)
    if not file:
        return
    wanted = set(json.loads(Path(file).read_text(encoding="utf-8")))
    others = [item for item in items if item.nodeid not in wanted]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.nodeid in wanted]


def _text(report: pytest.TestReport | pytest.CollectReport) -> str:
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    if report.outcome != "failed":
        return ""
    captured = [f"--- {title} ---\n{content}" for title, content in report.sections]
    return "\n".join([report.longreprtext, *captured])

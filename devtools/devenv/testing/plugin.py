"""What we ask of pytest: write down each result as it comes, and run only the tests that are named, if some are.

One JSON object a line, written at once, so what is known survives a run that is killed. What was to run and that pytest
came to its own end stand there, too: an exit code alone says neither.
"""

import json
import os
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from devenv.testing.records import ONLY_FILE, RECORDS_FILE


class Recorder:
    """Appends to the file of records."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._collected = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self._write_collected([item.nodeid], _declared_seconds(item))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Every worker collects all tests."""
        if not self._collected:
            self._collected = True
            self._write_collected(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(
            test=report.nodeid,
            when=str(report.when),
            outcome=report.outcome,
            seconds=round(report.duration, 3),
            text=_text(report),
            counts={name: value for name, value in report.user_properties if isinstance(value, int)},
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object | None) -> None:
        """A worker may die behind its last test, or before its first one."""
        if error is not None:
            # What came from the worker ends in what it says in short.
            whole = str(getattr(error, "formatted", error))
            self._write(test="", when="worker", outcome="failed", seconds=0.0, text=whole)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self._write(
                test=report.nodeid, when="collect", outcome=report.outcome, seconds=0.0, text=_text(report)
            )

    def ended(self, code: int) -> None:
        self._write(test="", when="ended", outcome=str(int(code)), seconds=0.0, text="")

    def _write_collected(self, tests: Sequence[str], seconds: float = 0.0) -> None:
        for test in tests:
            self._write(test=test, when="collected", outcome="", seconds=seconds, text="")

    def _write(self, **record: object) -> None:
        with self._file.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{json.dumps(record)}\n")


def pytest_configure(config: pytest.Config) -> None:
    recorder = _recorder(config)
    if recorder is not None:
        config.pluginmanager.register(recorder, "sluice-recorder")


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int, int]:
    """Wraps all that pytest does, its own tidying up included. Of a worker that fails in that its leader hears nothing."""
    try:
        code = yield
    except Exception as error:
        own = _recorder(config, of_worker=True)
        if own is not None:
            own.pytest_testnodedown(f"{type(error).__name__}: {error}")
        raise
    recorder = _recorder(config)
    if recorder is not None:
        recorder.ended(code)
    return code


def _recorder(config: pytest.Config, *, of_worker: bool = False) -> Recorder | None:
    """The recorder of the leader, which hears of every result, or of one of its workers; None in a process of the other kind."""
    file = os.environ.get(RECORDS_FILE)
    return Recorder(Path(file)) if file and hasattr(config, "workerinput") is of_worker else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects by names from a file, not from the command line: a test's id may hold anything."""
    file = os.environ.get(ONLY_FILE)
    if not file:
        return
    wanted = set(json.loads(Path(file).read_text(encoding="utf-8")))
    others = [item for item in items if item.nodeid not in wanted]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.nodeid in wanted]


def _declared_seconds(item: pytest.Item) -> float:
    """What a long test says that it takes: a minute, unless its mark says more or less."""
    mark = item.get_closest_marker("long")
    return 0.0 if mark is None else 60.0 * float(mark.kwargs.get("minutes", 1))


def _text(report: pytest.TestReport | pytest.CollectReport) -> str:
    if report.outcome == "skipped" and hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}"
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    if report.outcome != "failed":
        return ""
    captured = [f"--- {title} ---\n{content}" for title, content in report.sections]
    return "\n".join([report.longreprtext, *captured])

"""Tells after the tests what the searches found: how many states, in what time."""

import sys

import pytest

from protocol.search import Result, Tell

FOUND: list[str] = []


@pytest.fixture
def tell() -> Tell:
    """Keeps a search's result for the summary; a counter-example's trace is shown if its test fails, or with -s."""

    def keep(name: str, result: Result) -> None:
        FOUND.append(f"{name}: {result.summary}")
        sys.stdout.write(f"{name}: {result}\n")

    return keep


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FOUND:
        terminalreporter.section("states explored")
        for line in FOUND:
            terminalreporter.line(line)

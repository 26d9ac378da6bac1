"""Tells after the tests what the searches found: how many states, in what time."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from protocol import document
from protocol.search import Model, Result, Tell, explore

Holds = Callable[[document.Scenario], None]

FOUND: list[str] = []


@pytest.fixture
def tell() -> Tell:
    """Keeps a search's result for the summary; a counter-example's trace is shown if its test fails, or with -s."""

    def keep(name: str, result: Result) -> None:
        FOUND.append(f"{name}: {result.summary}")
        sys.stdout.write(f"{name}: {result}\n")

    return keep


@pytest.fixture
def holds(tell: Tell) -> Holds:
    """The search ends without a counter-example, and has met all the faults that the scenario is named for."""

    def search(scenario: document.Scenario) -> None:
        model: Model[Any] = scenario
        result = explore(model)
        tell(scenario.name, result)
        assert result.counter_example is None, str(result)
        assert not result.unmet, f"{scenario.name}: {result.unmet}"
        document.assert_tells(document.table_of(scenario), document.scenario_row(scenario, result))

    return search


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FOUND:
        terminalreporter.section("states explored")
        for line in FOUND:
            terminalreporter.line(line)

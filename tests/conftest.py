"""Options and fixtures of every test folder; what needs running services is in integration/conftest.py."""

import os
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests marked long")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long(minutes=1): takes so many minutes; runs only with --long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests are deselected, and said to be, unless they are asked for."""
    long = [item for item in items if item.get_closest_marker("long")]
    if not long or config.getoption("--long"):
        return
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
    report = os.environ.get("SLUICE_LEFT_OUT_FILE")
    if report:
        lines = [f"{item.nodeid}: takes long; --long runs it\n" for item in long]
        Path(report).write_text("".join(lines), encoding="utf-8")

"""Fits 12,000 cases into a few minutes of CPU: cheap cases share a test, and no example fails by the clock.

pytest and xdist spend about 3.5 ms of CPU on each test, more than most cases of a `parametrize` take. Cases that need no
fixture run one after the other in one test. A failed case stops no other, and the failure names each case that failed.
"""

import gc
import inspect
from collections.abc import Generator

import pytest
from hypothesis import is_hypothesis_test, settings

from unit.cases import all_of

settings.register_profile("unhurried", deadline=None, max_examples=50)
settings.load_profile("unhurried")

OF_PYTEST_ASYNCIO = {"event_loop_policy"}
"""A fixture that every test has, and that only awaited ones use."""

Collected = pytest.Item | pytest.Collector | list[pytest.Item | pytest.Collector] | None


def pytest_collection_finish() -> None:
    """Keeps the garbage collector from searching again and again through tests that stay until the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str
) -> Generator[None, Collected, Collected]:
    made = yield
    # A person who runs a file alone may want a single case.
    if not isinstance(made, list) or not hasattr(collector.config, "workerinput"):
        return made
    cases = [one for one in made if isinstance(one, pytest.Function) and _needs_no_fixture(one)]
    if len(cases) < len(made) or len(cases) < 2:
        return made
    together = pytest.Function.from_parent(collector, name=name, callobj=all_of(cases))
    together.add_marker(pytest.mark.timeout(len(cases) * float(collector.config.getini("timeout"))))
    return [together]


def _needs_no_fixture(case: pytest.Function) -> bool:
    # A case that is marked or awaited is left to the plugins that know how.
    return (
        hasattr(case, "callspec")
        and set(case.fixturenames) - OF_PYTEST_ASYNCIO == set(case.callspec.params)
        and not case.callspec.marks
        and {mark.name for mark in case.iter_markers()} == {"parametrize"}
        and not inspect.iscoroutinefunction(case.obj)
        and not is_hypothesis_test(case.obj)
    )

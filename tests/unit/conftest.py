"""Machines that build and test at the same time are slow: no example fails by the clock, and cheap cases are one test.

pytest and xdist spend more on keeping the books of a test than most cases of a `parametrize` take. Where the cases need no
fixture, they run one after the other in one test, all of them; a failure names each case that failed.
"""

import inspect
from collections.abc import Callable, Generator, Sequence

import pytest
from hypothesis import is_hypothesis_test, settings

settings.register_profile("unhurried", deadline=None, max_examples=50)
settings.load_profile("unhurried")

OF_PYTEST_ASYNCIO = {"event_loop_policy"}
"""A fixture that every test has, and that only awaited ones use."""

Collected = pytest.Item | pytest.Collector | list[pytest.Item | pytest.Collector] | None


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str
) -> Generator[None, Collected, Collected]:
    made = yield
    if not isinstance(made, list):
        return made
    cases = [one for one in made if isinstance(one, pytest.Function) and _needs_no_fixture(one)]
    if len(cases) < len(made) or len(cases) < 2:
        return made
    return [pytest.Function.from_parent(collector, name=name, callobj=_all_of(cases))]


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


def _all_of(cases: Sequence[pytest.Function]) -> Callable[[], None]:
    def every_case() -> None:
        __tracebackhide__ = True
        failed: dict[str, Exception] = {}
        for case in cases:
            try:
                case.obj(**case.callspec.params)
            except Exception as error:  # noqa: BLE001 - whatever fails it, the others are tried
                failed[case.callspec.id] = error
        for first in failed.values():
            first.add_note(f"{len(failed)} of {len(cases)} cases failed, this one first: {', '.join(failed)}")
            raise first

    return every_case

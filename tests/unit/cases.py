"""Cases of a `parametrize` that share one test."""

from collections.abc import Callable, Sequence

import pytest

ENDED_OTHERWISE = (pytest.skip.Exception, pytest.xfail.Exception)


def all_of(cases: Sequence[pytest.Function]) -> Callable[[], None]:
    """Returns a test that runs all of them, and fails with the first one that failed. None may be
    skipped: no report would name it."""

    def every_case() -> None:
        __tracebackhide__ = True
        failed: dict[str, BaseException] = {}
        for case in cases:
            try:
                returned = case.obj(**case.callspec.params)
                assert returned is None, f"the case returned {returned!r}: did it mean to assert that?"
            except ENDED_OTHERWISE as end:
                failed[case.callspec.id] = AssertionError(f"cases that share a test run: {end!r}")
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - a failed case stops no other
                failed[case.callspec.id] = error
        for first in failed.values():
            first.add_note(f"{len(failed)} of {len(cases)} cases failed, this one first: {', '.join(failed)}")
            raise first

    return every_case

"""Cases that share one test are all run, and none of them fails or is skipped unseen."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from unit.cases import all_of


def fine(_: int) -> None:
    pass


def failing(case: int) -> None:
    assert case < 0, f"never right: {case}"


def skipping(_: int) -> None:
    pytest.skip("needs root")


def expecting(_: int) -> None:
    pytest.xfail("later")


def not_raising(_: int) -> None:
    with pytest.raises(ValueError, match="never"):
        pass


def returning(case: int) -> bool:
    return case == 1


def together(*cases: Callable[[int], object]) -> Callable[[], None]:
    return all_of(
        cast(
            "Any",
            [
                SimpleNamespace(
                    obj=obj,
                    callspec=SimpleNamespace(params={next(iter(obj.__code__.co_varnames)): at}, id=str(at)),
                )
                for at, obj in enumerate(cases)
            ],
        )
    )


def test_cases_that_all_pass_pass() -> None:
    together(fine, fine)()


def test_the_first_failed_case_is_told_and_the_names_of_all() -> None:
    with pytest.raises(AssertionError, match="never right: 1") as told:
        together(fine, failing, skipping, fine, not_raising)()
    assert told.value.__notes__ == ["3 of 5 cases failed, this one first: 1, 2, 4"]


@pytest.mark.parametrize("case", [skipping, expecting, returning])
def test_a_case_that_is_skipped_or_only_returns_fails(case: Callable[[int], object]) -> None:
    with pytest.raises(AssertionError, match=r"cases that share a test run|did it mean to assert"):
        together(fine, case)()

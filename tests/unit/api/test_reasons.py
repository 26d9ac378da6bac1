"""What a run fails of is the reason in its job's status, where there is one of that name."""

import pytest

from sluice.api.reasons import Reason, reason_of

NAMED_AFTER_EXCEPTIONS = [reason for reason in Reason if reason.value.endswith(("Error", "Exception"))]


@pytest.mark.parametrize("reason", NAMED_AFTER_EXCEPTIONS)
def test_a_reason_that_is_called_like_an_exception_is_what_a_run_fails_of(reason: Reason) -> None:
    assert reason_of(reason.value) is reason


def test_any_other_exception_has_no_reason_of_its_own() -> None:
    assert reason_of("java.lang.IllegalStateException") is Reason.RUN_FAILED
    assert reason_of(Reason.BLOCKED.value) is Reason.RUN_FAILED

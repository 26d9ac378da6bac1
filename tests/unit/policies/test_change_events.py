"""Events tell once when a change of a policy's table is made, has failed, and when nothing more is tried."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.api.policy_enforcement import Enforced, EnforcedReason, FieldSet, SetBack
from sluice.policies.change_events import announced

AT = datetime(2026, 11, 27, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 27, 13, tzinfo=UTC)


def reasons(before: Enforced, **after: Any) -> list[str]:
    return [told.reason.value for told in announced(before, before.model_copy(update=after))]


def test_a_field_that_was_set_is_told_and_again_when_it_is_set_again() -> None:
    field = FieldSet(field="properties.a", at=AT)
    [told] = announced(Enforced(), Enforced(job="orders-1", fields_set=(field,)))
    assert (told.reason.value, told.message) == ("TableChanged", "orders-1 has set properties.a")
    kept = Enforced(fields_set=(field,))
    assert reasons(kept, number=2) == []
    assert reasons(kept, fields_set=(FieldSet(field="properties.a", at=LATER),)) == ["TableChanged"]


def test_a_field_that_was_set_back_before_its_job_was_counted_is_told_once() -> None:
    field = FieldSet(field="properties.a", at=AT)
    back = SetBack(field="properties.a", times=1, at=LATER, by="delta-rs")
    [told] = announced(Enforced(), Enforced(job="orders-1", set_back=(back,)))
    assert (told.reason.value, told.message) == ("TableChanged", "orders-1 has set properties.a")
    assert reasons(Enforced(fields_set=(field,)), fields_set=(), set_back=(back,)) == []


def test_each_failure_is_told_but_not_that_they_are_counted_anew() -> None:
    before = Enforced(generation=1, failures=1)
    [told] = announced(
        before, before.model_copy(update={"failures": 2, "failure": "orders-2: Delta says no"})
    )
    assert (told.reason.value, told.message, told.is_warning) == (
        "TableChangeFailed", "orders-2: Delta says no", True,
    )  # fmt: skip
    assert reasons(before, failures=0) == []
    assert reasons(before, generation=2, failures=3) == []


@pytest.mark.parametrize("reason", EnforcedReason)
def test_that_nothing_goes_on_is_told_once_for_each_reason(reason: EnforcedReason) -> None:
    goes_on = reason in (EnforcedReason.CHANGING, EnforcedReason.RETRYING)
    told = reasons(Enforced(), reason=reason.value, message="because")
    assert told == ([] if goes_on else ["TableChangesStalled"])
    assert reasons(Enforced(reason=reason.value, message="because"), message="for another cause") == []

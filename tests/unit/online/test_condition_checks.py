"""What the doctor says to do about a condition of the operator that is not True."""

import re
from datetime import UTC, datetime

import pytest

from sluice.api.conditions import ConditionStatus
from sluice.api.operator_status import OperatorCondition, OperatorConditionType
from sluice.online.access.connection import Installation
from sluice.online.doctor.condition_checks import condition_findings, last_findings

AT = Installation("ops", "lake")
_COMMAND = re.compile(r"\b(kubectl|sluice|helm) [a-z-]+")


def not_true(type_: OperatorConditionType, status: ConditionStatus) -> OperatorCondition:
    since = datetime(2026, 11, 19, tzinfo=UTC)
    return OperatorCondition(
        type=type_, status=status, last_transition_time=since, reason="Fails", message="it does not work"
    )


@pytest.mark.parametrize("status", [ConditionStatus.FALSE, ConditionStatus.UNKNOWN])
@pytest.mark.parametrize("type_", list(OperatorConditionType))
def test_each_condition_that_is_not_true_has_a_command(
    type_: OperatorConditionType, status: ConditionStatus
) -> None:
    one = not_true(type_, status)
    found = {finding.subject: finding for finding in condition_findings(AT, [one])}[type_.value]
    assert (found.level, found.message) == (
        "fail" if status is ConditionStatus.FALSE else "warn",
        "Fails: it does not work",
    )
    assert _COMMAND.search(found.cure), found.cure
    (last,) = last_findings(AT, [one])
    assert (last.level, last.cure) == ("warn", f"see whether it is still so: {found.cure}")


@pytest.mark.parametrize(
    ("type_", "command"),
    [
        (OperatorConditionType.LEASES_EXPLAINED, "sluice leases list -n ops --deployment lake"),
        (
            OperatorConditionType.LEASES_EXPLAINED,
            "sluice leases revoke HOLDER -n ops --deployment lake --yes",
        ),
        (OperatorConditionType.API_SERVER_REACHABLE, "kubectl get lease -n ops lake-leader -o yaml"),
        (OperatorConditionType.LISTS_COMPLETE, "kubectl logs -n ops deployment/lake"),
    ],
)
def test_a_command_names_the_installation(type_: OperatorConditionType, command: str) -> None:
    (found,) = last_findings(AT, [not_true(type_, ConditionStatus.FALSE)])
    assert command in found.cure

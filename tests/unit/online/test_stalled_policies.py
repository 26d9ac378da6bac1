"""`sluice status` and `sluice doctor` tell which policies a person has to see to, and what to do."""

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.reasons import PolicyReason
from sluice.cli import outputs, status_text
from sluice.online.access.connection import Installation
from sluice.online.answers import status_json
from sluice.online.doctor.findings import Finding, FindingLevel
from sluice.online.doctor.stalled_policies import (
    CURES,
    MOST_FOUND,
    SeenPolicies,
    counted_policies,
    policy_findings,
    seen_policies,
)
from sluice.online.installation.status import told as installation_told
from unit.kube.served import served, told
from unit.online.test_status import AT, NOW

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"
LEASE: Json = {"metadata": {}, "spec": {"holderIdentity": "pod-1"}}
STALLED = {reason for reason in PolicyReason if reason.meaning.startswith("Stalled:")}


def policy(
    name: str, condition: str = "Stalled", reason: str = "Drifted", message: str = "it differs"
) -> Json:
    conditions = [
        {
            "type": type_,
            "status": "True" if type_ == condition else "False",
        }
        for type_ in ("Ready", "Reconciling", "Stalled")
    ]
    status = {"reason": reason, "message": message, "conditions": conditions}
    return {"metadata": {"namespace": "sales", "name": name}, "status": status}


async def found(*policies: Any, watched: tuple[str, ...] = ()) -> list[Finding]:
    async with served(*[told({"metadata": {}, "items": list(policies)}) for _ in watched or (1,)]) as server:
        return [
            one async for one in policy_findings(server.kube, Installation("ops", "sluice", None, watched))
        ]


def shown(policies: SeenPolicies, most: int | None = status_text.MOST) -> tuple[Json, str]:
    answer = status_json(installation_told(AT, LEASE, [], NOW, policies=policies))
    with redirect_stdout(StringIO()) as out:
        status_text.show(answer, outputs.console(), most)
    return answer, out.getvalue()


def test_each_reason_of_a_stalled_policy_has_a_cure_and_a_row_in_the_runbook() -> None:
    assert CURES.keys() == STALLED
    _, _, section = OPERATIONS.read_text(encoding="utf-8").partition("\n### A policy is Stalled\n")
    rows = re.findall(r"^\| ([A-Za-z, ]+) \|", section.partition("\n### ")[0], re.MULTILINE)
    assert {one for row in rows for one in row.split(", ")} - {"reason"} == {*STALLED}


@pytest.mark.parametrize("reason", sorted(STALLED))
async def test_a_stalled_policy_is_a_warning_with_its_reason_and_what_to_do(reason: str) -> None:
    (one,) = await found(policy("orders", reason=reason), policy("fine", "Ready", "Counts"))
    assert (one.level, one.subject) == (FindingLevel.WARN, "sales/orders")
    assert one.message == f"it is Stalled: {reason}: it differs"
    assert "{" not in one.cure
    if "kubectl" in one.cure and " dtp " in one.cure:
        assert "-n sales orders" in one.cure


async def test_the_doctor_names_some_of_many_and_counts_the_rest() -> None:
    many = await found(*(policy(f"p{number:03}") for number in range(MOST_FOUND + 5)))
    assert len(many) == MOST_FOUND + 1
    assert many[-1].message == "5 more policies are Stalled"


async def test_where_none_is_stalled_that_is_said() -> None:
    (one,) = await found(policy("a", "Ready", "Counts"), {"metadata": {"name": "new", "namespace": "sales"}})
    assert (one.level, one.message) == (FindingLevel.OK, "none of 2 is Stalled")
    (one,) = await found()
    assert (one.level, one.message) == (FindingLevel.OK, "there is none")


def test_the_status_lists_stalled_policies_and_one_problem_for_each_reason() -> None:
    policies = [policy(f"p{number}") for number in range(5)]
    policies += [policy("again", reason="LeftOut", message="x" * 2_000), policy("fine", "Ready", "Counts")]
    answer, text = shown(counted_policies(policies))
    assert answer["policies"] == {"Ready": 1, "Stalled": 6}
    assert [one["policy"] for one in answer["stalledPolicies"]] == [
        "sales/again",
        *(f"sales/p{number}" for number in range(5)),
    ]
    assert answer["stalledPolicies"][0]["cure"].endswith("kubectl delete dtp -n sales again")
    assert answer["problems"] == [
        "5 policies are Stalled as Drifted: sales/p0, sales/p1, sales/p2 and 2 more: change the table or the policy; "
        "status.drift has each difference: kubectl get dtp -n NAMESPACE NAME -o yaml",
        "1 policy is Stalled as LeftOut: sales/again: merge it into the policy that the message names, and delete it: "
        "kubectl delete dtp -n NAMESPACE NAME",
    ]
    assert "Policies: 1 Ready, 6 Stalled" in text
    assert re.search(r"^sales/p0 +Drifted +it differs", text, re.MULTILINE)
    assert "x" * 201 not in re.sub(r"\s", "", text)


def test_many_stalled_policies_are_shown_only_if_asked_for() -> None:
    many = counted_policies(policy(f"p{number:03}") for number in range(30))
    assert "and 10 more; --all shows them" in shown(many)[1]
    assert "sales/p029" in shown(many, most=None)[1]


async def test_whoever_may_not_list_policies_is_told_so_and_shown_the_rest() -> None:
    refused = {"kind": "Status", "message": "you may not", "reason": "Forbidden", "code": 403}
    async with served(told(refused, 403)) as server:
        answer, text = shown(await seen_policies(server.kube, AT))
    assert (answer["policies"], answer["stalledPolicies"], answer["problems"]) == (None, [], [])
    assert answer["policiesNotSeen"] == "policies could not be listed: you may not"
    assert "Policies: not seen: policies could not be listed: you may not" in text


@pytest.mark.parametrize(
    "status",
    [None, "x", {"conditions": "x"}, {"conditions": [1, {"type": ["Stalled"], "status": "True"}]}],
)
def test_what_somebody_wrote_into_a_policy_breaks_nothing(status: Any) -> None:
    odd = {"metadata": {"namespace": "sales", "name": "odd"}, "status": status}
    answer, _ = shown(counted_policies([odd]))
    assert json.dumps(answer["policies"]) == '{"New": 1}'

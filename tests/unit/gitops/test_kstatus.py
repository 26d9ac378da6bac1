"""What Flux concludes from a status by kstatus' rules for kinds that it does not know is what Argo CD's health check says."""

from typing import Any

import pytest

from argocd import HealthTest, health_tests
from sluice.api import names
from sluice.api.conditions import Condition

CONDITIONS = ["Ready", "Reconciling", "Stalled"]
SAME = {"Healthy": "Current", "Progressing": "InProgress", "Suspended": "InProgress", "Degraded": "Failed"}
TESTS = [test for kind in (names.JOB_KIND, names.POLICY_KIND) for test in health_tests(kind)]
TOLD = [test for test in TESTS if "status" in test.object]


def kstatus(body: Any) -> str:
    """The rules, in their order: the generation, then Reconciling and Stalled as they come, then Ready; else all is well."""
    status = body.get("status", {})
    generation = body["metadata"]["generation"]
    if status.get("observedGeneration", generation) != generation:
        return "InProgress"
    conditions = status.get("conditions", [])
    for condition in conditions:
        if condition["status"] == "True" and condition["type"] in ("Reconciling", "Stalled"):
            return "InProgress" if condition["type"] == "Reconciling" else "Failed"
    ready = [condition["status"] for condition in conditions if condition["type"] == "Ready"]
    return "InProgress" if ready not in ([], ["True"]) else "Current"


@pytest.mark.parametrize("test", TOLD, ids=lambda test: test.file.stem)
def test_kstatus_and_argo_cd_agree(test: HealthTest) -> None:
    assert kstatus(test.object) == SAME[test.expected.status]


@pytest.mark.parametrize("test", TOLD, ids=lambda test: test.file.stem)
def test_each_status_has_the_three_conditions_of_which_one_is_true_for_its_generation(
    test: HealthTest,
) -> None:
    status = test.object["status"]
    conditions = [Condition.model_validate(one) for one in status["conditions"]]
    assert [one.type for one in conditions] == CONDITIONS
    assert [one.status.value for one in conditions].count("True") == 1
    generation = test.object["metadata"]["generation"]
    assert {one.observed_generation for one in conditions} == {generation}
    assert {(one.reason, one.message) for one in conditions} == {(status["reason"], status["message"])}


def test_before_the_operators_first_word_kstatus_takes_an_object_for_done() -> None:
    """docs/gitops.md says so, and what to do about it."""
    [new] = [test for test in TESTS if "status" not in test.object]
    assert (kstatus(new.object), new.expected.status) == ("Current", "Progressing")

"""The models refuse what the API server refuses, in the same words where the words are ours."""

import re

import pytest

from generate.crds import RESOURCES
from integration.api.manifest_tables import BadManifest, bad_manifests, problems_of
from unit.api.schemas import rules_in


def _rule_messages() -> set[str]:
    return {rule["message"] for resource in RESOURCES for rule in rules_in(resource)}


OURS = _rule_messages()
CASES = bad_manifests()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_manifest_is_refused_at_its_field(case: BadManifest) -> None:
    problems = problems_of(case.manifest)
    if case.message in OURS:
        place, message = (case.field, case.message) if case.field else case.message.split(" ", maxsplit=1)
        assert f"{place}: {message}" in problems
    else:
        assert case.field in [problem.partition(": ")[0] for problem in problems]


def test_every_rule_has_a_manifest_that_breaks_it() -> None:
    of_transitions = {
        message for message in OURS if re.search(r"cannot change once an attempt exists", message)
    }
    assert OURS - of_transitions == {case.message for case in CASES}.intersection(OURS)

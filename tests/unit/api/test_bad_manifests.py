"""The models refuse what the API server refuses, in the same words where the words are ours."""

import re

import pytest

from generate.crds import RESOURCES
from integration.api.manifest_tables import BadManifest, bad_manifests
from sluice.api.manifests import InvalidManifest, parse
from unit.api.schemas import rules_in


def _rule_messages() -> set[str]:
    return {rule["message"] for resource in RESOURCES for rule in rules_in(resource)}


OURS = _rule_messages()
CASES = bad_manifests()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_manifest_is_refused_at_its_field(case: BadManifest) -> None:
    with pytest.raises(InvalidManifest) as refusal:
        parse(case.manifest)
    fields = [problem.partition(": ")[0] for problem in refusal.value.problems]
    if case.message in OURS:
        wanted = f"{case.field}: {case.message}" if case.field else case.message
        assert wanted in refusal.value.problems
    else:
        assert case.field in fields


def test_every_rule_has_a_manifest_that_breaks_it() -> None:
    of_transitions = {
        message for message in OURS if re.search(r"cannot change once an attempt exists", message)
    }
    assert OURS - of_transitions == {case.message for case in CASES}.intersection(OURS)

"""Argo CD's health checks say what each phase and each condition means, and never take for healthy what they do not know."""

from pathlib import Path
from typing import Any

import pytest

from argocd import FOLDER, Health, HealthTest, health_of, health_tests
from sluice.api import names
from sluice.api.job_status import Phase

KINDS = (names.JOB_KIND, names.POLICY_KIND)
OF_PHASES = {
    Phase.PENDING: "Progressing",
    Phase.WAITING: "Progressing",
    Phase.SUSPENDED: "Suspended",
    Phase.BACKING_OFF: "Progressing",
    Phase.STARTING: "Progressing",
    Phase.RUNNING: "Progressing",
    Phase.PAUSED: "Progressing",
    Phase.ENDING: "Progressing",
    Phase.SUCCEEDED: "Healthy",
    Phase.SKIPPED: "Healthy",
    Phase.FAILED: "Degraded",
}


def job(status: Any, generation: int = 1) -> Any:
    metadata = {"name": "x", "namespace": "sales", "generation": generation}
    body = {"apiVersion": names.API_VERSION, "kind": names.JOB_KIND, "metadata": metadata}
    return body if status is None else body | {"status": status}


@pytest.mark.parametrize(
    "test", [test for kind in KINDS for test in health_tests(kind)], ids=lambda t: t.file.stem
)
def test_a_health_check_says_of_its_test_data_what_its_own_test_expects(test: HealthTest) -> None:
    assert health_of(test.object) == test.expected


@pytest.mark.parametrize("kind", KINDS)
def test_all_test_data_is_tested_and_is_in_argo_cds_own_layout(kind: str) -> None:
    folder = FOLDER / names.GROUP / kind
    tests = health_tests(kind)
    assert {test.file for test in tests} == set((folder / "testdata").glob("*.yaml"))
    assert {test.object["kind"] for test in tests} == {kind}
    assert {path.name for path in folder.iterdir()} == {"health.lua", "health_test.yaml", "testdata"}


def test_the_test_data_has_every_phase_that_the_operator_writes_and_every_health() -> None:
    found = {(test.object.get("status") or {}).get("phase") for test in health_tests(names.JOB_KIND)}
    assert found == {None, *(phase.value for phase in Phase)}
    health = {test.expected.status for kind in KINDS for test in health_tests(kind)}
    assert health == {"Healthy", "Progressing", "Suspended", "Degraded"}


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_has_a_health(phase: Phase) -> None:
    found = health_of(job({"phase": phase.value, "observedGeneration": 1, "message": "why"}))
    assert found == Health(OF_PHASES[phase], f"{phase.value}: why")


def test_a_phase_that_is_not_known_is_unknown_and_says_what_to_do() -> None:
    found = health_of(job({"phase": "Dreaming", "observedGeneration": 1, "message": "why"}))
    assert found.status == "Unknown"
    assert (
        "does not know the phase Dreaming: take the one of the version of Sluice that runs" in found.message
    )


def test_a_stream_that_runs_for_ever_is_healthy_as_soon_as_it_gets_on() -> None:
    def runs(ready: str, phase: str = "Running", generation: int = 1) -> str:
        condition = {"type": "Ready", "status": ready, "observedGeneration": 1, "reason": "R", "message": "m"}
        told = {"phase": phase, "observedGeneration": generation, "message": "why", "conditions": [condition]}
        return health_of(job(told, generation=generation)).status

    assert runs("True") == "Healthy"
    assert runs("False") == "Progressing"
    assert runs("True", phase="Paused") == "Progressing"
    assert runs("True", generation=2) == "Progressing", "its spec has changed since"


def test_what_is_told_of_an_earlier_version_of_the_spec_says_nothing_of_this_one() -> None:
    succeeded = {"phase": "Succeeded", "observedGeneration": 1, "message": "done"}
    stalled = {"type": "Stalled", "status": "True", "observedGeneration": 1, "reason": "R", "message": "m"}
    assert health_of(job(succeeded, generation=1)).status == "Healthy"
    assert health_of(job(succeeded, generation=2)).status == "Progressing"
    assert health_of(job(succeeded | {"conditions": [stalled]}, generation=1)) == Health("Degraded", "R: m")
    assert health_of(job(succeeded | {"conditions": [stalled]}, generation=2)).status == "Progressing"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [None, {}, {"conditions": []}, {"message": "no phase"}])
def test_what_nobody_has_looked_at_is_progressing(kind: str, status: Any) -> None:
    assert health_of(job(status) | {"kind": kind}).status == "Progressing"


def test_a_policy_that_changed_since_it_was_looked_at_is_progressing() -> None:
    [ready, *_] = [
        test.object for test in health_tests(names.POLICY_KIND) if test.expected.status == "Healthy"
    ]
    changed = ready | {"metadata": ready["metadata"] | {"generation": ready["metadata"]["generation"] + 1}}
    assert health_of(changed).status == "Progressing"


def test_the_health_checks_fit_into_a_config_map() -> None:
    """What the docs tell is a key and a file for each kind."""
    guide = (Path(__file__).parents[3] / "docs" / "gitops.md").read_text(encoding="utf-8")
    for kind in KINDS:
        path = f"resource_customizations/{names.GROUP}/{kind}/health.lua"
        assert f"resource.customizations.health.{names.GROUP}_{kind}={path}" in guide

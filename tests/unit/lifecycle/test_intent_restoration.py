"""An intent that is gone from its job's status is written again, as the object of its attempt says what was granted."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.api import names
from sluice.api.engine_kind import EngineKind
from sluice.api.job_status import Attempt, Phase
from sluice.engines import RuntimeProfile
from sluice.engines.attempt import application_name
from sluice.lifecycle.attempt.intent_restoration import restored
from sluice.lifecycle.evidence.attempt_evidence import evidence_of
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from unit.controller.bodies import job_body
from unit.lifecycle.objects import LEASE, RUNNING, TOKEN, application, pod

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
NAME = application_name("a", LEASE.uid, 1)
JOB = JobView(job_body("a"), {"default": RuntimeProfile(spark_version="4.2.0")}, NOW)
GRANTED = replace(LEASE, hash=JOB.spec_hash)


def change(
    *objects: dict[str, Any], held: tuple[Any, ...] = (GRANTED,), job: JobView = JOB
) -> StatusChange | None:
    pods = [body for body in objects if "kind" not in body]
    evidence = evidence_of(LEASE.uid, job, [body for body in objects if "kind" in body], pods)
    return restored(job, evidence, held)


@pytest.mark.parametrize(
    "objects",
    [
        [application("RUNNING", NAME, lease=GRANTED)],
        [pod(RUNNING, NAME, lease=GRANTED)],
        [application("RUNNING", NAME, lease=GRANTED, annotations=None), pod(RUNNING, NAME, lease=GRANTED)],
    ],
)
def test_any_witness_of_the_attempt_brings_it_back(objects: list[dict[str, Any]]) -> None:
    found = change(*objects)
    assert found is not None
    assert found.attempt == Attempt(
        number=1, token=TOKEN, hash=JOB.spec_hash, application=NAME, granted_at=NOW
    )
    assert found.phase is Phase.STARTING
    assert found.understood is not None


def test_it_was_made_for_the_spark_operator_of_its_kind() -> None:
    body = application("RUNNING", NAME, lease=GRANTED) | {"apiVersion": "spark.apache.org/v1"}
    found = change(body)
    assert found is not None
    assert found.attempt is not None
    assert found.attempt.engine is EngineKind.APACHE


def test_what_no_lease_covers_was_not_granted() -> None:
    assert change(application("RUNNING", NAME, lease=GRANTED), held=()) is None


def test_a_copy_is_no_attempt_of_its_own() -> None:
    assert change(application("RUNNING", "copy", lease=GRANTED)) is None


def test_what_the_status_knows_needs_nothing() -> None:
    known = {
        "number": 1,
        "token": TOKEN,
        "hash": "h",
        "application": NAME,
        "grantedAt": "2026-11-19T10:00:00Z",
    }
    job = replace(JOB, body=JOB.body | {"status": {"attempts": [known | {"outcome": "Withdrawn"}]}})
    assert change(application("RUNNING", NAME, lease=GRANTED), job=job) is None


def test_what_only_bears_a_record_tells_nothing() -> None:
    assert change(application("RUNNING", NAME, lease=GRANTED, finalizers=None)) is None


def test_of_another_spec_than_was_granted_it_is_not_said_what_it_touches() -> None:
    found = change(application("RUNNING", NAME), held=(LEASE,))
    assert found is not None
    assert found.understood is None


def test_a_record_that_cannot_be_read_brings_nothing_back() -> None:
    body = application("RUNNING", NAME, lease=GRANTED)
    body["metadata"]["annotations"] = {names.ANNOTATION_LEASE: "[", names.ANNOTATION_TOKEN: "7"}
    assert change(body) is None

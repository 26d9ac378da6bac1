"""What was seen last stays, whatever late events and lists say."""

from typing import Any

import pytest

from sluice.api import names
from sluice.controller.world import World
from sluice.engines import RuntimeProfile, Stage
from unit.controller.bodies import job_body
from unit.lifecycle.objects import LEASE, NAME, RUNNING, TERMINATED, application, pod


def world() -> World:
    return World({"default": RuntimeProfile(spark_version="4.2.0")})


def body(name: str, version: int, *, uid: str | None = None, namespace: str = "etl") -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-19T10:00:00Z",
            "generation": 1,
            "labels": {names.LABEL_JOB_UID: f"job-of-{name}"},
        },
        "spec": {},
    }


def listed(version: int, *items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


def test_a_late_event_takes_nothing_back() -> None:
    seen = world()
    seen.job_seen(body("a", 9))
    seen.job_seen(body("a", 7))
    assert seen.jobs["uid-a"].resource_version == "9"
    seen.pods.seen(body("p", 9))
    seen.pods.seen(body("p", 7))
    (pod,) = seen.pods.of("job-of-p")
    assert pod["metadata"]["resourceVersion"] == "9"


def test_the_end_of_an_older_object_of_that_name_ends_no_newer_one() -> None:
    seen = world()
    seen.applications.seen(body("a", 9, uid="new"))
    seen.applications.gone(body("a", 8, uid="old"))
    assert seen.applications.get("etl", "a") is not None


@pytest.mark.parametrize("kind", ["jobs", "applications", "pods"])
def test_a_list_removes_what_is_gone_but_not_what_is_younger_or_elsewhere(kind: str) -> None:
    seen = world()
    see = {"jobs": seen.job_seen, "applications": seen.applications.seen, "pods": seen.pods.seen}[kind]
    see(body("gone", 3))
    see(body("stays", 4))
    see(body("younger", 12))
    see(body("elsewhere", 5, namespace="other"))
    answer = listed(10, body("stays", 4), body("found", 8))
    if kind == "jobs":
        seen.jobs_listed(answer, "etl")
        left = {job.name for job in seen.jobs.values()}
    else:
        known = getattr(seen, kind)
        known.listed(answer, "etl")
        left = {name.removeprefix("job-of-") for name in known.uids}
    assert left == {"stays", "younger", "elsewhere", "found"}


async def test_changes_are_told_once_and_wait_no_longer_than_asked() -> None:
    seen = world()
    assert await seen.changes(0.01) == set()
    seen.job_seen(body("a", 1))
    seen.pods.seen(body("p", 1))
    assert await seen.changes(0) == {"uid-a", "job-of-p"}
    assert await seen.changes(0) == set()


def test_evidence_follows_everything_that_is_seen_and_is_not_put_together_twice() -> None:
    seen = world()
    uid = LEASE.uid
    assert not seen.evidence(uid).holds(1)
    seen.job_seen(job_body("a"))
    assert seen.evidence(uid) is seen.evidence(uid)
    seen.applications.seen(application("SUBMITTED"))
    assert seen.evidence(uid).by_application[NAME].seen.stage is Stage.STARTING
    seen.pods.seen(pod(RUNNING))
    assert seen.evidence(uid).by_application[NAME].seen.stage is Stage.RUNNING
    seen.pods.seen(pod(TERMINATED, resourceVersion="6"))
    assert seen.evidence(uid).by_application[NAME].seen.stage is Stage.ENDED
    seen.pods.gone(pod(TERMINATED, resourceVersion="7"))
    seen.applications.seen(application("FAILED", resourceVersion="8"))
    seen.namespace_ends("etl")
    assert seen.evidence(uid).by_application[NAME].seen.stage is Stage.NEVER_STARTS
    seen.applications.gone(application("FAILED", resourceVersion="9"))
    seen.job_gone(uid)
    assert seen.evidence(uid).by_application == {}


def test_what_outlives_its_job_is_not_forgotten() -> None:
    seen = world()
    seen.applications.seen(body("a", 1))
    assert seen.all_uids() == {"job-of-a"}


@pytest.mark.parametrize("kind", ["jobs", "policies", "applications", "pods"])
def test_what_is_gone_is_not_brought_back_by_an_answer_given_before(kind: str) -> None:
    seen = world()
    known: Any = getattr(seen, kind)
    before = body("a", 5)
    see: Any = {
        "jobs": seen.job_seen,
        "policies": seen.policy_seen,
        "applications": seen.applications.seen,
        "pods": seen.pods.seen,
    }[kind]
    see(before)
    match kind:
        case "jobs":
            seen.job_gone("uid-a")
            seen.jobs_listed(listed(6, before), None)
        case "policies":
            seen.policy_gone("uid-a")
            seen.policies_listed(listed(6, before), None)
        case _:
            known.gone(body("a", 7))
            known.listed(listed(6, before), None)
    see(body("a", 6))
    assert not (known.uids if kind in ("applications", "pods") else known)
    see(body("a", 8, uid="another"))
    assert known.uids if kind in ("applications", "pods") else known

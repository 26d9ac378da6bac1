"""What was seen last stays, whatever late events and lists say."""

from typing import Any

import pytest

from sluice.api import names
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile, Stage
from unit.controller.bodies import job_body, policy_body
from unit.lifecycle.objects import LEASE, NAME, RUNNING, TERMINATED, application, pod


def world() -> ClusterCache:
    return ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})


def body(name: str, version: int, *, uid: str | None = None, namespace: str = "etl") -> dict[str, Any]:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
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


def test_a_late_event_takes_nothing_back() -> None:
    seen = world()
    seen.job_seen(body("a", 9))
    seen.job_seen(body("a", 7))
    assert seen.jobs["uid-a"].resource_version == "9"
    seen.pods.seen(body("p", 9))
    seen.pods.seen(body("p", 7))
    (pod,) = seen.pods.of("job-of-p")
    assert pod["metadata"]["resourceVersion"] == "9"


async def test_changes_are_told_once_and_wait_no_longer_than_asked() -> None:
    seen = world()
    await seen.wait_for_change(0.01)
    assert seen.take_changes() == []
    seen.job_seen(body("a", 1))
    seen.pods.seen(body("p", 1))
    seen.job_seen(body("a", 2))
    await seen.wait_for_change(20)
    assert seen.take_changes() == ["uid-a", "job-of-p"]
    assert seen.take_changes() == []


def test_a_policy_that_changes_has_the_jobs_of_its_table_looked_at_and_no_others() -> None:
    seen = world()
    tables = {
        "a": "delta.`/lake/a`",
        "b": "delta.`/lake/b`",
        "by-name": "sales.orders",
        "other": "delta.`/lake/other`",
    }

    def marked(version: int, *, gone: bool = False, **table: str) -> set[str]:
        """The jobs to be looked at once the policy says this."""
        seen.policy_seen(policy_body("p", version=version, generation=version, table=table))
        if gone:
            seen.policy_gone("policy-p")
        seen.heed_policies()
        for job in seen.jobs.values():
            job.footprint  # noqa: B018 - so that it rests on its table
        return {uid.removeprefix("uid-") for uid in seen.take_changes()}

    for name, table in tables.items():
        seen.job_seen(job_body(name, sql=f"DELETE FROM {table} WHERE id = 1"))
    seen.policy_seen(policy_body("elsewhere", table={"path": "/lake/c", "name": "sales.orders"}))
    marked(1, path="/lake/a")
    assert marked(2, path="/lake/a") == {"a"}
    assert marked(3, path="/lake/b") == {"a", "b"}
    assert marked(4, path="/lake/c") == {"b", "by-name"}
    assert marked(5, path="/lake/b", name="sales.orders") == {"b", "by-name"}, "which it may be now"
    assert marked(6, path="/lake/b", name="sales.orders") == {"b", "by-name"}
    assert marked(7, path="/lake/b", name="sales.orders", gone=True) == {"b", "by-name"}


def test_how_many_jobs_are_in_each_phase_follows_what_is_seen_whatever_stands_there() -> None:
    seen = world()
    for version, status in enumerate(({}, {"phase": "Waiting"}, {"phase": ["x"]}, None, {"phase": "Failed"})):
        seen.job_seen(job_body("a", version=version + 1) | {"status": status})
        seen.job_seen(job_body("b", version=version + 1))
        assert sum(seen.tally.phases.values()) == 2
    assert +seen.tally.phases == {"Failed": 1, "New": 1}
    seen.job_gone("uid-a")
    assert +seen.tally.phases == {"New": 1}


@pytest.mark.parametrize(
    "status",
    [
        [],
        {"phase": []},
        {"phase": {}, "attempts": 1, "pause": [], "stream": 1},
        {"attempts": [[], {"outcome": {}, "pause": {"for": [1]}}]},
    ],
)
@pytest.mark.parametrize(
    "checkpoint", ["s3://lake/_checkpoints/a", "", "://", "s3://[", "\ud800", 1, None, ["a"], {}]
)
def test_a_stream_is_seen_whatever_somebody_wrote_into_it(status: object, checkpoint: object) -> None:
    seen = world()
    for version, phase in enumerate(("Waiting", None)):
        spec = {"spec": {"stream": {"checkpoint": checkpoint}, "footprint": [{"checkpoint": checkpoint}, 1]}}
        told = {"status": {"phase": phase} if phase else status}
        seen.job_seen(job_body("a", version=version + 1) | spec | told)
    assert seen.take_changes() == ["uid-a"]


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
    assert seen.evidence(uid).by_application[NAME].seen.stage is Stage.NOT_OVER
    seen.applications.seen(application("COMPLETED", resourceVersion="7"))
    assert seen.evidence(uid).by_application[NAME].seen.stage is Stage.ENDED
    seen.pods.gone(pod(TERMINATED)["metadata"]["uid"])
    seen.applications.seen(application("FAILED", resourceVersion="8"))
    seen.namespace_ends("etl")
    assert seen.evidence(uid).by_application[NAME].seen.stage is Stage.NEVER_STARTS
    seen.applications.mirrors[0].gone(application("FAILED")["metadata"]["uid"])
    seen.job_gone(uid)
    assert seen.evidence(uid).by_application == {}


def test_what_outlives_its_job_is_not_forgotten() -> None:
    seen = world()
    seen.applications.seen(body("a", 1))
    assert seen.all_uids() == {"job-of-a"}


def test_a_new_job_of_the_name_proves_that_the_old_one_is_gone() -> None:
    seen = world()
    seen.job_seen(body("a", 3, uid="old"))
    seen.job_seen(body("a", 9, uid="new"))
    assert set(seen.jobs) == {"new"}


def test_nothing_is_left_of_what_was_seen_before_everything_was_forgotten() -> None:
    seen = world()
    seen.job_seen(body("a", 9))
    seen.policy_seen(body("p", 9))
    seen.applications.seen(body("b", 9))
    seen.pods.seen(body("c", 9))
    seen.job_seen(body("d", 9))
    seen.job_gone("uid-d")
    seen.forget()
    assert not seen.jobs
    assert not any(map(len, seen.mirrors))
    assert seen.all_uids() == set()
    seen.job_seen(body("d", 2))
    seen.job_seen(body("a", 3))
    assert {job.resource_version for job in seen.jobs.values()} == {"2", "3"}

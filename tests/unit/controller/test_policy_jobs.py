"""The jobs of policies: made once, under a name that two leaders have alike, and never in the place of another's."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job import DeltaWriteJob
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.policy_jobs import KEPT_SECONDS, JobOrder, NameTakenError, PolicyJobs
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from unit.controller.bodies import job_body, policy_body, unfenced

AT = datetime(2026, 11, 27, 3, tzinfo=UTC)
ORDER = JobOrder("orders-properties-1", "properties", "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", AT)


class _Api:
    """Keeps jobs as the API server does."""

    def __init__(self) -> None:
        self.jobs: dict[str, Json] = {}
        self.version = 10

    async def create(self, _: Any, _ns: str, body: Json) -> Json:
        name = body["metadata"]["name"]
        if name in self.jobs:
            raise ConflictError(409, "AlreadyExists", "it is there")
        self.version += 1
        given = {"uid": f"uid-{self.version}", "resourceVersion": str(self.version), "generation": 1}
        self.jobs[name] = body | {"metadata": body["metadata"] | given}
        return self.jobs[name]

    async def get(self, _: Any, _ns: str, name: str) -> Json:
        return self.jobs[name]

    async def delete(self, _: Any, _ns: str, name: str, body: Json) -> None:
        if name not in self.jobs:
            raise NotFoundError(404, "NotFound", "gone")
        if body["preconditions"]["resourceVersion"] != self.jobs[name]["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "changed")
        del self.jobs[name]


def _jobs(api: _Api) -> tuple[ClusterCache, PolicyJobs]:
    world = ClusterCache({})
    kube: Any = api
    return world, PolicyJobs(kube, world, unfenced())


POLICY = policy_body("orders", table={"path": "/lake/orders"}, runtimeRef="small")


async def test_a_job_is_an_ordinary_one_that_the_policy_owns_and_its_profile_runs() -> None:
    world, jobs = _jobs(_Api())
    made = await jobs.make(POLICY, ORDER)
    job = DeltaWriteJob.model_validate(made)
    assert (job.metadata["name"], job.metadata["namespace"]) == ("orders-properties-1", "etl")
    assert job.spec.sql == ORDER.sql
    assert job.spec.runtime_ref == "small"
    assert job.spec.ttl_seconds_after_finished == KEPT_SECONDS
    (owner,) = job.metadata["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("policy-orders", True)
    assert job.metadata["labels"] == {
        names.LABEL_POLICY: "orders",
        names.LABEL_POLICY_KIND: "properties",
    }
    assert job.metadata["annotations"][names.ANNOTATION_RUN_AT] == AT.isoformat()
    assert names.ANNOTATION_WRITER_EPOCH in job.metadata["annotations"]
    assert [one["metadata"]["name"] for one in world.of_policies.of(POLICY)] == [ORDER.name]


async def test_two_leaders_make_one_job() -> None:
    api = _Api()
    _, first = _jobs(api)
    world, second = _jobs(api)
    made = await first.make(POLICY, ORDER)
    found = await second.make(POLICY, ORDER)
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert len(api.jobs) == 1
    assert len(world.of_policies.of(POLICY)) == 1


@pytest.mark.parametrize("owner", [None, "another", "policy-orders"])
async def test_a_job_of_somebody_else_is_named_and_left_alone(owner: str | None) -> None:
    api = _Api()
    squatter = job_body(ORDER.name)
    if owner is not None:  # an owner that doesn't control it didn't make it
        squatter["metadata"]["ownerReferences"] = [
            {
                "apiVersion": names.API_VERSION,
                "kind": names.POLICY_KIND,
                "name": "orders",
                "uid": owner,
                "controller": owner != "policy-orders",
            }
        ]
    api.jobs[ORDER.name] = squatter
    world, jobs = _jobs(api)
    with pytest.raises(NameTakenError, match=r"etl/orders-properties-1 is in the way.*Delete it"):
        await jobs.make(POLICY, ORDER)
    assert api.jobs[ORDER.name] is squatter
    assert world.of_policies.of(POLICY) == ()


async def test_whoever_may_have_been_replaced_is_told_that_its_job_is_refused() -> None:
    class _Refusing(_Api):
        async def create(self, *_: Any) -> Json:
            raise ApiError(422, "Invalid", "epoch 6 is over: another leader has begun epoch 7")

    kube: Any = _Refusing()
    told: list[ApiError] = []
    jobs = PolicyJobs(kube, ClusterCache({}), unfenced(), refused=told.append)
    with pytest.raises(ApiError, match="is over"):
        await jobs.make(POLICY, ORDER)
    assert [error.status for error in told] == [422]


async def test_one_that_is_refused_because_its_own_leader_began_another_epoch_is_sent_under_that_one() -> (
    None
):
    epochs = unfenced()
    epochs.epoch = 6

    class _Raised(_Api):
        async def create(self, kind: Any, namespace: str, body: Json) -> Json:
            if body["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] == "6":
                epochs.epoch = 7
                raise ApiError(422, "Invalid", "epoch 6 is over: another leader has begun epoch 7")
            return await super().create(kind, namespace, body)

    kube: Any = _Raised()
    told: list[ApiError] = []
    made = await PolicyJobs(kube, ClusterCache({}), epochs, refused=told.append).make(POLICY, ORDER)
    assert made["metadata"]["annotations"][names.ANNOTATION_WRITER_EPOCH] == "7"
    assert told == []


async def test_one_that_has_begun_meanwhile_is_not_removed() -> None:
    api = _Api()
    world, jobs = _jobs(api)
    made = await jobs.make(POLICY, ORDER)
    begun = made | {"metadata": made["metadata"] | {"resourceVersion": "99"}}
    api.jobs[ORDER.name] = begun
    with pytest.raises(ConflictError):
        await jobs.remove(made)
    await jobs.remove(begun)
    assert api.jobs == {}
    await jobs.remove(begun)
    assert world.of_policies.of(POLICY) == ()


async def test_a_policy_is_told_of_each_change_of_its_jobs_and_of_no_other() -> None:
    world, jobs = _jobs(_Api())
    made = await jobs.make(POLICY, ORDER)
    before = world.of_policies.changes(POLICY)
    world.job_seen(job_body("a-person's"))
    assert world.of_policies.changes(POLICY) == before
    failed = made | {
        "metadata": made["metadata"] | {"resourceVersion": "12"},
        "status": {
            "phase": "Failed",
            "observedGeneration": 1,
            "reason": "ApplicationFailed",
            "message": "Delta says no",
            "finishedAt": "2026-11-27T03:01:00Z",
        },
    }
    world.job_seen(failed)
    assert world.of_policies.changes(POLICY) > before
    (kept,) = world.of_policies.of(POLICY)
    assert kept["status"]["message"] == "Delta says no"
    seen = world.of_policies.changes(POLICY)
    world.job_gone(made["metadata"]["uid"])
    assert world.of_policies.of(POLICY) == ()
    assert world.of_policies.changes(POLICY) != seen


async def test_of_a_policy_whose_jobs_are_gone_nothing_is_kept_and_its_next_change_is_told() -> None:
    api = _Api()
    world, jobs = _jobs(api)
    told = [world.of_policies.changes(POLICY)]
    for _ in range(3):
        made = await jobs.make(POLICY, ORDER)
        told.append(world.of_policies.changes(POLICY))
        api.jobs.clear()
        world.job_gone(made["metadata"]["uid"])
        assert world.of_policies.changes(POLICY) == told[0]
    assert len(set(told)) == len(told)


async def test_a_job_of_another_namespace_is_not_the_policys_whoever_it_says_owns_it() -> None:
    world, jobs = _jobs(_Api())
    made = await jobs.make(POLICY, ORDER)
    before = world.of_policies.changes(POLICY)
    elsewhere = made["metadata"] | {"namespace": "other", "uid": "uid-elsewhere"}
    world.job_seen(made | {"metadata": elsewhere})
    assert world.of_policies.changes(POLICY) == before
    assert [job["metadata"]["namespace"] for job in world.of_policies.of(POLICY)] == ["etl"]

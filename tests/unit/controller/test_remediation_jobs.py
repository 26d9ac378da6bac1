"""Tables become as their policies want by jobs, which are made after what they are made from is kept in the policy's status."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.policy_jobs import PolicyJobs
from sluice.controller.policy_work.policy_status import PolicyStatuses
from sluice.controller.policy_work.remediation_jobs import RemediationJobs
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError, ConflictError
from sluice.kube.resources import JOBS, POLICIES, Resource
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.predicates import Table
from sluice.tables import TableFacts
from sluice.tables.table_observation import CommitSummary, LogHistory, TableObservation, TableState
from unit.controller.bodies import job_body, merged, policy_body, unfenced
from unit.controller.maintained import Events
from unit.lifecycle.objects import TOKEN

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PROFILE = RuntimeProfile(spark_version="4.0.1", delta_version="4.0.0")
SPEC: Json = {
    "table": {"path": "s3://lake/orders"},
    "enforcement": "Enforce",
    "properties": {"delta.appendOnly": "true"},
}


class _Cluster:
    """Keeps jobs and policies as the API server does, and what was written in which order."""

    def __init__(self, **spec: Any) -> None:
        self.world = ClusterCache({"default": PROFILE})
        self.version = 100
        self.written: list[str] = []
        self.refuses: ApiError | None = None
        self.fails_after: str | None = None
        """The write that is the last one of this leader."""
        self.jobs: dict[str, Json] = {}
        self.seen: dict[str, TableObservation] = {}
        self.looked_for: list[str] = []
        self.events = Events()
        self.world.policy_seen(policy_body("orders", **(SPEC | spec)))
        self.world.heed_policies()
        self.began = NOW - MINUTE
        self.remedies = self.leader()

    def leader(self) -> RemediationJobs:
        kube: Any = self
        events: Any = self.events
        leads: Any = SimpleNamespace(leads=lambda: True)
        looks: Any = SimpleNamespace(of=self.seen.get, soon=self.looked_for.append, listen=lambda _: None)
        return RemediationJobs(
            world=self.world,
            looks=looks,
            jobs=PolicyJobs(kube, self.world, unfenced()),
            statuses=PolicyStatuses(kube, self.world, leads, looks=looks, neighbours=VisibleBlockers()),
            events=events,
            neighbours=VisibleBlockers(),
            profiles={"default": PROFILE},
            began=self.began,
        )

    @property
    def policy(self) -> Json:
        found = self.world.policies.get("etl", "orders")
        assert found is not None
        return found

    @property
    def enforced(self) -> Json:
        return dict((self.policy.get("status") or {}).get("enforced") or {})

    def change(self, generation: int, metadata: Json | None = None, **spec: Any) -> None:
        self.version += 1
        body = policy_body("orders", version=self.version, generation=generation, **(SPEC | spec))
        body["metadata"] |= metadata or {}
        self.world.policy_seen(body | {"status": self.policy.get("status", {})})
        self.world.heed_policies()

    def looks_like(self, at: datetime = NOW, **properties: str) -> None:
        self.looks_as_told(at, LogHistory(), properties)

    def looks_as_told(self, at: datetime, history: LogHistory, properties: Json) -> None:
        state = TableState(version=1, columns=("a",), properties=properties)
        facts = TableFacts(columns=Table.of({"a": "int"}))
        self.seen["policy-orders"] = TableObservation(at, state, facts, history=history)

    def job_is(self, phase: str, *, at: datetime = NOW, **status: Any) -> None:
        (name,) = [one for one in self.jobs if self._is_open(one)]
        self._put(name, {"phase": phase, "observedGeneration": 1, "finishedAt": at.isoformat(), **status})

    def _is_open(self, name: str) -> bool:
        return self.jobs[name].get("status", {}).get("phase") not in ("Succeeded", "Failed")

    def _put(self, name: str, status: Json) -> None:
        job = self.jobs[name]
        metadata = job["metadata"] | {"resourceVersion": self._next()}
        self.jobs[name] = job | {"metadata": metadata, "status": status}
        self.world.job_seen(self.jobs[name])

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    async def visit(self, at: datetime = NOW) -> datetime | None:
        return await self.remedies.visit(self.policy, at)

    # What the API server does

    async def create(self, resource: Resource, _ns: str, body: Json) -> Json:
        assert resource is JOBS
        name = body["metadata"]["name"]
        self._write(f"create {name}")
        if self.refuses is not None:
            raise self.refuses
        if name in self.jobs:
            raise ConflictError(409, "AlreadyExists", "it is there")
        version = self._next()
        metadata = {"uid": f"uid-{version}", "resourceVersion": version, "generation": 1}
        self.jobs[name] = json.loads(json.dumps(body | {"metadata": body["metadata"] | metadata}))
        return self.jobs[name]

    async def get(self, _: Resource, _ns: str, name: str) -> Json:
        return self.jobs[name]

    async def delete(self, _: Resource, _ns: str, name: str, body: Json) -> None:
        assert body["preconditions"]["resourceVersion"] == self.jobs[name]["metadata"]["resourceVersion"]
        self._write(f"delete {name}")
        self.world.job_gone(self.jobs.pop(name)["metadata"]["uid"])

    async def patch(self, resource: Resource, _ns: str, _name: str, body: Json, *, sub: str) -> Json:
        assert (resource, sub) == (POLICIES, "status")
        known = self.policy
        if body["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "changed")
        self._write("status")
        metadata = known["metadata"] | {"resourceVersion": self._next()}
        return known | {"metadata": metadata, "status": merged(known.get("status") or {}, body["status"])}

    def _write(self, what: str) -> None:
        if self.fails_after is not None and self.written[-1:] == [self.fails_after]:
            raise RuntimeError("this leader has ended")
        self.written.append(what)


async def test_a_difference_is_changed_by_a_job_and_nothing_more_is_done_until_it_has_ended() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    (job,) = cluster.jobs.values()
    assert "'delta.appendOnly' = 'true'" in job["spec"]["sql"]
    assert job["metadata"]["annotations"][names.ANNOTATION_CHANGES] == "properties.delta.appendOnly"
    before = list(cluster.written)
    await cluster.visit()
    await cluster.visit()
    assert [one for one in cluster.written[len(before) :] if one != "status"] == []
    assert cluster.enforced["reason"] == "Changing"
    assert cluster.written.count("status") == 2, "it is told once"


async def test_a_table_is_looked_at_after_a_job_and_is_then_as_wanted() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    cluster.job_is("Succeeded", at=NOW + MINUTE)
    later = NOW + 2 * MINUTE
    await cluster.visit(later)
    assert cluster.looked_for == ["policy-orders"]
    cluster.looks_like(later, **{"delta.appendOnly": "true"})
    await cluster.visit(later)
    assert len(cluster.jobs) == 1
    assert "reason" not in cluster.enforced
    written = list(cluster.written)
    await cluster.visit(later)
    assert cluster.written == written


async def test_a_change_has_two_events_and_a_table_that_stays_as_wanted_has_none() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    for _ in range(3):
        await cluster.visit()
    cluster.job_is("Succeeded", at=NOW + MINUTE)
    for minutes in range(2, 6):
        cluster.looks_like(NOW + minutes * MINUTE, **{"delta.appendOnly": "true"})
        await cluster.visit(NOW + minutes * MINUTE)
    (name,) = cluster.jobs
    assert cluster.events.told == [
        (EventReason.TABLE_CHANGE_BEGUN, f"created DeltaWriteJob {name} to set properties.delta.appendOnly"),
        (EventReason.TABLE_CHANGED, f"{name} has set properties.delta.appendOnly"),
    ]


async def test_a_fight_is_told_when_it_is_given_up() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    at = NOW
    for _ in range(3):
        await cluster.visit(at)
        cluster.job_is("Succeeded", at=at + MINUTE)
        at += 2 * MINUTE
        await cluster.visit(at)
        cluster.looks_like(at)
    for _ in range(3):
        await cluster.visit(at)
    [*changes, (reason, message)] = cluster.events.told
    assert [one for one, _ in changes] == [EventReason.TABLE_CHANGE_BEGUN, EventReason.TABLE_CHANGED] * 3
    assert reason is EventReason.TABLE_CHANGES_STALLED
    assert message.startswith("Fight: spec.properties.delta.appendOnly was set 3 times")


@pytest.mark.parametrize(
    ("job", "by"), [("etl/tidy", "job etl/tidy"), ("other/secret", "a job in another namespace in version 7")]
)
async def test_who_set_it_back_is_named_only_to_whom_he_may_be_named(job: str, by: str) -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    cluster.job_is("Succeeded", at=NOW + MINUTE)
    later = NOW + 2 * MINUTE
    back = CommitSummary(7, later, "SET TBLPROPERTIES", "Apache-Spark/4.0.1", job)
    cluster.looks_as_told(later, LogHistory(changed_by={"delta.appendOnly": back}), {})
    await cluster.visit(later)
    [one] = cluster.enforced["setBack"]
    assert one["by"].startswith(by)
    assert "secret" not in json.dumps(cluster.policy["status"])


async def test_what_was_set_back_is_counted_before_it_is_set_again() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    cluster.job_is("Succeeded", at=NOW + MINUTE)
    later = NOW + 2 * MINUTE
    cluster.looks_like(later)
    cluster.fails_after = "status"
    with pytest.raises(RuntimeError, match="has ended"):
        await cluster.visit(later)
    assert [one["times"] for one in cluster.enforced["setBack"]] == [1]
    assert len(cluster.jobs) == 1
    cluster.fails_after, cluster.remedies = None, cluster.leader()
    await cluster.visit(later)
    assert [one["times"] for one in cluster.enforced["setBack"]] == [1]
    assert sorted(name.rpartition("-")[2] for name in cluster.jobs) == ["1", "2"]


async def test_a_leader_that_ended_after_it_made_a_job_is_followed_by_one_that_makes_no_other() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    assert "number" not in cluster.enforced
    cluster.remedies = cluster.leader()
    await cluster.visit()
    assert len(cluster.jobs) == 1
    assert cluster.enforced["number"] == 1


async def test_somebody_elses_job_of_that_name_is_told_and_left_alone() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    (name,) = cluster.jobs
    squatted = _Cluster()
    squatted.jobs[name] = job_body(name)
    squatted.looks_like()
    await squatted.visit()
    assert squatted.enforced["reason"] == "NameTaken"
    assert f"etl/{name} is in the way" in squatted.enforced["message"]
    written = squatted.written.count("status")
    await squatted.visit()
    assert squatted.written.count("status") == written, "it is told once"
    del squatted.jobs[name]
    await squatted.visit()
    await squatted.visit()
    assert squatted.enforced["reason"] == "Changing"


async def test_a_refusal_of_the_api_server_is_told_and_tried_again() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    cluster.refuses = ApiError(403, "Forbidden", "exceeded quota: jobs")
    for _ in range(2):
        with pytest.raises(ApiError, match="exceeded quota"):
            await cluster.visit()
        assert cluster.enforced["reason"] == "ApiServerRefuses"
        assert "exceeded quota: jobs" in cluster.enforced["message"]
    assert [reason for reason, _ in cluster.events.told] == [EventReason.TABLE_CHANGES_STALLED]
    cluster.refuses = None
    await cluster.visit()
    assert len(cluster.jobs) == 1


async def test_a_profile_that_is_not_there_is_told_with_those_that_are() -> None:
    cluster = _Cluster(runtimeRef="big")
    cluster.looks_like()
    await cluster.visit()
    assert cluster.jobs == {}
    assert cluster.enforced["reason"] == "RuntimeUnknown"
    assert (
        "'big', and the policy's jobs would run under it; the operator has default"
        in cluster.enforced["message"]
    )


async def test_a_policy_that_does_not_count_changes_nothing() -> None:
    cluster = _Cluster()
    cluster.world.policy_seen(policy_body("older", created="09:00:00", table={"path": "s3://lake/orders"}))
    cluster.world.heed_policies()
    cluster.looks_like()
    await cluster.visit()
    assert cluster.jobs == {}


async def test_a_policy_that_is_being_deleted_changes_nothing() -> None:
    cluster = _Cluster()
    cluster.change(1, {"deletionTimestamp": "2026-11-27T12:00:00Z"})
    cluster.looks_like()
    await cluster.visit()
    assert cluster.written == []


async def test_a_job_that_waits_goes_when_its_policy_wants_something_else_and_that_is_no_failure() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    cluster.job_is("Waiting")
    await cluster.visit()
    cluster.change(2, properties={"team": "sales"})
    await cluster.visit()
    assert cluster.jobs == {}
    await cluster.visit()
    (job,) = cluster.jobs.values()
    assert "'team' = 'sales'" in job["spec"]["sql"]
    assert job["metadata"]["name"].endswith("-2")
    assert "failures" not in cluster.enforced


async def test_a_job_that_runs_stays_whatever_its_policy_says() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    cluster.job_is("Running", attempts=[{"number": 1}])
    cluster.change(2, enforcement="Observe")
    await cluster.visit()
    assert len(cluster.jobs) == 1


async def test_a_job_that_is_to_be_tried_again_goes_where_its_first_attempt_or_another_has_set_it() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    ended = {
        "number": 1,
        "token": TOKEN,
        "hash": "hash",
        "application": "one",
        "grantedAt": NOW.isoformat(),
        "outcome": "Failed",
    }
    cluster.job_is("BackingOff", attempts=[ended])
    await cluster.visit()
    assert len(cluster.jobs) == 1
    later = NOW + MINUTE
    cluster.looks_like(later, **{"delta.appendOnly": "true"})
    await cluster.visit(later)
    assert cluster.jobs == {}
    assert "failures" not in cluster.enforced


async def test_a_failed_job_is_told_with_its_words_and_followed_by_another_later() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    cluster.job_is("Failed", at=NOW, reason="RunFailed", message="DELTA_UNKNOWN_CONFIGURATION")
    later = NOW + timedelta(seconds=10)
    cluster.looks_like(later)
    due = await cluster.visit(later)
    assert due == NOW + timedelta(seconds=61)
    assert cluster.enforced["reason"] == "Retrying"
    assert cluster.events.told[-1][0] is EventReason.TABLE_CHANGE_FAILED
    assert "RunFailed: DELTA_UNKNOWN_CONFIGURATION" in cluster.enforced["message"]
    await cluster.visit(due)
    assert len(cluster.jobs) == 2


async def test_what_a_former_leaders_clock_said_of_an_end_is_not_believed() -> None:
    """A job that ended before this leader began had ended by then, though the other's clock was behind."""
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    cluster.job_is("Succeeded", at=NOW - timedelta(days=3))
    cluster.looks_like(NOW)
    cluster.began, later = NOW + MINUTE, NOW + 2 * MINUTE
    cluster.remedies = cluster.leader()
    await cluster.visit(later)
    assert cluster.looked_for == ["policy-orders"]
    assert len(cluster.jobs) == 1


async def test_what_somebody_wrote_over_is_begun_anew() -> None:
    cluster = _Cluster()
    cluster.version += 1
    body = policy_body("orders", version=cluster.version, **SPEC)
    cluster.world.policy_seen(body | {"status": {"enforced": {"number": "many", "junk": 1}}})
    cluster.looks_like()
    await cluster.visit()
    assert len(cluster.jobs) == 1
    assert "junk" not in cluster.enforced


@pytest.mark.parametrize("enforcement", ["Observe", "Enforce"])
async def test_nothing_is_written_where_nothing_was_ever_to_be_done(enforcement: str) -> None:
    cluster = _Cluster(enforcement=enforcement)
    await cluster.visit()
    cluster.looks_like(NOW, **{"delta.appendOnly": "true"})
    await cluster.visit()
    assert cluster.written == []


@pytest.mark.parametrize("ended", ["9999-12-31T23:59:59Z", "2026-11-27T12:00:00", "whenever"])
async def test_an_end_that_somebody_wrote_over_holds_nothing_up(ended: str) -> None:
    cluster = _Cluster()
    cluster.looks_like()
    await cluster.visit()
    (name,) = cluster.jobs
    cluster._put(name, {"phase": "Succeeded", "observedGeneration": 1, "finishedAt": ended})
    cluster.looks_like(NOW + 2 * MINUTE, **{"delta.appendOnly": "true"})
    await cluster.visit(NOW + 2 * MINUTE)
    assert cluster.enforced["counted"] == 1


async def test_why_the_api_server_refuses_a_job_is_told_however_long_that_is() -> None:
    cluster = _Cluster()
    cluster.looks_like()
    cluster.refuses = ApiError(403, "Forbidden", "x" * 5000)
    with pytest.raises(ApiError):
        await cluster.visit()
    assert cluster.enforced["reason"] == "ApiServerRefuses"
    assert len(cluster.enforced["message"]) == 2048

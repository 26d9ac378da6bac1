"""A policy's job does not begin before a look tells that the table is still to be changed. All other jobs begin as they did."""

from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work import change_gate as module
from sluice.controller.policy_work.change_gate import QUIET, ChangeGate
from sluice.engines import RuntimeProfile
from sluice.policies.job_name import job_name
from sluice.predicates import Table
from sluice.tables import TableFacts
from sluice.tables.table_observation import TableObservation, TableState
from unit.controller.bodies import job_body, policy_body
from unit.policies.test_remediation import NOW

SQL = "ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES ('delta.appendOnly' = 'true')"
SPEC: Json = {
    "table": {"path": "s3://lake/orders"},
    "enforcement": "Enforce",
    "properties": {"delta.appendOnly": "true"},
}
NAME = job_name("orders", "policy-orders", "properties", "1")
UID = f"uid-{NAME}"


class Looks:
    def __init__(self) -> None:
        self.latest: TableObservation | None = None
        self.listeners: list[Any] = []
        self.listen = self.listeners.append

    def after_all_runs(self, uid: str) -> TableObservation | None:
        assert uid == "policy-orders"
        return self.latest

    def sees(self, **properties: str) -> None:
        self.latest = TableObservation(
            NOW,
            TableState(version=1, columns=("a",), properties=properties),
            TableFacts(columns=Table.of({"a": "int"})),
        )
        for listener in self.listeners:
            listener("policy-orders")


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def owned(name: str = NAME, *, kind: str = "properties", owner: str = "policy-orders") -> Json:
    body = job_body(name, sql=SQL)
    reference = {"apiVersion": names.API_VERSION, "kind": names.POLICY_KIND, "name": "orders", "uid": owner}
    body["metadata"] |= {
        "labels": {names.LABEL_POLICY: "orders", names.LABEL_POLICY_KIND: kind},
        "ownerReferences": [reference | {"controller": True}],
    }
    return body


def made(*jobs: Json, **spec: Any) -> tuple[ClusterCache, Looks, ChangeGate]:
    world, looks = (
        ClusterCache({"default": RuntimeProfile(spark_version="4.0.1", delta_version="4.0.0")}),
        Looks(),
    )
    world.policy_seen(policy_body("orders", **(SPEC | spec)))
    world.heed_policies()
    for job in jobs or (owned(),):
        world.job_seen(job)
    world.take_changes()
    seen: Any = looks
    return world, looks, ChangeGate(world, seen)


def why(world: ClusterCache, changes: ChangeGate, uid: str = UID) -> str | None:
    kept = changes.keeps(world.jobs[uid])
    return None if kept is None else kept.obstacle.message


def test_a_job_is_kept_until_a_look_tells_that_it_is_needed_and_that_look_wakes_it() -> None:
    world, looks, changes = made()
    assert "its policy orders does not know that the table is still to be changed" in str(why(world, changes))
    looks.sees()
    assert world.take_changes() == [UID]
    assert why(world, changes) is None
    looks.sees()
    assert world.take_changes() == [], "it waits for no look any more"


def test_a_job_whose_change_another_one_has_made_stays_kept() -> None:
    world, looks, changes = made()
    looks.sees(**{"delta.appendOnly": "true"})
    assert "is so already" in str(why(world, changes))


def test_what_keeps_a_job_is_not_told_before_a_look_has_had_its_time(clock: Clock) -> None:
    world, _, changes = made()
    job = world.jobs[UID]
    first = changes.keeps(job)
    assert first is not None
    assert first.quiet_for == QUIET
    clock.now += QUIET + 1
    later = changes.keeps(job)
    assert later is not None
    assert later.quiet_for == 0


@pytest.mark.parametrize(
    "job",
    [
        job_body("mine", sql=SQL),
        owned("a-name-of-somebody-else"),
        owned(kind="optimize"),
        owned(owner="another-policy"),
    ],
    ids=["a user's", "another name", "maintenance", "of a policy that is gone"],
)
def test_a_job_that_is_no_change_of_a_policy_is_not_kept(job: Json) -> None:
    world, _, changes = made(job)
    assert why(world, changes, job["metadata"]["uid"]) is None


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"enforcement": "Observe"}, "does not say Enforce any more"),
        ({"enforcement": "Nonsense"}, "is not understood: correct it, or delete this job"),
    ],
)
def test_a_job_whose_policy_does_not_want_it_any_more_is_kept(spec: Json, says: str) -> None:
    world, looks, changes = made(**spec)
    looks.sees()
    assert says in str(why(world, changes))


def test_a_job_of_a_policy_that_is_left_out_is_kept() -> None:
    world, looks, changes = made()
    world.policy_seen(policy_body("older", created="09:00:00", table={"path": "s3://lake/orders"}))
    world.heed_policies()
    looks.sees()
    assert "does not say Enforce any more" in str(why(world, changes))


def test_nothing_is_remembered_of_jobs_that_are_gone() -> None:
    world, looks, changes = made()
    assert why(world, changes) is not None
    world.job_gone(UID)
    world.take_changes()
    looks.sees()
    assert world.take_changes() == []
    name = job_name("orders", "policy-orders", "properties", "2")
    world.job_seen(owned(name))
    looks.latest = None
    assert why(world, changes, f"uid-{name}") is not None
    assert list(changes._since) == [f"uid-{name}"]

"""A policy that is deleted leaves its table as it is. Its jobs go with it, at whatever moment: one that waits is gone, one that
runs is ended as any deleted job is, and nothing is left of either."""

from pathlib import Path

import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from integration.conftest import Kubectl
from integration.operator.played import Driver, Played, rewrite, told_to_end
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

WANTED = {"delta.appendOnly": "true"}
ENFORCED = {"enforcement": "Enforce", "properties": WANTED}
SELDOM = "0 0 29 2 *"
MAINTAINED = {kind: {"maintenance": {kind: {"schedule": SELDOM}}} for kind in ("optimize", "vacuum")}


def _create(path: Path) -> str:
    DeltaTable.create(str(path), Schema([Field("id", PrimitiveType("long"))]))
    return str(path)


def _made_by(cluster: Played, policy: str) -> Json:
    """The one job that the policy has made."""
    [job] = eventually(
        lambda: [
            job
            for job in cluster.jobs()
            if any(owner["name"] == policy for owner in job["metadata"].get("ownerReferences", ()))
        ],
        f"policy {policy} has made a job",
        show=lambda: cluster.policy(policy),
    )
    return dict(job)


def _delete(cluster: Played, kubectl: Kubectl, policy: str, *options: str) -> None:
    done = kubectl("delete", "dtp", policy, "-n", cluster.namespace, *options)
    assert done.returncode == 0, done.stderr


def _name(job: Json) -> str:
    return str(job["metadata"]["name"])


def _is_gone(cluster: Played, job: Json) -> None:
    eventually(lambda: cluster.job(_name(job)) is None, f"{_name(job)} is gone", show=cluster.jobs)


def _holds(cluster: Played, job: Json) -> bool:
    return any(holder.startswith(job["metadata"]["uid"]) for holder in cluster.holders())


def _is_left_nothing(cluster: Played, job: Json, driver: Driver) -> None:
    """Once its driver has ended: no object of it, and no lease."""
    driver.container_ends(1, told_to_end())
    eventually(lambda: not _holds(cluster, job), "its lease is released", show=cluster.holders)
    cluster.delete_pod(driver.pod)
    eventually(lambda: cluster.application(driver.application) is None, f"{driver.application} is gone")
    eventually(lambda: cluster.pod(driver.pod) is None, f"{driver.pod} is gone")
    _is_gone(cluster, job)


def _others_go_on(cluster: Played, name: str, table: str) -> None:
    cluster.apply(name, rewrite(table))
    cluster.start(name).succeeds(f"file:{table}", 1)
    cluster.reaches(name, "Succeeded")


def _version(table: str) -> int:
    return DeltaTable(table).version()


def test_a_job_that_waits_goes_with_its_policy(shared: Played, kubectl: Kubectl, tmp_path: Path) -> None:
    table = _create(tmp_path / "waits")
    shared.apply("gone-writer", rewrite(table))
    writer = shared.start("gone-writer")
    shared.reaches("gone-writer", "Running")
    shared.declare("gone-waits", {"table": {"path": table}, **ENFORCED})
    job = _made_by(shared, "gone-waits")
    shared.reaches(_name(job), "Waiting")
    _delete(shared, kubectl, "gone-waits")
    _is_gone(shared, job)
    assert shared.applications_of(job["metadata"]["uid"]) == []
    assert not _holds(shared, job)
    assert shared.status("gone-writer")["phase"] == "Running"
    assert _version(table) == 0
    writer.succeeds(f"file:{table}", 1)
    shared.reaches("gone-writer", "Succeeded")
    _others_go_on(shared, "gone-waits-next", table)


@pytest.mark.parametrize("kind", ["enforce", "optimize", "vacuum"])
def test_a_job_that_runs_is_ended_and_holds_its_lease_until_its_driver_has_ended(
    shared: Played, kubectl: Kubectl, tmp_path: Path, kind: str
) -> None:
    policy = f"gone-{kind}"
    table = _create(tmp_path / kind)
    wants = ENFORCED if kind == "enforce" else MAINTAINED[kind]
    shared.declare(policy, {"table": {"path": table}, **wants})
    if kind != "enforce":
        shared.change_policy(policy, {"metadata": {"annotations": {names.ANNOTATION_RUN: kind}}})
    job = _made_by(shared, policy)
    driver = shared.start(_name(job))
    _delete(shared, kubectl, policy)

    def is_being_ended() -> bool:
        bodies = (shared.application(driver.application), shared.pod(driver.pod))
        return all(body is not None and "deletionTimestamp" in body["metadata"] for body in bodies)

    eventually(is_being_ended, f"{driver.application} and its driver are being ended")
    assert _holds(shared, job)
    assert _version(table) == 0
    _is_left_nothing(shared, job, driver)
    _others_go_on(shared, f"{policy}-next", table)


def _collector_knows_jobs_of_now(cluster: Played) -> None:
    """The garbage collector orphans what it has seen: all before this one, which it deletes for want of an owner."""
    nobody = {"apiVersion": names.API_VERSION, "kind": names.POLICY_KIND, "name": "nobody", "uid": "nobody"}
    cluster.apply("gone-garbage", rewrite("/lake/gone-garbage"), {"ownerReferences": [nobody]})
    eventually(lambda: cluster.job("gone-garbage") is None, "what has no owner any more is collected")


def test_a_job_that_is_left_to_itself_ends_by_itself(
    shared: Played, kubectl: Kubectl, tmp_path: Path
) -> None:
    table = _create(tmp_path / "orphan")
    shared.declare("gone-orphan", {"table": {"path": table}, **ENFORCED})
    job = _made_by(shared, "gone-orphan")
    driver = shared.start(_name(job))
    _collector_knows_jobs_of_now(shared)
    _delete(shared, kubectl, "gone-orphan", "--cascade=orphan")
    eventually(
        lambda: not (shared.job(_name(job)) or job)["metadata"].get("ownerReferences"), "it has no owner"
    )
    assert shared.status(_name(job))["phase"] == "Running"
    DeltaTable(table).alter.set_table_properties(WANTED)
    driver.succeeds(f"file:{table}", 1)
    shared.reaches(_name(job), "Succeeded")
    eventually(lambda: not _holds(shared, job), "its lease is released")

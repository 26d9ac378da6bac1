"""A policy that says Enforce changes a real table by jobs, one at a time; what others set back is set again, but not for ever.

The driver is played: it does to the table what the job says, by delta-rs."""

import signal
from pathlib import Path

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from integration.operator.conftest import StartOperator
from integration.operator.played import Played
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

APPEND_ONLY = "delta.appendOnly"


def _create(path: Path) -> DeltaTable:
    return DeltaTable.create(str(path), Schema([Field("id", PrimitiveType("long"), nullable=True)]))


def _set(path: Path, value: str) -> int:
    table = DeltaTable(str(path))
    table.alter.set_table_properties({APPEND_ONLY: value})
    return DeltaTable(str(path)).version()


def _wants(path: Path, **more: str) -> Json:
    return {
        "table": {"path": str(path)},
        "enforcement": "Enforce",
        "properties": {APPEND_ONLY: "true"},
        **more,
    }


def _jobs_of(cluster: Played, policy: str) -> list[Json]:
    labels = ((job["metadata"].get("labels") or {}, job) for job in cluster.jobs())
    return [job for found, job in labels if found.get(names.LABEL_POLICY) == policy]


def _next_job(cluster: Played, policy: str, known: int) -> Json:
    """The one job that is made after so many."""
    found = eventually(
        lambda: len(jobs := _jobs_of(cluster, policy)) > known and jobs,
        f"policy {policy} has made more than {known} jobs",
        show=lambda: cluster.policy(policy),
    )
    assert len(found) == known + 1
    return max(found, key=lambda job: int(job["metadata"]["name"].rpartition("-")[2]))


def _done(cluster: Played, job: Json, path: Path) -> None:
    name = job["metadata"]["name"]
    assert f"SET TBLPROPERTIES ('{APPEND_ONLY}' = 'true')" in job["spec"]["sql"]
    driver = cluster.start(name)
    driver.succeeds(f"file:{path}", _set(path, "true"))
    cluster.reaches(name, "Succeeded")


def test_what_is_set_back_is_set_again_three_times_and_a_word_has_it_go_on(
    cluster: Played, operators: StartOperator, tmp_path: Path
) -> None:
    operators(policyLook="1s").says("the lease table was rebuilt")
    path = tmp_path / "fought"
    cluster.declare("fought", _wants(path))
    cluster.policy_is("fought", "TableMissing")
    assert _jobs_of(cluster, "fought") == []
    _create(path)
    for known in range(3):
        job = _next_job(cluster, "fought", known)
        (owner,) = job["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == (names.POLICY_KIND, "fought")
        cluster.policy_is("fought", "Changing")
        _done(cluster, job, path)
        cluster.policy_is("fought", "AsWanted")
        _set(path, "false")
    policy = cluster.policy_is("fought", "Fight")
    assert "was set 3 times" in policy["status"]["message"]
    assert "delta-rs" in policy["status"]["message"]
    assert len(_jobs_of(cluster, "fought")) == 3
    assert DeltaTable(str(path)).version() == 6, "each change was one commit"
    told = [*("TableChangeBegun", "TableChanged") * 3, "TableChangesStalled"]
    eventually(
        lambda: cluster.events_of_policy("fought") == told,
        "each change is told, and that it is given up",
        show=lambda: cluster.events_of_policy("fought"),
    )
    cluster.change_policy("fought", {"metadata": {"annotations": {names.ANNOTATION_RUN: "enforce"}}})
    _done(cluster, _next_job(cluster, "fought", 3), path)
    cluster.policy_is("fought", "AsWanted")


def test_a_leader_that_is_killed_or_stopped_is_followed_by_one_that_makes_no_second_job(
    cluster: Played, operators: StartOperator, tmp_path: Path
) -> None:
    path = tmp_path / "followed"
    _create(path)
    first = operators("first", policyLook="1s")
    first.says("the lease table was rebuilt")
    second = operators("second", policyLook="1s")
    cluster.declare("followed", _wants(path))
    job = _next_job(cluster, "followed", 0)
    first.signal(signal.SIGSTOP)
    second.says("the lease table was rebuilt")
    _done(cluster, job, path)
    first.signal(signal.SIGCONT)
    cluster.policy_is("followed", "AsWanted")
    second.kill()
    first.says("the lease table was rebuilt", times=2)
    _set(path, "false")
    _done(cluster, _next_job(cluster, "followed", 1), path)
    cluster.policy_is("followed", "AsWanted")
    assert DeltaTable(str(path)).version() == 3

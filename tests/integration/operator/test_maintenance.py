"""Maintenance of policies on a real API server, with real tables: what is due or asked for has one job, whoever leads."""

from datetime import UTC, datetime
from pathlib import Path

from arro3.core import Array, DataType, Table
from deltalake import write_deltalake

from integration.conftest import Kubectl
from integration.operator.conftest import StartOperator
from integration.operator.played import Played
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

SELDOM = "0 0 29 2 *"
EACH_MINUTE = "* * * * *"


def small_files(path: Path, count: int) -> str:
    for number in range(count):
        write_deltalake(str(path), Table({"n": Array([number], DataType.int64())}), mode="append")
    return str(path)


def made_by(cluster: Played, policy: str) -> list[Json]:
    return [
        job
        for job in cluster.jobs()
        if any(owner["name"] == policy for owner in job["metadata"].get("ownerReferences", ()))
    ]


def one_made(cluster: Played, policy: str) -> Json:
    [job] = eventually(lambda: made_by(cluster, policy), f"{policy} has made a job")
    return job


def kept(cluster: Played, policy: str) -> Json:
    return (cluster.policy(policy).get("status") or {}).get("maintenance") or {}


def annotate(cluster: Played, kubectl: Kubectl, policy: str, word: str) -> None:
    kubectl(
        "annotate", "dtp", "-n", cluster.namespace, policy, f"{names.ANNOTATION_RUN}={word}", "--overwrite"
    )


def heeded(cluster: Played, policy: str, word: str) -> None:
    eventually(lambda: kept(cluster, policy).get("asked") == word, f"{word} is heeded by {policy}")


def ended_well(cluster: Played, job: Json, table: str) -> None:
    driver = cluster.start(job["metadata"]["name"])
    driver.succeeds(table)


def test_what_is_asked_for_is_made_once_and_goes_as_its_limit_says(
    shared: Played, kubectl: Kubectl, tmp_path: Path
) -> None:
    table = small_files(tmp_path / "asked", 1)
    upkeep = {"optimize": {"schedule": SELDOM, "successfulJobsHistoryLimit": 0}}
    shared.declare("asked", {"table": {"path": table}, "maintenance": upkeep})
    annotate(shared, kubectl, "asked", "optimize")
    heeded(shared, "asked", "optimize")
    job = one_made(shared, "asked")
    assert job["spec"]["sql"] == f"OPTIMIZE delta.`{table}`"
    assert job["metadata"]["annotations"][names.ANNOTATION_ASKED] == "optimize"
    assert kept(shared, "asked")["optimize"]["lastJob"] == job["metadata"]["name"]
    ended_well(shared, job, table)
    eventually(lambda: not made_by(shared, "asked"), "the finished job is deleted")
    annotate(shared, kubectl, "asked", "tidy")
    heeded(shared, "asked", "tidy")
    assert made_by(shared, "asked") == []
    shared.policy_is("asked", "Counts")


def test_whoever_binds_the_name_elsewhere_later_does_not_stop_what_the_older_policy_has_done(
    shared: Played, kubectl: Kubectl, tmp_path: Path
) -> None:
    table, other = (small_files(tmp_path / name, 1) for name in ("named", "another"))
    upkeep = {"optimize": {"schedule": SELDOM}}
    for policy, path in (("named-first", table), ("named-later", other)):
        place = {"path": path, "name": "upkeep.named"}
        shared.declare(policy, {"table": place, "maintenance": upkeep})
        shared.policy_is(policy, "Counts" if path == table else "Ambiguous")
    message = shared.policy_is("named-first", "Ambiguous")["status"]["message"]
    assert message.endswith(f"This policy goes on for file:{table}, by that location")
    for policy in ("named-later", "named-first"):
        annotate(shared, kubectl, policy, "optimize")
    heeded(shared, "named-first", "optimize")
    job = one_made(shared, "named-first")
    assert job["spec"]["sql"] == f"OPTIMIZE delta.`{table}`"
    ended_well(shared, job, table)
    shared.reaches(job["metadata"]["name"], "Succeeded")
    assert made_by(shared, "named-later") == []
    for policy in ("named-later", "named-first"):
        kubectl("delete", "dtp", "-n", shared.namespace, policy)


def test_what_is_due_is_made_or_left_out_and_what_is_suspended_is_neither(
    shared: Played, tmp_path: Path
) -> None:
    many, held, few = (
        small_files(tmp_path / name, count) for name, count in (("a", 10), ("b", 10), ("c", 9))
    )
    for name, table, suspend in (("is-held", held, True), ("is-few", few, False), ("is-due", many, False)):
        upkeep = {"optimize": {"schedule": EACH_MINUTE, "suspend": suspend}}
        shared.declare(name, {"table": {"path": table}, "maintenance": upkeep})
    job = one_made(shared, "is-due")
    assert job["spec"]["priority"] == -1000
    assert names.ANNOTATION_AGE_AFTER in job["metadata"]["annotations"]
    at = datetime.fromisoformat(job["metadata"]["annotations"][names.ANNOTATION_RUN_AT])
    assert (at.second, at.microsecond) == (0, 0)
    left_out = eventually(
        lambda: kept(shared, "is-few").get("optimize", {}).get("lastLeftOut"), "a run is left out"
    )
    assert left_out["why"].startswith("the table has not 10 or more files that are smaller than 64 MiB")
    assert made_by(shared, "is-few") == []
    assert made_by(shared, "is-held") == []
    assert kept(shared, "is-held")["optimize"]["schedule"] == "suspended"
    ended_well(shared, job, many)
    for name in ("is-due", "is-few"):
        shared.change_policy(name, {"spec": {"maintenance": None}})
    eventually(lambda: not kept(shared, "is-few").get("optimize"), "nothing is due any more")


def test_a_run_that_was_due_while_no_operator_ran_has_one_job_though_two_come(
    cluster: Played, operators: StartOperator, tmp_path: Path
) -> None:
    table = small_files(tmp_path / "missed", 10)
    first = operators("first")
    cluster.declare(
        "missed", {"table": {"path": table}, "maintenance": {"optimize": {"schedule": EACH_MINUTE}}}
    )
    due = datetime.fromisoformat(
        eventually(
            lambda: kept(cluster, "missed").get("optimize", {}).get("nextRunAt"), "it is told what is due"
        )
    )
    first.kill()
    eventually(lambda: datetime.now(UTC) > due, "the time of the run has passed")
    operators("second")
    operators("third")
    job = one_made(cluster, "missed")
    assert datetime.fromisoformat(job["metadata"]["annotations"][names.ANNOTATION_RUN_AT]) >= due
    eventually(
        lambda: "waits until" in kept(cluster, "missed")["optimize"].get("message", ""),
        "the next run waits for the end of this one",
    )
    assert [one["metadata"]["name"] for one in made_by(cluster, "missed")] == [job["metadata"]["name"]]
    ended_well(cluster, job, table)
    following = eventually(
        lambda: [
            one for one in made_by(cluster, "missed") if one["metadata"]["uid"] != job["metadata"]["uid"]
        ],
        "the next run is made",
    )
    assert len(following) == 1

"""Who waits for whom, what the status says of it, and what ends the waiting."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from kubernetes import client

from integration.operator.played import Played, append, rewrite
from integration.waiting import eventually
from sluice.api.base import Json


def _admission_ran(cluster: Played, mark: str) -> None:
    """A job that nothing blocks gets its application: whatever came before it has been decided, too."""
    uid = cluster.apply(f"mark-{mark}", append(f"/lake/mark-{mark}"))
    eventually(lambda: cluster.applications_of(uid), "a later job is admitted")


def test_a_conflicting_job_waits_and_says_for_whom_and_why(shared: Played) -> None:
    first = shared.apply("first", rewrite("/lake/contended"))
    driver = shared.start("first")
    second = shared.apply("second", append("/lake/contended"))
    status = shared.reaches("second", "Waiting")
    (blocker,) = status["blockedBy"]
    assert blocker["job"] == f"{shared.namespace}/first"
    assert (blocker["uid"], blocker["table"]) == (first, "file:/lake/contended")
    assert blocker["verdict"] == "may"
    assert blocker["exception"]
    assert blocker["reason"]
    assert status["blockedByCount"] == 1
    assert f"{shared.namespace}/first" in status["message"]
    driver.succeeds("file:/lake/contended")
    other = shared.start("second")
    status = shared.reaches("second", "Running")
    assert "blockedBy" not in status
    assert status["queuedAt"]
    other.succeeds("file:/lake/contended", 2)
    shared.reaches("second", "Succeeded")
    assert len(shared.applications_of(second)) == 1


def test_blind_appends_run_together(shared: Played, tmp_path: Path) -> None:
    table = f"{tmp_path}/blind"
    DeltaTable.create(table, Schema([Field("id", PrimitiveType("integer"), nullable=True)]))
    drivers = {}
    for name in ("blind-1", "blind-2", "blind-3"):
        shared.apply(name, append(table))
        drivers[name] = shared.start(name)
    for name in drivers:
        assert shared.reaches(name, "Running")
    for version, (name, driver) in enumerate(drivers.items(), start=1):
        driver.succeeds(f"file:{table}", version)
        shared.reaches(name, "Succeeded")


def test_one_log_store_that_can_lose_a_commit_keeps_all_others_away(shared: Played) -> None:
    shared.apply("linking", append("/lake/mixed"))
    driver = shared.start("linking")
    shared.apply("renaming", append("/lake/mixed", runtimeRef="unsafe"))
    status = shared.reaches("renaming", "Waiting")
    assert status["blockedBy"][0]["verdict"] == "unsafe"
    driver.succeeds("file:/lake/mixed")
    shared.start("renaming").succeeds("file:/lake/mixed", 2)


@pytest.mark.parametrize(
    "spelling", ["file:/lake/spelled", "file:///lake//spelled/", "/lake/./spelled", "FILE:/lake/x/../spelled"]
)
def test_another_spelling_of_a_table_is_the_same_table(shared: Played, spelling: str) -> None:
    name = f"spelled-{abs(hash(spelling)) % 10**6}"
    shared.apply(f"{name}-holder", rewrite("/lake/spelled"))
    driver = shared.start(f"{name}-holder")
    shared.apply(name, rewrite(spelling))
    shared.reaches(name, "Waiting")
    driver.succeeds("file:/lake/spelled")
    shared.start(name).succeeds("file:/lake/spelled")
    shared.reaches(name, "Succeeded")


@pytest.mark.parametrize(("what", "phase"), [("Skip", "Skipped"), ("Fail", "Failed")])
def test_a_blocked_job_ends_at_once_if_it_wants_so(shared: Played, what: str, phase: str) -> None:
    table = f"/lake/{what.lower()}"
    shared.apply(f"{what.lower()}-holder", rewrite(table))
    driver = shared.start(f"{what.lower()}-holder")
    shared.apply(what.lower(), append(table, admission={"whenBlocked": what}))
    status = shared.reaches(what.lower(), phase)
    assert f"{what.lower()}-holder" in status["message"]
    driver.succeeds(f"file:{table}")


def test_a_wait_that_takes_too_long_ends_without_a_run(shared: Played) -> None:
    shared.apply("slow-holder", rewrite("/lake/slow"))
    driver = shared.start("slow-holder")
    uid = shared.apply("impatient", append("/lake/slow", admission={"timeout": "1s"}))
    status = shared.reaches("impatient", "Failed")
    assert status["reason"] == "TimedOut"
    assert "slow-holder" in status["message"]
    assert shared.applications_of(uid) == []
    driver.succeeds("file:/lake/slow")


def test_a_suspended_job_blocks_nobody_and_goes_on_when_let(shared: Played) -> None:
    held_back = shared.apply("let-go", rewrite("/lake/suspended", admission={"suspend": True}))
    shared.reaches("let-go", "Suspended")
    shared.apply("passes-it", rewrite("/lake/suspended"))
    driver = shared.start("passes-it")
    shared.change("let-go", {"spec": {"admission": {"suspend": False}}})
    shared.reaches("let-go", "Waiting")
    assert shared.applications_of(held_back) == []
    driver.succeeds("file:/lake/suspended")
    shared.start("let-go").succeeds("file:/lake/suspended", 2)
    shared.reaches("let-go", "Succeeded")


def test_suspending_does_not_stop_what_runs(shared: Played) -> None:
    shared.apply("goes-on", rewrite("/lake/goes-on"))
    driver = shared.start("goes-on")
    shared.reaches("goes-on", "Running")
    shared.change("goes-on", {"spec": {"admission": {"suspend": True}}})
    driver.succeeds("file:/lake/goes-on")
    shared.reaches("goes-on", "Succeeded")


def test_a_job_edited_while_it_waits_is_judged_anew(shared: Played) -> None:
    shared.apply("edit-holder", rewrite("/lake/edited"))
    driver = shared.start("edit-holder")
    shared.apply("edited", rewrite("/lake/edited"))
    shared.reaches("edited", "Waiting")
    shared.change("edited", {"spec": rewrite("/lake/edited-elsewhere")})
    other = shared.start("edited")
    assert shared.status("edited")["footprint"][0]["table"] == "file:/lake/edited-elsewhere"
    for one in (driver, other):
        one.succeeds("file:/lake/edited")
    shared.reaches("edited", "Succeeded")


def test_a_job_edited_into_a_conflict_just_before_its_turn_waits(shared: Played) -> None:
    """Many jobs change their table all the time: none may be granted on what it said before."""
    shared.apply("turn-holder", rewrite("/lake/turn"))
    driver = shared.start("turn-holder")
    uids = []
    for number in range(12):
        uids.append(shared.apply(f"turn-{number}", rewrite(f"/lake/turn-free-{number}")))
        _change_or_be_refused(shared, f"turn-{number}", rewrite("/lake/turn"))
    _admission_ran(shared, "turn")
    for number, uid in enumerate(uids):

        def judged(name: str = f"turn-{number}") -> Json | None:
            return shared.status(name).get("footprint") and shared.status(name)

        status = eventually(judged, "it was judged")
        says = (shared.job(f"turn-{number}") or {})["spec"]["sql"]
        on_the_contended_table = "`/lake/turn`" in says
        assert (len(shared.applications_of(uid)) == 0) == on_the_contended_table, status
        shared.delete(f"turn-{number}")
    driver.succeeds("file:/lake/turn")


def _change_or_be_refused(cluster: Played, name: str, spec: dict[str, Any]) -> None:
    """Refused if it was admitted meanwhile: its work is fixed since."""
    try:
        cluster.change(name, {"spec": spec})
    except client.ApiException as error:
        if error.status != 422:
            raise


def test_the_work_of_an_admitted_job_is_fixed(shared: Played) -> None:
    shared.apply("fixed", append("/lake/fixed"))
    driver = shared.start("fixed")
    with pytest.raises(client.ApiException, match="cannot change once an attempt exists"):
        shared.change("fixed", {"spec": append("/lake/elsewhere")})
    driver.succeeds("file:/lake/fixed")
    shared.reaches("fixed", "Succeeded")


def test_a_waiting_job_that_is_deleted_lets_the_next_one_go(shared: Played) -> None:
    table = {"path": "/lake/gone"}
    shared.declare("first-come", {"table": table, "admission": {"ageAfter": "0s"}})
    shared.policy_is("first-come", "Counts")
    shared.apply("gone-holder", rewrite("/lake/gone"))
    driver = shared.start("gone-holder")
    shared.apply("gone", rewrite("/lake/gone"))
    shared.apply("after-gone", append("/lake/gone"))
    shared.reaches("after-gone", "Waiting")
    eventually(lambda: shared.status("after-gone").get("blockedByCount") == 2, "both are in its way")
    message = shared.status("after-gone")["message"]
    assert "/gone-holder, which runs on file:/lake/gone (" in message
    assert "), and for 1 more job; " in message
    shared.delete("gone")
    eventually(lambda: shared.status("after-gone").get("blockedByCount") == 1, "only the holder is left")
    driver.succeeds("file:/lake/gone")
    shared.start("after-gone").succeeds("file:/lake/gone", 2)
    shared.reaches("after-gone", "Succeeded")


def test_the_higher_priority_goes_first_and_then_the_older(shared: Played) -> None:
    shared.apply("order-holder", rewrite("/lake/order"))
    holder = shared.start("order-holder")
    for name, priority in (("order-late", 0), ("order-later", 0), ("order-high", 5)):
        shared.apply(name, rewrite("/lake/order", priority=priority))
        shared.reaches(name, "Waiting")
    holder.succeeds("file:/lake/order")
    for version, name in enumerate(("order-high", "order-late", "order-later"), start=2):
        driver = shared.start(name)
        running = [
            n for n in ("order-high", "order-late", "order-later") if shared.status(n)["phase"] == "Running"
        ]
        assert running in ([], [name])
        driver.succeeds("file:/lake/order", version)
        shared.reaches(name, "Succeeded")


def test_jobs_of_one_run_go_one_after_another_whatever_they_write(shared: Played) -> None:
    shared.apply("run-first", append("/lake/run-a", runKey="daily"))
    driver = shared.start("run-first")
    shared.apply("run-other", append("/lake/run-b", runKey="weekly"))
    other = shared.start("run-other")
    shared.apply("run-second", append("/lake/run-c", runKey="daily"))
    (blocker,) = shared.reaches("run-second", "Waiting")["blockedBy"]
    assert (blocker["job"], blocker["rule"]) == (f"{shared.namespace}/run-first", "same-run")
    shared.delete("run-first")
    eventually(lambda: shared.job("run-first") is None, "the job is gone")
    _admission_ran(shared, "same-run")
    assert shared.reaches("run-second", "Waiting")["blockedBy"]
    driver.container_ends(143)
    shared.start("run-second").succeeds("file:/lake/run-c")
    other.succeeds("file:/lake/run-b")
    shared.reaches("run-second", "Succeeded")
    shared.reaches("run-other", "Succeeded")

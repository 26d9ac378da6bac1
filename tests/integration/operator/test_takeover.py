"""Operators that are killed, stopped, doubled and cut off: every job gets one application, and no two conflict."""

import json
import random
import signal
import threading
import time
from datetime import datetime
from itertools import pairwise
from typing import Any

from integration.leases.redis_process import RedisProcess
from integration.objects import Objects
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append, rewrite
from integration.operator.process import OperatorProcess, configuration
from integration.waiting import eventually
from sluice.api import names


def test_a_driver_that_ends_while_no_operator_runs_has_its_outcome_later(
    cluster: Played, operator: OperatorProcess
) -> None:
    uid = cluster.apply("alone", append("/lake/alone"))
    driver = cluster.start("alone")
    cluster.reaches("alone", "Running")
    operator.kill()
    driver.succeeds("file:/lake/alone", 4)
    operator.start()
    status = cluster.reaches("alone", "Succeeded")
    assert status["attempts"][0]["commits"][0]["version"] == 4
    assert len(cluster.applications_of(uid)) == 1
    eventually(lambda: not cluster.holders(), "the leases are released")


def test_an_operator_without_a_runtime_any_more_still_ends_what_ran_on_it(
    cluster: Played, operator: OperatorProcess
) -> None:
    cluster.apply("orphan", append("/lake/orphan", runtimeRef="unsafe"))
    driver = cluster.start("orphan")
    cluster.reaches("orphan", "Running")
    operator.kill()
    del operator.config["runtimes"]["unsafe"]
    operator.start()
    cluster.apply("behind", append("/lake/orphan"))
    cluster.reaches("behind", "Waiting")
    driver.ends(137)
    status = cluster.reaches("orphan", "Failed")
    assert status["attempts"][0]["outcome"] == "Killed"
    cluster.start("behind").succeeds("file:/lake/orphan")
    cluster.reaches("behind", "Succeeded")


def test_a_job_deleted_while_no_operator_runs_keeps_its_leases_until_its_driver_ended(
    cluster: Played, operator: OperatorProcess
) -> None:
    uid = cluster.apply("unwanted", rewrite("/lake/unwanted"))
    driver = cluster.start("unwanted")
    cluster.reaches("unwanted", "Running")
    operator.kill()
    cluster.delete("unwanted")
    cluster.apply("next", rewrite("/lake/unwanted"))
    operator.start()
    cluster.reaches("next", "Waiting")
    assert f"{uid}/1" in cluster.holders()
    driver.container_ends(143)
    cluster.delete_pod(driver.pod)
    cluster.start("next").succeeds("file:/lake/unwanted")
    cluster.reaches("next", "Succeeded")


def test_a_stopped_leader_is_replaced_and_does_no_harm_when_it_wakes(
    cluster: Played, operator: OperatorProcess, operators: StartOperator
) -> None:
    cluster.apply("before", rewrite("/lake/shared"))
    driver = cluster.start("before")
    second = operators("second")
    second.says("leads; waiting")
    operator.signal(signal.SIGSTOP)
    [held] = cluster.objects.every("lease")
    waiter = cluster.apply("waiter", rewrite("/lake/shared"))
    during = cluster.apply("during", append("/lake/during"))
    eventually(lambda: cluster.applications_of(during), "the second operator has taken over")
    assert _seconds_without_a_leader(cluster, held) < 30
    operator.signal(signal.SIGCONT)
    operator.says("no longer leading")
    cluster.reaches("waiter", "Waiting")
    driver.succeeds("file:/lake/shared")
    cluster.start("waiter").succeeds("file:/lake/shared", 2)
    cluster.reaches("waiter", "Succeeded")
    assert {len(cluster.applications_of(uid)) for uid in (waiter, during)} == {1}
    assert operator.running


def _seconds_without_a_leader(cluster: Played, held: dict[str, Any]) -> float:
    """Returns the seconds from the holder's last renewal to the next holder's first, as both wrote them into the Lease."""
    later = cluster.objects.history("lease", held["metadata"]["resourceVersion"])
    for before, after in pairwise([held, *(event["object"] for event in later)]):
        if before["spec"]["holderIdentity"] != after["spec"]["holderIdentity"]:
            renewed, taken = (datetime.fromisoformat(one["spec"]["renewTime"]) for one in (before, after))
            return (taken - renewed).total_seconds()
    raise AssertionError(f"nobody has taken over from {held['spec']['holderIdentity']}: {later}")


def test_an_operator_that_is_told_to_stop_hands_over_at_once(
    cluster: Played, operator: OperatorProcess, operators: StartOperator
) -> None:
    second = operators("second")
    second.says("leads; waiting")
    assert operator.stop() == 0
    second.says("the lease table was rebuilt")
    cluster.apply("handed-over", append("/lake/handed-over"))
    cluster.start("handed-over").succeeds("file:/lake/handed-over")
    cluster.reaches("handed-over", "Succeeded")


def test_kills_at_any_moment_make_no_second_application_and_no_conflict(
    cluster: Played, operator: OperatorProcess
) -> None:
    """Jobs on three tables keep coming and ending while the operator is killed again and again."""
    chance = random.Random(11)  # noqa: S311 - not a secret
    tables = ["/lake/k1", "/lake/k2", "/lake/k3"]
    uids = {
        name: cluster.apply(name, rewrite(chance.choice(tables)))
        for name in (f"k-{number}" for number in range(18))
    }
    engine = _Engine(cluster, chance)
    engine.start()
    try:
        for _ in range(6):
            time.sleep(chance.uniform(0.3, 4.0))
            operator.kill()
            operator.start()
        for name in uids:
            cluster.reaches(name, "Succeeded", seconds=240)
    finally:
        engine.stop()
    assert engine.faults == []
    assert {name: len(cluster.applications_of(uid)) for name, uid in uids.items()} == dict.fromkeys(uids, 1)
    eventually(lambda: not cluster.holders(), "all leases are released")


class _Engine(threading.Thread):
    """Runs every application for a moment, and writes down when two that conflict are there together."""

    def __init__(self, cluster: Played, chance: random.Random) -> None:
        super().__init__(name="played engine", daemon=True)
        self._cluster = cluster
        self._chance = chance
        self._ends_at: dict[str, float] = {}
        self._stopping = threading.Event()
        self.faults: list[str] = []

    def run(self) -> None:
        try:
            while not self._stopping.wait(0.1):
                self._look()
        except Exception as error:
            self.faults.append(f"the played engine failed: {error!r}")
            raise

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)

    def _look(self) -> None:
        live: dict[str, str] = {}
        for application in self._cluster.applications():
            name = application["metadata"]["name"]
            if application.get("status", {}).get("applicationState", {}).get("state") == "COMPLETED":
                continue
            for table in _tables_of(application):
                if table in live:
                    self.faults.append(f"{live[table]} and {name} are both there for {table}")
                live[table] = name
            self._advance(name, application)

    def _advance(self, name: str, application: dict[str, Any]) -> None:
        if name not in self._ends_at:
            driver = self._cluster.driver_for(application)
            driver.runs()
            self._ends_at[name] = time.monotonic() + self._chance.uniform(0, 1.0)
        elif time.monotonic() > self._ends_at[name]:
            self._cluster.driver_named(name).succeeds(_tables_of(application)[0])


def _tables_of(application: dict[str, Any]) -> list[str]:
    return list(json.loads(application["metadata"]["annotations"][names.ANNOTATION_LEASE])["tables"])


def test_an_operator_serves_several_namespaces_without_mixing_them(
    cluster: Played, operators: StartOperator, redis: RedisProcess
) -> None:
    """What one namespace's list does not show may well be in another."""
    beside = Played(cluster.api, Objects(cluster.objects.server, f"{cluster.namespace}-beside"), redis.url)
    beside.objects.create_namespace()
    both = [cluster.namespace, beside.namespace]
    operators("both", **configuration(both, redis.url, sharedNamespaces=both))
    held = cluster.apply("held", rewrite("/lake/both"))
    driver = cluster.start("held")
    cluster.reaches("held", "Running")
    beside.apply("beside", rewrite("/lake/both"))
    status = beside.reaches("beside", "Waiting")
    assert status["blockedBy"][0]["job"] == f"{cluster.namespace}/held"
    assert cluster.status("held")["phase"] == "Running"
    assert f"{held}/1" in cluster.holders()
    driver.succeeds("file:/lake/both")
    beside.start("beside").succeeds("file:/lake/both", 2)
    beside.reaches("beside", "Succeeded")
    cluster.reaches("held", "Succeeded")

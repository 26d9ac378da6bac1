"""`sluice logs` with a real API server, which asks the kubelet that the test plays. No operator: the test writes the
job's status."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGINT
from typing import Any

import pytest

from integration.leases.tls_proxy import issued
from integration.objects import Objects
from integration.operator.accounts import Rule, kubeconfig_with
from integration.operator.kubelet import ContainerLog, kubelet_of
from integration.operator.process import sluice, typed
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

APPLICATION = "nightly-0123abcd-1"
POD = f"{APPLICATION}-driver"


def stamp(second: int, part: str = "") -> str:
    return f"2026-11-26T10:00:{second:02d}{part}Z"


@dataclass(frozen=True)
class Driver:
    objects: Objects
    node: str
    log: ContainerLog

    def starts(self) -> None:
        containers = [{"name": "spark-kubernetes-driver", "image": "none"}]
        spec = {"nodeName": self.node, "containers": containers}
        self.objects.create("pod", {"metadata": {"name": POD}, "spec": spec})
        self.state_is({"running": {"startedAt": stamp(0)}})

    def ends(self) -> None:
        self.state_is({"terminated": {"exitCode": 0}})
        self.log.end()

    def state_is(self, state: Json) -> None:
        container = {
            "name": "spark-kubernetes-driver",
            "image": "none",
            "imageID": "none",
            "ready": True,
            "restartCount": 0,
            "state": state,
        }
        status = {"phase": "Running", "containerStatuses": [container]}
        self.objects.patch("pod", POD, {"status": status}, sub="status")


@pytest.fixture
def driver(objects: Objects, tmp_path: Path) -> Iterator[Driver]:
    node, log, found = f"node-{uuid.uuid4().hex[:10]}", ContainerLog(), issued(tmp_path / "tls")
    with kubelet_of(node, objects.server, (found.server, found.server_key), log):
        yield Driver(objects, node, log)


@pytest.fixture
def job(objects: Objects) -> str:
    objects.create(
        "deltawritejob",
        {
            "apiVersion": names.API_VERSION,
            "kind": names.JOB_KIND,
            "metadata": {"name": "nightly"},
            "spec": {"sql": "DELETE FROM t"},
        },
    )
    return f"{objects.namespace}/nightly"


def attempt(**more: Any) -> Json:
    granted = datetime.now(UTC).isoformat()
    return {
        "number": 1,
        "token": 1,
        "hash": "0",
        "application": APPLICATION,
        "grantedAt": granted,
        **more,
    }


def told(objects: Objects, phase: str, message: str, *attempts: Json) -> None:
    status = {"phase": phase, "message": message, "attempts": list(attempts)}
    objects.patch("deltawritejob", "nightly", {"status": status}, sub="status")


def test_a_log_is_followed_from_before_its_driver_starts_over_a_lost_connection_to_its_end(
    objects: Objects, job: str, driver: Driver, kubeconfig: Path, tmp_path: Path
) -> None:
    told(objects, "Waiting", "waits for etl/other")
    with typed(kubeconfig, tmp_path, "logs", job, "-f") as command:
        command.says(f"{job} has no attempt yet, and so no driver: Waiting: waits for etl/other")
        told(objects, "Starting", "admitted", attempt())
        command.says(f"the driver of {job}, attempt 1, has not started yet: Starting: admitted")
        driver.starts()
        driver.log.write(f"{stamp(1)} one", f"{stamp(2, '.5')} two", f"{stamp(2, '.5')} two again")
        eventually(lambda: command.stdout.endswith("two again\n"), "three lines", show=lambda: command.stdout)
        driver.log.cut_off()
        eventually(lambda: len(driver.log.asked) == 2, "it asks again", show=lambda: driver.log.asked)
        driver.log.write(
            f"{stamp(2, '.5')} two a third time", f"{stamp(2, '.51')} three", f"{stamp(3)} \x1b[31mred"
        )
        eventually(lambda: "red" in command.stdout, "it goes on", show=lambda: command.stdout)
        driver.ends()
        assert command.ends() == 0, command.stderr
    lines = ["one", "two", "two again", "two a third time", "three", r"\x1b[31mred"]
    assert command.stdout.splitlines() == lines
    assert f"sinceTime={stamp(2).replace(':', '%3A')}" in driver.log.asked[1]


def test_whoever_waits_for_a_log_in_vain_may_go(
    objects: Objects, job: str, kubeconfig: Path, tmp_path: Path
) -> None:
    told(objects, "Suspended", "held back")
    with typed(kubeconfig, tmp_path, "logs", job, "-f") as command:
        command.says("Suspended: held back")
        command.process.send_signal(SIGINT)
        assert command.ends() == 130
    assert len(command.stderr.splitlines()) == 1, "and without a trace"


def test_a_log_that_is_there_is_shown_once(
    objects: Objects, job: str, driver: Driver, kubeconfig: Path, tmp_path: Path
) -> None:
    told(objects, "Running", "runs", attempt())
    driver.starts()
    driver.log.write(f"{stamp(1)} one", f"{stamp(1)} one")
    rules: tuple[Rule, ...] = (
        (names.GROUP, "get", {names.JOB_PLURAL: []}),
        ("", "get", {"pods": [], "pods/log": []}),
    )
    with kubeconfig_with(kubeconfig, objects.namespace, tmp_path, *rules) as own:
        done = sluice(own, "logs", job, "--attempt", "1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\none\n", "")
    missing = sluice(kubeconfig, "logs", job, "--attempt", "2")
    assert (missing.returncode, missing.stdout) == (4, "")
    assert missing.stderr == f"{job} has no attempt 2 yet, and so no driver: Running: runs\n"


def test_where_a_drivers_pod_is_gone_it_is_told_what_is_left_of_it(
    objects: Objects, job: str, kubeconfig: Path
) -> None:
    pod = {"pod": POD, "history": "https://history.example/history/spark-1/"}
    exception = {"class": "AnalysisException", "message": "no such column"}
    over = attempt(
        endedAt=datetime.now(UTC).isoformat(),
        outcome="Failed",
        message="it failed\nwith this",
        driver=pod,
        exception=exception,
        report={"configMap": "nightly-report"},
    )
    told(objects, "Failed", "it failed", over)
    done = sluice(kubeconfig, "logs", "nightly", "-n", objects.namespace, "-f")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        f"the driver of {job}, attempt 1, is gone, and its log with it: it ended as Failed (it failed with this); "
        f"its exception is in the status: `kubectl get deltawritejob nightly -n {objects.namespace} -o yaml`; its "
        f"report is in ConfigMap {objects.namespace}/nightly-report; Spark's history server has it at "
        "https://history.example/history/spark-1/\n"
    )

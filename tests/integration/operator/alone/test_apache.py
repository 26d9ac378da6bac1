"""Jobs that Apache's Spark operator runs, beside jobs of kubeflow's: the whole way, and each way in which one can end.

A stack of its own, since its definitions come and go.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from devenv.apiserver import install_crds
from devenv.stack import Stack
from integration.operator.accounts import account_with, rules_of
from integration.operator.apache import DEFINITION, OWN_FINALIZER, Apache, ApacheDriver
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append, committed, rewrite, set_property, stream
from integration.operator.process import OperatorProcess, configuration
from integration.operator.rendered import in_words, rendered
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.kube.rights import rights_of

RUNTIMES = {
    "default": {"sparkVersion": "4.2.0", "deltaVersion": "4.4.0"},
    "apache": {"sparkVersion": "4.2.0", "deltaVersion": "4.4.0", "engine": "apache", "image": "spark:1"},
}
BOTH: dict[str, Any] = {"engines": ["kubeflow", "apache"], "runtimes": RUNTIMES}


def on_apache(table: str, **more: Any) -> Json:
    return append(table, runtimeRef="apache", **more)


@pytest.fixture
def apache(cluster: Played, own_stack: Stack) -> Apache:
    install_crds(own_stack.api.call, [DEFINITION])
    return Apache(cluster)


@pytest.fixture
def operator(operators: StartOperator, apache: Apache) -> OperatorProcess:
    started = operators(**BOTH)
    started.says("the lease table was rebuilt")
    return started


def test_a_spark_operator_that_is_missing_holds_up_its_own_jobs_alone(
    cluster: Played, operators: StartOperator, own_stack: Stack
) -> None:
    operator = operators(**BOTH)
    operator.says("the lease table was rebuilt")
    cluster.apply("early", on_apache("/lake/early"))
    status = eventually(
        lambda: (said := cluster.status("early")).get("reason") == "SparkOperatorMissing" and said,
        "early says that its Spark operator is missing",
        show=lambda: cluster.status("early"),
    )
    assert "serves no sparkapplications of spark.apache.org/v1" in status["message"]
    told = cluster.operator_tells("SparkOperatorInstalled", "False")
    assert "until then nothing is granted that runs on it" in told["message"]
    eventually(lambda: operator.get("/readyz")[0] == 200, "it is ready", show=lambda: operator.get("/readyz"))

    cluster.apply("beside", rewrite("/lake/early"))
    cluster.start("beside").succeeds("file:/lake/early")
    cluster.reaches("beside", "Succeeded")

    install_crds(own_stack.api.call, [DEFINITION])
    apache = Apache(cluster)
    apache.start("early").ends(0, committed("file:/lake/early"))
    cluster.reaches("early", "Succeeded")
    cluster.operator_tells("SparkOperatorInstalled", "True")
    assert all("exception" not in entry for entry in operator.entries())


@pytest.mark.usefixtures("operator")
def test_a_job_goes_all_the_way(cluster: Played, apache: Apache) -> None:
    uid = cluster.apply("whole", on_apache("/lake/whole"))
    driver = apache.start("whole")
    cluster.reaches("whole", "Running")
    assert f"{uid}/1" in cluster.holders()
    body = apache.application(driver.application)
    assert body is not None
    assert names.FINALIZER_LEASE in body["metadata"]["finalizers"]
    assert body["spec"]["applicationTolerations"]["restartConfig"] == {"restartPolicy": "Never"}
    assert cluster.applications() == [], "none of kubeflow's"
    driver.container_ends(0, committed("file:/lake/whole", 7))
    apache.says(driver.application, "Succeeded", "")
    eventually(lambda: cluster.status("whole")["reason"] == "ApplicationNotOver", "it waits for the operator")
    assert f"{uid}/1" in cluster.holders(), "a changed restart policy would lead to another driver"
    driver.is_over()
    status = cluster.reaches("whole", "Succeeded")
    (attempt,) = status["attempts"]
    assert (attempt["outcome"], attempt["exitCode"]) == ("Succeeded", 0)
    assert [commit["version"] for commit in attempt["commits"]] == [7]
    assert attempt["driver"]["sparkApplication"] == f"{driver.application}-0"
    apache.let_go(uid, driver.application)


@pytest.mark.usefixtures("operator")
def test_a_users_own_application_runs_as_its_template_says(cluster: Played, apache: Apache) -> None:
    template = {
        "mainClass": "example.Main",
        "jars": "local:///opt/app.jar",
        "runtimeVersions": {"sparkVersion": "4.0.1"},
        "sparkConf": {"spark.kubernetes.container.image": "app:1"},
    }
    footprint = [{"table": {"path": "/lake/own"}, "operation": "Append"}]
    spec = {"application": {"engine": "apache", "template": template}, "footprint": footprint}
    uid = cluster.apply("own", spec)
    driver = apache.start("own")
    cluster.reaches("own", "Running")
    assert f"{uid}/1" in cluster.holders()
    body = apache.application(driver.application)
    assert body is not None
    assert (body["spec"]["mainClass"], body["spec"]["jars"]) == ("example.Main", "local:///opt/app.jar")
    driver.ends(0)
    cluster.reaches("own", "Succeeded")
    apache.let_go(uid, driver.application)


@pytest.mark.usefixtures("operator")
def test_what_sluice_render_prints_of_a_job_is_what_is_created_for_it(
    cluster: Played, apache: Apache, kubeconfig: Path, tmp_path: Path
) -> None:
    config = tmp_path / "sluice.yaml"
    config.write_text(
        yaml.safe_dump(configuration([cluster.namespace], cluster.redis_url, **BOTH)), encoding="utf-8"
    )
    cluster.apply("ahead", rewrite("/lake/rendered"))
    ahead = cluster.start("ahead")
    write = {"table": {"path": "/lake/rendered"}, "mode": "Overwrite", "source": {"sql": "SELECT 1 AS id"}}
    footprint = [{"table": {"path": "/lake/rendered"}, "operation": "Overwrite"}]
    template = {
        "mainClass": "example.Main",
        "runtimeVersions": {"sparkVersion": "4.0.1"},
        "sparkConf": {"spark.kubernetes.container.image": "app:1"},
        "applicationTolerations": {"ttlAfterStopMillis": 5},
    }
    jobs: dict[str, Json] = {
        "rendered-sql": {**rewrite("/lake/rendered"), "runtimeRef": "apache"},
        "rendered-write": {"write": write, "runtimeRef": "apache"},
        "rendered-own": {
            "application": {"engine": "apache", "template": template},
            "footprint": footprint,
        },
    }
    for name, spec in jobs.items():
        cluster.apply(name, spec, {"labels": {"kueue.x-k8s.io/queue-name": "etl"}})
        cluster.reaches(name, "Waiting")
    options = ("-n", cluster.namespace, "--config", str(config))
    waiting = {name: rendered(kubeconfig, name, *options) for name in jobs}
    ahead.succeeds("file:/lake/rendered")
    for version, name in enumerate(jobs, start=2):
        created = apache.application_of(name)
        driver = apache.start(name)
        running = rendered(kubeconfig, name, "-o", "json", *options)
        driver.ends(0, committed("file:/lake/rendered", version))
        assert waiting[name] == in_words(created, token=True)
        assert running == in_words(created)


@pytest.mark.usefixtures("operator")
def test_a_driver_that_fails_fails_its_job(cluster: Played, apache: Apache) -> None:
    uid = cluster.apply("fails", on_apache("/lake/fails", retry={"limit": 0}))
    driver = apache.start("fails")
    driver.ends(1, "the last words of its log")
    attempt = cluster.reaches("fails", "Failed")["attempts"][0]
    assert attempt["exitCode"] == 1
    apache.let_go(uid, driver.application)


@pytest.mark.usefixtures("operator")
def test_a_stream_pauses_goes_on_backs_off_from_a_failure_and_stops_to_be_suspended(
    cluster: Played, apache: Apache
) -> None:
    table = "/lake/streamed"

    def started(attempt: int) -> ApacheDriver:
        eventually(
            lambda: cluster.status("streams").get("attempt") == attempt,
            f"it has attempt {attempt}",
            show=lambda: cluster.status("streams"),
        )
        return apache.start("streams")

    yields = stream(table, **{"yield": "Metadata"})
    uid = cluster.apply("streams", {**yields, "runtimeRef": "apache", "retry": {"backoff": "1s"}})
    first = started(1)
    first.has_ended_batches(1, f"file:{table}")
    cluster.apply("sets", set_property(table, runtimeRef="apache"))
    first.is_asked_to_stop()
    first.stops(2, f"file:{table}", 2)
    change = apache.start("sets")
    cluster.reaches("streams", "Paused")
    apache.let_go(uid, first.application)
    change.ends(0, committed(f"file:{table}", 3))
    cluster.reaches("sets", "Succeeded")
    second = started(2)
    assert [one.get("outcome") for one in cluster.status("streams")["attempts"]] == ["Paused", None]
    second.ends(1, "the last words of its log")
    third = started(3)
    status = cluster.status("streams")
    assert (status["attempts"][1]["exitCode"], status["retries"]) == (1, 1)
    third.has_ended_batches(1, f"file:{table}", 4)
    cluster.change("streams", {"spec": {"admission": {"suspend": True}}})
    third.is_asked_to_stop()
    third.stops(2, f"file:{table}", 5)
    cluster.reaches("streams", "Suspended")
    apache.let_go(uid, third.application)


@pytest.mark.usefixtures("operator")
def test_a_driver_that_cannot_be_requested_never_starts(cluster: Played, apache: Apache) -> None:
    """Its name is taken before anything is let go: a request of it may still be under way."""
    uid = cluster.apply("unborn", on_apache("/lake/unborn", retry={"limit": 0}))
    name = apache.takes_up("unborn")
    apache.says(name, "SchedulingFailure", "Failed to request driver from scheduler backend.")
    assert f"{uid}/1" in cluster.holders()
    apache.says(name, "TerminatedWithoutReleaseResources", "")
    attempt = cluster.reaches("unborn", "Failed")["attempts"][0]
    assert attempt["outcome"] == "NotStarted"
    assert "SchedulingFailure: Failed to request driver from scheduler backend." in attempt["message"]
    placeholder = cluster.pod(f"{name}-driver")
    assert placeholder is not None
    assert placeholder["spec"]["schedulingGates"] == [{"name": names.SCHEDULING_GATE}]
    apache.let_go(uid, name)


@pytest.mark.usefixtures("operator")
def test_a_job_that_is_deleted_while_it_runs_holds_its_leases_until_its_driver_has_ended(
    cluster: Played, apache: Apache
) -> None:
    uid = cluster.apply("deleted", on_apache("/lake/deleted"))
    driver = apache.start("deleted")
    cluster.reaches("deleted", "Running")
    cluster.delete("deleted")
    eventually(
        lambda: "deletionTimestamp" in (cluster.pod(driver.pod) or {"metadata": {}})["metadata"],
        "the driver is being ended",
    )
    cluster.apply("next", rewrite("/lake/deleted", runtimeRef="apache"))
    assert f"{uid}/1" in cluster.holders()
    driver.container_ends(143)
    if apache.application(driver.application) is not None:
        apache.says(driver.application, "Failed", "")
        driver.is_over()
        apache.is_done_with(driver.application)
    eventually(lambda: apache.application(driver.application) is None, "its application is gone")
    eventually(lambda: f"{uid}/1" not in cluster.holders(), "its leases are released")
    apache.start("next").ends(0, committed("file:/lake/deleted"))
    cluster.reaches("next", "Succeeded")


@pytest.mark.usefixtures("operator")
def test_an_application_that_somebody_deletes_ends_its_job_once_its_driver_has_ended(
    cluster: Played, apache: Apache
) -> None:
    uid = cluster.apply("stopped", on_apache("/lake/stopped", retry={"limit": 0}))
    driver = apache.start("stopped")
    cluster.reaches("stopped", "Running")
    apache.delete(driver.application)
    cluster.delete_pod_gently(driver.pod)  # as its operator does
    assert f"{uid}/1" in cluster.holders()
    driver.container_ends(143)
    status = cluster.reaches("stopped", "Failed")
    assert status["reason"] == "ApplicationDeleted"
    body = apache.application(driver.application)
    assert body is not None
    assert OWN_FINALIZER in body["metadata"]["finalizers"]
    apache.is_done_with(driver.application)
    eventually(lambda: apache.application(driver.application) is None, "its application is gone")


def test_a_new_leader_takes_over_what_runs(cluster: Played, operators: StartOperator, apache: Apache) -> None:
    first = operators("first", **BOTH)
    first.says("the lease table was rebuilt")
    uid = cluster.apply("outlives", on_apache("/lake/outlives"))
    driver = apache.start("outlives")
    cluster.reaches("outlives", "Running")
    cluster.apply("waits", rewrite("/lake/outlives", runtimeRef="apache"))
    first.kill()
    second = operators("second", **BOTH)
    second.says("the lease table was rebuilt")
    assert f"{uid}/1" in cluster.holders()
    cluster.reaches("waits", "Waiting")
    driver.ends(0, committed("file:/lake/outlives"))
    cluster.reaches("outlives", "Succeeded")
    apache.start("waits").ends(0, committed("file:/lake/outlives", 2))
    cluster.reaches("waits", "Succeeded")
    assert len(apache.applications()) == 2


def test_an_operator_that_no_longer_follows_an_engine_holds_what_was_created_for_it(
    cluster: Played, operators: StartOperator, apache: Apache
) -> None:
    """It doesn't see that application, and its profile is another one's by now."""
    both = operators("both", **BOTH)
    both.says("the lease table was rebuilt")
    uid = cluster.apply("unseen", on_apache("/lake/unseen"))
    name = apache.application_of("unseen")["metadata"]["name"]
    both.kill()
    moved = RUNTIMES | {"apache": RUNTIMES["default"]}
    alone = operators("alone", engines=["kubeflow"], runtimes=moved)
    status = eventually(
        lambda: (said := cluster.status("unseen")).get("reason") == "SparkOperatorMissing" and said,
        "it says that its engine isn't followed",
        show=lambda: cluster.status("unseen"),
    )
    assert "does not follow those of apache" in status["message"]
    assert f"{uid}/1" in cluster.holders()
    assert cluster.applications() == [], "it was not created once more"
    assert apache.application(name) is not None
    alone.kill()
    again = operators("again", **BOTH)
    again.says("the lease table was rebuilt")
    apache.start("unseen")
    cluster.reaches("unseen", "Running")


def test_the_listed_rights_are_enough(
    cluster: Played, own_stack: Stack, apache: Apache, tmp_path: Path
) -> None:
    both = tuple(EngineKind)
    rules = rules_of(rights_of(names.DEPLOYMENT, both), cluster.namespace, (cluster.namespace,))
    with account_with(own_stack.kubeconfig, cluster.namespace, "sluice", rules) as content:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(content), encoding="utf-8")
        config = configuration([cluster.namespace], cluster.redis_url) | BOTH
        operator = OperatorProcess(kubeconfig, config, tmp_path)
        operator.start()
        try:
            operator.says("the lease table was rebuilt")
            uid = cluster.apply("allowed", on_apache("/lake/allowed"))
            driver = apache.start("allowed")
            driver.ends(0, committed("file:/lake/allowed"))
            cluster.reaches("allowed", "Succeeded")
            apache.let_go(uid, driver.application)
            cluster.operator_tells("RightsGranted", "True")
        finally:
            operator.kill()

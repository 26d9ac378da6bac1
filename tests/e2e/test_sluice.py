"""Sluice as a process beside the cluster: jobs in, commits on a Delta table out, through real driver and executor pods."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable, QueryBuilder

from cluster.layout import NODE
from devenv.images import Image
from devenv.redis import ensure_redis_server
from devenv.toolchain import cache
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(2400)

REDIS_URL = "redis://127.0.0.1:6379/0"
HELD_BY_THE_TEST = "e2e.test/held"
TWO_STEPS = """
import pathlib
import sys
import time

from pyspark.sql import SparkSession

from sluice_runner import attempt

folder, goes_on = sys.argv[1], pathlib.Path(sys.argv[2])
spark = SparkSession.builder.getOrCreate()


def append(number):
    rows = spark.sql(f"SELECT {number}L AS id, DATE '2026-11-19' AS day")
    rows.write.format("delta").mode("append").save(folder)


with attempt(spark) as run:
    run.once("first", lambda: append(1))
    while not goes_on.exists():
        time.sleep(0.1)
    run.once("second", lambda: append(2))
"""


@pytest.fixture(scope="module")
def sluice(
    spark_operator: str,
    in_cluster: Callable[..., Any],
    configuration: Json,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """Redis and the operator; gives the operator."""
    folder = tmp_path_factory.mktemp("sluice")
    config = folder / "operator.yaml"
    config.write_text(yaml.safe_dump(configuration))
    redis = [
        str(ensure_redis_server(cache())),
        "--port",
        "6379",
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(folder),
    ]
    operator = [sys.executable, "-m", "sluice.controller", "--config", str(config)]
    with in_cluster("redis", redis), in_cluster("sluice", operator) as program:
        yield program


@pytest.fixture(scope="module")
def configuration(image: Image, spark_conf: dict[str, str], volumes: Callable[[str], Json]) -> Json:
    profile = {
        "image": image.name,
        "imagePullPolicy": "IfNotPresent",
        "sparkVersion": "4.2.0",
        "deltaVersion": "4.4.0",
        "serviceAccount": "spark",
        "driver": {"cores": 1, "memory": "1g"},
        "executor": {"instances": 1, "cores": 1, "memory": "1g"},
        "sparkConf": spark_conf,
        "driverPod": {"spec": volumes("spark-kubernetes-driver")},
        "executorPod": {"spec": volumes("spark-kubernetes-executor")},
    }
    return {
        "deployment": "sluice-e2e",
        "namespace": "default",
        "watchNamespaces": ["default"],
        "redisUrl": REDIS_URL,
        "httpAddress": "off",
        "jobPermissions": [{"volumes": ["hostPath", "configMap", "emptyDir"]}],
        "runtimes": {
            "default": profile,
            "no-image": profile | {"image": "sluice.test/nowhere:1", "imagePullPolicy": "Never"},
        },
    }


def test_jobs_end_with_what_they_committed_or_with_sparks_error(
    sluice: Any, kubernetes: Any, table: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Three of them commit, and one names a column that Spark does not find."""
    path = table("orders")
    t = f"delta.`{path}`"
    jobs = {
        "append-web": f"INSERT INTO {t} SELECT id, DATE '2026-11-19' FROM range(10)",
        "append-shop": f"INSERT INTO {t} SELECT id + 100, DATE '2026-11-19' FROM range(10)",
        "forget-five": f"DELETE FROM {t} WHERE id = 5",
    }
    wrong = f"INSERT INTO delta.`{table('others')}` SELECT no_such_column, DATE '2026-11-19' FROM range(10)"
    for name, sql in {**jobs, "wrong": wrong}.items():
        kubernetes.apply(_job(name, sql=sql))
    roles: dict[str, set[str]] = {name: set() for name in (*jobs, "wrong")}
    ended = _follow(kubernetes, list(roles), roles, sluice)
    _ended_with_sparks_error(kubernetes, ended.pop("wrong"))
    assert {name: job["status"]["phase"] for name, job in ended.items()} == dict.fromkeys(
        jobs, "Succeeded"
    ), sluice.told()
    commits = [commit for job in ended.values() for commit in job["status"]["attempts"][-1]["commits"]]
    written = DeltaTable(path)
    assert {commit["version"] for commit in commits} == set(range(1, written.version() + 1))
    assert [len(job["status"]["attempts"]) for job in ended.values()] == [1, 1, 1]
    assert all(roles[name] == {"driver", "executor"} for name in jobs), roles
    for job in ended.values():
        _has_its_report(kubernetes, job)
        _commits_as_its_driver_told(kubernetes, job, path)
    with capsys.disabled():
        for name, job in ended.items():
            sys.stdout.write(f"\n{name}: {_times(job)}")


@pytest.fixture
def template(image: Image, volumes: Callable[[str], Json], spark_conf: dict[str, str]) -> Json:
    """A SparkApplication's spec, as somebody writes it who has this image."""

    def pod(role: str) -> Json:
        held = {"metadata": {"finalizers": [HELD_BY_THE_TEST]}} if role == "driver" else {}
        spec = {"spec": volumes(f"spark-kubernetes-{role}")}
        return {"cores": 1, "memory": "1g", "template": {**held, **spec}}

    return {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": "4.2.0",
        "image": image.name,
        "imagePullPolicy": "IfNotPresent",
        "sparkConf": spark_conf,
        "driver": {**pod("driver"), "serviceAccount": "spark"},
        "executor": {**pod("executor"), "instances": 1},
    }


def test_an_application_whose_driver_is_evicted_does_the_rest_in_its_next_attempt(
    sluice: Any,
    kubernetes: Any,
    table: Callable[[str], Path],
    template: Json,
    comes_true: Callable[..., None],
) -> None:
    """The evicted pod stays until its container's end is told. Beside it, a job with an image that is nowhere ends in time."""
    events = table("events")
    program, goes_on = events.with_name("program.py"), events.with_name("goes-on")
    program.write_text(TWO_STEPS, encoding="utf-8")
    template |= {"mainApplicationFile": f"local://{program}", "arguments": [str(events), str(goes_on)]}
    retry = {"limit": 1, "backoff": "1s", "on": ["DriverLost"]}
    kubernetes.apply(_application("steps", template, events, retry=retry))
    insert = f"INSERT INTO delta.`{table('nowhere')}` VALUES (1, DATE '2026-11-19')"
    kubernetes.apply(_job("no-image", sql=insert, runtimeRef="no-image", admission={"startTimeout": "60s"}))

    told = partial(_told, kubernetes, "steps", sluice)
    comes_true(lambda: DeltaTable(events).version() == 1, "the first step has committed", told)
    driver = kubernetes.get("deltawritejob", "steps")["status"]["attempts"][0]["driver"]["pod"]
    kubernetes.evict(driver)
    comes_true(lambda: "terminated" in _container(kubernetes, driver), "the container's end is told", told)
    assert _container(kubernetes, driver)["terminated"]["exitCode"] in (1, 137, 143)
    assert "deletionTimestamp" in kubernetes.get("pod", driver)["metadata"]
    comes_true(
        lambda: len(kubernetes.get("deltawritejob", "steps")["status"]["attempts"]) == 2,
        "there is another attempt",
        told,
    )
    assert kubernetes.get("pod", driver)["metadata"]["finalizers"] == [HELD_BY_THE_TEST]
    kubernetes.release("pod", driver)
    goes_on.touch()
    ended = _follow(kubernetes, ["steps", "no-image"], {"steps": set(), "no-image": set()}, sluice)

    status = ended["steps"]["status"]
    assert status["phase"] == "Succeeded", told()
    first, second = status["attempts"]
    assert (first["outcome"], second["outcome"]) == ("DriverLost", "Succeeded")
    assert first["exitCode"] in (1, 137, 143)
    assert len(first["commits"]) == len(second["commits"]) == 1
    rows = QueryBuilder().register("t", DeltaTable(events)).execute("SELECT id FROM t ORDER BY id").read_all()
    assert rows.column("id").to_pylist() == [1, 2]
    assert second["footprintHeld"] is True

    status = ended["no-image"]["status"]
    assert status["phase"] == "Failed"
    [attempt] = status["attempts"]
    assert attempt["outcome"] == "NotStarted"
    assert attempt["ending"]["reason"] == "StartTimedOut"
    assert "ErrImageNeverPull" in status["message"]
    assert kubernetes.get("sparkapplication", attempt["application"]) is None


def _job(name: str, **spec: Any) -> Json:
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _application(name: str, template: Json, writes: Path, **spec: Any) -> Json:
    """A job that runs this template, which appends to this table."""
    declared = {"table": {"path": str(writes)}, "operation": "Append", "reads": "false"}
    return _job(
        name,
        application={"engine": "kubeflow", "template": template},
        runtime={"deltaVersion": "4.4.0"},
        footprint=[declared | {"writes": "day = DATE '2026-11-19'"}],
        **spec,
    )


def _told(kubernetes: Any, name: str, sluice: Any) -> str:
    return f"{json.dumps(kubernetes.get('deltawritejob', name), indent=2)}\n{sluice.told()}"


def _has_its_report(kubernetes: Any, job: Json) -> None:
    """As a pod of its own, with the account, the address and the authority that Kubernetes gives it."""
    attempt = job["status"]["attempts"][-1]
    assert attempt["report"] == {"configMap": f"{attempt['application']}-report"}
    found = kubernetes.get("configmap", attempt["report"]["configMap"])
    report = json.loads(found["data"]["report.json"])
    told = [commit["version"] for one in report["statements"] for commit in one["commits"]]
    assert told == [commit["version"] for commit in attempt["commits"]]
    assert report["tables"][0]["partitionColumns"] == ["day"]
    driver = kubernetes.get("pod", attempt["driver"]["pod"])
    assert attempt["driver"]["sparkApplication"] == driver["metadata"]["labels"]["spark-app-selector"]
    assert json.loads(driver["metadata"]["annotations"]["sluice.dev/progress"])["statement"] == 1


def _commits_as_its_driver_told(kubernetes: Any, job: Json, table: Path) -> None:
    """The driver's termination message names the commits, and the table's log has the stamp on each of them."""
    attempt = job["status"]["attempts"][-1]
    result = json.loads(_container(kubernetes, attempt["driver"]["pod"])["terminated"]["message"])
    assert result["outcome"] == "Succeeded"
    told = [commit["version"] for one in result["statements"] for commit in one["commits"]]
    assert told == [commit["version"] for commit in attempt["commits"]]
    for version in told:
        log = (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()
        [entry] = [json.loads(line) for line in log if "commitInfo" in line]
        assert "runKey" in entry["commitInfo"]["userMetadata"]


def _ended_with_sparks_error(kubernetes: Any, job: Json) -> None:
    assert job["status"]["phase"] == "Failed"
    [attempt] = job["status"]["attempts"]
    assert (attempt["outcome"], attempt["exitCode"]) == ("Failed", 1)
    assert attempt["exception"]["errorClass"].startswith("UNRESOLVED_COLUMN")
    application = kubernetes.get("sparkapplication", attempt["application"])
    assert application["status"]["applicationState"]["state"] == "FAILED"


def _container(kubernetes: Any, pod: str) -> Json:
    """The state of the container of a driver's pod."""
    found = kubernetes.get("pod", pod) or {}
    [container] = found.get("status", {}).get("containerStatuses") or [{}]
    state: Json = container.get("state", {})
    return state


def _follow(kubernetes: Any, names: list[str], roles: dict[str, set[str]], sluice: Any) -> dict[str, Json]:
    """Waits for the jobs' ends and notes which pods ran for them on the node."""
    deadline = time.monotonic() + 1800
    while True:
        jobs = {name: kubernetes.get("deltawritejob", name) for name in names}
        by_uid = {job["metadata"]["uid"]: name for name, job in jobs.items()}
        for pod in kubernetes.pods("sluice.dev/job-uid"):
            labels = pod["metadata"]["labels"]
            if pod["spec"].get("nodeName") == NODE and labels["sluice.dev/job-uid"] in by_uid:
                roles[by_uid[labels["sluice.dev/job-uid"]]].add(labels.get("spark-role", "neither"))
        if all(
            job.get("status", {}).get("phase") in ("Succeeded", "Failed", "Skipped") for job in jobs.values()
        ):
            return jobs
        sluice.must_run()
        assert time.monotonic() < deadline, f"{jobs}\n{sluice.told()}"
        time.sleep(0.2)


def _times(job: Json) -> str:
    applied = datetime.fromisoformat(job["metadata"]["creationTimestamp"])
    attempt = job["status"]["attempts"][-1]
    moments = {
        "granted": attempt["grantedAt"],
        "driver": attempt["startedAt"],
        "done": job["status"]["finishedAt"],
    }
    return ", ".join(
        f"{what} after {(datetime.fromisoformat(moment) - applied).total_seconds():.0f} s"
        for what, moment in moments.items()
    )

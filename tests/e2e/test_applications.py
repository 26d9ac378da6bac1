"""The cluster, the image, the runner and whoever runs SparkApplications, together, without Sluice."""

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devenv.images import Image
from sluice.api.base import Json

ComesTrue = Callable[..., None]

pytestmark = pytest.mark.timeout(1800)

LAST_STATES = ("COMPLETED", "FAILED")


@pytest.fixture(scope="module")
def run_plan(
    kubernetes: Any,
    image: Image,
    spark_conf: dict[str, str],
    volumes: Callable[[str], Json],
    spark_operator: str,
) -> Iterator[Callable[..., None]]:
    """Creates an application whose driver runs these SQL statements, as Sluice would, finalizers included."""

    created: list[str] = []

    def create(name: str, *statements: str) -> None:
        numbered = [{"number": n, "text": text, "line": n} for n, text in enumerate(statements, 1)]
        plan = {
            "version": 2,
            "job": {"namespace": "default", "name": name, "uid": "0"},
            "runKey": name,
            "specHash": "none",
            "attempt": 1,
            "token": 1,
            "assumed": {"sparkVersion": "4.2.0", "deltaVersion": "4.4.0", "sparkConf": spark_conf},
            "sql": {"statements": numbered},
        }
        packed = base64.b64encode(zlib.compress(json.dumps(plan).encode())).decode()
        driver = volumes("spark-kubernetes-driver")
        driver["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError"
        created.append(name)
        kubernetes.apply(
            {
                "apiVersion": "sparkoperator.k8s.io/v1beta2",
                "kind": "SparkApplication",
                "metadata": {"name": name, "namespace": "default", "labels": {"sluice.dev/job": name}},
                "spec": {
                    "type": "Python",
                    "mode": "cluster",
                    "sparkVersion": "4.2.0",
                    "image": image.name,
                    "imagePullPolicy": "IfNotPresent",
                    "mainApplicationFile": "local:///opt/sluice/run.py",
                    "arguments": [f"--plan={packed}"],
                    "sparkConf": spark_conf,
                    "restartPolicy": {"type": "Never"},
                    "driver": {
                        "cores": 1,
                        "memory": "1g",
                        "serviceAccount": "spark",
                        "template": {"metadata": {"finalizers": ["sluice.dev/lease"]}, "spec": driver},
                    },
                    "executor": {
                        "instances": 1,
                        "cores": 1,
                        "memory": "1g",
                        "template": {"spec": volumes("spark-kubernetes-executor")},
                    },
                },
            }
        )

    yield create
    for name in created:
        kubernetes.delete("sparkapplication", name)
        kubernetes.release("pod", f"{name}-driver")


@pytest.fixture(scope="module")
def tables(run_plan: Callable[..., None], table: Callable[[str], Path]) -> dict[str, Path]:
    """The tables of the applications. These are all submitted at once, since each waits for most of its time."""
    paths = {name: table(name) for name in ("told", "wrong")}
    run_plan("told", f"INSERT INTO delta.`{paths['told']}` SELECT id, DATE '2026-11-19' FROM range(10)")
    run_plan("wrong", f"INSERT INTO delta.`{paths['wrong']}` SELECT no_such_column FROM range(10)")
    run_plan("ended", "SELECT count(*) FROM range(100000000000000)")
    return paths


@pytest.fixture
def look(kubernetes: Any, tables: dict[str, Path]) -> Callable[[str], tuple[str, Json]]:
    """The application's state, and the state of its driver's container."""

    def look(name: str) -> tuple[str, Json]:
        application = kubernetes.get("sparkapplication", name) or {}
        pod = kubernetes.get("pod", f"{name}-driver") or {}
        [container] = pod.get("status", {}).get("containerStatuses") or [{}]
        state = application.get("status", {}).get("applicationState", {}).get("state", "")
        return state, container.get("state", {})

    return look


def test_a_deleted_driver_pod_is_held_by_its_finalizer_until_it_told_its_containers_end(
    look: Any, kubernetes: Any, comes_true: ComesTrue
) -> None:
    """First, since its driver computes until it is ended."""
    shown = partial(look, "ended")
    comes_true(lambda: "running" in look("ended")[1], "the driver starts", shown)
    kubernetes.delete("pod", "ended-driver")
    comes_true(lambda: "terminated" in look("ended")[1], "the container's end is told", shown)
    assert look("ended")[1]["terminated"]["exitCode"] in (1, 137, 143)
    comes_true(lambda: look("ended")[0] == "FAILED", "the application fails", shown)
    assert "deletionTimestamp" in kubernetes.get("pod", "ended-driver")["metadata"]


def test_a_commit_from_real_pods_is_told_in_the_drivers_termination_message(
    look: Any, kubernetes: Any, tables: dict[str, Path], comes_true: ComesTrue
) -> None:
    comes_true(lambda: look("told")[0] in LAST_STATES, "the application ends", partial(look, "told"))
    state, container = look("told")
    assert state == "COMPLETED", container
    result = json.loads(container["terminated"]["message"])
    assert result["outcome"] == "Succeeded"
    [statement] = result["statements"]
    assert [commit["version"] for commit in statement["commits"]] == [1]
    roles = {
        pod["metadata"]["labels"]["spark-role"]
        for pod in kubernetes.pods("sparkoperator.k8s.io/app-name=told")
    }
    assert roles == {"driver", "executor"}
    [entry] = [json.loads(line) for line in _log_entry(tables["told"], 1) if "commitInfo" in line]
    assert "runKey" in entry["commitInfo"]["userMetadata"]


def test_a_failing_statement_ends_the_application_as_failed_with_sparks_error_class(
    look: Any, comes_true: ComesTrue
) -> None:
    comes_true(lambda: look("wrong")[0] in LAST_STATES, "the application ends", partial(look, "wrong"))
    state, container = look("wrong")
    assert state == "FAILED"
    assert container["terminated"]["exitCode"] == 1
    result = json.loads(container["terminated"]["message"])
    assert result["outcome"] == "Failed"
    assert result["exception"]["errorClass"].startswith("UNRESOLVED_COLUMN")


def _log_entry(table: Path, version: int) -> list[str]:
    return (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()

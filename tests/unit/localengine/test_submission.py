"""What spark-submit and the driver's pod are given, in both modes."""

import itertools
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from localengine import clustersubmit, driverpod
from localengine.application import Application
from localengine.driverpod import Runtime
from localengine.ledger import Ledger
from sluice.api.base import Json

BODY: Json = {
    "metadata": {
        "namespace": "shop",
        "name": "load",
        "uid": "u-1",
        "labels": {"sluice.dev/job": "load", "kueue.x-k8s.io/queue-name": "q"},
    },
    "spec": {
        "type": "Python",
        "mode": "cluster",
        "image": "spark:1",
        "sparkVersion": "4.2.0",
        "mainApplicationFile": "local:///opt/run.py",
        "arguments": ["--plan=abc"],
        "sparkConf": {
            "spark.sql.x": "1",
            "spark.kubernetes.y": "2",
            "spark.driver.extraClassPath": "/mine.jar",
        },
        "driver": {
            "cores": 2,
            "serviceAccount": "spark",
            "envVars": {"A": "1"},
            "template": {
                "metadata": {"finalizers": ["f/x"], "labels": {"l": "1"}, "annotations": {"a": "1"}},
                "spec": {
                    "containers": [{"name": "spark-kubernetes-driver", "terminationMessagePolicy": "File"}]
                },
            },
        },
        "executor": {"instances": 3, "deleteOnTermination": False},
    },
}


@pytest.fixture
def application() -> Application:
    return Application(deepcopy(BODY))


def confs(arguments: list[str]) -> dict[str, str]:
    given = [value for option, value in itertools.pairwise(arguments) if option == "--conf"]
    return dict(conf.split("=", 1) for conf in given)


def test_cluster_mode_submits_as_the_spark_operator_does(application: Application, tmp_path: Path) -> None:
    arguments = clustersubmit.arguments(application, "s-1", "https://api:6443", tmp_path)
    assert arguments[:6] == [
        "--master",
        "k8s://https://api:6443",
        "--deploy-mode",
        "cluster",
        "--name",
        "load",
    ]
    assert arguments[-2:] == ["local:///opt/run.py", "--plan=abc"]
    conf = confs(arguments)
    assert conf["spark.kubernetes.driver.pod.name"] == "load-driver"
    assert conf["spark.kubernetes.namespace"] == "shop"
    assert conf["spark.kubernetes.container.image"] == "spark:1"
    assert conf["spark.kubernetes.submission.waitAppCompletion"] == "false"
    assert conf["spark.kubernetes.authenticate.driver.serviceAccountName"] == "spark"
    assert conf["spark.kubernetes.driver.label.sparkoperator.k8s.io/submission-id"] == "s-1"
    assert conf["spark.kubernetes.executor.label.sluice.dev/job"] == "load"
    assert "spark.kubernetes.driver.label.kueue.x-k8s.io/queue-name" not in conf
    assert conf["spark.kubernetes.executor.deleteOnTermination"] == "false"
    assert conf["spark.executor.instances"] == "3"
    assert conf["spark.kubernetes.driverEnv.A"] == "1"


def test_pod_templates_carry_the_finalizer_and_the_owner(application: Application, tmp_path: Path) -> None:
    conf = confs(clustersubmit.arguments(application, "s-1", "https://api:6443", tmp_path))
    driver = yaml.safe_load(Path(conf["spark.kubernetes.driver.podTemplateFile"]).read_text())
    assert driver["metadata"]["finalizers"] == ["f/x"]
    assert driver["metadata"]["ownerReferences"] == [application.owner_reference()]
    assert driver["spec"]["containers"][0]["terminationMessagePolicy"] == "File"
    executor = yaml.safe_load(Path(conf["spark.kubernetes.executor.podTemplateFile"]).read_text())
    assert "controller" not in executor["metadata"]["ownerReferences"][0]


def test_the_process_modes_pod_is_the_templates_with_sparks_own_parts(application: Application) -> None:
    pod = driverpod.pod(application, "s-1")
    metadata = pod["metadata"]
    assert (metadata["name"], metadata["finalizers"], metadata["annotations"]) == (
        "load-driver",
        ["f/x"],
        {"a": "1"},
    )
    assert metadata["labels"]["l"] == "1"
    assert metadata["labels"]["spark-role"] == "driver"
    assert metadata["ownerReferences"] == [application.owner_reference()]
    [container] = pod["spec"]["containers"]
    assert container["name"] == "spark-kubernetes-driver"
    assert container["terminationMessagePolicy"] == "File"
    assert container["env"] == [{"name": "A", "value": "1"}]
    assert "nodeName" not in pod["spec"], "it is bound when there is room"


def test_the_process_runs_the_program_with_the_applications_confs(application: Application) -> None:
    command = driverpod.command(application, Runtime("/bin/spark-submit", jars=("/a.jar", "/b.jar")))
    assert command[:3] == ["/bin/spark-submit", "--master", "local[2]"]
    assert command[-2:] == ["/opt/run.py", "--plan=abc"]
    conf = confs(command)
    assert conf["spark.driver.extraClassPath"] == "/a.jar:/b.jar:/mine.jar"
    assert conf["spark.sql.x"] == "1"
    assert "spark.kubernetes.y" not in conf


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mainApplicationFile": "s3a://b/x.py"}, "mainApplicationFile local:///PATH"),
        ({"driver": {"template": {"spec": {"initContainers": [{}]}}}}, "no initContainers"),
        ({"driver": {"template": {"spec": {"containers": [{}, {}]}}}}, "no side containers"),
        (
            {
                "driver": {
                    "template": {
                        "spec": {
                            "containers": [{"volumeMounts": [{"name": "v", "mountPath": "/x"}]}],
                            "volumes": [{"name": "v", "hostPath": {"path": "/y"}}],
                        }
                    }
                }
            },
            "can't mount volume v at /x",
        ),
    ],
)
def test_what_a_process_cannot_be_given_is_refused(application: Application, change: Json, told: str) -> None:
    assert driverpod.refusal(application) is None
    changed = Application({**application.body, "spec": {**application.spec, **change}})
    assert told in (driverpod.refusal(changed) or "nothing refused")


def test_a_submission_is_remembered_until_its_application_is_gone(tmp_path: Path) -> None:
    first = Ledger(tmp_path).add("u-1", "s-1")
    later = Ledger(tmp_path)
    assert later.find("u-1") == first
    later.forget("u-1")
    assert later.find("u-1") is None

"""`sluice bundle` with a real API server, and a kubelet that the test plays."""

import json
import stat
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.leases.tls_proxy import issued
from integration.objects import Objects
from integration.operator.accounts import Rule, kubeconfig_with
from integration.operator.bundles import Opened
from integration.operator.kubelet import ContainerLog, kubelet_of
from integration.operator.played import Played, rewrite
from integration.operator.process import sluice
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

APPLICATION = "nightly-0123abcd-1"
POD = f"{APPLICATION}-driver"
TABLE = "file:/lake/orders"


def secret(place: str) -> str:
    return f"S3cret{place}x9Kq2Lm"


PLACES = (
    "AnnotationOfJob",
    "LastApplied",
    "Option",
    "Conf",
    "Argument",
    "ArgumentWithEquals",
    "Variable",
    "VariableByAnyName",
    "Plan",
    "Event",
    "LogAssigned",
    "LogAddress",
    "Query",
    "Report",
    "Redis",
    "Condition",
    "OperatorLog",
    "OperatorVariable",
    "KubernetesSecret",
    "Policy",
    "ProfileConf",
    "ArgumentOfSparkOperator",
)


@pytest.fixture
def node(objects: Objects, tmp_path: Path) -> Iterator[tuple[str, ContainerLog]]:
    name, log, found = f"node-{uuid.uuid4().hex[:10]}", ContainerLog(), issued(tmp_path / "tls")
    with kubelet_of(name, objects.server, (found.server, found.server_key), log):
        yield name, log


def running_job(objects: Objects) -> str:
    """A job whose every object holds secrets where people put them."""
    job = objects.create(
        "deltawritejob",
        {
            "apiVersion": names.API_VERSION,
            "kind": names.JOB_KIND,
            "metadata": {
                "name": "nightly",
                "annotations": {
                    "team.example/note": secret("AnnotationOfJob"),
                    "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
                        {"x": secret("LastApplied")}
                    ),
                },
            },
            "spec": {
                "write": {
                    "table": {"path": "/lake/orders"},
                    "source": {
                        "format": "csv",
                        "path": "/in",
                        "options": {"header": "true", "comment": secret("Option")},
                    },
                }
            },
        },
    )
    uid = str(job["metadata"]["uid"])
    attempt = {
        "number": 1,
        "token": 17179869184,
        "hash": "0",
        "application": APPLICATION,
        "grantedAt": datetime.now(UTC).isoformat(),
        "report": {"configMap": f"{APPLICATION}-report"},
    }
    footprint = [{"table": TABLE, "statement": 1, "operation": "Append", "reads": "false", "writes": "true"}]
    status = {"phase": "Running", "message": "it runs", "attempts": [attempt], "footprint": footprint}
    objects.patch("deltawritejob", "nightly", {"status": status}, sub="status")
    return uid


def labels_of(uid: str) -> Json:
    return {
        names.LABEL_JOB: "nightly",
        names.LABEL_JOB_UID: uid,
        names.LABEL_ATTEMPT: "1",
        "spark-role": "driver",
    }


def application(objects: Objects, uid: str) -> None:
    objects.create(
        "sparkapplication",
        {
            "apiVersion": "sparkoperator.k8s.io/v1beta2",
            "kind": "SparkApplication",
            "metadata": {"name": APPLICATION, "labels": labels_of(uid)},
            "spec": {
                "type": "Python",
                "mode": "cluster",
                "sparkVersion": "4.2.0",
                "mainApplicationFile": "local:///run.py",
                "sparkConf": {
                    "spark.hadoop.fs.s3a.secret.key": secret("Conf"),
                    "spark.executor.memory": "7g",
                },
                "arguments": [
                    "--password",
                    secret("Argument"),
                    f"--api-key={secret('ArgumentWithEquals')}",
                    f"--plan={secret('Plan')}",
                ],
                "driver": {"envVars": {"ANYTHING": secret("VariableByAnyName")}},
                "executor": {},
            },
        },
    )


def pod(objects: Objects, node: str, name: str, container: str, *, labels: Json, variables: Json) -> None:
    env = [{"name": key, "value": value} for key, value in variables.items()]
    spec = {"nodeName": node, "containers": [{"name": container, "image": "none", "env": env}]}
    objects.create("pod", {"metadata": {"name": name, "labels": labels}, "spec": spec})
    state = {
        "name": container,
        "image": "none",
        "imageID": "none",
        "ready": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": "2026-11-27T00:00:00Z"}},
    }
    objects.patch("pod", name, {"status": {"phase": "Running", "containerStatuses": [state]}}, sub="status")


def around_the_job(objects: Objects, uid: str) -> None:
    objects.create(
        "event",
        {
            "metadata": {"name": "told"},
            "involvedObject": {
                "kind": names.JOB_KIND,
                "namespace": objects.namespace,
                "name": "nightly",
                "uid": uid,
            },
            "reason": "Queued",
            "message": f"it waits; password={secret('Event')}",
            "type": "Normal",
        },
    )
    report = {"settings": {"db.password": secret("Report")}, "sparkVersion": "4.2.0"}
    objects.create(
        "configmap",
        {"metadata": {"name": f"{APPLICATION}-report"}, "data": {"report.json": json.dumps(report)}},
    )
    objects.create(
        "secret", {"metadata": {"name": "lake"}, "stringData": {"key": secret("KubernetesSecret")}}
    )
    objects.create(
        "deltatablepolicy",
        {
            "apiVersion": names.API_VERSION,
            "kind": names.POLICY_KIND,
            "metadata": {"name": "orders", "annotations": {"team.example/note": secret("Policy")}},
            "spec": {"table": {"path": "/lake/orders"}},
        },
    )


def an_operator(objects: Objects, node: str) -> None:
    said = [
        {
            "type": "LeaseTableUsable",
            "status": "False",
            "reason": "RedisRefuses",
            "message": f"redis://:{secret('Condition')}@redis:6379 refuses",
            "lastTransitionTime": "2026-11-27T00:00:00Z",
        }
    ]
    annotations = {names.ANNOTATION_CONDITIONS: json.dumps(said)}
    objects.create("lease", {"metadata": {"name": "sluice-leader", "annotations": annotations}, "spec": {}})
    key, _, value = names.LABEL_CHART.partition("=")
    config = {
        "namespace": objects.namespace,
        "watchNamespaces": [objects.namespace],
        "redisUrl": f"redis://:{secret('Redis')}@redis:6379/0",
        "runtimes": {
            "default": {
                "sparkVersion": "4.2.0",
                "deltaVersion": "4.4.0",
                "sparkConf": {"spark.executor.extraJavaOptions": f"-Dlake.pass={secret('ProfileConf')}"},
            }
        },
    }
    objects.create(
        "configmap",
        {
            "metadata": {"name": "sluice", "labels": {key: value}},
            "data": {"sluice.yaml": yaml.safe_dump(config)},
        },
    )
    labels = {key: value, "app.kubernetes.io/component": "operator"}
    variables = {"AUTH_TOKEN": secret("OperatorVariable")}
    pod(objects, node, "sluice-0", "operator", labels=labels, variables=variables)


def apaches_spark_operator(objects: Objects) -> None:
    """As its chart labels it."""
    labels = {
        "app.kubernetes.io/name": "spark-kubernetes-operator",
        "app.kubernetes.io/component": "operator-deployment",
    }
    container = {
        "name": "spark-kubernetes-operator",
        "image": "apache/spark-kubernetes-operator:0.9.0",
        "args": [f"-Doperator.license={secret('ArgumentOfSparkOperator')}"],
    }
    objects.create(
        "deployment",
        {
            "metadata": {"name": "spark-kubernetes-operator", "labels": labels},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        },
    )


def collected(kubeconfig: Path, file: Path, *arguments: str) -> tuple[Opened, str]:
    done = sluice(kubeconfig, "bundle", *arguments, "-f", str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{file}: ")
    assert "Look at it before you send it" in done.stdout
    return Opened(file), done.stderr


def test_a_running_jobs_bundle_has_what_helps_and_no_secret_from_any_place(
    objects: Objects, node: tuple[str, ContainerLog], kubeconfig: Path, tmp_path: Path
) -> None:
    name, log = node
    uid = running_job(objects)
    application(objects, uid)
    variables = {"DB_PASSWORD": secret("Variable")}
    pod(objects, name, POD, "spark-kubernetes-driver", labels=labels_of(uid), variables=variables)
    around_the_job(objects, uid)
    an_operator(objects, name)
    apaches_spark_operator(objects)
    log.write(
        f"2026-11-27T00:00:01Z {APPLICATION} connects with password={secret('LogAssigned')}",
        f"2026-11-27T00:00:02Z redis://:{secret('LogAddress')}@h and https://h/?sig={secret('Query')}",
        f"2026-11-27T00:00:03Z it is {secret('Variable')}, and AUTH_TOKEN: {secret('OperatorLog')}",
        "2026-11-27T00:00:04Z read 17 rows",
    )
    file = tmp_path / "bundle.tar.gz"
    opened, told = collected(
        kubeconfig, file, "nightly", "-n", objects.namespace, "--operator-namespace", objects.namespace
    )
    found = [place for place in PLACES if secret(place) in opened.whole or secret(place) in told]
    assert found == []
    assert "S3cret" not in opened.whole, "nor half of one"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    assert opened.read("job.json")["spec"]["write"]["source"]["options"] == {
        "header": "true",
        "comment": "***",
    }
    shown = opened.read(f"applications/{APPLICATION}.json")["spec"]
    assert shown["sparkConf"] == {"spark.hadoop.fs.s3a.secret.key": "***", "spark.executor.memory": "7g"}
    assert shown["arguments"] == ["--password", "***", "--api-key=***", "--plan=***"]
    assert opened.read(f"pods/{POD}.json")["spec"]["containers"][0]["env"] == [
        {"name": "DB_PASSWORD", "value": "***"}
    ]
    assert "read 17 rows" in opened.files[f"logs/{POD}.log"]
    assert "redis://***@h and https://h/?sig=***" in opened.files[f"logs/{POD}.log"]
    assert "it is ***, and AUTH_TOKEN: ***" in opened.files[f"logs/{POD}.log"], "what its variable holds, too"
    [event] = opened.read("events.json")
    assert (event["reason"], event["message"]) == ("Queued", "it waits; password=***")
    assert opened.read("operator/configuration.json")["redisUrl"] == "redis://***@redis:6379/0"
    [condition] = opened.read("operator/leader.json")["conditions"]
    assert condition["message"] == "redis://***@redis:6379 refuses"
    about = opened.files["operator/logs/sluice-0.operator.about-the-job.log"]
    assert about.splitlines() == [f"2026-11-27T00:00:01Z {APPLICATION} connects with password=***"]
    assert [lease["job"] for lease in opened.read("leases.json")["leases"]] == [
        f"{objects.namespace}/nightly"
    ]
    assert [table["table"] for table in opened.read("queue.json")["tables"]] == [TABLE]
    assert f"policies/{objects.namespace}.orders.json" in opened.files
    report = opened.read(f"reports/{APPLICATION}-report.json")["data"]["report.json"]
    assert json.loads(report) == {"settings": {"db.password": "***"}, "sparkVersion": "4.2.0"}
    assert opened.read("versions.json")["kubernetes"]["gitVersion"].startswith("v1.")
    images = {one["deployment"]: one["images"] for one in opened.read("versions.json")["sparkOperators"]}
    assert images[f"{objects.namespace}/spark-kubernetes-operator"] == {
        "spark-kubernetes-operator": "apache/spark-kubernetes-operator:0.9.0"
    }
    assert any(check["check"] == "operator" for check in opened.read("operator/doctor.json")["checks"])
    listed = {row["file"] for row in opened.read("manifest.json")["files"]}
    assert listed | {"manifest.json"} == set(opened.files)


def test_whoever_may_only_see_the_job_gets_a_bundle_that_says_what_is_missing(
    objects: Objects, kubeconfig: Path, tmp_path: Path
) -> None:
    running_job(objects)
    rights: Rule = (names.GROUP, "get", {names.JOB_PLURAL: []})
    with kubeconfig_with(kubeconfig, objects.namespace, tmp_path, rights) as own:
        opened, told = collected(own, tmp_path / "bundle.tar.gz", "nightly", "-n", objects.namespace)
    assert opened.read("job.json")["status"]["phase"] == "Running"
    lacks = opened.not_collected
    for what in (
        "its pods",
        "Events",
        "the queues of its tables",
        "policies of its tables",
        "who runs the job",
    ):
        assert "forbidden" in lacks[what] or "may not" in lacks[what], what
        assert f"not collected: {what}: " in told
    assert lacks["everything of the operator"] == "it is not known where it is"


def test_the_documented_rights_are_enough_for_all_that_is_in_the_jobs_namespace(
    objects: Objects, node: tuple[str, ContainerLog], kubeconfig: Path, tmp_path: Path
) -> None:
    name, log = node
    uid = running_job(objects)
    application(objects, uid)
    pod(objects, name, POD, "spark-kubernetes-driver", labels=labels_of(uid), variables={})
    around_the_job(objects, uid)
    log.write("2026-11-27T00:00:04Z read 17 rows")
    rules: tuple[Rule, ...] = (
        (names.GROUP, "get list", {names.JOB_PLURAL: [], names.POLICY_PLURAL: []}),
        ("sparkoperator.k8s.io", "list", {"sparkapplications": []}),
        ("spark.apache.org", "list", {"sparkapplications": []}),
        ("", "list", {"pods": [], "events": []}),
        ("", "get", {"pods/log": [], "configmaps": []}),
    )
    with kubeconfig_with(kubeconfig, objects.namespace, tmp_path, *rules) as own:
        opened, _ = collected(own, tmp_path / "bundle.tar.gz", "nightly", "-n", objects.namespace)
    of_the_cluster = {
        "policies of its tables in other namespaces",
        "who runs the job",
        "everything of the operator",
        "the Spark operator's Deployments",
    }
    lacks = {what for what, why in opened.not_collected.items() if "serves none" not in why}
    assert lacks == of_the_cluster, opened.not_collected
    assert {f"logs/{POD}.log", f"pods/{POD}.json", "queue.json", "events.json"} <= set(opened.files)


def test_of_a_job_that_is_gone_there_is_what_it_left(
    objects: Objects, kubeconfig: Path, tmp_path: Path
) -> None:
    application(objects, "gone")
    opened, _ = collected(kubeconfig, tmp_path / "bundle.tar.gz", "nightly", "-n", objects.namespace)
    assert f"applications/{APPLICATION}.json" in opened.files
    assert "not found" in opened.not_collected["the job"]
    file = tmp_path / "other.tar.gz"
    nothing = sluice(kubeconfig, "bundle", "nihgtly", "-n", objects.namespace, "-f", str(file))
    assert (nothing.returncode, nothing.stdout) == (4, "")
    assert f"nothing is there of a job {objects.namespace}/nihgtly" in nothing.stderr
    assert not file.exists()


def test_a_file_that_is_there_is_not_written_over_and_a_cluster_that_is_away_is_told(
    objects: Objects, kubeconfig: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.tar.gz"
    file.write_text("mine", encoding="utf-8")
    there = sluice(kubeconfig, "bundle", "nightly", "-n", objects.namespace, "-f", str(file))
    assert (there.returncode, file.read_text(encoding="utf-8")) == (2, "mine")
    content: Any = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    away = tmp_path / "away"
    away.write_text(yaml.safe_dump(content), encoding="utf-8")
    done = sluice(away, "bundle", "nightly", "-n", "etl", "-f", str(tmp_path / "none.tar.gz"))
    assert (done.returncode, done.stdout) == (4, "")
    assert "could not be asked" in done.stderr
    assert not (tmp_path / "none.tar.gz").exists()


def test_bundles_beside_a_running_operator_tell_who_is_in_the_way_and_how_a_run_failed(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    shared.apply("bundled-first", rewrite("/lake/bundled"))
    driver = shared.start("bundled-first")
    shared.apply("bundled-second", rewrite("/lake/bundled"))
    shared.reaches("bundled-second", "Waiting")
    waits, _ = collected(kubeconfig, tmp_path / "waits.tar.gz", f"{shared.namespace}/bundled-second")
    [table] = waits.read("queue.json")["tables"]
    assert [one["job"] for one in table["holders"]] == [f"{shared.namespace}/bundled-first"]
    [lease] = waits.read("leases.json")["leases"]
    assert lease["job"] == f"{shared.namespace}/bundled-first"
    assert waits.read("operator/leader.json")["lease"]["spec"]["holderIdentity"]
    driver.ends(1, "")
    shared.reaches("bundled-first", "Failed")
    told_before = set(eventually(lambda: shared.events_of("bundled-first"), "an Event tells of it"))
    failed, _ = collected(kubeconfig, tmp_path / "failed.tar.gz", f"{shared.namespace}/bundled-first")
    assert failed.read("job.json")["status"]["attempts"][0]["exitCode"] == 1
    assert told_before <= {event["reason"] for event in failed.read("events.json")}
    shared.start("bundled-second").succeeds("file:/lake/bundled")
    shared.reaches("bundled-second", "Succeeded")

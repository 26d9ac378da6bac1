"""Sluice as Helm installs it, in a namespace that lets only restricted pods in."""

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from cluster.cluster import Cluster
from devenv.project import ROOT
from integration.objects import Objects
from integration.waiting import eventually
from sluice.api.base import Json

CHART = ROOT / "charts" / "sluice"
EXAMPLES = ROOT / "examples" / "install"
ENGINE_CHART = Path(__file__).parent / "engine"
RELEASE = "sluice"
NEXT_COLUMN = "RunKey"
NAMESPACE = "team"
INSTANCE = f"app.kubernetes.io/instance={RELEASE}"
ENDED = ("Succeeded", "Failed", "Skipped")
GATED = """
import pathlib
import time

from pyspark.sql import SparkSession

from sluice_runner import attempt

gate = pathlib.Path("/lake/gate")
spark = SparkSession.builder.getOrCreate()
with attempt(spark) as run:
    while not gate.exists():
        time.sleep(0.1)
    run.once("delete", lambda: spark.sql("DELETE FROM delta.`/lake/orders` WHERE id = 8"))
"""
JOB_SECONDS = 600


@dataclass(frozen=True)
class Team:
    """The namespace with its jobs, and the release in it."""

    cluster: Cluster
    objects: Objects
    values: Path

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = self.cluster.kubectl("-n", NAMESPACE, *arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def helm(self, command: str, *arguments: str) -> str:
        done = self.cluster.helm("-n", NAMESPACE, command, *arguments)
        assert done.returncode == 0, f"helm {command} {' '.join(arguments)}: {done.stderr}\n{self.told()}"
        return done.stdout

    def types(self, command: str) -> str:
        """Runs a command as people type it in the repository's root; Helm is told, too, what this cluster needs beside."""
        if " charts/" in command:
            command += f" --values {self.values} --timeout 5m"
        programs = os.pathsep.join(
            [str(self.cluster.program("helm").parent), str(self.cluster.program("kubectl").parent)]
        )
        environment = [
            f"PATH={programs}{os.pathsep}{os.environ['PATH']}",
            f"KUBECONFIG={self.cluster.kubeconfig}",
        ]
        done = self.cluster.run("env", f"--chdir={ROOT}", *environment, "bash", "-c", command)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}\n{self.told()}"
        return done.stdout

    def apply(self, *jobs: Json) -> None:
        for job in jobs:
            self.kubectl("apply", "-f", "-", stdin=json.dumps(job))

    def job(self, name: str) -> Json:
        found = self.objects.get("deltawritejob", name)
        assert found is not None, f"there is no job {name}"
        return found

    def phase(self, name: str) -> str:
        return str(self.job(name).get("status", {}).get("phase", ""))

    def until(self, name: str, *phases: str) -> Json:
        """The job once it is in one of the phases."""
        eventually(
            lambda: self.phase(name) in phases,
            f"{name} is {' or '.join(phases)}",
            seconds=JOB_SECONDS,
            pause=0.2,
            show=partial(self.told, name),
        )
        return self.job(name)

    def succeeds(self, name: str) -> Json:
        job = self.until(name, *ENDED)
        assert job["status"]["phase"] == "Succeeded", self.told(name)
        return job

    def told(self, name: str = "") -> str:
        """What people would look at."""
        looks = (
            ("get", "pods", "-A"),
            ("-n", NAMESPACE, "get", "deltawritejob", name, "-o", "yaml") if name else (),
            ("-n", NAMESPACE, "get", "events", "--sort-by=.lastTimestamp"),
            ("-n", NAMESPACE, "logs", f"deployment/{RELEASE}", "--tail=60"),
            ("-n", "engine", "logs", "deployment/engine", "--tail=60"),
        )
        told = (self.cluster.kubectl(*look) for look in looks if look)
        return "\n".join(done.stdout + done.stderr for done in told)


def job(name: str, sql: str) -> Json:
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"sql": sql},
    }


def gated_job(name: str, image: str, spark_conf: dict[str, str], lake: Path) -> Json:
    """A job whose driver waits for the file `gate` in the lake's folder, then deletes from the table of orders."""
    (lake / "gated.py").write_text(GATED, encoding="utf-8")
    template = {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": "4.2.0",
        "image": image,
        "imagePullPolicy": "Never",
        "mainApplicationFile": "local:///lake/gated.py",
        "sparkConf": spark_conf | {"spark.kubernetes.executor.deleteOnTermination": "true"},
        "driver": {"cores": 1, "memory": "1g", "serviceAccount": "spark", "template": _pod("driver")},
        "executor": {"instances": 1, "cores": 1, "memory": "1g", "template": _pod("executor")},
    }
    spec = {
        "application": {"engine": "kubeflow", "template": template},
        "runtime": {"deltaVersion": "4.4.0"},
        "footprint": [{"table": {"path": "/lake/orders"}, "operation": "Delete"}],
    }
    return job(name, "") | {"spec": spec}


def _pod(role: str) -> Json:
    """The pod's template as jobs of Sluice's own runner have it by the chart and by docs/install.md."""
    files = (CHART / "values.yaml", EXAMPLES / "values.yaml")
    runtimes = [yaml.safe_load(file.read_text(encoding="utf-8"))["runtimes"]["default"] for file in files]
    specs = [runtime[f"{role}Pod"]["spec"] for runtime in runtimes]
    return {"spec": specs[0] | specs[1]}


def volume(name: str, claim: str, folder: Path) -> Json:
    """A folder of the machine for a claim of the namespace: nothing makes volumes here by itself."""
    folder.mkdir()
    folder.chmod(0o777)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": NAMESPACE, "name": claim},
            "hostPath": {"path": str(folder), "type": "Directory"},
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }


def values(images: Iterable[tuple[str, str]], spark_image: str, spark_conf: dict[str, str]) -> Json:
    """What this cluster needs beside what docs/install.md says: images that were loaded under other names."""
    given: dict[str, Any] = {
        "watchNamespaces": [NAMESPACE],
        "runtimes": {"default": {"image": spark_image, "sparkConf": spark_conf}},
    }
    for part, image in images:
        repository, _, tag = image.rpartition(":")
        given.setdefault(part, {})["image"] = {"repository": repository, "tag": tag, "pullPolicy": "Never"}
    return given


def next_chart(folder: Path) -> Path:
    """The version after this one: its jobs show one column more, and it needs a value that this one does not have."""
    following = shutil.copytree(CHART, folder / "next")
    chart = yaml.safe_load((following / "Chart.yaml").read_text(encoding="utf-8"))
    (following / "Chart.yaml").write_text(yaml.safe_dump(chart | {"version": "99.0.0"}), encoding="utf-8")
    file = following / "files" / "crds" / "deltawritejobs.yaml"
    definition = yaml.safe_load(file.read_text(encoding="utf-8"))
    columns = definition["spec"]["versions"][0]["additionalPrinterColumns"]
    columns.append({"name": NEXT_COLUMN, "type": "string", "jsonPath": ".status.runKey"})
    file.write_text(yaml.safe_dump(definition), encoding="utf-8")
    _needs_a_value_of_its_own(following)
    return following


def _needs_a_value_of_its_own(chart: Path) -> None:
    """An upgrade that keeps all values of the former release fails at it."""
    with (chart / "values.yaml").open("a", encoding="utf-8") as given:
        given.write("\nnextOnly: {note: new}\n")
    schema = json.loads((chart / "values.schema.json").read_text(encoding="utf-8"))
    schema["properties"]["nextOnly"] = {"type": "object"}
    (chart / "values.schema.json").write_text(json.dumps(schema), encoding="utf-8")
    with (chart / "templates" / "next.yaml").open("w", encoding="utf-8") as template:
        template.write(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: next-only}\ndata: {note: {{ .Values.nextOnly.note }}}\n"
        )

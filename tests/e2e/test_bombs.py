"""Objects that cost as much as one object may, beside Sluice in pods with the chart's limits and probes: good jobs do not wait
for them, no pod is restarted, and the lead does not change."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from deltalake.schema import Field, PrimitiveType, Schema

from cluster.cluster import Cluster
from devenv.images import SPARK, Image
from e2e.installed import CHART, values
from integration.objects import Objects
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from unit.tables.hostile_logs import equal_rows_in_checkpoint, large_line_in_commit

pytestmark = [pytest.mark.timeout(2400), pytest.mark.long(minutes=8)]

RELEASE = NAMESPACE = "bounded"
GOOD, ROUNDS = 100, 5
SLOWER = 1.3
"""How much longer the good jobs may take, as a factor."""
PATIENCE_SECONDS = 300


@dataclass(frozen=True)
class Installed:
    """The release, and the namespace of its jobs."""

    cluster: Cluster
    objects: Objects

    def pods(self) -> list[tuple[str, int]]:
        """The operator's pods, each with how often its container was started anew."""
        found = self.objects.every("pod", labelSelector="app.kubernetes.io/component=operator")
        return sorted(
            (pod["metadata"]["name"], status["restartCount"])
            for pod in found
            for status in pod["status"]["containerStatuses"]
        )

    def leader(self) -> tuple[str, str]:
        """The leader, and the epoch, which rises whenever a replica begins to lead."""
        lease = self.objects.get("lease", names.leader_lease(RELEASE))
        assert lease is not None
        return lease["spec"]["holderIdentity"], lease["metadata"]["annotations"][names.ANNOTATION_EPOCH]

    def told(self) -> str:
        log = self.cluster.kubectl("-n", NAMESPACE, "logs", f"deployment/{RELEASE}", "--tail=60")
        pods = self.cluster.kubectl("-n", NAMESPACE, "describe", "pods")
        return f"{pods.stdout}{log.stdout}{log.stderr}"

    def apply(self, prefix: str, specs: list[Json]) -> list[str]:
        """The names of the jobs that it makes."""
        made = [f"{prefix}-{number}" for number in range(len(specs))]
        for name, spec in zip(made, specs, strict=True):
            metadata = {"name": name, "namespace": NAMESPACE}
            body = {"apiVersion": f"{names.GROUP}/v1alpha1", "kind": "DeltaWriteJob", "metadata": metadata}
            self.objects.create("deltawritejob", body | {"spec": spec})
        return made

    def seconds_to_applications(self, prefix: str, specs: list[Json]) -> float:
        """Seconds until all of these jobs have been made and have their SparkApplications; the jobs are deleted then."""
        begun = time.monotonic()
        made = self.apply(prefix, specs)
        eventually(
            lambda: set(made) <= self._jobs_with_applications(),
            "each good job has its SparkApplication",
            seconds=PATIENCE_SECONDS,
            pause=0.1,
            show=self.told,
        )
        took = time.monotonic() - begun
        self.delete(made)
        return took

    def _jobs_with_applications(self) -> set[str]:
        return {one["metadata"]["labels"][names.LABEL_JOB] for one in self.objects.every("sparkapplication")}

    def delete(self, jobs: list[str]) -> None:
        for name in jobs:
            self.objects.delete("deltawritejob", name)
        eventually(
            lambda: not {job["metadata"]["name"] for job in self.objects.every("deltawritejob")} & set(jobs),
            "the jobs are gone",
            seconds=PATIENCE_SECONDS,
            show=self.told,
        )


Bomb = Callable[[Installed, Path, str], list[str]]
"""Applies it, with tables in this folder; returns the names of its jobs."""


def uses_of_a_parameter(installed: Installed, lake: Path, prefix: str) -> list[str]:
    uses = ", ".join([":p"] * 30_000)
    return installed.apply(
        prefix,
        [{"sql": f"INSERT INTO delta.`{lake}/uses` SELECT {uses}", "parameters": {"p": {"integer": 1}}}],
    )


def likes(installed: Installed, lake: Path, prefix: str) -> list[str]:
    table = _with_columns(lake / "likes")
    conditions = " OR ".join(f"name LIKE 'a{number}%'" for number in range(4_500))
    return installed.apply(prefix, [{"sql": f"DELETE FROM delta.`{table}` WHERE {conditions}"}])


def erasures(installed: Installed, lake: Path, prefix: str) -> list[str]:
    """As ten daily scripts do that erase one person after another."""
    table = _with_columns(lake / "people")

    def sql(script: int) -> str:
        people = range(script, 15_000, 10)
        return ";\n".join(f"DELETE FROM delta.`{table}` WHERE id = {person}" for person in people)

    return installed.apply(prefix, [{"sql": sql(script)} for script in range(10)])


def checkpoint_of_equal_rows(installed: Installed, lake: Path, prefix: str) -> list[str]:
    return _appends_to(
        installed, lake / f"rows-{prefix}", prefix, lambda path: equal_rows_in_checkpoint(path, 4_000_000)
    )


def commit_of_one_line(installed: Installed, lake: Path, prefix: str) -> list[str]:
    return _appends_to(
        installed, lake / f"line-{prefix}", prefix, lambda path: large_line_in_commit(path, 300)
    )


def _appends_to(installed: Installed, path: Path, prefix: str, make: Callable[[Path], None]) -> list[str]:
    """A table that was never read before."""
    make(path)
    return installed.apply(prefix, [_append(path)])


def _with_columns(path: Path) -> Path:
    if not path.exists():
        fields = [Field("id", PrimitiveType("long")), Field("name", PrimitiveType("string"))]
        DeltaTable.create(str(path), Schema(fields))
    return path


def _append(path: Path) -> Json:
    return {"sql": f"INSERT INTO delta.`{path}` VALUES (1, 'a')"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bounded")
    for number in range(GOOD):
        _with_columns(folder / f"good-{number}")
    return folder


@pytest.fixture(scope="module")
def installed(
    kubernetes: Any,
    images: Mapping[str, Image],
    spark_conf: dict[str, str],
    lake: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installed]:
    """Nothing runs SparkApplications: how soon they are there is what is measured."""
    cluster: Cluster = kubernetes.cluster
    given = values(
        [(part, images[part].name) for part in ("operator", "redis")], images[SPARK.name].name, spark_conf
    )
    given["watchNamespaces"] = [NAMESPACE]
    given["operator"] |= {
        "extraVolumes": [{"name": "lake", "hostPath": {"path": str(lake)}}],
        "extraVolumeMounts": [{"name": "lake", "mountPath": str(lake)}],
    }
    given["redis"]["persistence"] = {"enabled": False}
    file = tmp_path_factory.mktemp("values") / "values.yaml"
    file.write_text(yaml.safe_dump(given | {"crds": {"install": False}}), encoding="utf-8")
    kubernetes.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    options = ("--values", str(file), "--wait", "--timeout=5m")
    done = cluster.helm("-n", NAMESPACE, "install", RELEASE, str(CHART), *options)
    release = Installed(cluster, Objects(kubernetes.objects.server, NAMESPACE))
    assert done.returncode == 0, done.stderr + release.told()
    yield release
    release.delete([job["metadata"]["name"] for job in release.objects.every("deltawritejob")])
    done = cluster.helm("-n", NAMESPACE, "uninstall", RELEASE, "--wait", "--timeout=5m")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "bomb", [uses_of_a_parameter, likes, erasures, checkpoint_of_equal_rows, commit_of_one_line]
)
def test_good_jobs_have_their_applications_in_their_time_beside_what_costs_most(
    installed: Installed, lake: Path, bomb: Bomb, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [_append(lake / f"good-{number}") for number in range(GOOD)]
    installed.seconds_to_applications("first", good)
    before = installed.pods(), installed.leader()
    alone, beside = [], []
    for number in range(ROUNDS):
        alone.append(installed.seconds_to_applications(f"alone-{number}", good))
        jobs = bomb(installed, lake, f"bomb-{number}")
        beside.append(installed.seconds_to_applications(f"beside-{number}", good))
        installed.delete(jobs)
    with capsys.disabled():
        sys.stdout.write(f"\n{bomb.__name__}: alone {_shown(alone)}, beside {_shown(beside)}\n")
    assert (installed.pods(), installed.leader()) == before, installed.told()
    assert median(beside) <= SLOWER * median(alone)


def _shown(seconds: list[float]) -> str:
    return ", ".join(f"{one:.2f} s" for one in seconds)

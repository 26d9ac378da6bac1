"""The images run as a cluster runs them that trusts nobody: restricted, with a read-only root, as their own user and as any."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.cluster import Cluster
from devenv.images import ENGINE, OPERATOR, REDIS, SPARK, Image, Recipe, ensure_image
from devenv.toolchain import cache
from sluice.api.base import Json

Run = Callable[..., str]
NAMESPACE = "images"
ANY_USER = 1_000_730_000
"""Such a number as OpenShift gives a namespace; its group is 0 there."""
CLOSED: Json = {
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
DELTA = (
    *("--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension"),
    *("--conf", "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"),
    *("--conf", "spark.delta.logStore.file.impl=dev.sluice.delta.LinkLogStore"),
    *("--conf", "spark.ui.enabled=false"),
)
WRITING = """
import pwd, os, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(3).selectExpr("id", "'ü' AS text").write.format("delta").save("/tmp/lake")
rows = spark.read.format("delta").load("/tmp/lake")
# The partition is read by a Python of its own, too.
total = rows.rdd.map(lambda row: row.id).sum()
print("written", total, rows.first().text, spark._jvm.System.getProperty("user.name"), pwd.getpwuid(os.getuid()).pw_name)
"""


@pytest.fixture(scope="module")
def images(cluster: Cluster) -> dict[str, Image]:
    """All but the Spark image, which the cluster has already, are loaded."""
    found = {recipe.name: ensure_image(cache(), recipe) for recipe in (SPARK, OPERATOR, REDIS, ENGINE)}
    for recipe in (OPERATOR, REDIS, ENGINE):
        cluster.load(found[recipe.name].archive)
    return found


@pytest.fixture(scope="module")
def run(kubernetes: Any, images: dict[str, Image]) -> Iterator[Run]:
    """Runs a command in a pod to its end; what it printed."""
    kubernetes.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": NAMESPACE,
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
        }
    )
    kubectl = kubernetes.cluster.kubectl

    def in_pod(name: str, recipe: Recipe, *command: str, user: int | None = None) -> str:
        as_user: Json = {} if user is None else {"runAsUser": user, "runAsGroup": 0}
        container: Json = {
            "name": "it",
            "image": images[recipe.name].name,
            "imagePullPolicy": "Never",
            "args" if recipe is SPARK else "command": list(command),
            "env": [
                {
                    "name": "SPARK_DRIVER_BIND_ADDRESS",
                    "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
                }
            ],
            "securityContext": {**CLOSED, **as_user},
            "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - the pod's own
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
                "containers": [container],
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        }
        made = kubectl("create", "-f", "-", stdin=json.dumps(pod))
        assert made.returncode == 0, made.stderr
        kubectl(
            *("wait", f"--namespace={NAMESPACE}", "--timeout=240s", f"pod/{name}"),
            "--for=jsonpath={.status.containerStatuses[0].state.terminated}",
        )
        logs = kubectl("logs", f"--namespace={NAMESPACE}", name)
        # The pod's phase follows later.
        code = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"
        ended = kubectl("get", "pod", f"--namespace={NAMESPACE}", name, "-o", code)
        shown = kubectl("get", "pod", f"--namespace={NAMESPACE}", name, "-o", "jsonpath={.status}")
        assert ended.stdout == "0", f"{logs.stdout}{logs.stderr}\n{shown.stdout}{shown.stderr}"
        kubectl("delete", "pod", f"--namespace={NAMESPACE}", name, "--wait=false")
        return str(logs.stdout)

    yield in_pod
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.mark.parametrize("user", [None, ANY_USER])
def test_the_operators_programs_start(run: Run, user: int | None) -> None:
    asked = (
        "id -u; sluice --version; sluice-operator --help; touch /here || echo closed; "
        "python3 -c 'import locale; print(locale.getpreferredencoding())'; which pip3 gcc || echo lean; "
        "ls /var/lib/apt/lists | wc -l"
    )
    lines = run(f"operator-{user or 'own'}", OPERATOR, "sh", "-c", f"({asked}) 2>&1", user=user).splitlines()
    assert lines[0] == str(user or 65532)
    assert lines[1] == "sluice 0.1.0"
    assert lines[2].startswith("usage: sluice-operator")
    assert lines[-5:-3] == ["touch: cannot touch '/here': Read-only file system", "closed"]
    assert lines[-3:] == ["UTF-8", "lean", "0"]


def test_the_operator_imports_all_that_it_runs_with(run: Run) -> None:
    program = "import sluice.controller.operator, sluice.cli.main, sqlglot.parser as p; print(p.__file__)"
    assert run("operator-imports", OPERATOR, "python3", "-c", program).strip().endswith(".so")


@pytest.mark.parametrize("user", [None, ANY_USER])
def test_a_driver_writes_a_delta_table(run: Run, user: int | None) -> None:
    driver = f"/opt/entrypoint.sh driver {' '.join(DELTA)} --master 'local[1]' /tmp/writing.py"
    script = f"cat > /tmp/writing.py <<'E'\n{WRITING}E\nexec {driver}"
    output = run(f"driver-{user or 'own'}", SPARK, "sh", "-c", script, user=user)
    (written,) = [line.split() for line in output.splitlines() if line.startswith("written")]
    assert written[1:3] == ["3", "ü"]
    name = "spark" if user is None else f"uid-{user}"
    assert written[3:] == [name, name]


def test_the_spark_image_holds_what_it_runs_with_and_no_more(run: Run) -> None:
    asked = "whoami; locale charmap; which pip3 javac || echo lean; ls /var/lib/apt/lists | wc -l; ls /opt/spark/jars"
    user, charset, lean, lists, *jars = run("spark-content", SPARK, "sh", "-c", asked).splitlines()
    assert (user, charset, lean, lists) == ("spark", "UTF-8", "lean", "0")
    assert "sluice-logstore.jar" in jars
    assert any("delta-storage" in jar for jar in jars)


def test_redis_answers_under_a_password(run: Run) -> None:
    asked = (
        "cd /tmp; redis-server --daemonize yes --requirepass secret --dir /tmp; "
        "for i in $(seq 50); do REDISCLI_AUTH=secret redis-cli ping && break; sleep 0.2; done; redis-cli ping"
    )
    output = run("redis", REDIS, "sh", "-c", f"({asked}) 2>&1")
    assert "PONG\nNOAUTH" in output


@pytest.mark.parametrize("user", [None, ANY_USER])
def test_the_local_engine_starts(run: Run, user: int | None) -> None:
    asked = "python3 -m localengine --help && spark-submit --version 2>&1"
    output = run(f"engine-{user or 'own'}", ENGINE, "sh", "-c", asked, user=user)
    assert "--mode {process,cluster}" in output
    assert "version 4.2.0" in output


def megabytes(size: int) -> int:
    return size // 1_000_000


def compressed(archive: Path) -> int:
    """What a registry keeps and a node fetches, nearly: registries compress each layer by itself."""
    size = 0

    class Counted:
        def write(self, data: bytes) -> int:
            nonlocal size
            size += len(data)
            return len(data)

    with archive.open("rb") as plain, gzip.GzipFile(fileobj=Counted(), mode="wb", compresslevel=1) as packed:  # type: ignore[call-overload]
        while chunk := plain.read(1 << 20):
            packed.write(chunk)
    return size


def test_the_operators_image_is_small(images: dict[str, Image]) -> None:
    archive = images[OPERATOR.name].archive
    assert megabytes(archive.stat().st_size) < 410
    assert megabytes(compressed(archive)) < 250


def test_the_spark_image_does_not_grow(images: dict[str, Image]) -> None:
    assert megabytes(images[SPARK.name].archive.stat().st_size) < 900

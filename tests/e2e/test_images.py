"""The images run as a cluster runs them that trusts nobody: restricted, with a read-only root, as their own user and as any."""

import json
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devenv.images import (
    ENGINE,
    OPERATOR,
    REDIS,
    SPARK,
    SPARK35,
    Image,
    Recipe,
    ensure_compressed_size,
    ensure_image,
    megabytes,
    spark_image,
)
from devenv.toolchain import cache
from e2e.conftest import BRIEF_JVM
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(900)

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
    *("--driver-java-options", f"'{BRIEF_JVM}'"),
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
FILE_SYSTEMS = """
import re
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
java, settings = spark._jvm, spark._jsc.hadoopConfiguration()
files = java.org.apache.hadoop.fs.FileSystem
for scheme in ("s3", "s3a", "abfs", "abfss", "gs"):
    try:
        found = files.getFileSystemClass(scheme, settings)
    except Py4JJavaError as error:
        print("lacks", scheme, re.search("ClassNotFound|UnsupportedFileSystem", error.java_exception.toString())[0])
        continue
    # Linked and made, so that what it needs at once is there, too.
    made = java.org.apache.hadoop.util.ReflectionUtils.newInstance(found, settings)
    print("stores", scheme, made.getClass().getName())
    if scheme in ("s3", "s3a"):
        print("opens", java.org.apache.hadoop.fs.Path(f"{scheme}://lake/t").getFileSystem(settings).getUri().toString())
    if scheme == "abfss":
        azure = java.org.apache.hadoop.fs.azurebfs.AbfsConfiguration(settings, "lake.dfs.core.windows.net")
        print("key", azure.getStorageAccountKey())
"""
KEYS = (
    *("--conf", "spark.hadoop.fs.s3a.access.key=a", "--conf", "spark.hadoop.fs.s3a.secret.key=b"),
    *("--conf", "spark.hadoop.fs.s3a.endpoint.region=eu-west-1"),
    *("--conf", "'spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net=${env.ACCOUNT_KEY}'"),
)
AZURE_KEY = "a2V5"
TWICE = """
import collections, pathlib, sys, zipfile
jars = collections.defaultdict(set)
for jar in pathlib.Path("/opt/spark/jars").glob("*.jar"):
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(".class") and not name.startswith("META-INF/") and "module-info" not in name:
                jars[name].add(jar.name)
# Ivy puts the group before an artifact's name, so these are the jars that Spark didn't bring.
added = {jar for names in jars.values() for jar in names if "_" in jar and "." in jar.partition("_")[0]}
meet = {tuple(sorted(names)) for names in jars.values() if len(names) > 1 and names & added}
print(len(added), *sorted(meet), sep="\\n")
"""
LEFT_BEHIND = re.compile(
    r"(build|home|root/(?!\.bashrc$|\.profile$)|var/log|var/lib/apt/lists|var/cache/(?!debconf/))(/|$)"
    r"|.*(/|^)\.(cache|ivy2(\.\d+\.\d+)?|m2)/|opt/.*__pycache__/|usr/local/.*__pycache__/"
)
"""What building leaves: package lists and downloads of apt, pip, Ivy and Maven, files that Python compiled."""
SPARKS = pytest.mark.parametrize(
    "recipe",
    [SPARK, pytest.param(SPARK35, marks=[pytest.mark.long(minutes=2), pytest.mark.timeout(3600)])],
    ids=lambda it: it.name,
)
"""The pair of versions that runs in each run, and the one that --long builds and runs as well."""
S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
SCHEMES = {
    "aws": {"s3": S3A, "s3a": S3A},
    "azure": {
        "abfs": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
        "abfss": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
    },
    "gcs": {"gs": "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem"},
}
"""What serves the locations of each store, by their scheme."""
GOOGLES = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
"""Hadoop has a gs: of its own from 3.5 on, which goes with Spark 4.2."""


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
        if recipe.name not in images:
            images[recipe.name] = ensure_image(cache(), recipe)
            kubernetes.cluster.load(images[recipe.name].archive)
        as_user: Json = {} if user is None else {"runAsUser": user, "runAsGroup": 0}
        container: Json = {
            "name": "it",
            "image": images[recipe.name].name,
            "imagePullPolicy": "Never",
            "args" if recipe.containerfile == SPARK.containerfile else "command": list(command),
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
            *("wait", f"--namespace={NAMESPACE}", "--timeout=600s", f"pod/{name}"),
            "--for=jsonpath={.status.containerStatuses[0].state.terminated}",
        )
        logs = kubectl("logs", f"--namespace={NAMESPACE}", name)
        pod = json.loads(kubectl("get", "pod", f"--namespace={NAMESPACE}", name, "-o", "json").stdout)
        # The pod's phase follows later.
        state = pod["status"]["containerStatuses"][0]["state"]
        assert state.get("terminated", {}).get("exitCode") == 0, f"{logs.stdout}{logs.stderr}\n{pod}"
        return str(logs.stdout)

    yield in_pod
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.mark.parametrize("user", [None, ANY_USER])
def test_the_operators_programs_start(run: Run, user: int | None) -> None:
    asked = (
        "id -u; sluice --version | head -1; sluice-operator --help; touch /here || echo closed; "
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


def driven(program: str, *settings: str) -> str:
    """A shell script that runs the program as a driver's."""
    driver = f"/opt/entrypoint.sh driver {' '.join((*DELTA, *settings))} --master 'local[1]' /tmp/program.py"
    return f"export ACCOUNT_KEY={AZURE_KEY}\ncat > /tmp/program.py <<'E'\n{program}E\nexec {driver}"


def told(output: str, word: str) -> list[list[str]]:
    return [line.split()[1:] for line in output.splitlines() if line.startswith(f"{word} ")]


@SPARKS
def test_a_driver_writes_a_delta_table_and_has_the_file_system_of_every_store(
    run: Run, recipe: Recipe
) -> None:
    output = run(f"{recipe.name}-own", recipe, "sh", "-c", driven(WRITING + FILE_SYSTEMS, *KEYS))
    assert told(output, "written") == [["3", "ü", "spark", "spark"]]
    others = {} if recipe is SPARK else {"gs": GOOGLES}
    every = {**SCHEMES["aws"], **SCHEMES["azure"], **SCHEMES["gcs"], **others}
    assert stores_in(output) == (every, set())


@SPARKS
def test_a_driver_of_any_user_writes_a_delta_table(run: Run, recipe: Recipe) -> None:
    output = run(f"{recipe.name}-{ANY_USER}", recipe, "sh", "-c", driven(WRITING), user=ANY_USER)
    name = f"uid-{ANY_USER}"
    assert told(output, "written") == [["3", "ü", name, name]]


@pytest.mark.long(minutes=2)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("chosen", [(), ("aws",), ("azure",), ("gcs",), ("aws", "gcs")], ids="-".join)
def test_a_driver_has_the_file_systems_of_the_stores_that_were_chosen(
    run: Run, chosen: tuple[str, ...]
) -> None:
    recipe = spark_image("-".join(("spark", *chosen)) + "-only", "4.2", STORES=" ".join(chosen))
    stores, lacking = stores_in(run(f"{recipe.name}-stores", recipe, "sh", "-c", driven(FILE_SYSTEMS, *KEYS)))
    assert stores == {scheme: name for store in chosen for scheme, name in SCHEMES[store].items()}
    every = {scheme for schemes in SCHEMES.values() for scheme in schemes}
    assert lacking == every - set(stores)


def stores_in(output: str) -> tuple[dict[str, str], set[str]]:
    """The classes of a driver's file systems by scheme, and the schemes that it has none for. Those of S3 are opened, and Azure's
    is asked for the key that it found in the environment."""
    stores = dict(told(output, "stores"))
    assert [location for (location,) in told(output, "opens")] == [
        f"{scheme}://lake" for scheme in ("s3", "s3a") if scheme in stores
    ]
    assert [key for (key,) in told(output, "key")] == [AZURE_KEY for scheme in stores if scheme == "abfss"]
    return stores, {scheme for scheme, _ in told(output, "lacks")}


@SPARKS
def test_a_spark_image_holds_what_it_runs_with_and_no_more(run: Run, recipe: Recipe) -> None:
    asked = "whoami; locale charmap; which pip3 javac || echo lean; ls /opt/spark/jars"
    user, charset, lean, *jars = run(f"{recipe.name}-content", recipe, "sh", "-c", asked).splitlines()
    assert (user, charset, lean) == ("spark", "UTF-8", "lean")
    assert "sluice-logstore.jar" in jars
    assert any("delta-storage" in jar for jar in jars)


@SPARKS
def test_nothing_is_left_of_building_a_spark_image(images: dict[str, Image], recipe: Recipe) -> None:
    image = images.get(recipe.name) or ensure_image(cache(), recipe)
    held = files_in(image.archive)
    assert "opt/entrypoint.sh" in held
    assert sorted(name for name in held if LEFT_BEHIND.match(name)) == []


@SPARKS
def test_no_class_is_in_two_jars_of_which_one_was_added_to_sparks(run: Run, recipe: Recipe) -> None:
    added, *meet = run(f"{recipe.name}-twice", recipe, "python3", "-c", TWICE).splitlines()
    assert int(added) > 10
    assert meet == []


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


def files_in(archive: Path) -> set[str]:
    """The files of an image: each layer adds some, and hides those of lower ones that it has a whiteout of."""
    held: set[str] = set()
    with tarfile.open(archive) as image:
        manifest = image.extractfile("manifest.json")
        assert manifest is not None
        for layer in json.load(manifest)[0]["Layers"]:
            with tarfile.open(fileobj=image.extractfile(layer)) as files:
                entries = [(entry.name.removeprefix("./"), entry.isdir()) for entry in files]
            gone = {name.replace("/.wh.", "/") for name, _ in entries if "/.wh." in name}
            held -= {name for name in held if any(name == it or name.startswith(f"{it}/") for it in gone)}
            held |= {name for name, is_folder in entries if not is_folder and "/.wh." not in name}
    return held


def test_the_operators_image_is_small(images: dict[str, Image]) -> None:
    assert megabytes(images[OPERATOR.name].archive.stat().st_size) < 410
    assert megabytes(ensure_compressed_size(cache(), OPERATOR)) < 250


def test_the_spark_image_does_not_grow(images: dict[str, Image]) -> None:
    assert megabytes(images[SPARK.name].archive.stat().st_size) < 920
    assert megabytes(ensure_compressed_size(cache(), SPARK)) < 680

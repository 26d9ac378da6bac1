"""From `helm install` to jobs that succeed, and back: Sluice, Redis and the engine run in the cluster, as users run them."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from cluster.cluster import Cluster
from devenv.images import Image
from documentation import ROOT, commands_run_by
from e2e.conftest import CRDS, REAL_OPERATOR
from e2e.installed import (
    ENGINE_CHART,
    INSTANCE,
    JOB_SECONDS,
    NAMESPACE,
    NEXT_COLUMN,
    RELEASE,
    Team,
    gated_job,
    job,
    next_chart,
    values,
    volume,
)
from integration.objects import Objects
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(2400)

GONE_SECONDS = 120


DOCUMENTED = [one.text for one in commands_run_by(__file__, ROOT / "docs" / "install.md")]


def documented(beginning: str) -> str:
    """The one command of docs/install.md that begins so."""
    (found,) = [command for command in DOCUMENTED if command.startswith(beginning)]
    return found


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("volumes")


@pytest.fixture(scope="module")
def values_file(
    images: Mapping[str, Image],
    image: Image,
    spark_conf: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    file = tmp_path_factory.mktemp("values") / "values.yaml"
    named = [(part, images[part].name) for part in ("operator", "redis")]
    file.write_text(yaml.safe_dump(values(named, image.name, spark_conf)))
    return file


@pytest.fixture(scope="module")
def team(
    kubernetes: Any,
    images: Mapping[str, Image],
    values_file: Path,
    lake: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Team]:
    """A restricted namespace, volumes, and whatever runs SparkApplications; without Sluice, and without its definitions."""
    cluster: Cluster = kubernetes.cluster
    team = Team(cluster, Objects(kubernetes.objects.server, NAMESPACE), values_file)
    team.types(documented("kubectl create namespace"))
    team.kubectl("create", "namespace", "engine")
    for namespace in (NAMESPACE, "engine"):
        team.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    team.kubectl("delete", "crd", f"{names.JOB_PLURAL}.{names.GROUP}", f"{names.POLICY_PLURAL}.{names.GROUP}")
    for claim in ("lake", f"data-{RELEASE}-redis-0"):
        team.apply(volume(claim, claim, lake / claim))
    team.types(documented("kubectl -n team apply -f examples/install/lake.yaml"))
    if REAL_OPERATOR in os.environ:
        request.getfixturevalue("spark_operator")
    else:
        options = [f"--set=image={images['engine'].name}", f"--set=jobNamespace={NAMESPACE}"]
        done = cluster.helm("-n", "engine", "install", "engine", str(ENGINE_CHART), *options, "--wait")
        assert done.returncode == 0, done.stderr + team.told()
    yield team
    for folder in CRDS:
        for definition in sorted(folder.glob("*.yaml")):
            kubernetes.apply(definition.read_text())


@pytest.fixture(scope="module")
def installed(team: Team) -> Team:
    team.types(documented("helm install sluice"))
    return team


def test_from_install_to_the_first_jobs_as_the_docs_say(
    installed: Team, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    installed.types(documented("kubectl -n team apply -f examples/install/make-orders.yaml"))
    installed.types(documented("kubectl -n team wait deltawritejob/make-orders"))
    made = installed.types(documented("kubectl -n team get deltawritejob/make-orders"))
    assert made.startswith("Succeeded: "), made
    first = time.monotonic() - began
    installed.types(documented("kubectl -n team apply -f examples/install/orders.yaml"))
    waited = installed.until("forget-customer", "Waiting")
    blockers = {blocker["job"] for blocker in waited["status"]["blockedBy"]}
    assert blockers <= {f"{NAMESPACE}/load-monday", f"{NAMESPACE}/load-tuesday"}
    assert blockers
    loads = [installed.succeeds(f"load-{day}")["status"] for day in ("monday", "tuesday")]
    runs = [(_moment(load["attempts"][-1]["grantedAt"]), _moment(load["finishedAt"])) for load in loads]
    assert max(granted for granted, _ in runs) < min(finished for _, finished in runs)
    forgot = installed.succeeds("forget-customer")["status"]
    assert _moment(forgot["attempts"][-1]["grantedAt"]) >= max(finished for _, finished in runs)
    table = DeltaTable(lake / "lake" / "orders")
    assert table.version() == 3
    assert sum(table.get_add_actions(flatten=True)["num_records"].to_pylist()) == 1998
    doctor = installed.types(f"sluice doctor --namespace {NAMESPACE} -o json")
    assert json.loads(doctor)["well"]
    warnings = "--field-selector=involvedObject.name=load-monday,type=Warning"
    assert json.loads(installed.kubectl("get", "events", warnings, "-o", "json"))["items"] == []
    _no_driver_was_refused(installed)
    with capsys.disabled():
        sys.stdout.write(f"\nfirst job after {first:.0f} s\n")
        sys.stdout.write(installed.cluster.kubectl("get", "pods", "-A").stdout)
        sys.stdout.write(installed.types(documented("kubectl -n team get deltawritejobs")))


def test_a_stream_pauses_for_a_change_of_its_table_goes_on_from_its_checkpoint_and_is_deleted(
    installed: Team, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its driver reads its own pod and tells its progress there by the rights that the chart gives its account."""
    raw, written = lake / "lake" / "raw", lake / "lake" / "streamed"
    write_deltalake(raw, _of(range(5)))
    installed.apply(_stream("streams", "raw", "streamed"))
    _has_rows(installed, "streams", written, range(5))
    eventually(
        lambda: installed.job("streams")["status"].get("reason") == "Streaming",
        "it is known that the stream works",
        seconds=GONE_SECONDS,
        show=lambda: installed.told("streams"),
    )
    installed.apply(job("alters", "ALTER TABLE delta.`/lake/streamed` ADD COLUMNS (note STRING)"))
    installed.until("streams", "Paused")
    shown = [_shown(installed)]
    write_deltalake(raw, _of(range(5, 10)), mode="append")
    altered = installed.succeeds("alters")["status"]
    shown.append(_shown(installed))
    _has_rows(installed, "streams", written, range(10))
    shown.append(_shown(installed))
    first, second = installed.job("streams")["status"]["attempts"]
    assert (first["outcome"], first["pause"]["reason"], first["exitCode"]) == ("Paused", "Yields", 0)
    assert "outcome" not in second
    assert [len(altered["attempts"]), "exception" in altered["attempts"][0]] == [1, False]
    assert _moment(second["grantedAt"]) >= _moment(altered["attempts"][0]["endedAt"])
    assert [field.name for field in DeltaTable(written).schema().fields] == ["id", "note"]
    log = installed.kubectl("logs", first["driver"]["pod"])
    assert "asked to stop after the batch under way" in log
    _no_driver_was_refused(installed)
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *shown]))
        sys.stdout.write(installed.kubectl("describe", "deltawritejob", "streams"))
    installed.kubectl("delete", "deltawritejob", "streams", "alters", "--timeout=120s")
    _nothing_holds(installed)
    assert _rows(written) == list(range(10))


@pytest.fixture(scope="module")
def gate(installed: Team, image: Image, spark_conf: dict[str, str], lake: Path) -> Iterator[Path]:
    """The file that the driver of the job `survives` waits for, once it runs: it lives as long as tests want it to."""
    installed.apply(gated_job("survives", image.name, spark_conf, lake / "lake"))
    installed.until("survives", "Running")
    file = lake / "lake" / "gate"
    yield file
    file.touch()


def test_a_job_that_is_deleted_while_it_runs_leaves_nothing_and_holds_nobody(
    installed: Team, request: pytest.FixtureRequest
) -> None:
    installed.apply(_slow("deleted"))
    installed.until("deleted", "Running")
    installed.kubectl("delete", "deltawritejob", "deleted", "--wait=false")
    _nothing_holds(installed)
    request.getfixturevalue("gate")  # its job deletes from the same table, and runs


@pytest.mark.usefixtures("gate")
def test_a_job_runs_on_through_an_upgrade_and_a_rollback_with_other_definitions(
    installed: Team, tmp_path: Path
) -> None:
    following = str(next_chart(tmp_path))
    installed.helm("upgrade", RELEASE, following, "--reset-then-reuse-values", "--wait", "--timeout=300s")
    assert NEXT_COLUMN in _columns(installed)
    installed.helm("rollback", RELEASE, "--wait", "--timeout=300s")
    assert NEXT_COLUMN not in _columns(installed)
    installed.types(documented("helm upgrade sluice"))
    survives = installed.job("survives")["status"]
    assert (survives["phase"], len(survives["attempts"])) == ("Running", 1)


def test_an_uninstall_is_refused_while_a_driver_lives_and_leaves_nothing_afterwards(
    installed: Team, gate: Path
) -> None:
    refused = installed.cluster.helm("-n", NAMESPACE, "uninstall", RELEASE, "--timeout=300s")
    assert refused.returncode != 0
    why = installed.kubectl("logs", f"job/{RELEASE}-may-go")
    assert f"has the finalizer {names.FINALIZER_LEASE}" in why or "have the finalizer" in why
    executors = "sluice.dev/job=survives,spark-role=executor"
    assert installed.objects.every("pod", labelSelector=executors)
    gate.touch()
    assert len(installed.succeeds("survives")["status"]["attempts"]) == 1
    _nothing_holds(installed)
    eventually(
        lambda: not installed.objects.every("pod", labelSelector=executors),
        "the driver deleted its executors",
    )
    _no_driver_was_refused(installed)
    installed.types(documented("helm uninstall sluice"))
    left = installed.kubectl(
        "get",
        "all,configmaps,secrets,serviceaccounts,roles,rolebindings,persistentvolumeclaims",
        "-l",
        INSTANCE,
        "-o",
        "name",
    )
    assert left == ""
    cluster_wide = installed.kubectl("get", "clusterroles,clusterrolebindings", "-l", INSTANCE, "-o", "name")
    assert cluster_wide == ""
    assert installed.objects.get("lease", names.leader_lease(RELEASE)) is None
    claims = json.loads(
        installed.cluster.kubectl(
            "-n", names.CLAIMS_NAMESPACE, "get", "configmap", names.CLAIMS, "-o", "json"
        ).stdout
    )
    assert f"{NAMESPACE}.{RELEASE}" not in claims.get("data", {})
    assert installed.phase("survives") == "Succeeded"
    installed.types(documented("kubectl delete crd"))
    assert installed.cluster.kubectl("get", "deltawritejobs", "-A").returncode != 0


def _slow(name: str) -> Json:
    """A job whose driver lives long enough to be met."""
    rows = "SELECT a.id, 'slow', DATE '2026-11-18' FROM range(20000) a, range(20000) b WHERE hash(a.id, b.id) = 0"
    return job(name, f"INSERT INTO delta.`/lake/orders` {rows}")


def _stream(name: str, source: str, table: str) -> Json:
    stream = {
        "source": {"format": "delta", "path": f"/lake/{source}"},
        "table": {"path": f"/lake/{table}"},
        "checkpoint": f"/lake/_checkpoints/{name}",
        "trigger": {"processingTime": "1 second"},
        "yield": "Metadata",
    }
    return job(name, "") | {"spec": {"stream": stream}}


def _of(ids: Iterable[int]) -> Table:
    return Table({"id": Array(list(ids), DataType.int64())})


def _has_rows(team: Team, name: str, table: Path, ids: Iterable[int]) -> None:
    eventually(
        lambda: _rows(table) == list(ids),
        f"{table} has each row once",
        seconds=JOB_SECONDS,
        pause=0.5,
        show=lambda: f"{_rows(table)}\n{team.told(name)}",
    )


def _rows(table: Path) -> list[int]:
    if not DeltaTable.is_deltatable(str(table)):
        return []
    read = QueryBuilder().register("t", DeltaTable(table)).execute("SELECT id FROM t ORDER BY id")
    ids: list[int] = read.read_all().column("id").to_pylist()
    return ids


def _shown(team: Team) -> str:
    return team.kubectl("get", "deltawritejob", "streams", "alters", "-o", "wide")


def _nothing_holds(team: Team) -> None:
    def holding() -> list[str]:
        bodies = [*team.objects.every("sparkapplication"), *team.objects.every("pod")]
        held = [one for one in bodies if names.FINALIZER_LEASE in one["metadata"].get("finalizers", [])]
        return [one["metadata"]["name"] for one in held]

    eventually(lambda: not holding(), "nothing has our finalizer", seconds=GONE_SECONDS, show=team.told)


def _no_driver_was_refused(team: Team) -> None:
    """Spark and the runner go on without most of what they may not do: their logs say so."""
    drivers = [
        pod["metadata"]["name"] for pod in team.objects.every("pod", labelSelector="spark-role=driver")
    ]
    assert drivers
    for driver in drivers:
        log = team.kubectl("logs", driver)
        assert "forbidden" not in log.lower(), log


def _columns(team: Team) -> str:
    path = "{.spec.versions[0].additionalPrinterColumns[*].name}"
    return team.kubectl("get", "crd", f"{names.JOB_PLURAL}.{names.GROUP}", "-o", f"jsonpath={path}")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)

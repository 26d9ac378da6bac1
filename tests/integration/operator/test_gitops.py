"""A folder that Git holds is applied again and again while the operator works on what is in it: nothing changes, and nobody
is in anybody's way."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from integration.conftest import Kubectl
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

FOLDER = Path(__file__).parents[3] / "examples" / "gitops"
KINDS = ("deltawritejob", "deltatablepolicy")
FOR_EVER = 2**31 - 1
WISHES = "gitops-raw-orders"
"""The policy that says what its table should be."""
WANTED = {"delta.deletedFileRetentionDuration": "interval 14 days"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example's folder, about tables of this machine; that of the policy with wishes is there, and not as it wants it."""
    there = tmp_path / "gitops"
    shutil.copytree(FOLDER, there, ignore=shutil.ignore_patterns("argocd"))
    for file in there.rglob("*.yaml"):
        text = file.read_text(encoding="utf-8").replace("s3://lake", f"{tmp_path}/lake")
        file.write_text(text.replace("logStore: S3Conditional", "logStore: Safe"), encoding="utf-8")
    DeltaTable.create(_raw_orders(there), Schema([Field("id", PrimitiveType("long"))]))
    return there


def _raw_orders(folder: Path) -> str:
    return str(folder.parent / "lake" / "shop" / "raw_orders")


def _objects(cluster: Played) -> Iterator[Json]:
    """Those of the folder: a job that a policy has made is in none."""
    for kind in KINDS:
        yield from (body for body in cluster.objects.every(kind) if not _owners(body))


def _owners(body: Json) -> list[str]:
    return [owner["name"] for owner in body["metadata"].get("ownerReferences", ())]


def _versions(cluster: Played) -> dict[str, str]:
    return {
        f"{body['kind']} {body['metadata']['name']}": body["metadata"]["resourceVersion"]
        for body in _objects(cluster)
    }


def _become_as_wanted(cluster: Played, table: str) -> None:
    """What the policy's job does to its table, after which the policy is Ready."""
    [job] = eventually(
        lambda: [job["metadata"]["name"] for job in cluster.jobs() if _owners(job) == [WISHES]],
        "the policy with wishes has made a job",
    )
    driver = cluster.start(job)
    DeltaTable(table).alter.set_table_properties(WANTED)
    driver.succeeds(f"file:{table}", 1)
    cluster.policy_is(WISHES, "AsWanted")


def _settled(cluster: Played, folder: Path) -> str:
    """The job that runs, once the other waits for it and both policies are Ready."""
    _become_as_wanted(cluster, _raw_orders(folder))
    jobs = {job["metadata"]["uid"]: job["metadata"]["name"] for job in cluster.jobs() if not _owners(job)}
    [uid] = eventually(
        lambda: [uid for uid in jobs if cluster.applications_of(uid)], "one job of the folder is admitted"
    )
    first = jobs.pop(uid)
    [second] = jobs.values()
    cluster.start(first)
    cluster.reaches(first, "Running")
    cluster.reaches(second, "Waiting")
    cluster.policy_is("gitops-orders", "Counts")
    return str(first)


def _operator_had_its_turn(cluster: Played, mark: str) -> None:
    """What was written before is known to it: a job that came later is admitted."""
    uid = cluster.apply(mark, append(f"/lake/{mark}"))
    eventually(lambda: cluster.applications_of(uid), f"{mark} is admitted")
    cluster.delete(mark)
    eventually(lambda: cluster.job(mark) is None, f"{mark} is gone")


@pytest.mark.parametrize(
    "way", [[], ["--server-side", "--field-manager=argocd-controller"]], ids=["client", "server"]
)
def test_a_folder_that_is_applied_again_changes_nothing(
    cluster: Played,
    operator: OperatorProcess,
    kubectl: Kubectl,
    folder: Path,
    way: list[str],
) -> None:
    arguments = ("-n", cluster.namespace, "-k", str(folder), *way)
    first = kubectl("apply", *arguments)
    assert first.returncode == 0, first.stderr
    assert len(first.stdout.splitlines()) == 4
    running = _settled(cluster, folder)
    before = _versions(cluster)
    assert len(before) == 4
    again = kubectl("apply", *arguments)
    assert (again.returncode, again.stderr) == (0, "")
    difference = kubectl("diff", *arguments)
    assert (difference.returncode, difference.stdout) == (0, ""), difference.stderr
    _operator_had_its_turn(cluster, "mark")
    assert _versions(cluster) == before
    cluster.driver_named(cluster.status(running)["attempts"][0]["application"]).succeeds("file:/lake")
    cluster.reaches(running, "Succeeded")
    [waited] = {job["metadata"]["name"] for job in cluster.jobs() if not _owners(job)} - {running}
    cluster.start(waited).succeeds("file:/lake", 2)
    cluster.reaches(waited, "Succeeded")
    ended = kubectl("apply", *arguments)
    assert ended.returncode == 0, ended.stderr
    _operator_had_its_turn(cluster, "mark-again")
    assert [len(cluster.status(name)["attempts"]) for name in (running, waited)] == [1, 1], (
        "what ended ran again"
    )


def test_nobody_owns_what_somebody_else_writes(
    cluster: Played, operator: OperatorProcess, kubectl: Kubectl, folder: Path
) -> None:
    """The operator writes statuses alone, so that neither a second manager of the folder nor a change in Git meets it."""
    arguments = ("apply", "-n", cluster.namespace, "-k", str(folder), "--server-side")
    for manager in ("argocd-controller", "kustomize-controller"):
        done = kubectl(*arguments, f"--field-manager={manager}")
        assert done.returncode == 0, done.stderr
        if manager == "argocd-controller":
            _settled(cluster, folder)
    for body in _objects(cluster):
        owned = {
            (entry["manager"], entry.get("subresource", "")): set(entry["fieldsV1"])
            for entry in body["metadata"]["managedFields"]
        }
        ours = [fields for (_, subresource), fields in owned.items() if subresource == "status"]
        assert ours == [{"f:status"}], owned
        theirs = {manager: fields for (manager, subresource), fields in owned.items() if not subresource}
        assert set(theirs) == {"argocd-controller", "kustomize-controller"}
        assert all("f:status" not in fields for fields in theirs.values())
        assert "finalizers" not in body["metadata"]
        assert not [key for key in body["metadata"].get("annotations", {}) if key.startswith(names.GROUP)]
    file = folder / "jobs" / "forget-customer-7.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "  priority: 7\n", encoding="utf-8")
    changed = kubectl(*arguments, "--field-manager=argocd-controller")
    assert changed.returncode == 0, changed.stderr


def test_a_folder_goes_over_from_client_side_to_server_side_apply(
    cluster: Played, operator: OperatorProcess, kubectl: Kubectl, folder: Path
) -> None:
    arguments = ("apply", "-n", cluster.namespace, "-k", str(folder))
    assert kubectl(*arguments).returncode == 0
    _settled(cluster, folder)
    over = kubectl(*arguments, "--server-side")
    assert (over.returncode, over.stderr) == (0, "")
    before = _versions(cluster)
    assert kubectl(*arguments, "--server-side").returncode == 0
    assert _versions(cluster) == before


def _manifest(cluster: Played, name: str, spec: Json) -> str:
    body = {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": name, "namespace": cluster.namespace},
        "spec": spec,
    }
    return str(body).replace("'", '"')


def test_a_job_that_its_time_to_live_deleted_runs_again_when_it_is_applied_again(
    cluster: Played, operators: StartOperator, kubectl: Kubectl
) -> None:
    operators(ttlSecondsAfterFinished=0).says("the lease table was rebuilt")
    goes = _manifest(cluster, "goes", append("/lake/goes"))
    stays = _manifest(cluster, "stays", append("/lake/stays", ttlSecondsAfterFinished=FOR_EVER))
    for manifest in (goes, stays):
        assert kubectl("apply", "-f", "-", stdin=manifest).returncode == 0
    for name in ("goes", "stays"):
        cluster.start(name).succeeds(f"file:/lake/{name}")
    cluster.reaches("stays", "Succeeded")
    eventually(lambda: cluster.job("goes") is None, "its time to live is over")
    for manifest in (goes, stays):
        assert kubectl("apply", "-f", "-", stdin=manifest).returncode == 0
    cluster.start("goes").succeeds("file:/lake/goes", 2)
    eventually(lambda: cluster.job("goes") is None, "it ended a second time")
    assert len(cluster.status("stays")["attempts"]) == 1


def test_a_job_that_ran_takes_no_other_work_and_one_that_was_refused_is_not_judged_again(
    cluster: Played, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    def apply(name: str, spec: Json) -> tuple[int, str]:
        done = kubectl("apply", "-f", "-", stdin=_manifest(cluster, name, spec))
        return done.returncode, done.stderr

    assert apply("ran", append("/lake/ran"))[0] == 0
    cluster.start("ran").succeeds("file:/lake/ran")
    cluster.reaches("ran", "Succeeded")
    code, told = apply("ran", append("/lake/other"))
    assert code == 1
    assert "spec.sql cannot change once an attempt exists: create a new job" in told
    assert apply("refused", {"sql": "DELETE FROM"})[0] == 0
    cluster.reaches("refused", "Failed")
    assert apply("refused", append("/lake/refused"))[0] == 0

    def is_observed() -> bool:
        job = cluster.job("refused") or {}
        return bool(job["status"]["observedGeneration"] == job["metadata"]["generation"] == 2)

    eventually(is_observed, "the correction was seen")
    _operator_had_its_turn(cluster, "mark")
    assert cluster.status("refused")["phase"] == "Failed"
    assert "attempts" not in cluster.status("refused")

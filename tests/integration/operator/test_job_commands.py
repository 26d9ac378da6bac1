"""`sluice run` and `sluice wait` beside a running operator: what they say, what they leave, and how they end."""

import json
from pathlib import Path
from signal import SIGINT, SIGTERM, Signals
from typing import Any

import pytest
import yaml

from integration.operator.accounts import Rule, kubeconfig_with
from integration.operator.played import Played, append, rewrite
from integration.operator.process import sluice, typed
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json


def manifest(spec: Any, **metadata: Any) -> Json:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": metadata,
        "spec": spec,
    }


def written(folder: Path, *bodies: Json) -> str:
    file = folder / "jobs.yaml"
    file.write_text(yaml.safe_dump_all(bodies), encoding="utf-8")
    return str(file)


def test_a_run_is_told_from_its_creation_to_its_commit(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    file = written(tmp_path, manifest(rewrite("/lake/told"), name="told"))
    with typed(kubeconfig, tmp_path, "run", file, "-n", shared.namespace) as command:
        driver = shared.start("told")
        command.says("told: Running")
        progress = {"statement": 1, "of": 1, "operation": "DELETE", "since": "2026-11-25T10:00:00Z"}
        shared.patch_pod(
            driver.pod, {"metadata": {"annotations": {names.ANNOTATION_PROGRESS: json.dumps(progress)}}}
        )
        command.says("told: runs statement 1 of 1: DELETE")
        driver.succeeds("file:/lake/told", 7)
        assert command.ends() == 0
    assert "told: created" in command.stderr
    assert command.stdout.startswith(f"{shared.namespace}/told Succeeded: committed version 7 of")
    assert command.stdout.count("\n") == 1
    job = shared.job("told")
    assert job is not None
    assert job["metadata"]["managedFields"][0]["manager"] == "sluice-run"


def test_the_same_job_again_starts_nothing_and_another_one_of_that_name_is_refused(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    spec = rewrite("/lake/again") | {"priority": 3}
    file = written(tmp_path, manifest(spec, name="again"))
    detached = sluice(kubeconfig, "run", file, "-n", shared.namespace, "--no-wait")
    assert (detached.returncode, detached.stdout) == (0, f"{shared.namespace}/again\n")
    shared.start("again").ends(1)
    shared.reaches("again", "Failed")
    before = shared.job("again")
    same = sluice(kubeconfig, "run", file, "-n", shared.namespace)
    assert same.returncode == 1, same.stderr
    assert "again: is there already with this spec and has ended (Failed): nothing was started" in same.stderr
    written(
        tmp_path, manifest(append("/lake/new"), name="new"), manifest(append("/lake/again"), name="again")
    )
    other = sluice(kubeconfig, "run", file, "-n", shared.namespace)
    assert (other.returncode, other.stdout) == (4, "")
    assert "again is there with another spec (Failed): give this one a name of its own" in other.stderr
    assert f"kubectl delete deltawritejob again -n {shared.namespace}" in other.stderr
    assert shared.job("again") == before
    assert shared.job("new") is None, "none is created unless all can be"


def test_of_several_jobs_the_worst_decides(shared: Played, kubeconfig: Path, tmp_path: Path) -> None:
    shared.apply("in-the-way", rewrite("/lake/several"))
    driver = shared.start("in-the-way")
    skips = rewrite("/lake/several", admission={"whenBlocked": "Skip"})
    file = written(tmp_path, manifest(skips, generateName="skips-"))
    asked = ("run", file, "-n", shared.namespace, "-o", "json", "--fail-on-skip")
    done = sluice(kubeconfig, *asked)
    assert done.returncode == 6, done.stderr
    [skipped] = json.loads(done.stdout)
    assert (skipped["ending"], skipped["reason"]) == ("Skipped", "Blocked")
    assert skipped["blockedBy"] == [f"{shared.namespace}/in-the-way"]
    fails = rewrite("/lake/several", admission={"whenBlocked": "Fail"})
    written(tmp_path, manifest(skips, generateName="skips-"), manifest(fails, generateName="fails-"))
    done = sluice(kubeconfig, *asked)
    assert done.returncode == 1, done.stderr
    assert [one["ending"] for one in json.loads(done.stdout)] == ["Skipped", "Failed"]
    driver.succeeds("file:/lake/several")
    shared.reaches("in-the-way", "Succeeded")


def test_a_wait_ends_with_the_phase_the_time_or_the_job(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    job = f"{shared.namespace}/waited-for"
    missing = sluice(kubeconfig, "wait", job)
    assert (missing.returncode, missing.stdout) == (4, "")
    assert missing.stderr.startswith(f"there is no job {job}")
    shared.apply("waited-for", rewrite("/lake/waited-for"))
    shared.start("waited-for")
    running = sluice(kubeconfig, "wait", job, "--for", "Running")
    assert running.returncode == 0, running.stderr
    late = sluice(kubeconfig, "wait", job, "--timeout", "1s")
    assert late.returncode == 5, late.stderr
    assert f"{job} not over (Running)" in late.stdout
    of_one_job: Rule = (names.GROUP, "list watch", {names.JOB_PLURAL: ["waited-for"]})
    with (
        kubeconfig_with(kubeconfig, shared.namespace, tmp_path, of_one_job) as own,
        typed(own, tmp_path, "wait", job) as command,
    ):
        command.says("Running")
        shared.delete("waited-for")
        assert command.ends() == 7, command.stderr
    assert command.stdout.startswith(f"{job} Deleted")


@pytest.mark.parametrize(("by", "deletes"), [(SIGINT, False), (SIGTERM, True)], ids=["stays", "deleted"])
def test_whoever_stops_a_run_is_told_what_goes_on(
    by: Signals, deletes: bool, shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    name = f"stopped-{by.value}-{deletes}".lower()
    file = written(tmp_path, manifest(rewrite(f"/lake/{name}", admission={"suspend": True}), name=name))
    more = ("--delete-on-interrupt",) if deletes else ()
    with typed(kubeconfig, tmp_path, "run", file, "-n", shared.namespace, *more) as command:
        command.says("Suspended")
        command.process.send_signal(by)
        assert command.ends() == 128 + by.value, command.stderr
    job = f"{shared.namespace}/{name}"
    if deletes:
        assert f"{job}: is being deleted" in command.stderr
        eventually(lambda: shared.job(name) is None, "it is deleted")
    else:
        assert f"{job}: goes on: sluice wait {job}; to end it: kubectl delete" in command.stderr
        assert shared.status(name)["phase"] == "Suspended"


def test_what_the_cluster_refuses_is_told_in_its_words(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    file = written(tmp_path, manifest({"sql": "DELETE FROM t", "priorty": 1}, name="refused"))
    done = sluice(kubeconfig, "run", file, "-n", shared.namespace)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith(f"{file}: {shared.namespace}/refused is refused by the cluster: ")
    assert 'unknown field "spec.priorty"' in done.stderr
    assert shared.job("refused") is None


def test_a_run_needs_no_more_than_the_documented_rights(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    of_jobs: Rule = (names.GROUP, "create get list watch", {names.JOB_PLURAL: []})
    file = written(tmp_path, manifest(rewrite("/lake/few"), name="few-rights"))
    with kubeconfig_with(kubeconfig, shared.namespace, tmp_path, of_jobs) as own:
        with typed(own, tmp_path, "run", file, "-n", shared.namespace) as command:
            driver = shared.start("few-rights")
            command.says("how far runs have come is told up to a minute late")
            driver.succeeds("file:/lake/few")
            assert command.ends() == 0, command.stderr
        refused = sluice(own, "queue", "-A")
        assert refused.returncode == 4
        assert "you may not list deltawritejobs in all namespaces" in refused.stderr
        seen = sluice(own, "queue", "-n", shared.namespace)
        assert seen.returncode == 0, seen.stderr
        assert "not seen: policies of all namespaces" in seen.stderr

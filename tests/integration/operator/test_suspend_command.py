"""`sluice suspend` and `sluice resume` beside a running operator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from integration.forking import OPERATOR
from integration.operator.accounts import Rule, kubeconfig_with
from integration.operator.played import Played, append, rewrite
from integration.operator.process import sluice
from integration.waiting import eventually
from sluice.api import names


def test_a_waiting_job_is_held_back_and_goes_on_with_its_age(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    """And whoever does so needs no more than the documented rights."""
    shared.apply("ahead-of-held", rewrite("/lake/held-back"))
    driver = shared.start("ahead-of-held")
    shared.apply("to-be-held", rewrite("/lake/held-back"))
    before = shared.reaches("to-be-held", "Waiting")
    job = f"{shared.namespace}/to-be-held"
    rights: Rule = (names.GROUP, "get patch", {names.JOB_PLURAL: []})
    with kubeconfig_with(kubeconfig, shared.namespace, tmp_path, rights) as own:
        held = sluice(own, "suspend", "to-be-held", "-n", shared.namespace)
        assert (held.returncode, held.stderr) == (0, "")
        assert held.stdout.startswith(f"{job}: is held back: it keeps its age")
        shared.reaches("to-be-held", "Suspended")
        driver.succeeds("file:/lake/held-back")
        shared.reaches("ahead-of-held", "Succeeded")
        shared.apply("past-held", rewrite("/lake/held-back"))
        shared.start("past-held").succeeds("file:/lake/held-back", 2)
        shared.reaches("past-held", "Succeeded")
        assert not shared.status("to-be-held").get("attempts"), "others went past it"
        again = sluice(own, "suspend", job, "-o", "json")
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout) == [
            {
                "job": job,
                "result": "Unchanged",
                "phase": "Suspended",
                "message": "is held back already (Suspended)",
            }
        ]
        on = sluice(own, "resume", job)
        assert (on.returncode, on.stdout) == (0, f"{job}: is let go: it queues again, with its old age\n")
    shared.start("to-be-held").succeeds("file:/lake/held-back", 3)
    assert shared.reaches("to-be-held", "Succeeded")["queuedAt"] == before["queuedAt"]
    body = shared.job("to-be-held")
    assert body is not None
    assert "sluice-suspend" in [entry["manager"] for entry in body["metadata"]["managedFields"]]


def test_a_job_that_runs_is_never_stopped_and_what_is_over_is_left_alone(
    shared: Played, kubeconfig: Path
) -> None:
    shared.apply("runs-on", append("/lake/runs-on"))
    driver = shared.start("runs-on")
    shared.reaches("runs-on", "Running")
    version = (shared.job("runs-on") or {})["metadata"]["generation"]
    refused = sluice(kubeconfig, "suspend", "runs-on", "no-such-job", "-n", shared.namespace)
    assert refused.returncode == 4, "one is not there"
    assert f"{shared.namespace}/runs-on: runs already (Running): suspend holds back" in refused.stderr
    assert f"{shared.namespace}/no-such-job: there is no such job" in refused.stderr
    alone = sluice(kubeconfig, "suspend", f"{shared.namespace}/runs-on")
    assert (alone.returncode, alone.stdout) == (1, "")
    assert (shared.job("runs-on") or {})["metadata"]["generation"] == version
    driver.succeeds("file:/lake/runs-on")
    shared.reaches("runs-on", "Succeeded")
    over = sluice(kubeconfig, "suspend", f"{shared.namespace}/runs-on")
    assert (over.returncode, over.stderr) == (0, "")
    assert "has ended (Succeeded): there is nothing to hold back" in over.stdout


def test_jobs_are_chosen_by_labels_and_those_that_are_over_are_not_among_them(
    shared: Played, kubeconfig: Path
) -> None:
    shared.apply("held-with-one", append("/lake/chosen"), {"labels": {"batch": "held"}})
    shared.start("held-with-one").succeeds("file:/lake/chosen")
    shared.reaches("held-with-one", "Succeeded")
    suspended = append("/lake/chosen", admission={"suspend": True})
    shared.apply("held-with-two", suspended, {"labels": {"batch": "held"}})
    shared.reaches("held-with-two", "Suspended")
    done = sluice(kubeconfig, "resume", "-l", "batch=held", "-n", shared.namespace, "-o", "json")
    assert done.returncode == 0, done.stderr
    assert [(one["job"], one["result"]) for one in json.loads(done.stdout)] == [
        (f"{shared.namespace}/held-with-two", "Changed")
    ]
    eventually(lambda: shared.status("held-with-two").get("attempts"), "it goes on")
    none = sluice(kubeconfig, "suspend", "-l", "batch=nobody", "-n", shared.namespace)
    assert (none.returncode, none.stdout) == (0, "")
    assert none.stderr == "there is no such job that has not ended: nothing was done\n"
    unclear = sluice(kubeconfig, "suspend", "--all", "held-with-two", "-n", shared.namespace)
    assert unclear.returncode == 2


def test_a_shell_is_offered_the_clusters_jobs_and_none_of_a_cluster_that_is_away(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    suspended = append("/lake/offered", admission={"suspend": True})
    for name in ("offered-one", "offered-two"):
        shared.apply(name, suspended)
    place = shared.namespace
    assert completed(kubeconfig, "suspend", "-n", place, "offered-") == ["offered-one", "offered-two"]
    assert completed(kubeconfig, "retry", "-n", place, "offered-one", "offered-") == ["offered-two"]
    assert completed(kubeconfig, "logs", f"{place}/offered-t") == [f"{place}/offered-two"]
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    away = tmp_path / "away"
    away.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert completed(away, "wait", "-n", place, "offered-") == []


def completed(kubeconfig: Path, *words: str) -> list[str]:
    """What bash is told to offer, which is all that is said."""
    asked = ["sluice", *words]
    done = subprocess.run(
        [sys.executable, "-c", "from sluice.cli.main import app; app(prog_name='sluice')"],
        env={
            **os.environ,
            "PYTHONPATH": str(OPERATOR),
            "KUBECONFIG": str(kubeconfig),
            "_SLUICE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(asked),
            "COMP_CWORD": str(len(asked) - 1),
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()

"""The commands of docs/migrating.md do what it says, and the script of its Airflow task tells how a job ended."""

import shutil
import subprocess
from pathlib import Path

import pytest

from documentation import ROOT, commands_run_by
from integration.conftest import Kubectl
from integration.operator.played import Played
from integration.operator.process import OperatorProcess
from integration.terminal import Terminal

GUIDE = ROOT / "docs" / "migrating.md"
SCRIPT_SECONDS = 300


@pytest.fixture
def terminal(cluster: Played, kubectl: Kubectl, tmp_path: Path) -> Terminal:
    """In the folder of the examples, whose tables are on this machine."""
    shutil.copytree(ROOT / "examples", tmp_path / "checkout" / "examples")
    for file in (tmp_path / "checkout" / "examples" / "migrating").rglob("*.yaml"):
        text = file.read_text(encoding="utf-8").replace("s3a://lake", f"{tmp_path}/lake")
        file.write_text(text.replace("logStore: S3Conditional", "logStore: Safe"), encoding="utf-8")
    return Terminal.opened(kubectl, cluster.namespace, tmp_path / "checkout", tmp_path / "home")


def test_the_commands_of_the_guide_do_what_it_says(
    cluster: Played, operator: OperatorProcess, terminal: Terminal
) -> None:
    footprint, apply, wait, why = (command.text for command in commands_run_by(__file__, GUIDE))
    understood = terminal.run(footprint)
    assert "reads    date = DATE '2026-11-19'" in understood, understood
    assert terminal.run(apply).count(" created") == 2
    cluster.start("migrated-merge-orders-2026-11-19").succeeds("file:/lake/store/orders", 7)
    assert "condition met" in terminal.run(wait)
    assert terminal.run(why) == "Succeeded: committed version 7 of file:/lake/store/orders"


def _started(terminal: Terminal, day: str) -> subprocess.Popen[str]:
    folder = terminal.folder / "examples" / "migrating" / "airflow"
    return subprocess.Popen(
        [str(folder / "run-job.sh"), str(folder / "merge-orders.yaml"), day],
        env=terminal.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_airflow_task_ends_as_its_job_does_and_runs_nothing_twice(
    cluster: Played, operator: OperatorProcess, terminal: Terminal
) -> None:
    with _started(terminal, "2026-11-20") as task:
        driver = cluster.start("airflow-merge-orders-2026-11-20")
        assert task.poll() is None
        driver.succeeds("file:/lake/store/orders", 7)
        told, _ = task.communicate(timeout=SCRIPT_SECONDS)
    assert (task.returncode, told.splitlines()[-1]) == (
        0,
        "Succeeded: committed version 7 of file:/lake/store/orders",
    )
    with _started(terminal, "2026-11-20") as again:
        told, _ = again.communicate(timeout=SCRIPT_SECONDS)
    assert again.returncode == 0, told
    assert len(cluster.applications()) == 1
    with _started(terminal, "2026-11-21") as task:
        cluster.start("airflow-merge-orders-2026-11-21").ends(1, "Traceback: no such column")
        told, _ = task.communicate(timeout=SCRIPT_SECONDS)
    assert task.returncode == 1, told
    assert "Failed: the driver ended (exit code 1)" in told

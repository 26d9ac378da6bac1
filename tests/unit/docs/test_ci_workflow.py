"""The workflow that docs/ci/ offers does what it says: its commands are run here as they are written."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.waiting import PATIENCE
from integration.warm_drivers import submit
from unit.cli.folders import (
    FACTS,
    FORKED_COMMANDS,
    ORDERS,
    PINNED_DELETE,
    UNPINNED_MERGE,
    job,
    write,
)

ROOT = Path(__file__).parents[3]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / "docs/ci/github-plan.yaml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["plan"]["steps"]
NEEDS_A_NETWORK = "Install"


def serve(listener: socket.socket) -> None:
    """Runs `sluice` for each caller of `submit`, in a forked process with the caller's streams, folder and variables."""
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:  # closed: the test has ended
            return
        with closing(caller):
            message, streams, _, _ = socket.recv_fds(caller, submit.LONGEST, 2)
            asked = json.loads(message)
            with os.fdopen(streams[0], "wb") as stdout, os.fdopen(streams[1], "wb") as stderr:
                process = FORKED_COMMANDS.start(
                    ["sluice", *asked["arguments"]],
                    asked["environment"],
                    stdout,
                    stderr,
                    folder=asked["folder"],
                )
                caller.send(str(process.wait(PATIENCE)).encode())


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "repository"
    for name in (".git", "jobs", "tables"):
        (folder / name).mkdir(parents=True)
    write(folder / "tables", orders=json.dumps(FACTS))
    write(folder / "jobs", delete=job("delete", PINNED_DELETE), merge=job("merge", UNPINNED_MERGE))
    program = tmp_path / "bin" / "sluice"
    program.parent.mkdir()
    address = tmp_path / "socket"
    text = f'#!/bin/sh\nexec "{sys.executable}" -IS "{submit.__file__}" "{address}" "" "$@"\n'
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(address))
        listener.listen()
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        yield folder
        listener.shutdown(socket.SHUT_RDWR)


def run(repository: Path) -> list[tuple[str, int]]:
    """Runs the steps as a runner does, up to the first that fails; returns their names and exit codes."""
    env = {
        **os.environ,
        **WORKFLOW["env"],
        "PATH": f"{repository.parent / 'bin'}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(repository.parent / "summary.md"),
    }
    ended: list[tuple[str, int]] = []
    for step in STEPS:
        if "run" not in step or step["name"] == NEEDS_A_NETWORK:
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=repository, env=env, capture_output=True, check=False
        )
        ended.append((step["name"].partition(" ")[0], done.returncode))
        if done.returncode:
            break
    return ended


def findings(repository: Path) -> list[tuple[str, str]]:
    (uploaded,) = [step["with"]["sarif_file"] for step in STEPS if "upload-sarif" in step.get("uses", "")]
    (found,) = json.loads((repository / uploaded).read_text(encoding="utf-8"))["runs"]
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in found["results"]]
    return list(zip(places, [one["level"] for one in found["results"]], strict=True))


def test_what_only_may_abort_is_shown_and_fails_nothing(repository: Path) -> None:
    assert run(repository) == [("Plan", 0), ("Fail", 0)]
    assert findings(repository) == [("jobs/delete.yaml", "warning"), ("jobs/merge.yaml", "warning")]
    summary = (repository.parent / "summary.md").read_text(encoding="utf-8")
    assert "### `s3://lake/orders`\n\n```mermaid\n" in summary


def test_what_will_abort_fails_after_it_is_shown(repository: Path) -> None:
    write(
        repository / "jobs",
        alter=job("alter", f"ALTER TABLE {ORDERS} ADD COLUMNS (v INT)"),
        insert=job("insert", f"INSERT INTO {ORDERS} VALUES (1, 2, DATE '2026-11-19')"),
    )
    assert run(repository) == [("Plan", 0), ("Fail", 1)]
    assert ("jobs/alter.yaml", "error") in findings(repository)


def test_what_cannot_be_used_fails_after_it_is_shown(repository: Path) -> None:
    (repository / "jobs" / "half.yaml").write_text("kind: DeltaWriteJob\n  spec: [\n", encoding="utf-8")
    assert run(repository) == [("Plan", 0), ("Fail", 3)]
    assert findings(repository)[0] == ("jobs/half.yaml", "error")


def test_the_findings_may_be_uploaded_and_nothing_else_be_written() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read", "security-events": "write"}
    names = [step.get("name", step.get("uses")) for step in STEPS]
    assert names.index("Plan") < next(
        n for n, step in enumerate(STEPS) if "upload-sarif" in step.get("uses", "")
    )
    assert STEPS[-1]["run"].endswith("--fail-on will")

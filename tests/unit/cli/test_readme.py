"""The newcomer's session in the README is what the commands print."""

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluice.admission import AdmissionDecision, Blocking, Holder, Waiter
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Conflict, conflict_between
from sluice.controller.cache.policy_declarations import declarations
from sluice.footprint import footprint_of
from sluice.footprint.model import JobFootprint
from sluice.lifecycle.job.blocked_status import outcome_of_waiting
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path, known, oss
from unit.cli.folders import sluice

ROOT = Path(__file__).parents[3]
WIDTH = 90
QUEUED = datetime(2026, 11, 19, 10, tzinfo=UTC)


def session() -> list[tuple[str, str]]:
    """Commands of that section, each with what is printed below it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## May these two run together?")[2].partition("\n## ")[0]
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", section, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed.rstrip()))
    return found


def test_the_session_prints_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "explain", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    commands = session()
    assert [command.split()[0] for command, _ in commands] == ["cd", "sluice", "sluice", "sed", "sluice"]
    for command, printed in commands:
        if command.startswith("sluice "):
            assert sluice(*command.split()[1:], terminal_width=WIDTH).stdout.rstrip() == printed
        elif command.startswith("sed "):
            subprocess.run(command, shell=True, check=True)  # noqa: S602 - it is our own README


def first_manifest() -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The policy, the job, and all that is printed."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## A first manifest")[2]
    section = section.partition("\n## ")[0]
    (manifest,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    policy, job = yaml.safe_load_all(manifest)
    printed = [
        line
        for block in re.findall(r"```console\n(.*?)```", section, re.DOTALL)
        for line in block.splitlines()
    ]
    return policy, job, printed


def in_the_way(footprints: list[JobFootprint], conflict: Conflict) -> AdmissionDecision:
    waiting, running = footprints
    waiter = Waiter("w", "default/correct-prices", waiting, 0, QUEUED, QUEUED)
    holder = Holder("h", "default/append-web", running)
    return AdmissionDecision(waiter, (Blocking(holder, conflict, holds=True),), count=1)


@pytest.mark.parametrize("named", [True, False])
def test_the_operator_tells_a_newcomer_what_the_readme_shows(named: bool) -> None:
    """With the chart's runtime, which names a log store for S3, and with one that names none."""
    policy, job, printed = first_manifest()
    path = policy["spec"]["table"]["path"]
    body = {"name": "x", "namespace": "default", "creationTimestamp": "2026-11-19T10:00:00Z"}
    by, _ = declarations([{"metadata": body, "spec": policy["spec"]}])
    columns = Table.of({"id": "bigint", "amount": "int", "date": "date"}, ["date"])
    facts = {
        key_of_path(path): known(
            TableFacts(columns=columns, dialect=oss("4.4.0")), by.declared(key_of_path(path))
        )
    }
    merge = DeltaWriteJobSpec.model_validate(job["spec"])
    append = DeltaWriteJobSpec(sql=f"INSERT INTO delta.`{path}` SELECT * FROM parquet.`/incoming`")
    chart = yaml.safe_load((ROOT / "charts" / "sluice" / "values.yaml").read_text(encoding="utf-8"))
    conf = chart["runtimes"]["default"]["sparkConf"] if named else {}
    footprints = [
        footprint_of(spec, conf, facts=facts, names=by.names, has_all_settings=True)
        for spec in (merge, append)
    ]
    found = conflict_between(footprints[0], footprints[1])
    assert found is not None
    _, _, message = outcome_of_waiting(merge.admission.when_blocked, None, in_the_way(footprints, found), 0.0)
    assert message in printed
    assert (found.verdict.advice in printed) is not named


def test_the_manifests_in_the_readme_are_those_of_the_examples() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("forget-customer", "correct-prices", "orders.facts"):
        assert (ROOT / "examples" / "explain" / f"{name}.yaml").read_text(encoding="utf-8") in readme

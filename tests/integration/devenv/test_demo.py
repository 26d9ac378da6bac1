"""The demo as a person runs it in a pipe: jobs with Sluice; with --long also without it, counted in one table."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from demo.__main__ import PATIENCE_SECONDS
from demo.scenario import scenario
from devenv.project import ROOT
from sluice.api.base import Json
from sluice_runner.retriable import CONFLICT_NAMES

PLAN = scenario(Path("/lake"), extra=0)
JOBS = {job.name: job for job in PLAN.jobs}
# Each of these fails in Spark by itself, whoever else writes.
WRONG_BY_THEMSELVES = {"wrong-column", "not-understood"}
NEVER_IN_DANGER = {"append-web", "append-shop", "load-returns"}


pytestmark = pytest.mark.timeout(4 * PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def told() -> Json:
    """With Sluice alone: what everybody sees first."""
    return demo()


@pytest.fixture(scope="module")
def compared() -> Json:
    found = demo("--plain")
    assert found["problems"] == {}
    return found


def demo(*options: str) -> Json:
    """What `./dev demo -o json` says on its standard output."""
    process = subprocess.Popen(
        [ROOT / "dev", "demo", *options, "-o", "json"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, story = process.communicate(timeout=4 * PATIENCE_SECONDS - 60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate()
    assert process.returncode == 0, story
    assert ("without Sluice, on a copy of the tables" in story) == ("--plain" in options)
    found: Json = json.loads(output)
    return found


def test_with_sluice_every_job_comes_to_what_it_should_and_delta_aborts_none(told: Json) -> None:
    assert told["problems"] == {}
    assert told["withSluice"]["abortedByDelta"] == []
    assert told["withSluice"]["rows"] == told["withSluice"]["rowsByOutcomes"] == PLAN.rows
    outcomes = {job["job"]: job["withSluice"]["outcome"] for job in told["jobs"]}
    assert outcomes == {name: job.reason for name, job in JOBS.items()}


def test_with_sluice_only_the_job_that_spark_refused_threw_compute_away(told: Json) -> None:
    runs = {job["job"]: job["withSluice"] for job in told["jobs"]}
    assert runs["not-understood"]["computeSeconds"] == 0.0
    assert runs["skip-if-busy"]["computeSeconds"] == 0.0
    assert told["withSluice"]["thrownAwaySeconds"] == runs["wrong-column"]["computeSeconds"]


@pytest.mark.long(minutes=2)
def test_without_sluice_whoever_failed_was_aborted_by_delta_or_wrong_by_itself(compared: Json) -> None:
    runs = {job["job"]: job["withoutSluice"] for job in compared["jobs"]}
    assert runs.keys() == JOBS.keys()
    failed = {name for name, run in runs.items() if not run["succeeded"]}
    assert failed >= WRONG_BY_THEMSELVES
    for name in failed - WRONG_BY_THEMSELVES:
        assert runs[name]["outcome"] in CONFLICT_NAMES, name
    assert failed.isdisjoint(NEVER_IN_DANGER), "the oracle says that these cannot abort"
    assert all(run["computeSeconds"] > 0 for run in runs.values())


@pytest.mark.long(minutes=2)
def test_whom_delta_aborted_the_oracle_had_named_with_the_exception(compared: Json) -> None:
    """Holds however many were aborted: who meets whom is a matter of the machine's speed."""
    for job in compared["jobs"]:
        if job["withoutSluice"]["abortedByDelta"]:
            assert "may end with" in job["inDanger"], job


@pytest.mark.long(minutes=2)
def test_the_totals_are_those_of_the_rows(compared: Json) -> None:
    for way in ("withoutSluice", "withSluice"):
        runs = {job["job"]: job[way] for job in compared["jobs"]}
        total = compared[way]
        lost = [run["computeSeconds"] for run in runs.values() if not run["succeeded"]]
        assert total["committed"] == [name for name, run in runs.items() if run["succeeded"]]
        assert total["thrownAwaySeconds"] == sum(lost)
        assert total["computeSeconds"] == sum(run["computeSeconds"] for run in runs.values())
        assert total["abortedByDelta"] == [name for name, run in runs.items() if run["abortedByDelta"]]
        # Kubernetes tells a driver's start and end in whole seconds.
        assert total["makespanSeconds"] + 1 >= max(run["computeSeconds"] for run in runs.values())


@pytest.mark.long(minutes=2)
def test_without_sluice_the_table_holds_what_the_applications_said_they_did(compared: Json) -> None:
    """Both ways commit through a LogStore that never overwrites a commit: Delta aborts, but loses nothing."""
    plain = compared["withoutSluice"]
    assert plain["rows"] == plain["rowsByOutcomes"]

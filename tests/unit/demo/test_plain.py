"""A plain SparkApplication of the demo does the work of a job with nothing of Sluice's, and is read by its end alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from demo.dangers import dangers
from demo.plain import PlainJob, PlainState
from demo.scenario import DemoJob, scenario
from sluice_runner.plan import Sql, Write, decode

RUNTIME = {"sparkVersion": "4.2.0", "driver": {"cores": 1, "memory": "1g"}, "sparkConf": {"a": "b"}}
PLAN = scenario(Path("/lake"), extra=3)


def state(said: str, container: dict[str, Any], error: str = "") -> PlainState:
    told = {"state": said, **({"errorMessage": error} if error else {})}
    pod = {"status": {"containerStatuses": [{"state": container}]}} if container else {}
    return PlainState({"status": {"applicationState": told}}, pod)


def ended(message: str) -> dict[str, Any]:
    times = {"startedAt": "2026-11-19T12:00:05Z", "finishedAt": "2026-11-19T12:00:16Z"}
    return {"terminated": {**times, "message": message}}


@pytest.mark.parametrize("job", PLAN.jobs, ids=lambda job: job.name)
def test_the_application_carries_the_work_of_the_job_and_nothing_that_sluice_adds(job: DemoJob) -> None:
    manifest = PlainJob(job, f"{job.name}-plain").manifest("default", RUNTIME)
    assert set(manifest["metadata"]) == {"name", "namespace"}
    assert "template" not in manifest["spec"]["driver"]
    program = Path(manifest["spec"]["mainApplicationFile"].removeprefix("local://"))
    assert program.is_file()
    work = decode(manifest["spec"]["arguments"]).work
    if "sql" in job.spec:
        assert isinstance(work, Sql)
        assert [statement.text for statement in work.statements] == [
            job.spec["sql"].replace(":day", "DATE'2026-11-19'")
        ]
    else:
        assert isinstance(work, Write)
        assert work.table.path == job.spec["write"]["table"]["path"]


def test_what_delta_threw_and_what_it_cost_are_read_from_the_drivers_end() -> None:
    message = json.dumps({"exception": {"class": "ConcurrentAppendException"}})
    found = state("FAILED", ended(message))
    run = found.run()
    assert found.ended
    assert (run.outcome, run.aborted_by_delta, run.compute) == ("ConcurrentAppendException", True, 11.0)
    assert found.status["message"] == "ConcurrentAppendException after 11 s of compute"


def test_a_driver_that_could_not_tell_its_end_has_the_engines_words() -> None:
    run = state("FAILED", ended(""), "driver container failed with ExitCode: 137").run()
    assert (run.outcome, run.succeeded) == ("driver container failed with ExitCode: 137", False)


def test_one_that_completed_has_committed() -> None:
    run = state("COMPLETED", ended("{}")).run()
    assert (run.outcome, run.succeeded, run.compute) == ("Committed", True, 11.0)


@pytest.mark.parametrize(
    ("said", "container", "phase"),
    [
        ("", {}, "Starting"),
        ("SUBMITTED", {"waiting": {}}, "Starting"),
        ("RUNNING", {"running": {}}, "Running"),
        ("FAILED", {"running": {}}, "Running"),
        ("SUCCEEDING", ended("{}"), "Running"),
    ],
)
def test_before_the_driver_has_ended_nothing_is_counted(
    said: str, container: dict[str, Any], phase: str
) -> None:
    found = state(said, container)
    assert not found.ended
    assert found.status["phase"] == phase


def test_an_application_that_never_had_a_driver_cost_no_compute() -> None:
    found = state("FAILED", {}, "failed to run spark-submit")
    assert found.ended
    assert (found.run().outcome, found.run().compute) == ("failed to run spark-submit", 0.0)


def test_rows_after_some_jobs_are_those_of_the_jobs_that_succeeded() -> None:
    assert PLAN.rows_after(set()) == 300
    assert PLAN.rows_after({"append-web", "forget-customer"}) == 300 + 50 - 3
    assert PLAN.rows_after({job.name for job in PLAN.jobs}) == PLAN.rows


def test_the_oracle_says_in_words_which_jobs_are_in_danger_and_of_what() -> None:
    found = dangers(PLAN)
    assert "append-web" not in found
    assert "append-shop" not in found
    assert found["correct-prices"] == (
        "may end with ConcurrentAppendException beside append-web, append-shop and 2 more"
    )
    assert "ConcurrentDeleteReadException" in found["skip-if-busy"]
    assert found["not-understood"] == "not understood, so it could not be judged"
    assert "silent loss" not in " ".join(found.values())

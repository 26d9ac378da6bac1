"""Once an attempt exists, what ran is what the job says: only how it waits may still change, and a stream's own spec."""

import re
from typing import Any

import pytest

from integration.api.manifest_tables import FOLDER, load
from integration.api.server import Refusal, Server
from sluice.api import names
from sluice.api.job import DeltaWriteJob

TABLE = load(FOLDER / "changes.yaml")
ONE_ATTEMPT = {
    "number": 1,
    "token": (1 << 32) + 1,
    "hash": "0123456789abcdef",
    "application": "sql-1",
    "grantedAt": "2026-11-20T00:00:00Z",
}


def _job(name: str) -> dict[str, Any]:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": name},
        "spec": TABLE["jobs"][name],
    }


def _patch(change: dict[str, Any]) -> dict[str, Any]:
    nested: Any = change["to"]
    for part in reversed(change["field"].split(".")):
        nested = {part: nested}
    return {"spec": _merged(nested, change.get("beside", {}))}


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = {**one, **other}
    for key in one.keys() & other.keys():
        both[key] = _merged(one[key], other[key])
    return both


def _title(change: dict[str, Any]) -> str:
    return f"{change['job']}: {change['field']} to {change['to']}"


@pytest.fixture
def waiting_jobs(server: Server) -> Server:
    for name in TABLE["jobs"]:
        created = server.create(_job(name))
        assert not isinstance(created, Refusal), created.message
    return server


@pytest.fixture
def jobs_that_ran(waiting_jobs: Server) -> Server:
    for name in TABLE["jobs"]:
        ran = waiting_jobs.patch(name, {"status": {"attempts": [ONE_ATTEMPT]}}, status=True)
        assert not isinstance(ran, Refusal), ran.message
        assert ran["status"]["attempts"][0]["token"] == ONE_ATTEMPT["token"]
    return waiting_jobs


def test_a_job_that_never_ran_may_be_changed_freely(waiting_jobs: Server) -> None:
    for change in TABLE["refused"] + TABLE["allowed"]:
        answer = waiting_jobs.patch(change["job"], _patch(change))
        assert not isinstance(answer, Refusal), f"{_title(change)}: {answer.message}"


def test_what_ran_cannot_be_changed(jobs_that_ran: Server) -> None:
    for change in TABLE["refused"]:
        answer = jobs_that_ran.patch(change["job"], _patch(change))
        assert isinstance(answer, Refusal), f"taken: {_title(change)}"
        message = f"spec.{change['field']} cannot change once an attempt exists: create a new job"
        assert message in answer.message, f"{_title(change)}: {answer.message}"


def test_how_a_job_waits_and_a_streams_own_spec_may_still_change(jobs_that_ran: Server) -> None:
    for change in TABLE["allowed"]:
        answer = jobs_that_ran.patch(change["job"], _patch(change))
        assert not isinstance(answer, Refusal), f"{_title(change)}: {answer.message}"


def test_every_field_that_must_not_change_is_tried() -> None:
    guarded = {
        re.match(r"spec[.](\S+) cannot", rule.message)[1]  # type: ignore[index]
        for rule in DeltaWriteJob.transitions
    }
    assert guarded == {change["field"] for change in TABLE["refused"]}


def test_cel_does_not_see_a_renamed_key_of_a_template(jobs_that_ran: Server) -> None:
    """A limit of the API server, kept here so that nobody relies on more: the hash in the attempt decides there."""
    renamed = {"spec": {"application": {"template": {"type": None, "language": "Python"}}}}
    answer = jobs_that_ran.patch("application", renamed)
    assert not isinstance(answer, Refusal)

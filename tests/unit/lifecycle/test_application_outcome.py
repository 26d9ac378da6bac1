"""What is said of an attempt that ran a user's own application: by its exit code, by what its code reports of itself, and by the
logs of the tables that its job declares."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Attempt, Commit, Outcome, Phase
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import Observation, RuntimeProfile
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.evidence.outcome import closed, footprint_said, must_ask_logs, phase_after
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.spec.footprint_violations import FootprintSaid
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path
from unit.controller.bodies import job_body
from unit.lifecycle.endings import ATTEMPT, BEGUN, closed_by_logs, ended_with, stamped, what_logs_say
from unit.tables import lake


def _application(path: Path, **declared: Any) -> JobView:
    seen = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
    footprint = {"table": {"path": str(path)}, "operation": "Append", **declared}
    spec = {"application": {"engine": "kubeflow", "template": {"type": "Python"}}, "footprint": [footprint]}
    body = job_body("a") | {"spec": spec}
    touched = {"table": f"file:{path}", "statement": 1, "operation": "Append", "reads": "", "writes": ""}
    seen.job_seen(body | {"status": {"footprint": [touched]}})
    return seen.jobs["uid-a"]


async def test_an_application_is_judged_by_its_exit_code_and_told_of_by_its_tables_logs(
    tmp_path: Path,
) -> None:
    lake.orders(tmp_path)
    stamped(tmp_path, 1, json.dumps({"sluice": {"uid": "uid-a", "attempt": 1}}))
    done = await closed_by_logs(_application(tmp_path), ATTEMPT, ended_with(0))
    assert done.outcome is Outcome.SUCCEEDED
    assert [(commit.version, commit.statement) for commit in done.commits] == [(1, None)]
    assert done.footprint_held is True
    assert "the application ended with exit code 0; it had committed version 1 of" in (done.message or "")
    failed = await closed_by_logs(_application(tmp_path), ATTEMPT, ended_with(1))
    assert failed.outcome is Outcome.FAILED
    assert "it had committed version 1 of" in (failed.message or "")


async def test_what_an_application_without_stamps_committed_is_said_not_to_be_known(tmp_path: Path) -> None:
    lake.orders(tmp_path)
    stamped(tmp_path, 1, "nightly")
    begun = ATTEMPT.model_copy(update={"granted_at": datetime.now(UTC)})
    done = await closed_by_logs(_application(tmp_path), begun, ended_with(0))
    assert (done.outcome, done.commits) == (Outcome.SUCCEEDED, ())
    assert "what it committed is not known: no commit bears its stamp" in (done.message or "")
    assert f"version 1 of file:{tmp_path}" in (done.message or "")
    assert "sluice_runner.attempt" in (done.message or "")


LOOKED: Json = {"strayed": [], "unlooked": None}
OWN = {"uid": "uid-a", "attempt": 1}


def _reported(path: Path, *versions: int, **footprint: Any) -> Observation:
    """A program that ends with exit code 0 after its block has told of these commits."""
    commits = [{"table": f"file:{path}", "version": v, "operation": "WRITE"} for v in versions]
    statements = [{"number": 1, "state": "Committed", "operation": "APPLICATION", "commits": commits}]
    return ended_with(0, outcome="Succeeded", statements=statements, footprint=LOOKED | footprint)


def _adds(path: Path, version: int, day: str | None, user_metadata: str | None, **info: Any) -> None:
    """`day`: None removes a file without a word on its partition."""
    told = {"userMetadata": user_metadata} if user_metadata is not None else {}
    now = int((datetime.now(UTC) + timedelta(minutes=2)).timestamp() * 1000)
    commit_info = {"timestamp": now, "operation": "WRITE", **told, **info}
    added = {
        "path": f"date={day}/{version}.parquet",
        "partitionValues": {"date": day},
        "size": 1,
        "modificationTime": now,
        "dataChange": True,
    }
    removed = {"path": "date=2026-11-19/0.parquet", "dataChange": True}
    action = {"remove": removed} if day is None else {"add": added}
    lines = "\n".join(json.dumps(one) for one in ({"commitInfo": commit_info}, action))
    (path / "_delta_log" / f"{version:020}.json").write_text(f"{lines}\n")


def _declares_a_day(path: Path) -> JobView:
    job = _application(path, reads="false", writes="date = DATE '2026-11-19'")
    columns = Table.of({"id": "long", "date": "date"}, ["date"])
    return replace(job, facts={key_of_path(str(path)): TableFacts(columns=columns)})


@pytest.fixture
def begun() -> Attempt:
    """Long after the table was made, and before `_adds` adds to it."""
    return ATTEMPT.model_copy(update={"granted_at": datetime.now(UTC) + timedelta(minutes=1)})


async def test_what_a_program_commits_outside_of_its_block_is_told_and_judged_by_the_logs(
    tmp_path: Path, begun: Attempt
) -> None:
    lake.orders(tmp_path)
    _adds(tmp_path, 1, "2026-11-19", json.dumps({"sluice": OWN | {"statement": 1}}))
    _adds(tmp_path, 2, "2026-11-20", json.dumps({"sluice": OWN}))
    done = await closed_by_logs(_declares_a_day(tmp_path), begun, _reported(tmp_path, 1))
    assert (done.outcome, done.footprint_held) == (Outcome.SUCCEEDED, False)
    assert [(one.version, one.statement) for one in done.commits] == [(2, None), (1, 1)]
    assert done.message == (
        f"committed version 1 of file:{tmp_path}; beside that it had committed version 2 of file:{tmp_path}, according to the "
        "tables' logs"
    )


async def test_whose_an_unstamped_commit_elsewhere_is_stays_open_beside_a_program_that_looks_itself(
    tmp_path: Path, begun: Attempt
) -> None:
    """The program may have set the commits' metadata itself; or another writer made it, who must not be taken for it."""
    lake.orders(tmp_path)
    _adds(tmp_path, 1, "2026-11-19", json.dumps({"sluice": OWN | {"statement": 1}}))
    spark = "Apache-Spark/4.2.0 Delta-Lake/4.4.1"
    _adds(tmp_path, 2, "2026-11-20", "nightly", engineInfo=spark)
    seen, job = _reported(tmp_path, 1), _declares_a_day(tmp_path)
    logs = await what_logs_say(job, begun, seen)
    done = closed(begun, seen, logs, BEGUN)
    assert (done.outcome, done.footprint_held, done.commits_known) == (Outcome.SUCCEEDED, None, False)
    assert [one.version for one in done.commits] == [1]
    assert f"without any stamp somebody committed version 2 of file:{tmp_path}" in (done.message or "")
    said = footprint_said(seen, logs)
    assert said is not None
    assert f"version 2 of file:{tmp_path} (by {spark}) adds to date=2026-11-20" in said.message


@pytest.mark.parametrize(
    "stamp",
    [
        {"uid": "uid-b", "attempt": 1, "statement": 1},
        {"uid": "uid-a", "attempt": 2, "statement": 1},
        OWN | {"statement": 0},
    ],
)
async def test_no_commit_of_another_job_or_attempt_and_no_fence_is_taken_for_a_programs_own(
    tmp_path: Path, begun: Attempt, stamp: Json
) -> None:
    lake.orders(tmp_path)
    _adds(tmp_path, 1, "2026-11-19", json.dumps({"sluice": OWN | {"statement": 1}}))
    _adds(tmp_path, 2, "2026-11-20", json.dumps({"sluice": stamp}))
    done = await closed_by_logs(_declares_a_day(tmp_path), begun, _reported(tmp_path, 1))
    assert (done.footprint_held, done.commits_known) == (True, True)
    assert done.message == f"committed version 1 of file:{tmp_path}"


@pytest.mark.parametrize("number", [True, 2**31, 10**40])
async def test_an_attempt_comes_to_its_end_whatever_a_program_numbers_its_commits(
    tmp_path: Path, begun: Attempt, number: int
) -> None:
    lake.orders(tmp_path)
    _adds(tmp_path, 1, "2026-11-19", json.dumps({"sluice": OWN | {"statement": number}}))
    done = await closed_by_logs(_declares_a_day(tmp_path), begun, ended_with(0))
    assert (done.outcome, done.footprint_held) == (Outcome.SUCCEEDED, True)
    assert [(one.version, one.statement) for one in done.commits] == [(1, None)]


async def test_an_attempt_comes_to_its_end_where_what_it_kept_to_cannot_be_worked_out(
    tmp_path: Path, begun: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise TypeError("expected string, got 'int'")

    monkeypatch.setattr("sluice.controller.readers.run_commits.kept", fails)
    lake.orders(tmp_path)
    _adds(tmp_path, 1, "2026-11-19", json.dumps({"sluice": OWN}))
    done = await closed_by_logs(_declares_a_day(tmp_path), begun, ended_with(0))
    assert (done.outcome, done.footprint_held) == (Outcome.SUCCEEDED, None)
    assert [one.version for one in done.commits] == [1]


async def test_what_spark_has_looked_at_needs_no_other_look(tmp_path: Path, begun: Attempt) -> None:
    """Of some commits the operator can't tell whether they are declared; Spark can."""
    lake.orders(tmp_path)
    _adds(tmp_path, 1, None, json.dumps({"sluice": OWN | {"statement": 1}}))
    job = _declares_a_day(tmp_path)
    assert (await closed_by_logs(job, begun, _reported(tmp_path, 1))).footprint_held is True
    unlooked = _reported(tmp_path, 1, unlooked="no jar")
    assert (await closed_by_logs(job, begun, unlooked)).footprint_held is None


async def test_a_log_that_cannot_be_read_leaves_open_what_a_program_did_outside_of_its_block(
    begun: Attempt,
) -> None:
    """Of a name that no policy binds to a path the operator knows no log."""
    seen = _reported(Path("/lake/orders"), 1)
    logs = LogFindings(
        unread=("default.orders: no path",),
        of_application=True,
        footprint=FootprintSaid(is_held=None, message="not known: default.orders: no path"),
    )
    done = closed(begun, seen, logs, BEGUN)
    assert (done.outcome, done.footprint_held, done.commits_known) == (Outcome.SUCCEEDED, None, False)
    assert "outside of its report is not known: default.orders: no path" in (done.message or "")


def test_what_a_program_did_after_its_own_look_has_strayed_by_the_logs() -> None:
    looked: Json = {"strayed": [], "unlooked": None}
    statements = [{"number": 1, "state": "NoCommit"}]
    seen = ended_with(1, outcome="Succeeded", statements=statements, footprint=looked)
    strayed = FootprintSaid(is_held=False, message="it touched more")
    logs = LogFindings(of_application=True, footprint=strayed)
    assert closed(ATTEMPT, seen, logs, BEGUN).footprint_held is False
    assert footprint_said(seen, logs) == strayed
    doubtful = replace(logs, footprint=FootprintSaid(is_held=None, message="not known"))
    assert closed(ATTEMPT, seen, doubtful, BEGUN).footprint_held is None
    assert footprint_said(seen, doubtful) == doubtful.footprint
    held = replace(logs, footprint=FootprintSaid(is_held=True, message="held"))
    assert closed(ATTEMPT, seen, held, BEGUN).footprint_held is True


@pytest.mark.parametrize(
    ("exit_code", "deleted", "outcome", "reason"),
    [
        (1, False, Outcome.FAILED, "RunFailed"),
        (137, False, Outcome.KILLED, "DriverKilled"),
        (143, True, Outcome.KILLED, "ApplicationDeleted"),
    ],
)
def test_a_program_that_fails_after_it_has_reported_success_has_failed(
    exit_code: int, deleted: bool, outcome: Outcome, reason: str
) -> None:
    seen = ended_with(exit_code, outcome="Succeeded", statements=[])
    commit = Commit(table="file:/t", version=4, operation="WRITE")
    assert must_ask_logs(seen, is_application=True)
    ended = closed(ATTEMPT, seen, LogFindings((commit,), of_application=True), BEGUN, deleted=deleted)
    assert (ended.outcome, ended.commits, ended.commits_known) == (outcome, (commit,), False)
    assert phase_after(ended)[:2] == (Phase.FAILED, reason)
    assert f"it reported success, and ended with exit code {exit_code} after that" in (ended.message or "")

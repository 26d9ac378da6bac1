"""What is said of an attempt that ended: what its runner told, and what only the tables' logs know."""

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import MAX_COMMITS, Attempt, Commit, Outcome, Phase
from sluice.conflicts.advice_texts import OWN_TXN_APP_ID
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import Observation, RuntimeProfile, Stage
from sluice.engines.disruption import Disruption
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.evidence.outcome import closed, must_ask_logs, phase_after
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from unit.controller.bodies import job_body
from unit.lifecycle.endings import ATTEMPT, BEGUN, closed_by_logs, ended_with, stamped
from unit.tables import lake


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Made by somebody else; then statement 1 of the attempt committed version 1."""
    lake.orders(tmp_path)
    stamp = {"sluice": {"uid": "uid-a", "attempt": 1, "statement": 1}}
    stamped(tmp_path, 1, json.dumps(stamp))
    return tmp_path


def _job(path: Path) -> JobView:
    seen = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")})
    body = job_body("a", sql=f"DELETE FROM delta.`{path}` WHERE id = 1")
    touched = {"table": f"file:{path}", "statement": 1, "operation": "DELETE", "reads": "", "writes": ""}
    seen.job_seen(body | {"status": {"footprint": [touched]}})
    return seen.jobs["uid-a"]


async def test_a_driver_that_was_told_to_end_is_looked_up_in_the_tables_logs(table: Path) -> None:
    """It cannot know whether the statement that ran has committed; when it has ended, the log does."""
    ended = ended_with(
        1,
        outcome="Failed",
        statements=[],
        exception={"class": "Terminated", "message": "ended by SIGTERM", "statement": 1},
    )
    found = await closed_by_logs(_job(table), ATTEMPT, ended)
    assert [(commit.statement, commit.version) for commit in found.commits] == [(1, 1)]
    assert found.message is not None
    assert "it had committed version 1 of" in found.message
    assert phase_after(found)[:2] == (Phase.FAILED, "Terminated")


async def test_a_run_of_which_nothing_was_left_has_succeeded_and_tells_its_versions(table: Path) -> None:
    commit = {"table": f"file:{table}", "version": 2, "operation": "WRITE"}
    statements = [{"number": 1, "state": "AlreadyCommitted", "operation": "WRITE", "commits": [commit]}]
    found = await closed_by_logs(
        _job(table), ATTEMPT, ended_with(0, outcome="AlreadyCommitted", statements=statements)
    )
    phase, reason, message = phase_after(found)
    assert (phase, reason) == (Phase.SUCCEEDED, "AlreadyCommitted")
    assert (
        message
        == f"nothing was left to do, earlier attempts of this run had done it: version 2 of file:{table}"
    )


async def test_commits_that_had_no_room_in_the_result_are_told_from_the_logs(table: Path) -> None:
    ended = ended_with(
        0,
        outcome="Succeeded",
        truncated=True,
        statements=[
            {"number": 1, "state": "Committed", "operation": "WRITE"},
            {
                "number": 2,
                "state": "Committed",
                "operation": "WRITE",
                "commits": [{"table": f"file:{table}", "version": 2, "operation": "WRITE"}],
            },
        ],
    )
    found = await closed_by_logs(_job(table), ATTEMPT, ended)
    assert [(commit.statement, commit.version) for commit in found.commits] == [(1, 1), (2, 2)]
    assert found.outcome is Outcome.SUCCEEDED
    assert found.message is not None
    assert "versions 1, 2 of" in found.message


async def test_a_failure_tells_what_the_statements_before_it_had_committed(table: Path) -> None:
    commit = {"table": f"file:{table}", "version": 1, "operation": "WRITE"}
    ended = ended_with(
        1,
        outcome="Failed",
        statements=[
            {"number": 1, "state": "Committed", "operation": "WRITE", "commits": [commit]},
            {"number": 2, "state": "Failed", "operation": "DELETE", "commits": []},
        ],
        exception={"class": "AnalysisException", "message": "no such column" * 200, "statement": 2},
    )
    found = await closed_by_logs(_job(table), ATTEMPT, ended)
    assert found.message is not None
    assert found.message.startswith("statement 2: AnalysisException: no such column")
    assert found.message.endswith(f"it had committed version 1 of file:{table}")


@pytest.mark.parametrize("text", ["[" * 200_000, "not JSON", "[]", '{"sluice": 1}'])
async def test_what_others_write_into_their_commits_holds_nobody_up(table: Path, text: str) -> None:
    stamped(table, 2, text)
    found = await closed_by_logs(_job(table), ATTEMPT, ended_with(137))
    assert [commit.version for commit in found.commits] == [1]
    assert found.outcome is Outcome.KILLED


async def test_an_attempt_ends_even_if_the_operator_fails_on_a_log(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise KeyError("version")

    monkeypatch.setattr("unit.lifecycle.endings.commits_of", fails)
    found = await closed_by_logs(_job(table), ATTEMPT, ended_with(137))
    assert found.outcome is Outcome.KILLED
    assert found.message is not None
    assert "is not known" in found.message


def test_an_attempt_tells_where_its_report_is() -> None:
    seen = ended_with(0, outcome="Succeeded", statements=[], report={"configMap": "a-1-report"})
    found = closed(ATTEMPT, seen, None, BEGUN).report
    assert found is not None
    assert found.config_map == "a-1-report"
    assert closed(ATTEMPT, ended_with(0, outcome="Succeeded", statements=[]), None, BEGUN).report is None


def test_what_never_started_committed_nothing(tmp_path: Path) -> None:
    for is_application in (True, False):
        assert not must_ask_logs(Observation(Stage.NEVER_STARTS), is_application=is_application)
        assert must_ask_logs(Observation(Stage.ENDED, exit_code=137), is_application=is_application)


def test_what_an_application_had_committed_that_came_back_from_a_backup_and_was_deleted_the_logs_tell(
    tmp_path: Path,
) -> None:
    never = Observation(Stage.NEVER_STARTS, detail="the application was deleted")
    assert must_ask_logs(never, is_application=False, came_back=True)
    commit = Commit(table="file:/lake/orders", version=5, statement=1, operation="WRITE")
    ended = closed(ATTEMPT, never, LogFindings((commit,)), BEGUN, came_back=True)
    assert (ended.outcome, ended.commits) == (Outcome.UNKNOWN, (commit,))
    assert "version 5 of file:/lake/orders" in (ended.message or "")
    for silent in (LogFindings(), None):
        assert closed(ATTEMPT, never, silent, BEGUN, came_back=True).outcome is Outcome.UNKNOWN


def test_a_commit_that_runner_and_log_both_tell_counts_once(tmp_path: Path) -> None:
    table = f"file:{tmp_path}"
    commit = {"table": table, "version": 4, "operation": "WRITE"}
    statements = [{"number": 2, "state": "Committed", "commits": [commit]}]
    seen = ended_with(0, outcome="Succeeded", statements=statements, statementsLeftOut=1)
    logs = LogFindings(
        tuple(Commit(table=table, version=v, statement=s, operation="WRITE") for s, v in ((2, 4), (1, 3)))
    )
    found = closed(ATTEMPT, seen, logs, BEGUN)
    assert [(one.statement, one.version) for one in found.commits] == [(1, 3), (2, 4)]


def test_commits_of_several_tables_with_one_version_are_all_told() -> None:
    """A program's own writes are one statement, whatever tables they go to."""
    commit = {"table": "s3a://lake/orders", "version": 4, "operation": "WRITE"}
    statements = [{"number": 1, "state": "Committed", "commits": [commit]}, {"number": 2, "state": "Failed"}]
    seen = ended_with(0, outcome="Succeeded", statements=statements)
    logs = LogFindings(
        tuple(
            Commit(table=table, version=4, statement=1, operation="WRITE")
            for table in ("s3://lake/orders", "s3://lake/days")
        ),
        of_application=True,
    )
    found = closed(ATTEMPT, seen, logs, BEGUN)
    assert [(one.table, one.version) for one in found.commits] == [
        ("s3a://lake/orders", 4),
        ("s3://lake/days", 4),
    ]


@pytest.mark.parametrize(("deleted", "reason"), [(True, "ApplicationDeleted"), (False, "DriverKilled")])
def test_a_driver_that_died_because_somebody_deleted_its_application_was_not_just_killed(
    deleted: bool, reason: str
) -> None:
    ended = closed(ATTEMPT, ended_with(143), LogFindings(), BEGUN, deleted=deleted)
    assert ended.outcome is Outcome.KILLED
    assert ("its SparkApplication was deleted" in (ended.message or "")) == deleted
    assert phase_after(ended)[:2] == (Phase.FAILED, reason)


def test_a_runner_that_has_told_its_result_is_believed_whatever_its_jvm_ends_with() -> None:
    seen = ended_with(134, outcome="Succeeded", statements=[])
    assert closed(ATTEMPT, seen, LogFindings(), BEGUN).outcome is Outcome.SUCCEEDED


EVICTED = Disruption("EvictionByEvictionAPI", "evicting", "it was evicted", at=BEGUN)
ENDED_BY_SIGTERM = {"class": "Terminated", "message": "ended by SIGTERM", "statement": 1}


@pytest.mark.parametrize(
    "result", [{}, {"outcome": "Failed", "statements": [], "exception": ENDED_BY_SIGTERM}]
)
def test_a_driver_that_was_ended_from_outside_is_lost_and_has_not_failed(result: Json) -> None:
    seen = replace(ended_with(143, **result), disruption=EVICTED, node="node-1", ended_at=BEGUN)
    commit = Commit(table="file:/t", version=4, statement=1, operation="WRITE")
    ended = closed(ATTEMPT, seen, LogFindings((commit,)), BEGUN)
    assert (ended.outcome, ended.exception, ended.commits) == (Outcome.DRIVER_LOST, None, (commit,))
    assert phase_after(ended) == (
        Phase.FAILED,
        "DriverLost",
        "the driver on node node-1 was ended from outside: it was evicted (EvictionByEvictionAPI: evicting), exit code 143; it had "
        "committed version 4 of file:/t, according to the tables' logs",
    )


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (ended_with(0, outcome="Succeeded", statements=[]), Outcome.SUCCEEDED),
        (
            ended_with(1, outcome="Failed", exception={"class": "ConcurrentAppendException", "message": "m"}),
            Outcome.FAILED,
        ),
        (replace(ended_with(1), ended_at=BEGUN - timedelta(minutes=1)), Outcome.FAILED),
        (ended_with(0), Outcome.UNKNOWN),
    ],
)
def test_a_driver_that_ended_by_itself_is_not_lost_because_its_pod_was_evicted(
    seen: Observation, outcome: Outcome
) -> None:
    assert closed(ATTEMPT, replace(seen, disruption=EVICTED), LogFindings(), BEGUN).outcome is outcome


def test_of_a_reason_that_is_not_known_the_containers_end_alone_counts() -> None:
    seen = replace(ended_with(137), disruption=Disruption("Unheard", "of", None))
    ended = closed(ATTEMPT, seen, LogFindings(), BEGUN)
    assert ended.outcome is Outcome.KILLED
    assert "without a result; its pod says Unheard: of" in (ended.message or "")


def test_a_driver_that_was_declared_dead_was_lost() -> None:
    seen = Observation(Stage.ENDED, detail="the driver's pod is gone; somebody declared it dead")
    ended = closed(ATTEMPT, seen, LogFindings(), BEGUN)
    assert phase_after(ended)[:2] == (Phase.FAILED, "DriverLost")
    assert (ended.message or "").startswith(
        "the driver's pod is gone; somebody declared it dead; it had committed nothing"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ConcurrentAppendException", "ConcurrentAppendException"),
        ("a name with blanks", "RunFailed"),
        ("X" * 64, "RunFailed"),
    ],
)
def test_an_exceptions_name_is_the_reason_where_it_can_be_one(name: str, reason: str) -> None:
    ended = closed(
        ATTEMPT, ended_with(1, outcome="Failed", exception={"class": name, "message": "m"}), None, BEGUN
    )
    assert phase_after(ended)[:2] == (Phase.FAILED, reason)


STAMP = {"sluice": {"job": "sales/hourly", "runKey": "r"}}
ENGINE = "Apache-Spark/4.2.0 Delta-Lake/4.4.1"
LOST = "statement 1: ConcurrentAppendException"
LET_IT_WAIT = "let what made that commit run as a DeltaWriteJob, too, or at another time: Sluice keeps only its own jobs apart"


def _lost(commit: dict[str, Any] | None, job: str | None = None, **more: Any) -> Attempt:
    exception = {"class": "ConcurrentAppendException", "message": "Delta's words", "statement": 1}
    statements = [{"number": 1, "state": "Failed", "operation": "DELETE", "commits": []}]
    told = exception | {"conflictingCommit": commit} | more
    seen = ended_with(1, outcome="Failed", statements=statements, exception=told)
    return closed(ATTEMPT, seen, None, BEGUN, job=job)


@pytest.mark.parametrize(
    ("commit", "partition", "message"),
    [
        (
            {"version": 12, "operation": "MERGE", "stamp": STAMP, "foreign": False},
            "date=2026-11-19",
            f"{LOST} on partition date=2026-11-19: version 12 (MERGE) of job sales/hourly was committed first",
        ),
        (
            {"version": 12, "operation": "WRITE", "stamp": None, "foreign": True, "engine": ENGINE},
            "the root of the table",
            f"{LOST} on the root of the table: version 12 (WRITE) by no Sluice job ({ENGINE}) was committed first",
        ),
        (
            {
                "table": "file:/lake/orders",
                "version": 12,
                "operation": "WRITE",
                "foreign": True,
                "engine": ENGINE,
            },
            "date=2026-11-19",
            f"{LOST} on file:/lake/orders, partition date=2026-11-19: version 12 (WRITE) by no Sluice job ({ENGINE}) was "
            "committed first",
        ),
        (
            {"table": "file:/lake/orders", "version": 12, "operation": "ADD COLUMNS", "stamp": STAMP},
            None,
            f"{LOST} on file:/lake/orders: version 12 (ADD COLUMNS) of job sales/hourly was committed first",
        ),
        (
            {"version": 12, "operation": None, "stamp": None, "foreign": None, "engine": ENGINE},
            "date=1/part-0.parquet",
            f"{LOST} on date=1/part-0.parquet: version 12 was committed first",
        ),
        ({"version": 12, "foreign": True}, None, f"{LOST}: version 12 by no Sluice job was committed first"),
        ({"version": None, "operation": "WRITE"}, None, f"{LOST}: Delta's words"),
        (None, "date=2026-11-19", f"{LOST}: Delta's words"),
    ],
)
def test_who_won_is_told_to_people_as_far_as_it_is_known(
    commit: dict[str, Any] | None, partition: str | None, message: str
) -> None:
    ended = _lost(commit, partition=partition)
    assert ended.message == message
    assert phase_after(ended) == (Phase.FAILED, "ConcurrentAppendException", message)
    assert ended.exception is not None
    assert ended.exception.message == "Delta's words"


@pytest.mark.parametrize(
    ("commit", "name", "rule", "advice"),
    [
        (
            {"version": 5, "operation": "WRITE", "stamp": STAMP},
            "ConcurrentAppendException",
            "added-files",
            None,
        ),
        (
            {"version": 5, "operation": "WRITE", "foreign": True},
            "ConcurrentAppendException",
            "added-files",
            LET_IT_WAIT,
        ),
        (
            {"version": 5, "operation": "ADD COLUMNS", "stamp": STAMP},
            "MetadataChangedException",
            "metadata-changed",
            "run ADD COLUMNS when no other job writes the table",
        ),
        ({"version": 5, "operation": "RESTORE", "stamp": STAMP}, "ProtocolChangedException", None, None),
        (
            {"version": 5, "operation": "RESTORE", "foreign": True},
            "ProtocolChangedException",
            None,
            LET_IT_WAIT,
        ),
        ({"version": 5, "operation": None}, "ConcurrentAppendException", None, None),
        (None, "ConcurrentAppendException", None, None),
    ],
)
def test_rule_and_advice_are_told_where_they_are_certain(
    commit: dict[str, Any] | None, name: str, rule: str | None, advice: str | None
) -> None:
    exception = _lost(commit, **{"class": name}).exception
    assert exception is not None
    assert (exception.rule, exception.advice) == (rule, advice)


def test_a_run_that_lost_to_another_driver_of_its_own_is_told_that_no_other_writer_was_in_the_way() -> None:
    commit = {"table": "file:/t", "version": 5, "operation": "WRITE", "stamp": STAMP, "foreign": False}
    ended = _lost(commit, job="sales/hourly", **{"class": "ConcurrentTransactionException"})
    assert ended.message == (
        "statement 1: ConcurrentTransactionException on file:/t: version 5 (WRITE) of this job itself, by another driver of it, "
        "was committed first"
    )
    assert ended.exception is not None
    assert (ended.exception.rule, ended.exception.advice) == ("same-transaction-id", None)
    other = _lost(commit, job="sales/daily", **{"class": "ConcurrentTransactionException"}).exception
    assert other is not None
    assert other.advice == OWN_TXN_APP_ID


def test_of_a_death_only_what_says_something_is_told() -> None:
    for detail, told in (("OOMKilled", True), ("Error", False), ("Completed", False)):
        seen = Observation(Stage.ENDED, exit_code=137, detail=detail)
        message = closed(ATTEMPT, seen, LogFindings(), BEGUN).message or ""
        assert (detail in message) == told
        assert ("create the job with a higher runtime.driver.memory" in message) == told
        assert ("in the template of an application it is driver.memory, or for Apache's" in message) == told


def test_a_driver_whose_python_outlived_its_jvm_has_died_as_its_container_says() -> None:
    gone = {"class": "Terminated", "message": "Spark was shut down from outside: Connection refused"}
    done = {"number": 1, "state": "Committed", "operation": "WRITE"}
    told = {"table": "file:/t", "version": 4, "operation": "WRITE"}
    left = ended_with(137, outcome="Failed", statements=[done | {"commits": [told]}], exception=gone)
    second = Commit(table="file:/t", version=5, statement=2, operation="WRITE")
    ended = closed(ATTEMPT, replace(left, detail="OOMKilled"), LogFindings((second,)), BEGUN)
    assert (ended.outcome, ended.exception, ended.commits_known) == (Outcome.KILLED, None, False)
    assert [one.version for one in ended.commits] == [4, 5]
    assert "runtime.driver.memory" in (ended.message or "")
    assert "Connection refused" in (ended.message or "")


def test_a_status_has_room_for_so_many_commits_alone() -> None:
    commits = [{"table": "file:/t", "version": number, "operation": "WRITE"} for number in range(100)]
    statements = [{"number": 1, "state": "Committed", "commits": commits}]
    ended = closed(ATTEMPT, ended_with(0, outcome="Succeeded", statements=statements), None, BEGUN)
    assert len(ended.commits) == MAX_COMMITS


def test_what_was_committed_is_told_beside_what_is_not_known() -> None:
    one = Commit(table="file:/t", version=3, statement=1, operation="WRITE")
    assert str(LogFindings((one,), ("file:/u: no answer",))) == (
        "what it committed beside version 3 of file:/t is not known: file:/u: no answer"
    )
    two = one.model_copy(update={"version": 4})
    assert "versions 3, 4 of file:/t" in str(LogFindings((one, two)))


def test_the_start_that_was_seen_first_and_the_end_that_was_told_stay() -> None:
    started = ATTEMPT.model_copy(update={"started_at": BEGUN})
    later = BEGUN.replace(hour=12)
    seen = Observation(Stage.ENDED, exit_code=0, started_at=later, ended_at=later)
    ended = closed(started, seen, LogFindings(), BEGUN.replace(hour=13))
    assert (ended.started_at, ended.ended_at) == (BEGUN, later)


def test_of_what_came_back_and_was_deleted_nothing_is_claimed_that_no_log_could_tell() -> None:
    """It may have run to its end: whoever reads that no driver was started creates it again."""
    never = Observation(Stage.NEVER_STARTS, detail="the application was deleted")
    silent = LogFindings(unread=("file:/lake/orders: its log did not answer within 15 s",))
    ended = closed(ATTEMPT, never, silent, BEGUN, came_back=True)
    assert ended.outcome is Outcome.UNKNOWN
    assert "did not answer" in (ended.message or "")


def test_a_winner_that_may_not_be_named_is_told_of_without_its_name() -> None:
    statements = [{"number": 1, "state": "Failed", "operation": "DELETE", "commits": []}]
    exception = {
        "class": "ConcurrentAppendException",
        "message": "Delta's words",
        "statement": 1,
        "conflictingCommit": {"version": 12, "operation": "MERGE", "stamp": STAMP, "foreign": False},
    }
    seen = ended_with(1, outcome="Failed", statements=statements, exception=exception)
    ended = closed(ATTEMPT, seen, None, BEGUN, as_told=partial(VisibleBlockers().exception, by="etl"))
    assert ended.message == f"{LOST}: version 12 (MERGE) of a job in another namespace was committed first"
    assert "sales" not in ended.model_dump_json()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("no such column; line 1 pos 7;\n'Project ['nope]\n+- Range (0, 10)", "no such column; line 1 pos 7"),
        ("\n[PARSE_SYNTAX_ERROR] near 'x'.\n\n== SQL ==\nx y", "[PARSE_SYNTAX_ERROR] near 'x'."),
        (
            "Job aborted due to stage failure:\nTask 0 was lost\n\tat x.y",
            "Job aborted due to stage failure: Task 0 was lost",
        ),
        ("all of it", "all of it"),
        ("", ""),
    ],
)
def test_a_failure_is_told_on_one_line_and_the_exception_keeps_all_of_it(words: str, told: str) -> None:
    exception = {"class": "AnalysisException", "message": words, "statement": 1}
    ended = closed(ATTEMPT, ended_with(1, outcome="Failed", statements=[], exception=exception), None, BEGUN)
    assert ended.message == f"statement 1: AnalysisException: {told}"
    assert ended.exception is not None
    assert ended.exception.message == words


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (
            'Traceback (most recent call last):\n  File "a.py", line 8\nValueError: no such customer\n'
            "26/11/27 03:55:49 INFO SparkContext: Successfully stopped SparkContext (Uptime: 8410 ms)\n",
            "the last exception in its log is 'ValueError: no such customer'",
        ),
        (
            'Exception in thread "main" org.apache.spark.SparkException: Job aborted\n\tat a.B.c(B.java:1)\n'
            "Caused by: java.io.IOException: no space left\n\tat d.E.f(E.java:2)\n\t... 12 more\n",
            "the last exception in its log is 'Caused by: java.io.IOException: no space left'",
        ),
        ("26/11/27 ERROR Thing: a.b.CException: in a line of a log\nbye\n", "its log ends with 'bye'"),
        ("KeyboardInterrupt\nAssertionError\n", "the last exception in its log is 'AssertionError'"),
    ],
)
def test_what_was_raised_is_told_before_what_spark_still_says_of_its_end(log: str, told: str) -> None:
    seen = Observation(Stage.ENDED, exit_code=1, message=log)
    assert told in (closed(ATTEMPT, seen, LogFindings(), BEGUN).message or "")

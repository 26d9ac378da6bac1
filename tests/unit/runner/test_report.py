"""The full report: what it tells, how it is cut, and that whatever goes wrong with it is told and changes nothing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from sluice_runner import __version__, report
from sluice_runner.assumptions import Assumed
from sluice_runner.cluster import ACCOUNT_FOLDER, APPLICATION, Cluster, NoClusterError, RequestError
from sluice_runner.commits import Commit
from sluice_runner.driver_report import settings_that_matter
from sluice_runner.failures import Failure
from sluice_runner.plan import Job, Plan, Sql, Statement
from sluice_runner.result import COMMITTED, FAILED, MAX_BYTES, Report, Result, StatementResult, encode
from sluice_runner.secrets_in_text import Mask

PLAN = Plan(
    Job("sales", "daily", "1d3f"),
    "run-1",
    "abc",
    2,
    7,
    Sql((Statement(1, "SELECT 1", 1),)),
    Assumed("4.2.0", None, {}),
)
COMMIT = Commit("file:/lake/orders", 3, "MERGE", {"numTargetRowsUpdated": 4}, None)
DONE = StatementResult(1, COMMITTED, "MERGE", [COMMIT])
LOST = Failure("ConcurrentAppendException", None, "DELTA_CONCURRENT_APPEND", "password is hunter2-4711")
SEEN = report.Seen(
    versions={"spark": "4.2.0"},
    settings={"spark.sql.x": "hunter2-4711"},
    tables=[
        {"location": "file:/lake/orders", "numFiles": 3, "properties": {"a": "hunter2-4711"}},
    ],
    unread=["file:/x: no hunter2-4711"],
)
NO_MASK = Mask([])
PLACE = "/api/v1/namespaces/sales/configmaps"


def run(result: Result, seen: report.Seen = SEEN) -> report.ReportedRun:
    return report.ReportedRun(
        PLAN, result, seen, "2026-11-25T10:00:00.000+00:00", "2026-11-25T10:01:00.000+00:00"
    )


class Played:
    """An API server that has some objects, and refuses what it is told to refuse."""

    application = "daily-1d3f-2"

    def __init__(self, refuses: Mapping[str, RequestError] | None = None, there: Any = None) -> None:
        self.refuses = refuses or {}
        self.there = there
        self.asked: list[tuple[str, str, Any]] = []

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        self.asked.append((method, path, body))
        assert kind == ("application/merge-patch+json" if method == "PATCH" else "application/json")
        if method in self.refuses:
            raise self.refuses[method]
        return self.there or {}


def written(server: Played, given: report.ReportedRun) -> Any:
    return report.write(given, NO_MASK, lambda: cast("Cluster", server))


def test_a_report_tells_all_of_a_run() -> None:
    server = Played()
    found = written(server, run(Result(2, [DONE], LOST, 1)))
    assert (found.name, found.missing) == ("daily-1d3f-2-report", None)
    [(method, path, body)] = server.asked
    assert (method, path) == ("POST", PLACE)
    [owner] = body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("DeltaWriteJob", "daily", "1d3f")
    told = json.loads(body["data"]["report.json"])
    assert told["statements"][0]["commits"][0] == {
        "table": "file:/lake/orders",
        "version": 3,
        "operation": "MERGE",
        "metrics": {"numTargetRowsUpdated": 4},
    }
    assert (told["outcome"], told["exception"]["class"]) == ("Failed", "ConcurrentAppendException")
    assert told["versions"]["spark"] == "4.2.0"
    assert told["versions"]["runner"] == __version__
    assert "cut" not in told


def test_no_secret_is_in_it() -> None:
    text = report.text_of(run(Result(2, [DONE], LOST, 1)), "daily", Mask(["hunter2-4711"]))
    assert "hunter2" not in text
    told = json.loads(text)
    assert told["tables"][0]["properties"] == {"a": "***"}
    assert told["exception"]["message"] == "password is ***"


@pytest.mark.parametrize(
    ("result", "seen", "cut"),
    [
        (Result(2, [DONE], replace(LOST, message="ö" * 200_000), 1), SEEN, ["messages"]),
        (
            Result(2, [DONE]),
            report.Seen(settings={str(n): "x" * 1000 for n in range(300)}),
            ["messages", "settings"],
        ),
        (
            Result(2, [StatementResult(n, COMMITTED, "WRITE", [COMMIT]) for n in range(1, 4000)]),
            SEEN,
            ["messages", "settings", "tables", "unread", "statements"],
        ),
    ],
    ids=["message", "settings", "statements"],
)
def test_what_is_too_long_is_cut_and_said_to_be(result: Result, seen: report.Seen, cut: list[str]) -> None:
    text = report.text_of(run(result, seen), "daily", NO_MASK)
    assert len(text.encode()) <= report.MAX_BYTES
    told = json.loads(text)
    assert told["cut"] == cut
    assert told["statements"][-1]["number"] == result.statements[-1].number  # the last ones matter most


CONFLICT = RequestError("409 there is one", 409)


def test_a_report_of_the_same_job_is_replaced_and_no_other() -> None:
    there = {"metadata": {"resourceVersion": "5", "ownerReferences": [{"uid": "1d3f"}]}}
    server = Played({"POST": CONFLICT}, there)
    assert written(server, run(Result(2, [DONE]))).name == "daily-1d3f-2-report"
    assert [method for method, _, _ in server.asked] == ["POST", "GET", "PATCH"]
    assert server.asked[-1][2]["metadata"] == {"resourceVersion": "5"}
    foreign = Played({"POST": CONFLICT}, {"metadata": {"resourceVersion": "5"}})
    found = written(foreign, run(Result(2, [DONE])))
    assert found.name is None
    assert "daily-1d3f-2-report that does not belong to this job: delete it" in found.missing
    assert [method for method, _, _ in foreign.asked] == ["POST", "GET"]


def test_who_may_not_write_it_is_told_what_to_allow() -> None:
    found = written(Played({"POST": RequestError("403 not allowed", 403)}), run(Result(2, [DONE])))
    assert found.missing == (
        "no report was written: 403 not allowed: let the driver's service account create, get and patch configmaps "
        "in namespace sales"
    )


def test_any_error_is_only_told() -> None:
    def broken() -> Cluster:
        raise RuntimeError("anything")

    assert report.write(run(Result(2)), NO_MASK, broken).missing == (
        "no report was written: RuntimeError: anything"
    )


def test_a_result_says_where_the_report_is_within_its_bytes() -> None:
    assert json.loads(encode(Result(2, [DONE], report=Report(name="a-report"))))["report"] == {
        "configMap": "a-report"
    }
    failed = StatementResult(1, FAILED, "MERGE", [COMMIT])
    long = Result(2, [failed] * 50, replace(LOST, message="x" * 9000), 1, report=Report(missing="y" * 9000))
    assert len(encode(long)) <= MAX_BYTES
    assert json.loads(encode(long))["report"]["missing"].startswith("yyyy")


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, f"{APPLICATION} is not set"),
        ({APPLICATION: "a"}, "does not run in a cluster"),
        (
            {APPLICATION: "a", "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
            "automountServiceAccountToken",
        ),
    ],
)
def test_a_driver_without_a_cluster_says_what_is_missing(
    environment: dict[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(NoClusterError, match=told):
        Cluster.of_pod({ACCOUNT_FOLDER: str(tmp_path), **environment})


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environment = {
        APPLICATION: "a",
        ACCOUNT_FOLDER: str(tmp_path),
        "KUBERNETES_SERVICE_HOST": "fd00::1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    cluster = Cluster.of_pod(environment)
    assert cluster.address == "https://[fd00::1]:443"
    with pytest.raises(RequestError, match="does not answer"):
        cluster.request("GET", "/version")


def test_settings_that_are_called_secret_are_left_out() -> None:
    settings = {
        "spark.hadoop.fs.s3a.secret.key": "wJalrXUtnFEMI",
        "spark.sql.shuffle.partitions": "1",
        "spark.app.name": "x",
    }
    assert settings_that_matter(settings) == {
        "spark.hadoop.fs.s3a.secret.key": "***",
        "spark.sql.shuffle.partitions": "1",
    }


def test_the_runner_tells_its_own_version() -> None:
    file = Path(__file__).parents[3] / "spark-images" / "runner" / "pyproject.toml"
    assert tomllib.loads(file.read_text(encoding="utf-8"))["project"]["version"] == __version__

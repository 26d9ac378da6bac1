"""What a driver tells beside its result, on a real API server: with the rights that the chart gives it, and without any."""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.pipeline.conftest import Pipeline

pytestmark = pytest.mark.timeout(900)


@pytest.mark.usefixtures("accounts")
def test_a_driver_leaves_a_report_where_it_may_and_the_status_says_where(pipeline: Pipeline) -> None:
    table = pipeline.table("reported")
    made = f"CREATE TABLE {table} (id BIGINT, date DATE) USING delta PARTITIONED BY (date)"
    # Progress is told of runs that last.
    lasting = "reflect('java.lang.Thread', 'sleep', 5000L)"
    sql = f"{made};\nINSERT INTO {table} SELECT 7, DATE '2026-11-19' WHERE {lasting} IS NOT NULL"
    failing = f"INSERT INTO {pipeline.table('absent')} VALUES (1)"
    pipeline.apply("reports", {"sql": sql, "runtimeRef": "may"})
    pipeline.apply("fails", {"sql": failing, "runtimeRef": "may"})
    pipeline.apply("may-not", {"sql": sql.replace("reported", "other"), "runtimeRef": "may-not"})

    attempt = pipeline.until("reports", "Succeeded")["attempts"][-1]
    name = f"{attempt['application']}-report"
    assert attempt["report"] == {"configMap": name}
    found = _body(pipeline, "configmap", name)
    uid = _body(pipeline, "deltawritejob", "reports")["metadata"]["uid"]
    assert [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == [uid]
    report = json.loads(found["data"]["report.json"])
    assert report["outcome"] == "Succeeded"
    assert [
        (one["number"], [commit["version"] for commit in one["commits"]]) for one in report["statements"]
    ] == [(1, [0]), (2, [1])]
    assert report["versions"]["spark"].startswith("4.2")
    assert report["versions"]["delta"].startswith("4.4")
    assert report["settings"]["spark.sql.shuffle.partitions"] == "1"
    [facts] = report["tables"]
    assert (facts["partitionColumns"], facts["location"]) == (
        ["date"],
        f"file:{pipeline.lake / 'reported'}",
    )

    pod = _body(pipeline, "pod", f"{attempt['application']}-driver")
    progress = json.loads(pod["metadata"]["annotations"]["sluice.dev/progress"])
    assert (progress["of"], progress["statement"] in (1, 2)) == (2, True)
    assert progress["operation"] == ("CREATE" if progress["statement"] == 1 else "INSERT")

    failed = pipeline.until("fails", "Failed")["attempts"][-1]
    assert failed["exception"]["class"] == "AnalysisException"
    told = json.loads(_body(pipeline, "configmap", failed["report"]["configMap"])["data"]["report.json"])
    assert (told["outcome"], told["exception"]["statement"]) == ("Failed", 1)

    without = pipeline.until("may-not", "Succeeded")["attempts"][-1]
    missing = without["report"]["missing"]
    assert "403" in missing
    assert missing.endswith(
        f"let the driver's service account create, get and patch configmaps in namespace {pipeline.namespace}"
    )
    log = _log(pipeline, without["application"])
    assert "sluice: no report was written: 403" in log
    assert "sluice: progress is not told: 403" in log
    described = pipeline.kubectl("describe", "deltawritejob", "may-not", "-n", pipeline.namespace).stdout
    assert "no report was written" in described


@pytest.mark.usefixtures("accounts")
def test_no_secret_of_a_source_is_in_what_a_job_leaves_behind(pipeline: Pipeline) -> None:
    """Spark's exception quotes the value of `encoding`, and its log that of `mode`."""
    secrets = {"encoding": "s3cr3t-encoding-4711", "mode": "s3cr3t-mode-4711", "password": "s3cr3t-pass-4711"}
    literals = [f"--from-literal={name}={value}" for name, value in secrets.items()]
    made = pipeline.kubectl("create", "secret", "generic", "source", "-n", pipeline.namespace, *literals)
    assert made.returncode == 0, made.stderr
    (pipeline.lake / "rows.csv").write_text("7\n")
    for name, options in {"quotes": ["encoding", "password"], "logs": ["mode", "password"]}.items():
        refs = [{"option": option, "secretKeyRef": {"name": "source", "key": option}} for option in options]
        source = {"format": "csv", "path": str(pipeline.lake / "rows.csv"), "optionsFrom": refs}
        write = {"table": {"path": str(pipeline.lake / name)}, "source": source}
        pipeline.apply(name, {"write": write, "runtimeRef": "may"})
    for name, phase, told in (
        ("quotes", "Failed", "but got ***"),
        ("logs", "Succeeded", "*** is not a valid parse mode"),
    ):
        attempt = pipeline.until(name, phase)["attempts"][-1]
        job = json.dumps(_body(pipeline, "deltawritejob", name))
        report = json.dumps(_body(pipeline, "configmap", attempt["report"]["configMap"]))
        pod = json.dumps(_body(pipeline, "pod", f"{attempt['application']}-driver"))
        log = _log(pipeline, attempt["application"])
        assert told in job + log
        for left in (job, report, pod, log):
            assert "s3cr3t" not in left


def _body(pipeline: Pipeline, kind: str, name: str) -> Any:
    return pipeline.kubectl.json("get", kind, name, "-n", pipeline.namespace)


def _log(pipeline: Pipeline, application: str) -> str:
    pod = _body(pipeline, "pod", f"{application}-driver")
    return Path(pod["metadata"]["annotations"]["localengine.sluice.dev/log"]).read_text(encoding="utf-8")

"""A user's own application under leases: run as its template says, and told of by its tables' logs, which delta-rs writes here."""

import json
import time
from pathlib import Path
from typing import Any

from deltalake import CommitProperties, DeltaTable
from deltalake.transaction import AddAction

from integration.operator.played import Driver, Played, rewrite
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines.plan import unpacked
from sluice.engines.stamp import USER_METADATA
from sluice.templates.shared_rules import LARGEST
from unit.tables import lake

TEMPLATE: Json = {
    "type": "Scala",
    "mode": "cluster",
    "image": "registry.example/settle:7",
    "mainClass": "com.example.Settle",
    "mainApplicationFile": "local:///app/settle.jar",
    "arguments": ["--day", "2026-11-19"],
    "sparkVersion": "4.2.0",
    "sparkConf": {"spark.sql.shuffle.partitions": "8"},
    "timeToLiveSeconds": 3600,
    "driver": {
        "cores": 2,
        "memory": "1g",
        "labels": {"team": "finance"},
        "template": {"metadata": {"finalizers": ["example.com/audit"]}},
    },
    "executor": {"instances": 2, "cores": 1, "memory": "1g"},
}
DAY = "date = DATE '2026-11-19'"


def application(table: Path | str, template: Json | None = None, **more: Any) -> Json:
    footprint = {"table": {"path": str(table)}, "operation": "Append", "reads": "false", "writes": DAY}
    given = {"engine": "kubeflow", "template": TEMPLATE if template is None else template}
    return {"application": given, "footprint": [footprint], **more}


def long_there(table: Path) -> None:
    """A table that was made an hour ago."""
    lake.orders(table)
    log = table / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"]["timestamp"] -= 3_600_000
    log.write_text("\n".join(map(json.dumps, actions)) + "\n", encoding="utf-8")


def commits(table: Path, day: str, user_metadata: str | None) -> None:
    """What a commit of the application, or of somebody else, leaves in the log."""
    opened = DeltaTable(str(table))
    added = AddAction(
        path=f"date={day}/{time.time_ns()}.parquet",
        size=1,
        partition_values={"date": day},
        modification_time=time.time_ns() // 1_000_000,
        data_change=True,
        stats="{}",
    )
    given = {"userMetadata": user_metadata} if user_metadata is not None else {}
    opened.create_write_transaction(
        [added],
        "append",
        opened.schema(),
        partition_by=["date"],
        commit_properties=CommitProperties(custom_metadata=given),
    )


def stamp_of(driver: Driver) -> str:
    made = driver.cluster.application(driver.application)
    assert made is not None
    return str(made["spec"]["sparkConf"][USER_METADATA])


def test_an_application_runs_as_its_template_says_and_its_commits_are_told_by_their_stamp(
    shared: Played, tmp_path: Path
) -> None:
    long_there(tmp_path)
    uid = shared.apply("own-runs", application(tmp_path))
    driver = shared.start("own-runs")
    shared.reaches("own-runs", "Running")
    assert f"{uid}/1" in shared.holders()

    made = shared.application(driver.application)
    assert made is not None
    spec = made["spec"]
    assert {name: spec[name] for name in TEMPLATE if name not in ("driver", "sparkConf")} == {
        name: TEMPLATE[name] for name in TEMPLATE if name not in ("driver", "sparkConf")
    }
    assert spec["sparkConf"]["spark.sql.shuffle.partitions"] == "8"
    template = spec["driver"]["template"]
    assert template["metadata"]["finalizers"] == ["example.com/audit", names.FINALIZER_LEASE]
    variables = {one["name"]: one["value"] for one in template["spec"]["containers"][0]["env"]}
    plan = unpacked(variables["SLUICE_PLAN"])
    assert (plan["version"], plan["application"], plan["job"]["uid"]) == (2, {}, uid)
    assert plan["touched"][0]["adds"] == DAY
    assert "run" not in plan

    commits(tmp_path, "2026-11-19", stamp_of(driver))
    driver.ends(0)
    status = shared.reaches("own-runs", "Succeeded")
    attempt = status["attempts"][0]
    assert attempt["commits"] == [{"table": f"file:{tmp_path}", "version": 1, "operation": "WRITE"}]
    assert attempt["footprintHeld"] is True
    assert shared.condition("own-runs", "FootprintHeld")["status"] == "True"
    shared.patch_pod(driver.pod, {"metadata": {"finalizers": None}})  # example.com/audit has done its work


def test_an_application_that_fails_is_told_with_what_it_had_committed_and_its_last_words(
    shared: Played, tmp_path: Path
) -> None:
    long_there(tmp_path)
    shared.apply("own-fails", application(tmp_path))
    driver = shared.start("own-fails")
    commits(tmp_path, "2026-11-19", stamp_of(driver))
    driver.ends(1, "Traceback\nValueError: no such customer")
    status = shared.reaches("own-fails", "Failed")
    assert status["reason"] == "RunFailed"
    assert "ValueError: no such customer" in status["message"]
    assert f"it had committed version 1 of file:{tmp_path}" in status["message"]
    shared.patch_pod(driver.pod, {"metadata": {"finalizers": None}})


def test_a_footprint_that_the_log_contradicts_is_not_believed_again(shared: Played, tmp_path: Path) -> None:
    long_there(tmp_path)
    plain = {name: given for name, given in TEMPLATE.items() if name != "driver"} | {"driver": {"cores": 1}}
    shared.apply("own-strays", application(tmp_path, plain))
    driver = shared.start("own-strays")
    commits(tmp_path, "2026-11-20", stamp_of(driver))
    driver.ends(0)
    status = shared.reaches("own-strays", "Succeeded")
    assert status["attempts"][0]["footprintHeld"] is False
    told = shared.condition("own-strays", "FootprintHeld")
    assert (told["status"], told["reason"]) == ("False", "FootprintStrayed")
    assert "adds to date=2026-11-20" in told["message"]

    shared.apply("own-strays-again", application(tmp_path, plain))
    again = shared.keeps("own-strays-again", "footprint")
    assert [one["writes"] for one in again] == ["true"]
    shared.start("own-strays-again").ends(0)
    shared.reaches("own-strays-again", "Succeeded")


def test_whose_a_commit_without_a_stamp_is_stays_open(shared: Played, tmp_path: Path) -> None:
    long_there(tmp_path)
    plain = TEMPLATE | {"driver": {"cores": 1}, "sparkConf": {USER_METADATA: "nightly"}}
    shared.apply("own-unstamped", application(tmp_path, plain))
    driver = shared.start("own-unstamped")
    assert stamp_of(driver) == "nightly"
    commits(tmp_path, "2026-11-20", "nightly")
    driver.ends(0)
    status = shared.reaches("own-unstamped", "Succeeded")
    assert "commits" not in status["attempts"][0]
    assert "footprintHeld" not in status["attempts"][0]
    assert "no commit bears its stamp" in status["message"]
    told = shared.condition("own-unstamped", "FootprintHeld")
    assert (told["status"], told["reason"]) == ("Unknown", "FootprintDoubtful")


def reported(table: Path, *versions: int) -> str:
    """What `sluice_runner.attempt` leaves at the end of its block."""
    commits = [{"table": f"file:{table}", "version": v, "operation": "WRITE"} for v in versions]
    statement = {"number": 1, "state": "Committed", "operation": "APPLICATION", "commits": commits}
    result = {"version": 1, "attempt": 1, "outcome": "Succeeded", "statements": [statement]}
    return json.dumps(result | {"footprint": {"strayed": [], "unlooked": None}})


def test_what_a_program_commits_after_its_report_is_told_and_judged_by_the_logs(
    shared: Played, tmp_path: Path
) -> None:
    long_there(tmp_path)
    plain = TEMPLATE | {"driver": {"cores": 1}}
    shared.apply("own-goes-on", application(tmp_path, plain))
    driver = shared.start("own-goes-on")
    commits(tmp_path, "2026-11-19", stamp_of(driver))
    commits(tmp_path, "2026-11-20", stamp_of(driver))
    driver.ends(0, reported(tmp_path, 1))
    status = shared.reaches("own-goes-on", "Succeeded")
    assert sorted(one["version"] for one in status["attempts"][0]["commits"]) == [1, 2]
    assert f"beside that it had committed version 2 of file:{tmp_path}" in status["message"]
    assert status["attempts"][0]["footprintHeld"] is False
    told = shared.condition("own-goes-on", "FootprintHeld")
    assert (told["status"], told["reason"]) == ("False", "FootprintStrayed")
    assert f"version 2 of file:{tmp_path} adds to date=2026-11-20" in told["message"]


def test_a_foreign_writers_commit_is_not_blamed_on_a_program_that_reports(
    shared: Played, tmp_path: Path
) -> None:
    """Nor is it said to be another's: no stamp tells."""
    long_there(tmp_path)
    plain = TEMPLATE | {"driver": {"cores": 1}}
    shared.apply("own-beside", application(tmp_path, plain, priority=1))
    driver = shared.start("own-beside")
    commits(tmp_path, "2026-11-19", stamp_of(driver))
    commits(tmp_path, "2026-11-20", None)
    driver.ends(0, reported(tmp_path, 1))
    status = shared.reaches("own-beside", "Succeeded")
    assert [one["version"] for one in status["attempts"][0]["commits"]] == [1]
    assert f"without any stamp somebody committed version 2 of file:{tmp_path}" in status["message"]
    assert "footprintHeld" not in status["attempts"][0]
    told = shared.condition("own-beside", "FootprintHeld")
    assert (told["status"], told["reason"]) == ("Unknown", "FootprintDoubtful")


def test_a_program_without_steps_runs_again_as_a_whole_only_where_its_job_says_so(
    shared: Played, tmp_path: Path
) -> None:
    long_there(tmp_path)
    plain = TEMPLATE | {"driver": {"cores": 1}}
    shared.apply("own-once", application(tmp_path, plain))
    shared.start("own-once").ends(1, "ConnectionError: no answer")
    status = shared.reaches("own-once", "Failed")
    assert (len(status["attempts"]), "retries" in status) == (1, False)

    retry = {"limit": 1, "backoff": "1s", "on": ["Error"]}
    shared.apply("own-twice", application(tmp_path, plain, retry=retry))
    driver = shared.start("own-twice")
    commits(tmp_path, "2026-11-19", stamp_of(driver))
    first = shared.application(driver.application)
    driver.ends(1, "ConnectionError: no answer")
    eventually(lambda: len(shared.status("own-twice")["attempts"]) == 2, "the second attempt")
    driver = shared.start("own-twice")
    second = shared.application(driver.application)
    assert first is not None
    assert second is not None
    assert second["spec"]["arguments"] == first["spec"]["arguments"]
    assert stamp_of(driver) != first["spec"]["sparkConf"][USER_METADATA]
    commits(tmp_path, "2026-11-19", stamp_of(driver))
    driver.ends(0)
    status = shared.reaches("own-twice", "Succeeded")
    told = [(one["outcome"], [c["version"] for c in one["commits"]]) for one in status["attempts"]]
    assert told == [("Failed", [1]), ("Succeeded", [2])]
    assert status["retries"] == 1


def test_an_application_waits_for_whom_its_footprint_meets_and_runs_beside_others(
    shared: Played, tmp_path: Path
) -> None:
    table = tmp_path / "t"
    long_there(table)
    shared.apply("own-holder", rewrite(str(table)))
    holder = shared.start("own-holder")
    shared.reaches("own-holder", "Running")
    merging = application(table)
    merging["footprint"][0] |= {"operation": "Merge", "reads": DAY}
    shared.apply("own-waits", merging)
    status = shared.reaches("own-waits", "Waiting")
    assert [one["job"] for one in status["blockedBy"]] == [f"{shared.namespace}/own-holder"]
    holder.succeeds(f"file:{table}")
    shared.reaches("own-holder", "Succeeded")
    driver = shared.start("own-waits")
    driver.ends(0)
    shared.reaches("own-waits", "Succeeded")
    shared.patch_pod(driver.pod, {"metadata": {"finalizers": None}})


def test_a_template_that_would_hide_its_drivers_end_is_refused_in_the_status(shared: Played) -> None:
    fights = TEMPLATE | {"restartPolicy": {"type": "OnFailure"}}
    shared.apply("own-fights", application("/lake/own-fights", fights))
    status = shared.reaches("own-fights", "Failed")
    assert "spec.application.template.restartPolicy.type: Sluice itself retries" in status["message"]
    assert "attempts" not in status


def test_a_template_of_the_largest_size_has_room_in_its_objects(shared: Played) -> None:
    """Beside the longest plan and lease that there are, the application must still fit into what the API server keeps."""
    large = TEMPLATE | {"driver": {"cores": 1}, "arguments": [""]}
    room = LARGEST - len(json.dumps(large))
    large["arguments"] = ["x" * room]
    shared.apply("own-large", application("/lake/own-large", large))
    driver = shared.start("own-large")
    driver.ends(0)
    shared.reaches("own-large", "Succeeded")
    shared.apply("own-too-large", application("/lake/own-large", large | {"arguments": ["x" * (room + 1)]}))
    status = shared.reaches("own-too-large", "Failed")
    assert f"has {LARGEST + 1} bytes as JSON, and takes at most {LARGEST}" in status["message"]

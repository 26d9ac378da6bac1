"""`sluice status`: what of a Lease object and of jobs is told, and when something is wrong."""

import json
import unicodedata
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api import names
from sluice.api.base import Json
from sluice.api.operator_status import OperatorConditionType
from sluice.cli import doctor_text, outputs, status_text
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.installations.unexplained_leases import in_words
from sluice.leases import Lease
from sluice.online.access.connection import Installation
from sluice.online.access.job_objects import key_of
from sluice.online.access.leader import SILENT_AFTER
from sluice.online.answers import doctor_json, status_json
from sluice.online.doctor.findings import Examination, fail
from sluice.online.installation.status import told
from unit.online.job_bodies import STREAM, pause, stream

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
AT = Installation("sluice-system", "sluice")


def _lease(*, holder: str = "pod-1", age: float = 2.0, conditions: str = "") -> Json:
    renewed = NOW - timedelta(seconds=age)
    annotations = {names.ANNOTATION_EPOCH: "7", names.ANNOTATION_CONDITIONS: conditions}
    return {
        "metadata": {"annotations": annotations},
        "spec": {"holderIdentity": holder, "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")},
    }


def _job(name: str, **status: Any) -> Json:
    return {"metadata": {"namespace": "etl", "name": name}, "status": status}


def _conditions(*, redis: bool = True) -> str:
    conditions = OperatorConditions(lambda: NOW)
    conditions.holds(OperatorConditionType.API_SERVER_REACHABLE)
    if redis:
        conditions.holds(OperatorConditionType.LEASE_TABLE_USABLE)
    else:
        conditions.fails(OperatorConditionType.LEASE_TABLE_USABLE, "RedisFails", "Redis: refused")
    return conditions.as_text()


def _shown(found: Json, **more: Any) -> str:
    out = StringIO()
    with redirect_stdout(out):
        status_text.show(found, outputs.console(), **more)
    return out.getvalue()


def test_all_is_well_if_one_leads_and_all_conditions_hold() -> None:
    found = told(AT, _lease(conditions=_conditions()), [], NOW)
    assert (found.leader, found.epoch, found.silent_for) == ("pod-1", 7, 2.0)
    assert found.problems == ()
    assert "pod-1 leads, epoch 7, renewed 2 s ago" in _shown(status_json(found))


@pytest.mark.parametrize(
    ("lease", "said"),
    [
        (_lease(holder=""), "nobody leads"),
        ({"metadata": {}}, "nobody leads"),
        (_lease(age=SILENT_AFTER + 1), "pod-1 has not renewed its Lease for 31 s"),
        (_lease(conditions=_conditions(redis=False)), "LeaseTableUsable is False: Redis: refused"),
    ],
)
def test_what_is_wrong_with_the_operator_is_a_problem(lease: Json, said: str) -> None:
    found = told(AT, lease, [], NOW)
    assert [problem for problem in found.problems if problem.startswith(said)]
    assert said in _shown(status_json(found))


def test_holders_are_told_with_their_tables_and_jobs_by_phase() -> None:
    jobs = [
        _job("b", phase="Running", attempt=2, footprint=[{"table": "file:/b"}, {"table": "file:/a"}]),
        _job("a", phase="Waiting", blockedBy=[{"job": "etl/b"}]),
        {"metadata": {"namespace": "etl", "name": "c"}},
    ]
    found = status_json(told(AT, _lease(), jobs, NOW))
    assert found["jobs"] == {"New": 1, "Running": 1, "Waiting": 1}
    assert found["holding"] == [
        {
            "job": "etl/b",
            "phase": "Running",
            "attempt": 2,
            "tables": ["file:/a", "file:/b"],
            "progress": None,
            "stream": None,
            "pause": None,
        }
    ]
    assert "file:/a, file:/b" in _shown(found)
    assert "PROGRESS" not in _shown(found)


def test_how_far_a_run_has_come_is_told_from_its_pod_or_else_from_its_status() -> None:
    progress = {"statement": 1, "of": 3, "operation": "MERGE", "since": "2026-11-25T10:00:00Z"}
    newer = progress | {"statement": 2, "lastCommit": {"table": "file:/a", "version": 7}}
    job = _job("b", phase="Running", attempt=1, attempts=[{"application": "b-1", "progress": progress}])
    annotations = {names.ANNOTATION_PROGRESS: json.dumps(newer)}
    pod = {"metadata": {"namespace": "etl", "name": "b-1-driver", "annotations": annotations}}
    found = status_json(told(AT, _lease(), [job], NOW, drivers={key_of(pod): pod}))
    assert found["holding"][0]["progress"] == newer
    shown = " ".join(_shown(found).split())
    assert "2 of 3: MERGE since 2026-11-25T10:00:00Z, committed version 7 of file:/a" in shown
    assert status_json(told(AT, _lease(), [job], NOW))["holding"][0]["progress"] == progress


def test_streams_are_told_with_how_far_they_are_and_whom_they_pause_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    asked = {"grantedAt": "2026-11-26T09:00:00Z", "pause": pause("alter")}
    until = pause("alter", "vacuum", "other", until="2026-11-26T10:14:00Z")
    jobs = [
        stream("stops", "file:/a", phase="Running", attempt=1, attempts=[asked]),
        stream(
            "rests",
            "file:/b",
            phase="Paused",
            attempt=1,
            attempts=[asked | {"outcome": "Paused"}],
            pause=until,
        ),
    ]
    found = status_json(told(AT, _lease(conditions=_conditions()), jobs, NOW))
    assert found["problems"] == []
    assert [(one["job"], one["stream"], one["pause"]) for one in found["holding"]] == [
        ("etl/stops", STREAM, pause("alter"))
    ]
    assert found["paused"] == [{"job": "etl/rests", "stream": STREAM, "pause": until}]
    shown = " ".join(_shown(found).split())
    assert "pauses for etl/alter; batch 17 ended 2026-11-26T09:59:30Z, 3 files and 5.0 MiB behind" in shown
    assert "pauses for etl/alter, etl/vacuum and 1 more, until 2026-11-26T10:14:00Z at the latest" in shown


def test_how_far_a_stream_has_come_is_told_from_its_pod_or_else_from_its_status() -> None:
    attempt = {"number": 2, "application": "s-2", "grantedAt": "2026-11-26T09:00:00Z"}
    job = stream("s", "file:/a", phase="Running", attempt=2, attempts=[attempt])
    newer = {"batch": 18, "batches": 4, "batchAt": "2026-11-26T09:59:50Z"}
    progress = {
        "statement": 1,
        "of": 1,
        "operation": "STREAM",
        "since": "2026-11-26T09:00:00Z",
        "stream": newer,
    }
    annotations = {names.ANNOTATION_PROGRESS: json.dumps(progress)}
    pod = {"metadata": {"namespace": "etl", "name": "s-2-driver", "annotations": annotations}}
    [one] = told(AT, _lease(), [job], NOW, drivers={key_of(pod): pod}).holding
    assert one.stream is not None
    assert newer.items() <= one.stream.items()
    [one] = told(AT, _lease(), [job], NOW).holding
    assert one.stream == STREAM
    job["status"]["stream"] = {"batch": "seventeen"}
    [one] = told(AT, _lease(), [job], NOW).holding
    assert one.stream is None, "what somebody made up is not told"


def test_a_job_that_waits_for_a_person_is_a_problem() -> None:
    lost = _job("lost", phase="Ending", reason="DriverLost", message="once you know that it is dead, say so")
    found = told(AT, _lease(), [lost], NOW)
    over = _job(
        "over", phase="Failed", reason="DriverLost", message="Look at its tables before you create it again"
    )
    assert told(AT, _lease(), [over], NOW).stuck == ()
    assert found.problems == ("etl/lost: DriverLost: once you know that it is dead, say so",)
    assert status_json(found)["stuck"] == [
        {"job": "etl/lost", "reason": "DriverLost", "message": "once you know that it is dead, say so"}
    ]


def test_a_job_that_has_touched_more_than_was_understood_is_a_problem() -> None:
    def held(status: str) -> Json:
        return {
            "type": "FootprintHeld",
            "status": status,
            "reason": "FootprintStrayed",
            "message": "it touched more",
        }

    jobs = [
        _job("kept", phase="Succeeded", conditions=[held("True")]),
        _job("strayed", phase="Succeeded", conditions=[{"type": "Ready", "status": "False"}, held("False")]),
    ]
    found = told(AT, _lease(), jobs, NOW)
    assert found.problems == ("etl/strayed: FootprintStrayed: it touched more",)
    assert [one["job"] for one in status_json(found)["strayed"]] == ["etl/strayed"]


def test_a_job_that_waits_for_its_next_attempt_is_told_with_its_time() -> None:
    again = {"phase": "BackingOff", "reason": "Retrying", "attempt": 2, "retryAt": "2026-11-20T10:05:00Z"}
    refused = _job("refused", phase="BackingOff", reason="ApplicationRefused", attempt=1)
    odd = _job("odd", phase="BackingOff", reason="Retrying", attempt="x", retryAt=7)
    found = told(AT, _lease(), [_job("again", **again), refused, odd], NOW)
    assert status_json(found)["retrying"] == [
        {"job": "etl/again", "attempt": 2, "at": "2026-11-20T10:05:00Z"},
        {"job": "etl/odd", "attempt": None, "at": None},
    ]
    assert found.problems == ()


HELD = Lease(uid="u", attempt=1, hash="h", job="etl/after", tables=("file:/a", "file:/b"))


def test_a_lease_that_nothing_explains_is_a_problem_and_shown_with_its_command() -> None:
    found = told(AT, _lease(conditions=_conditions()), [], NOW, unexplained=[HELD])
    [problem] = found.problems
    assert "sluice leases revoke u/1 -n sluice-system --yes (job etl/after on file:/a, file:/b)" in problem
    assert status_json(found)["unexplained"] == [
        {"holder": "u/1", "job": "etl/after", "attempt": 1, "tables": ["file:/a", "file:/b"]}
    ]
    [row] = [line for line in _shown(status_json(found)).splitlines() if line.startswith("u/1")]
    assert row.split(maxsplit=2) == ["u/1", "etl/after", "file:/a, file:/b"]


def test_it_is_no_second_problem_where_the_operator_tells_it() -> None:
    conditions = OperatorConditions(lambda: NOW)
    conditions.fails(
        OperatorConditionType.LEASES_EXPLAINED, "Unexplained", in_words([HELD], AT.revoke_command)
    )
    found = told(AT, _lease(conditions=conditions.as_text()), [], NOW, unexplained=[HELD])
    assert found.problems == (f"LeasesExplained is False: {in_words([HELD], AT.revoke_command)}",)


def test_a_record_of_leases_that_cannot_be_read_is_a_problem() -> None:
    found = told(AT, _lease(), [], NOW, unreadable="ConfigMap ns/x: u.1 cannot be read")
    assert found.problems == ("ConfigMap ns/x: u.1 cannot be read",)


@pytest.mark.parametrize("epoch", ["9" * 5_000, "٣", "²", "-1", "", "999999"])
def test_an_epoch_that_no_operator_wrote_is_not_told(epoch: str) -> None:
    lease = _lease()
    lease["metadata"]["annotations"][names.ANNOTATION_EPOCH] = epoch
    assert status_json(told(AT, lease, [], NOW))["epoch"] is None


def test_many_holders_are_shown_only_if_asked_for() -> None:
    jobs = [_job(f"job-{number:03}", phase="Running") for number in range(30)]
    found = status_json(told(AT, _lease(), jobs, NOW))
    assert "and 10 more; --all shows them" in _shown(found)
    assert "job-029" in _shown(found, most=None)
    held = [Lease(f"u{number:03}", 1, "h", "etl/a", ()) for number in range(30)]
    many = status_json(told(AT, _lease(), [], NOW, unexplained=held))
    assert "and 10 more; --all shows them" in _shown(many)


@pytest.mark.parametrize(
    "status",
    [
        None,
        "x",
        {"phase": ["x"], "footprint": "x", "attempt": "x"},
        {"phase": "Running", "footprint": [1]},
        {"phase": "Ending", "reason": ["DriverLost"], "message": {"x": 1}},
        {"phase": {"x": 1}, "reason": {"DriverLost": 1}},
    ],
)
def test_what_somebody_wrote_into_a_job_breaks_nothing(status: Any) -> None:
    job = {"metadata": {"namespace": "etl", "name": "odd"}, "status": status}
    lease = _lease(conditions="[[")
    lease["spec"]["renewTime"] = "yesterday"
    assert status_json(told(AT, lease, [job], NOW))["leader"] == "pod-1"


TEXTS = st.text() | st.text(st.sampled_from("\x1b[;mJ0\x07\r\x9b\u202e\u200f\n\t ab"))


@given(TEXTS, TEXTS)
def test_no_text_of_a_cluster_tells_a_terminal_what_to_do(text: str, message: str) -> None:
    conditions = OperatorConditions(lambda: NOW)
    conditions.fails(OperatorConditionType.LEASE_TABLE_USABLE, "RedisFails", f"x{message}")
    jobs = [
        _job("lost", phase="Ending", reason="DriverLost", message=message, footprint=[{"table": text}]),
        _job(text, phase=message, reason=message, attempt=text),
    ]
    lease = _lease(holder=text, conditions=conditions.as_text())
    held = Lease(text, 1, "h", message, (text, message))
    found = told(AT, lease, jobs, NOW, unexplained=[held], unreadable=text)
    out = StringIO()
    with redirect_stdout(out):
        status_text.show(status_json(found), outputs.console(), most=None)
        doctor_text.show(doctor_json(Examination((fail(text, message, text, message),))), outputs.console())
    unseen = {one for one in out.getvalue() if unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert unseen == {"\n"}

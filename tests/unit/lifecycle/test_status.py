"""What stands in a job's status: kstatus conditions, times that are kept, and patches that hold only what changed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.admission import Blocking, Holder, Waiter, decide
from sluice.api.base import Json
from sluice.api.job import DeltaWriteJobSpec
from sluice.api.job_status import (
    MAX_ATTEMPTS,
    MAX_BLOCKERS,
    MAX_FOOTPRINTS,
    Attempt,
    DeltaWriteJobStatus,
    Phase,
)
from sluice.api.reasons import Reason
from sluice.engines import RuntimeProfile
from sluice.footprint import footprint_of
from sluice.lifecycle.job import pruned_objects
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import (
    NEED_A_PERSON,
    StatusChange,
    UnderstoodFields,
    as_body,
    difference,
    generation_observed,
    patch_to,
    runs_beside,
    stalled,
    status_after,
)
from sluice.predicates import Table, compiled, parse
from unit.controller.bodies import merged

NOW = datetime(2026, 11, 19, 10, 0, 0, 123450, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def job(status: DeltaWriteJobStatus | None = None, **spec: Any) -> JobView:
    body = {
        "metadata": {
            "name": "daily",
            "namespace": "etl",
            "uid": "u",
            "generation": 3,
            "resourceVersion": "7",
        },
        "spec": spec or {"sql": "INSERT INTO delta.`/t` VALUES (1)"},
        "status": as_body(status) if status else {},
    }
    return JobView(body, {"default": RuntimeProfile(spark_version="4.2.0")}, NOW)


def blocked() -> tuple[Blocking, ...]:
    """Returns what blocks a job: two others that delete from its table."""
    deletes = footprint_of(DeltaWriteJobSpec(sql="DELETE FROM delta.`/t`"), {})
    others = [Holder(f"uid-{n}", f"etl/{n}", deletes) for n in range(2)]
    (decision,) = decide([Waiter("u", "etl/daily", deletes, 0, NOW, NOW)], others, NOW, {})
    return decision.blocked_by


def attempt(number: int) -> Attempt:
    return Attempt(number=number, token=number, hash="h", application=f"daily-{number}", granted_at=NOW)


@pytest.mark.parametrize("phase", list(Phase))
def test_conditions_follow_kstatus_in_every_phase(phase: Phase) -> None:
    status = status_after(job(), StatusChange(phase, Reason.BLOCKED, "why"), NOW)
    said = {condition.type: str(condition.status) for condition in status.conditions}
    if phase in (Phase.SUCCEEDED, Phase.SKIPPED):
        assert said == {"Ready": "True", "Reconciling": "False", "Stalled": "False"}
    elif phase is Phase.FAILED:
        assert said == {"Ready": "False", "Reconciling": "False", "Stalled": "True"}
    else:
        assert said == {"Ready": "False", "Reconciling": "True", "Stalled": "False"}
    assert status.observed_generation == 3
    assert all(condition.observed_generation == 3 for condition in status.conditions)
    assert (status.finished_at is not None) is phase.is_terminal


@pytest.mark.parametrize("reason", sorted(NEED_A_PERSON))
def test_a_job_that_does_not_go_on_by_itself_is_stalled(reason: Reason) -> None:
    for phase in (Phase.PENDING, Phase.STARTING, Phase.ENDING):
        status = status_after(job(), StatusChange(phase, reason, "somebody has to do something"), NOW)
        said = {condition.type: condition.status.value for condition in status.conditions}
        assert said == {"Ready": "False", "Reconciling": "False", "Stalled": "True"}


def test_times_tell_when_a_state_began_and_not_when_it_was_last_said() -> None:
    first = status_after(job(), StatusChange(Phase.WAITING, Reason.BLOCKED, "by one"), NOW)
    again = status_after(job(first), StatusChange(Phase.WAITING, Reason.BLOCKED, "by another"), LATER)
    assert again.since == NOW
    assert {condition.last_transition_time for condition in again.conditions} == {NOW}
    assert {condition.message for condition in again.conditions} == {"by another"}
    ended = status_after(job(again), StatusChange(Phase.SUCCEEDED, Reason.COMMITTED, "done"), LATER)
    assert ended.since == LATER
    moved = {c.type: c.last_transition_time for c in ended.conditions}
    assert moved == {"Ready": LATER, "Reconciling": LATER, "Stalled": NOW}


def test_when_a_job_was_last_let_go_on_is_kept() -> None:
    held = status_after(job(), StatusChange(Phase.SUSPENDED, Reason.SUSPENDED, "held"), NOW)
    assert held.resumed_at is None
    waits = status_after(job(held), StatusChange(Phase.WAITING, Reason.BLOCKED, "by one"), LATER)
    again = status_after(
        job(waits), StatusChange(Phase.WAITING, Reason.BLOCKED, "by one"), LATER + timedelta(minutes=1)
    )
    assert (waits.resumed_at, again.resumed_at) == (LATER, LATER)


def test_nothing_changed_is_nothing_to_write() -> None:
    status = status_after(
        job(), StatusChange(Phase.WAITING, Reason.BLOCKED, "by one", UnderstoodFields.of(job())), NOW
    )
    view = job(status)
    again = status_after(
        view, StatusChange(Phase.WAITING, Reason.BLOCKED, "by one", UnderstoodFields.of(view)), LATER
    )
    assert difference(view.body["status"], as_body(again)) == {}


def test_a_patch_holds_what_changed_and_takes_away_what_went() -> None:
    waiting = status_after(
        job(),
        StatusChange(
            Phase.WAITING, Reason.BLOCKED, "by two", UnderstoodFields.of(job()), blocked_by=blocked()
        ),
        NOW,
    )
    view = job(waiting)
    starting = status_after(
        view, StatusChange(Phase.STARTING, Reason.ADMITTED, "goes", UnderstoodFields.of(view)), LATER
    )
    patch = difference(view.body["status"], as_body(starting))
    assert set(patch) == {"phase", "since", "reason", "message", "conditions", "blockedBy", "blockedByCount"}
    assert patch["blockedByCount"] is None


def test_where_two_meet_is_told_only_where_partitions_tell_it() -> None:
    anywhere = blocked()[0]
    day = compiled(parse("d = DATE '2026-11-19'", Table.of({"d": "date"}, ["d"]))).on_partitions()
    conflict = anywhere.conflict
    there = replace(
        anywhere, conflict=replace(conflict, verdict=conflict.verdict._replace(meeting=(day, day)))
    )
    change = StatusChange(Phase.WAITING, Reason.BLOCKED, "m", blocked_by=(anywhere, there))
    found = status_after(job(), change, NOW).blocked_by
    assert anywhere.conflict.verdict.overlap == "true"
    assert [one.overlap for one in found] == [None, "d = DATE '2026-11-19'"]


def test_a_list_that_was_never_written_is_not_written_empty_but_one_that_was_is_emptied() -> None:
    assert difference({}, {"attempts": []}) == {}
    assert difference({"attempts": [1]}, {"attempts": []}) == {"attempts": []}
    assert difference({"attempts": []}, {"attempts": []}) == {}


def test_what_went_from_an_object_is_taken_away_since_the_api_server_merges_objects() -> None:
    before = {"stream": {"batches": 1, "idleSince": "then", "lag": {"files": 2, "rows": 1}, "queryId": "q"}}
    after = {"stream": {"batch": 0, "queryId": "q", "lag": {"files": 3}}}
    patch = difference(before, after)
    assert merged(before, patch) == after
    assert "queryId" not in patch["stream"], "what stays is not written"


def test_once_a_patch_has_been_merged_nothing_differs_any_more() -> None:
    before, after = {"observed": {"version": 1}}, {"observed": {"version": 1, "features": []}}
    patch = difference(before, after)
    assert difference(merged(before, patch), after) == {}


def test_messages_are_cut_to_what_the_api_server_takes_and_no_shorter() -> None:
    status = status_after(job(), StatusChange(Phase.FAILED, Reason.RUN_FAILED, "x" * 9000), NOW)
    DeltaWriteJobStatus.model_validate(as_body(status))
    assert {len(status.message or ""), *(len(one.message) for one in status.conditions)} == {2048}


def test_the_oldest_attempts_go_and_an_attempt_is_replaced_by_its_number() -> None:
    many = DeltaWriteJobStatus(attempts=tuple(attempt(number) for number in range(1, MAX_ATTEMPTS + 1)))
    after = status_after(
        job(many), StatusChange(Phase.STARTING, Reason.ADMITTED, "", attempt=attempt(MAX_ATTEMPTS + 1)), NOW
    )
    assert [one.number for one in after.attempts] == list(range(2, MAX_ATTEMPTS + 2))
    closed = attempt(MAX_ATTEMPTS).model_copy(update={"message": "ended"})
    after = status_after(job(many), StatusChange(Phase.FAILED, Reason.RUN_FAILED, "", attempt=closed), NOW)
    assert [one.message for one in after.attempts][-2:] == [None, "ended"]
    assert len(after.attempts) == MAX_ATTEMPTS


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"priority": 7}, True),
        ({"ttlSecondsAfterFinished": 60}, True),
        ({"admission": {"suspend": True}}, True),
        ({"admission": {"timeout": "1h"}}, False),
        ({"sql": "INSERT INTO delta.`/t` VALUES (2)"}, False),
        ({"runtime": {"sparkConf": {"spark.x": "1"}}}, False),
        ({"sql": "INSERT INTO delta.`/t` VALUES (:a)", "parameters": {"a": {"integer": 1}}}, False),
    ],
)
def test_the_hash_changes_with_the_work_alone(changed: dict[str, Any], *, same: bool) -> None:
    base: Json = {"sql": "INSERT INTO delta.`/t` VALUES (1)"}
    assert (job(**base).spec_hash == job(**base | changed).spec_hash) is same


def test_what_was_understood_is_kept_while_the_spec_is_the_same() -> None:
    view = job()
    UnderstoodFields.of(view)
    again = view.now(view.body | {"status": {"phase": "Running"}}, view.names)
    assert again.footprint is view.footprint
    assert again.phase is Phase.RUNNING
    metadata = view.body["metadata"] | {"generation": 4}
    edited = view.now({"metadata": metadata, "spec": {"sql": "DELETE FROM delta.`/u`"}}, view.names)
    assert [table.text for table in edited.footprint.keys] == ["file:/u"]
    assert edited.spec_hash != view.spec_hash
    assert edited.arrived_at == view.arrived_at


def test_what_comes_anew_into_its_phase_differs_from_what_was() -> None:
    """So that a write that was sent on what was before cannot arrive after it."""
    waiting = status_after(job(), StatusChange(Phase.PENDING, Reason.BLOCKED, "m"), NOW)
    same = status_after(job(waiting), StatusChange(Phase.PENDING, Reason.BLOCKED, "m"), LATER)
    anew = status_after(
        job(waiting), StatusChange(Phase.PENDING, Reason.BLOCKED, "m", comes_anew=True), LATER
    )
    assert (same.since, anew.since) == (NOW, LATER)
    assert as_body(anew) != as_body(waiting)


def test_there_is_room_for_so_many_blockers_and_footprints_alone() -> None:
    (one, *_) = blocked()
    many = status_after(job(), StatusChange(Phase.WAITING, Reason.BLOCKED, "m", blocked_by=(one,) * 30), NOW)
    assert (len(many.blocked_by), many.blocked_by_count) == (MAX_BLOCKERS, 30)
    statements = "; ".join(f"DELETE FROM delta.`/t{number}`" for number in range(MAX_FOOTPRINTS + 6))
    understood = UnderstoodFields.of(job(sql=statements))
    assert len(understood.footprint) == MAX_FOOTPRINTS
    assert understood.tables == f"file:/t0 (+{MAX_FOOTPRINTS + 5})"


def test_a_job_on_which_nothing_goes_on_says_so_and_keeps_the_rest() -> None:
    before = status_after(
        job(), StatusChange(Phase.RUNNING, Reason.DRIVER_RUNNING, "it runs", attempt=attempt(1)), NOW
    )
    patch = stalled(job(before), Reason.OPERATOR_FAILED, "x" * 5000, LATER)
    assert set(patch) == {"reason", "message", "conditions"}
    assert len(patch["message"]) == 2048
    states = {one["type"]: one["status"] for one in patch["conditions"]}
    assert states == {"Ready": "False", "Reconciling": "False", "Stalled": "True"}
    told = job(DeltaWriteJobStatus.model_validate(as_body(before) | patch))
    assert stalled(told, Reason.OPERATOR_FAILED, "x" * 5000, LATER + timedelta(hours=1)) == {}


@pytest.mark.parametrize("status", [[], "text", 7, False])
def test_what_stands_in_the_place_of_a_status_is_not_written_over(status: Any) -> None:
    """It may be put right; and a job without a status would be one that has done nothing yet."""
    view = job()
    view.body["status"] = status
    assert stalled(view, Reason.STATUS_UNREADABLE, "it is no object", NOW) == {}


def test_fields_that_another_version_keeps_there_stay() -> None:
    view = job(
        status_after(job(), StatusChange(Phase.WAITING, Reason.BLOCKED, "waits", blocked_by=blocked()), NOW)
    )
    view.body["status"]["estimatedStart"] = "2026-11-19T10:00:00Z"
    patch = patch_to(view, status_after(view, StatusChange(Phase.PENDING, Reason.BLOCKED, "next"), LATER))
    assert "estimatedStart" not in patch
    assert patch["blockedBy"] is None


def test_an_edit_of_what_no_longer_matters_is_observed() -> None:
    over = status_after(job(), StatusChange(Phase.SUCCEEDED, Reason.COMMITTED, "done"), NOW)
    seen = generation_observed(job(over.model_copy(update={"observed_generation": 1})))
    assert seen.observed_generation == 3
    assert {one.observed_generation for one in seen.conditions} == {3}


def test_who_is_in_the_way_is_written_again_only_where_the_names_are_others() -> None:
    """A new leader tells each waiter anew, of whom it keeps a fingerprint of the names alone."""
    change = StatusChange(
        Phase.WAITING, Reason.BLOCKED, "by two", UnderstoodFields.of(job()), blocked_by=blocked()
    )
    body = job().body | {"status": as_body(status_after(job(), change, NOW))}
    kept = replace(job(), body=pruned_objects.of_job(body))
    assert kept.body["status"]["blockedBy"] == []
    assert patch_to(kept, status_after(kept, change, NOW)) == {}
    fewer = replace(change, blocked_by=blocked()[:1])
    assert set(patch_to(kept, status_after(kept, fewer, NOW))) == {"blockedBy", "blockedByCount"}
    gone = StatusChange(Phase.PENDING, Reason.BLOCKED, "nobody", UnderstoodFields.of(job()))
    assert patch_to(kept, status_after(kept, gone, NOW))["blockedBy"] is None


def test_whom_an_attempt_runs_beside_is_told_for_that_attempt_alone() -> None:
    first, second = blocked()
    begins = StatusChange(Phase.STARTING, Reason.ADMITTED, "admitted", attempt=attempt(1), beside=(first,))
    begun = status_after(job(), begins, NOW)
    assert [one.job for one in begun.runs_beside] == ["etl/0"]
    joined = runs_beside(job(begun), second)
    assert [one.job for one in joined.runs_beside] == ["etl/0", "etl/1"]
    ended = StatusChange(Phase.FAILED, Reason.RUN_FAILED, "failed", attempt=attempt(1))
    assert len(status_after(job(joined), ended, LATER).runs_beside) == 2
    again = StatusChange(Phase.STARTING, Reason.ADMITTED, "admitted", attempt=attempt(2))
    assert status_after(job(joined), again, LATER).runs_beside == ()


def test_of_very_many_that_it_runs_beside_the_latest_are_told() -> None:
    status, (newcomer, _) = DeltaWriteJobStatus(), blocked()
    for number in range(MAX_BLOCKERS + 3):
        by = replace(newcomer.by, job=f"etl/{number}")
        status = runs_beside(job(status), replace(newcomer, by=by))
    assert [one.job for one in status.runs_beside] == [f"etl/{n}" for n in range(3, MAX_BLOCKERS + 3)]

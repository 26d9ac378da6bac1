"""The one next step of an open attempt, by what stands for it."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, AttemptDriver, AttemptEnding, EndingReason, Outcome, Phase
from sluice.engines import Observation, Stage
from sluice.leases import Lease
from sluice.lifecycle.attempt import next_step as way
from sluice.lifecycle.attempt.deadlines import PATIENCE
from sluice.lifecycle.attempt.withdrawal import Creates
from sluice.lifecycle.evidence.attempt_evidence import evidence_of
from sluice.lifecycle.evidence.driver_details import with_driver
from sluice.lifecycle.evidence.driver_losses import word_for
from sluice.lifecycle.evidence.log_findings import LogFindings
from sluice.lifecycle.evidence.outcome import closed, phase_after
from sluice.lifecycle.job.job_view import JobView
from sluice.tables import Names, key_of_name, key_of_path
from unit.controller.bodies import job_body
from unit.lifecycle.objects import (
    LEASE,
    NAME,
    RUNNING,
    TERMINATED,
    TOKEN,
    application,
    declared_dead,
    loss,
    placeholder,
    pod,
)
from unit.lifecycle.test_attempt_evidence import NOW, job

LATER = datetime(2026, 11, 19, 11, tzinfo=UTC)
GONE: Json = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
DECLARED = f"{names.ANNOTATION_DRIVER_DEAD}={NAME}@2026-11-19T11:00:00Z"
"""As it is told of what is lost at that moment."""
GIVEN = declared_dead(loss(at=LATER))


def intent(view: JobView | None = None) -> Attempt:
    return Attempt(number=1, token=TOKEN, hash=(view or job()).spec_hash, application=NAME, granted_at=NOW)


def step(
    *objects: dict[str, Any],
    lease: Lease | None = LEASE,
    is_sure: bool = True,
    attempt: Attempt | None = None,
    creates: Creates = Creates(),  # noqa: B008 - frozen
    now: datetime = LATER,
    **metadata: Any,
) -> way.Step:
    attempt = attempt or intent()
    view = job(attempt, **metadata)
    pods = [body for body in objects if "kind" not in body]
    of_job = evidence_of(LEASE.uid, view, [body for body in objects if "kind" in body], pods)
    return way.next_step(view, of_job.of(attempt), way.Cover(lease, is_sure=is_sure), creates, now)


def told(found: way.Step) -> tuple[Phase, str]:
    assert isinstance(found, way.ReportProgress)
    return found.change.phase, found.change.reason


def test_an_intent_with_its_lease_becomes_an_application() -> None:
    assert step() == way.Create(LEASE)


def test_nothing_is_created_before_it_is_sure_who_holds_what() -> None:
    assert step(is_sure=False) == way.Wait()
    assert step(is_sure=False, lease=None) == way.Wait()


def test_an_intent_that_no_lease_covers_is_taken_back() -> None:
    found = step(lease=None)
    assert isinstance(found, way.Withdraw)
    assert found.change.phase is Phase.PENDING
    assert found.change.attempt is not None
    assert (found.change.attempt.outcome, found.change.attempt.ended_at) == (Outcome.WITHDRAWN, LATER)


QUOTA = "exceeded quota: small"
IN_TIME, TOO_LONG = NOW + timedelta(seconds=PATIENCE - 1), NOW + timedelta(seconds=PATIENCE)


def test_a_refused_create_is_tried_again_when_it_is_due() -> None:
    assert step(creates=Creates(QUOTA, none_can_land=True), now=IN_TIME) == way.Create(LEASE)
    assert step(creates=Creates(QUOTA, none_can_land=True, is_next_due=False), now=IN_TIME) == way.Wait()


def test_after_the_jobs_patience_it_is_withdrawn_with_the_api_servers_own_words() -> None:
    found = step(creates=Creates(QUOTA, none_can_land=True), now=TOO_LONG)
    assert isinstance(found, way.Withdraw)
    assert (found.change.phase, found.change.reason) == (Phase.BACKING_OFF, "ApplicationRefused")
    assert QUOTA in found.change.message
    assert found.change.attempt is not None
    assert found.change.attempt.outcome is Outcome.WITHDRAWN


def test_where_the_namespace_is_being_deleted_it_is_withdrawn_at_once() -> None:
    found = step(creates=Creates(QUOTA, none_can_land=True, namespace_ends=True), now=IN_TIME)
    assert isinstance(found, way.Withdraw)
    assert found.change.phase is Phase.BACKING_OFF
    assert step(creates=Creates(QUOTA, namespace_ends=True), now=IN_TIME) == way.OccupyDriverName()


def test_an_intent_is_taken_back_where_a_name_leads_elsewhere_than_its_lease() -> None:
    elsewhere = replace(LEASE, tables=("file:/lake/others",))
    found = step(lease=elsewhere, creates=Creates(none_can_land=True))
    assert isinstance(found, way.Withdraw)
    assert found.change.phase is Phase.PENDING
    assert "leads elsewhere" in found.change.message
    assert step(lease=elsewhere) == way.OccupyDriverName()


def test_an_intent_is_taken_back_where_its_name_may_lead_to_one_place_more_than_its_lease() -> None:
    places = tuple(map(key_of_path, ("/lake/a", "/lake/b", "/lake/c")))
    name = key_of_name("sales.orders")

    def found(known: int, granted: int) -> way.Step:
        names = Names().with_reports({name: frozenset(places[:known])})
        spec = job_body("a", sql=f"DELETE FROM {name}")["spec"]
        view = replace(job(), body=job().body | {"spec": spec}, names=names)
        attempt = intent(view)
        lease = replace(LEASE, tables=(name.text, *(place.text for place in places[:granted])))
        one = evidence_of(LEASE.uid, view, [], []).of(attempt)
        return way.next_step(view, one, way.Cover(lease), Creates(none_can_land=True), LATER)

    assert isinstance(found(2, granted=2), way.Create)
    assert isinstance(found(3, granted=2), way.Withdraw)


def test_an_intent_that_cannot_be_carried_out_any_more_is_taken_back_in_an_epoch_in_which_no_create_can_land() -> (
    None
):
    elsewhere = replace(LEASE, tables=("file:/elsewhere",))
    unsure = step(lease=elsewhere, creates=Creates(a_new_epoch_helps=True))
    assert isinstance(unsure, way.DistrustIntent)
    assert "had no answer" in unsure.why
    assert step(lease=elsewhere, creates=Creates()) == way.OccupyDriverName()
    sure = step(lease=elsewhere, creates=Creates(none_can_land=True, a_new_epoch_helps=True))
    assert isinstance(sure, way.Withdraw)


def test_without_a_refusal_time_alone_withdraws_nothing() -> None:
    assert step(creates=Creates(none_can_land=True), now=TOO_LONG) == way.Create(LEASE)
    assert step(creates=Creates(), now=TOO_LONG) == way.Create(LEASE)


def test_where_a_create_may_land_yet_the_drivers_name_is_taken_first() -> None:
    assert step(creates=Creates(QUOTA), now=TOO_LONG) == way.OccupyDriverName()
    found = step(placeholder(), attempt=intent().model_copy(update={"message": QUOTA}), now=TOO_LONG)
    assert isinstance(found, way.Withdraw)
    assert found.change.phase is Phase.BACKING_OFF
    assert QUOTA in found.change.message


def test_an_application_that_was_created_is_refused_no_more() -> None:
    refused = intent().model_copy(update={"message": QUOTA})
    for objects in ((application(),), (application("RUNNING"), pod(RUNNING))):
        found = step(*objects, attempt=refused)
        assert isinstance(found, way.ReportProgress)
        assert found.change.attempt is not None
        assert found.change.attempt.message is None
    assert isinstance(step(application("FAILED"), placeholder(), attempt=refused), way.End)


def test_what_was_edited_behind_its_intent_is_not_created() -> None:
    edited = intent().model_copy(update={"hash": "another"})
    assert told(step(attempt=edited)) == (Phase.STARTING, "SpecChanged")
    assert isinstance(step(attempt=edited, creates=Creates(a_new_epoch_helps=True)), way.DistrustIntent)
    found = step(attempt=edited, creates=Creates(none_can_land=True))
    assert isinstance(found, way.Withdraw)
    assert "the spec is not the one that attempt 1 was granted for" in found.change.message


@pytest.mark.parametrize("state", ["", "SUBMITTED", "FAILING", "PENDING_RERUN"])
def test_an_application_without_a_driver_is_waited_for(state: str) -> None:
    assert told(step(application(state))) == (Phase.STARTING, "DriverStarting")


def test_that_a_driver_starts_is_told_of_those_that_take_a_while() -> None:
    starting = intent()
    view = job(starting)
    view = replace(view, body=view.body | {"status": view.body["status"] | {"phase": "Starting"}})
    seen = evidence_of(LEASE.uid, view, [application()], []).of(starting)
    for seconds, left in ((1, way.SLOW_START_SECONDS - 1), (60, 0.0)):
        now = NOW + timedelta(seconds=seconds)
        found = way.next_step(view, seen, way.Cover(LEASE), Creates(), now)
        assert isinstance(found, way.ReportProgress)
        assert found.seconds_until_worth_it == left


def test_each_step_of_a_start_is_told_only_if_it_takes_a_while() -> None:
    starting = intent()
    view = job(starting)
    view = replace(view, body=view.body | {"status": view.body["status"] | {"phase": "Starting"}})

    def patience(driver: Json, *, after: int) -> float:
        seen = evidence_of(LEASE.uid, view, [application("SUBMITTED")], [driver]).of(starting)
        now = NOW + timedelta(seconds=after)
        found = way.next_step(view, seen, way.Cover(LEASE), Creates(), now)
        assert isinstance(found, way.ReportProgress)
        return found.seconds_until_worth_it

    made = pod(creationTimestamp="2026-11-19T10:01:00Z")
    assert patience(made, after=61) == way.SLOW_START_SECONDS - 1
    assert patience(made, after=65) == 0
    for status, reason in (("False", "Unschedulable"), ("True", "")):
        scheduled = {"type": "PodScheduled", "status": status, "reason": reason}
        conditions = [scheduled | {"lastTransitionTime": "2026-11-19T10:02:00Z"}]
        placed = made | {"status": {"conditions": conditions}}
        assert patience(placed, after=122) == way.SLOW_START_SECONDS - 2
        assert patience(placed, after=125) == 0
    made_ahead_of_our_clock = pod(creationTimestamp="2026-11-19T11:00:00Z")
    assert patience(made_ahead_of_our_clock, after=65) == 0


def test_a_running_driver_is_told_with_the_time_of_its_start() -> None:
    found = step(application("RUNNING"), pod(RUNNING))
    assert told(found) == (Phase.RUNNING, "DriverRunning")
    assert isinstance(found, way.ReportProgress)
    assert found.change.attempt is not None
    assert found.change.attempt.started_at == NOW


def test_what_else_there_is_of_its_job_is_named() -> None:
    copy = application(name="copy")
    for objects in ((application(),), (application("RUNNING"), pod(RUNNING))):
        found = step(*objects, copy)
        assert isinstance(found, way.ReportProgress)
        assert "SparkApplication etl/copy" in found.change.message
    lost = step(application("COMPLETED"), copy)
    assert isinstance(lost, way.LookForDriver)
    assert "SparkApplication etl/copy" in lost.otherwise.message


@pytest.mark.parametrize("body", [application("FAILED"), application(**GONE)])
def test_that_no_driver_starts_any_more_is_proved_by_taking_its_name(body: dict[str, Any]) -> None:
    assert step(body) == way.OccupyDriverName()
    assert isinstance(step(body, placeholder()), way.End)


def test_a_driver_that_vanished_is_looked_for_before_it_is_called_lost() -> None:
    found = step(application("COMPLETED"))
    assert isinstance(found, way.LookForDriver)
    assert found.otherwise.phase is Phase.ENDING
    assert "kubectl annotate --overwrite deltawritejob -n etl a" in found.otherwise.message


def test_a_terminated_container_ends_the_attempt_whatever_else_is_said_of_the_driver() -> None:
    for lease in (LEASE, None):
        found = step(application("FAILED"), pod(TERMINATED), lease=lease)
        assert isinstance(found, way.End)
        assert found.seen.exit_code == 0


@pytest.mark.parametrize(
    "objects", [(application("RUNNING"),), (application("RUNNING"), pod(RUNNING)), (application("FAILED"),)]
)
def test_what_may_write_without_a_lease_makes_the_leases_doubtful(
    objects: tuple[dict[str, Any], ...],
) -> None:
    assert isinstance(step(*objects, lease=None), way.DistrustIntent)
    assert not isinstance(step(*objects, lease=None, is_sure=False), way.DistrustIntent)


def test_a_job_that_is_being_deleted_creates_nothing_and_ends_by_proof() -> None:
    assert isinstance(step(**GONE), way.Withdraw)
    assert step(application("RUNNING"), pod(RUNNING), **GONE) == way.Leave()
    assert step(application("RUNNING"), pod(TERMINATED), **GONE) == way.Leave()
    assert isinstance(step(application("RUNNING", **GONE), pod(TERMINATED), **GONE), way.End)
    assert isinstance(step(application("COMPLETED"), pod(TERMINATED), **GONE), way.End)


def test_a_deleted_job_whose_lease_nothing_explains_takes_no_intent_back() -> None:
    """It may have been carried out: a person says what became of it."""
    view = job(intent(), **GONE)
    one = evidence_of(LEASE.uid, view, [], []).of(intent())
    assert way.next_step(view, one, way.Cover(LEASE, revoke_command="c"), Creates(), LATER) == way.Wait()
    assert isinstance(way.next_step(view, one, way.Cover(LEASE), Creates(), LATER), way.Withdraw)


def test_a_start_whose_pod_is_being_deleted_says_what_ends_it_should_its_node_be_gone() -> None:
    """A node may fall silent before it has told of the container."""
    found = step(application("SUBMITTED"), pod(None, **GONE))
    assert told(found) == (Phase.STARTING, "DriverStarting")
    assert isinstance(found, way.ReportProgress)
    assert f"kubectl annotate --overwrite deltawritejob -n etl a {DECLARED}" in found.change.message
    attempt, said = found.change.attempt, declared_dead(loss(pod(), at=LATER))
    assert attempt is not None
    assert isinstance(step(application("FAILED"), pod(None, **GONE), annotations=said), way.ReportProgress)
    given = step(application("FAILED"), pod(None, **GONE), attempt=attempt, annotations=said)
    assert isinstance(given, way.End)


def test_a_start_goes_on_without_the_loss_that_was_told_of_a_pod_that_is_not_deleted_any_more() -> None:
    lost = intent().model_copy(update={"loss": loss(pod())})
    found = step(application("SUBMITTED"), pod(None, uid="another"), attempt=lost)
    assert isinstance(found, way.ReportProgress)
    assert found.change.attempt is not None
    assert found.change.attempt.loss is None


NODE_IS_LATE = (
    "its driver's node has not said what became of it: it may still write, so its leases are held; "
)


@pytest.mark.parametrize("metadata", [{}, GONE], ids=["it took too long", "its job is deleted"])
def test_a_start_that_is_being_ended_says_what_ends_it_once_its_node_is_late(metadata: Json) -> None:
    """Without a loss that was told a person could not declare it dead."""
    ending = AttemptEnding(reason=EndingReason.START_TIMED_OUT, since=NOW, message="it took too long")
    attempt = intent() if metadata else intent().model_copy(update={"ending": ending})
    objects = application("SUBMITTED", **GONE), pod(None, **GONE)
    deleted = datetime.fromisoformat(GONE["deletionTimestamp"])

    def after(seconds: int) -> way.Step:
        return step(*objects, attempt=attempt, now=deleted + timedelta(seconds=seconds), **metadata)

    for seconds, left in ((0, 30), (29, 1)):
        soon = after(seconds)
        assert isinstance(soon, way.ReportProgress)
        assert soon.seconds_until_worth_it == left
    late = after(30)
    assert isinstance(late, way.LookForDriver)
    change = late.otherwise
    assert (change.phase, change.reason) == (Phase.ENDING, "DriverLost")
    assert change.message.startswith(NODE_IS_LATE)
    told_of = change.attempt
    assert told_of is not None
    assert told_of.loss is not None
    assert f"={word_for(told_of.loss, NAME)}; " in change.message
    said = declared_dead(told_of.loss)
    given = step(*objects, attempt=told_of, annotations=said, **metadata)
    assert not isinstance(given, way.ReportProgress | way.LookForDriver)


def test_the_command_that_declares_a_driver_dead_is_whole_however_much_its_pod_says() -> None:
    driver = pod({"waiting": {"reason": "CreateContainerError", "message": "m" * 4000}}, **GONE)
    found = step(application("SUBMITTED"), driver)
    assert isinstance(found, way.ReportProgress)
    assert DECLARED in found.change.message[:2048]


def test_a_lost_driver_of_a_job_that_is_being_deleted_is_told_in_its_status() -> None:
    attempt = intent().model_copy(update={"started_at": NOW})
    found = step(application("RUNNING", **GONE), attempt=attempt, **GONE)
    assert isinstance(found, way.LookForDriver)
    assert found.otherwise.message.endswith(f"{DECLARED}; its job is being deleted")
    known = found.otherwise.attempt
    given = step(application("RUNNING", **GONE), attempt=known, annotations=GIVEN, **GONE)
    assert isinstance(given, way.End)


def test_a_pod_that_was_deleted_has_as_much_patience_as_a_driver_that_ended() -> None:
    """The Spark operator sees the driver's end by that, and is given the time to say so."""
    deleted = datetime.fromisoformat(GONE["deletionTimestamp"])
    going = pod(TERMINATED, **GONE)
    soon = step(application("RUNNING"), going, now=deleted + timedelta(seconds=1))
    assert isinstance(soon, way.ReportProgress)
    assert soon.seconds_until_worth_it == way.SLOW_END_SECONDS - 1
    later = deleted + timedelta(seconds=way.SLOW_END_SECONDS)
    assert step(application("RUNNING"), going, now=later) == way.Leave()


ENDED_AT = datetime(2026, 11, 19, 10, 5, tzinfo=UTC)


def test_an_outcome_waits_for_the_word_that_the_application_starts_no_other_driver() -> None:
    """The Spark operator usually gives it at once; after a while it is told what is missing."""
    ended = pod(TERMINATED)
    ended["status"]["phase"] = "Succeeded"
    at_once = step(application("RUNNING"), ended, now=ENDED_AT)
    assert isinstance(at_once, way.ReportProgress)
    assert at_once.seconds_until_worth_it == way.SLOW_END_SECONDS
    late = step(application("RUNNING"), ended, now=LATER)
    assert told(late) == (Phase.ENDING, "ApplicationNotOver")
    assert isinstance(late, way.ReportProgress)
    assert late.seconds_until_worth_it == 0
    assert "its driver has ended" in late.change.message
    assert "(it says RUNNING)" in late.change.message
    assert f"kubectl delete sparkapplication.sparkoperator.k8s.io -n etl {NAME}" in late.change.message
    assert isinstance(step(application("RUNNING"), ended, lease=None), way.DistrustIntent)


def test_a_result_is_told_before_the_pod_that_has_it_must_go() -> None:
    """Its application may just be submitted again: the driver's name is to be taken."""
    found = step(application("SUBMITTED", **GONE), pod(TERMINATED))
    assert isinstance(found, way.End)
    assert not found.application_deleted, "its driver had ended before"
    never = pod(**GONE)
    never["spec"] = {}
    assert step(application("SUBMITTED", **GONE), never) == way.Leave()
    assert step(application("SUBMITTED", **GONE), never, **GONE) == way.Leave()


def test_an_application_whose_drivers_pod_was_deleted_before_it_had_a_node_is_not_waited_for() -> None:
    """The Spark operator would say for ever that it is submitted, and nobody else deletes it."""
    never = pod(**GONE)
    never["spec"] = {}
    assert step(application("SUBMITTED"), never) == way.Leave()


def test_that_somebody_deleted_its_application_is_known_with_its_end() -> None:
    found = step(application("RUNNING", deletionTimestamp="2026-11-19T10:04:59Z"), pod(TERMINATED))
    assert isinstance(found, way.End)
    assert found.application_deleted
    assert step(application("COMPLETED"), pod(TERMINATED)) == way.End(found.seen)


def test_in_a_namespace_that_is_deleted_a_lost_driver_is_left_like_one_of_a_job_that_is_gone() -> None:
    """Pods go before jobs there."""
    attempt = intent().model_copy(update={"started_at": LATER})
    view = job(attempt)
    bodies = [application("RUNNING")], [pod(None, **GONE) | {"status": {"phase": "Failed"}}]
    elsewhere = evidence_of(LEASE.uid, view, *bodies).of(attempt)
    assert elsewhere.asks_for_its_namespace
    assert isinstance(way.next_step(view, elsewhere, way.Cover(LEASE), Creates(), LATER), way.LookForDriver)
    there = evidence_of(LEASE.uid, view, *bodies, ending_namespaces=["etl"]).of(attempt)
    assert not there.asks_for_its_namespace
    assert way.next_step(view, there, way.Cover(LEASE), Creates(), LATER) == way.Leave()


def test_in_a_namespace_that_is_deleted_a_driver_that_ended_has_no_other_after_it() -> None:
    attempt = intent().model_copy(update={"started_at": LATER})
    view = job(attempt)
    bodies = [application("RUNNING")], [pod(TERMINATED, **GONE)]
    assert evidence_of(LEASE.uid, view, *bodies).of(attempt).asks_for_its_namespace
    there = evidence_of(LEASE.uid, view, *bodies, ending_namespaces=["etl"]).of(attempt)
    assert isinstance(way.next_step(view, there, way.Cover(LEASE), Creates(), LATER), way.End)


def test_what_is_no_longer_understood_is_not_created_and_says_why() -> None:
    attempt = intent()
    view = replace(job(attempt), body=job(attempt).body | {"spec": {"sql": "DELETE FROM AND"}})
    of_job = evidence_of(LEASE.uid, view, [], [])
    found = way.next_step(view, of_job.of(attempt), way.Cover(LEASE), Creates(), LATER)
    assert told(found) == (Phase.STARTING, "SpecChanged")
    assert isinstance(found, way.ReportProgress)
    assert "a table's name is missing" in found.change.message


def test_the_first_start_that_was_seen_stays() -> None:
    started = intent().model_copy(update={"started_at": LATER})
    found = step(application("RUNNING"), pod(RUNNING), attempt=started)
    assert isinstance(found, way.ReportProgress)
    assert found.change.attempt is not None
    assert found.change.attempt.started_at == LATER


def test_what_is_no_attempt_has_no_next_step() -> None:
    nobody = evidence_of(LEASE.uid, None, [application()], []).by_application[NAME]
    with pytest.raises(ValueError, match=NAME):
        way.next_step(job(), nobody, way.Cover(LEASE), Creates(), LATER)


def test_a_lost_driver_can_be_declared_dead_as_the_message_says() -> None:
    found = step(application("COMPLETED"))
    assert isinstance(found, way.LookForDriver)
    assert found.otherwise.message.endswith(f"kubectl annotate --overwrite deltawritejob -n etl a {DECLARED}")
    known = found.otherwise.attempt
    assert known is not None
    assert known.loss == loss(at=LATER)
    again = step(application("COMPLETED"), attempt=known, now=LATER + timedelta(hours=1))
    assert again == found, "it is told once"
    given = step(application("COMPLETED"), attempt=known, annotations=GIVEN)
    assert isinstance(given, way.End)


def test_a_word_of_an_old_runbook_is_told_to_count_for_nothing_with_the_right_command() -> None:
    found = step(application("COMPLETED"), annotations={names.ANNOTATION_DRIVER_DEAD: NAME})
    assert isinstance(found, way.LookForDriver)
    assert (
        f"its leases are held; the annotation {names.ANNOTATION_DRIVER_DEAD}={NAME} names no loss that was told, and frees "
        "nothing; once you know that it is dead, say so: kubectl annotate --overwrite "
    ) in found.otherwise.message
    assert found.otherwise.message.endswith(DECLARED)


def test_a_driver_that_is_heard_of_again_is_not_lost_any_more_and_lost_anew_with_another_word() -> None:
    attempt = intent().model_copy(update={"started_at": NOW})
    words = []
    for second in (0, 1):
        now = LATER + timedelta(microseconds=second)
        lost = step(application("RUNNING"), _silent_since("2026-11-19T10:04:00Z"), attempt=attempt, now=now)
        assert isinstance(lost, way.LookForDriver)
        known = lost.otherwise.attempt
        assert known is not None
        assert known.loss is not None
        words.append(word_for(known.loss, NAME))
        runs = step(application("RUNNING"), pod(RUNNING), attempt=known)
        assert isinstance(runs, way.ReportProgress)
        assert runs.change.attempt is not None
        assert runs.change.attempt.loss is None
        attempt = runs.change.attempt
    assert words[0] != words[1], "though both were within one second, with one silence"


def test_a_node_that_was_silent_before_has_its_loss_told_anew_when_it_is_silent_again() -> None:
    """The operator was away when it came back."""
    before = loss(pod(), silent_since="2026-11-19T10:04:00Z")
    attempt = intent().model_copy(update={"started_at": NOW, "loss": before})
    driver = _silent_since("2026-11-19T10:09:00Z")
    found = step(application("RUNNING"), driver, attempt=attempt, annotations=declared_dead(before))
    assert isinstance(found, way.LookForDriver)
    assert found.otherwise.attempt is not None
    assert found.otherwise.attempt.loss == loss(pod(), silent_since="2026-11-19T10:09:00Z", at=LATER)
    assert "names no loss that was told" in found.otherwise.message


def test_the_loss_of_a_driver_whose_name_another_pod_bears_stays_told_while_that_pod_runs() -> None:
    """Else it would be told anew, and declared dead anew, for ever."""
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid="the-first")
    attempt = intent().model_copy(update={"started_at": NOW, "driver": driver, "loss": loss()})
    found = step(application("RUNNING"), pod(RUNNING), attempt=attempt, annotations=declared_dead())
    assert isinstance(found, way.ReportProgress)
    assert found.change.attempt is not None
    assert found.change.attempt.loss == loss()


def test_the_loss_of_a_driver_stays_told_in_its_outcome_if_it_was_declared_dead_and_goes_if_it_came_back() -> (
    None
):
    """What is left is let go by the same word."""
    attempt = intent().model_copy(update={"started_at": NOW, "loss": loss(pod())})
    ended = step(application("COMPLETED"), attempt=attempt, annotations=declared_dead(loss(pod())))
    assert isinstance(ended, way.End)
    assert with_driver(job(), attempt, ended.seen).loss == loss(pod())
    came_back = step(application("COMPLETED"), pod(TERMINATED), attempt=attempt)
    assert isinstance(came_back, way.End)
    assert with_driver(job(), attempt, came_back.seen).loss is None


def _silent_since(at: str) -> Json:
    silent = pod(RUNNING)
    silent["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "lastTransitionTime": at},
        {"type": "ContainersReady", "status": "True"},
    ]
    return silent


def test_a_lost_driver_is_told_with_its_node_and_what_frees_its_lease() -> None:
    """A pod that is still there is to go, too: it would hold the lease again once its job, which says that it is dead, is gone."""
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid=f"uid-of-{NAME}-driver", node="node-7")
    attempt = intent().model_copy(update={"started_at": LATER, "driver": driver})
    gone = step(application("COMPLETED"), attempt=attempt)
    assert isinstance(gone, way.LookForDriver)
    declare = f"kubectl annotate --overwrite deltawritejob -n etl a {DECLARED}"
    assert gone.otherwise.message == (
        "the driver's pod is gone, and its end was not seen; it ran on node node-7: it may still write, so its leases are held; "
        f"once you know that it is dead, say so: {declare}"
    )
    lost = step(application("RUNNING"), _silent_since("2026-11-19T10:04:00Z"))
    assert isinstance(lost, way.LookForDriver)
    assert (lost.otherwise.phase, lost.otherwise.reason) == (Phase.ENDING, "DriverLost")
    assert lost.otherwise.message.startswith(
        "the driver's node has not been heard of since 2026-11-19T10:04:00Z; it ran on node node-1: "
    )
    assert lost.otherwise.message.endswith(
        f"kubectl delete pod -n etl {NAME}-driver --force --wait=false && {declare}"
    )


def test_a_driver_that_is_being_ended_from_outside_runs_until_it_has_ended() -> None:
    evicted = pod(RUNNING, deletionTimestamp="2026-11-19T10:06:00Z")
    evicted["status"]["conditions"] = [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "evicting",
        }
    ]
    found = step(application("RUNNING"), evicted)
    assert told(found) == (Phase.RUNNING, "DriverRunning")
    assert isinstance(found, way.ReportProgress)
    assert "on node node-1, but it was evicted" in found.change.message
    assert "(EvictionByEvictionAPI: evicting)" in found.change.message


def test_an_intent_that_may_have_had_an_application_before_a_restore_is_not_carried_out() -> None:
    attempt, view = intent(), job(intent())
    command = names.revoke_command(LEASE.holder, namespace="sluice-system", deployment="sluice-b")
    cover = way.Cover(LEASE, revoke_command=command)
    seen = evidence_of(LEASE.uid, view, [], []).of(attempt)
    found = way.next_step(view, seen, cover, Creates(), LATER)
    assert told(found) == (Phase.STARTING, "LeaseUnexplained")
    assert isinstance(found, way.ReportProgress)
    assert found.change.message.endswith(
        f" say so: sluice leases revoke {LEASE.holder} -n sluice-system --deployment sluice-b --yes"
    )


def test_a_lease_that_nothing_explains_is_not_laid_to_one_cause_alone() -> None:
    """Which it was is known to the leader that found it, and no longer to its successor."""
    said = way.unexplained(LEASE, "the command")
    for cause in ("the API server went back", "another installation were taken over", "was not watched"):
        assert cause in said


BEGAN = datetime(2026, 11, 19, 10, tzinfo=UTC)


def _telling(statement: int) -> Json:
    """The driver's pod, whose container began at 10:00."""
    told = {"statement": statement, "of": 3, "operation": "MERGE", "since": "2026-11-19T10:00:30Z"}
    body = pod(RUNNING)
    body["metadata"]["annotations"] |= {names.ANNOTATION_PROGRESS: json.dumps(told)}
    return body


def _running(known: Attempt, statement: int, now: datetime) -> way.Step:
    """The next step of a job whose status says already that it runs."""
    objects = application("RUNNING"), _telling(statement)
    view = job(known)
    body = view.body | {
        "status": view.body["status"]
        | {
            "phase": "Running",
            "message": f"SparkApplication {NAME} runs; its outcome comes when the driver ends",
        }
    }
    view = replace(view, body=body)
    of_job = evidence_of(LEASE.uid, view, objects[:1], objects[1:])
    return way.next_step(view, of_job.of(known), way.Cover(LEASE), Creates(), now)


def test_progress_is_copied_once_a_minute_at_most() -> None:
    """A run of less than a minute costs no write more, and none is lost: it is looked at again."""
    seen = Observation(Stage.RUNNING, pod_uid=f"uid-of-{NAME}-driver", node="node-1")
    known = with_driver(job(), intent(), seen).model_copy(update={"started_at": BEGAN})
    early = _running(known, 1, BEGAN + timedelta(seconds=20))
    assert isinstance(early, way.ReportProgress)
    assert early.seconds_until_worth_it == 40
    copied = _running(known, 1, BEGAN + timedelta(seconds=60))
    assert isinstance(copied, way.ReportProgress)
    assert copied.seconds_until_worth_it == 0
    attempt = copied.change.attempt
    assert attempt is not None
    assert attempt.progress is not None
    assert (attempt.progress.statement, attempt.progress.copied_at) == (1, BEGAN + timedelta(seconds=60))
    same = _running(attempt, 1, BEGAN + timedelta(seconds=300))
    assert isinstance(same, way.ReportProgress)
    assert same.change.attempt == attempt
    soon = _running(attempt, 2, BEGAN + timedelta(seconds=70))
    assert isinstance(soon, way.ReportProgress)
    assert soon.seconds_until_worth_it == 50
    later = _running(attempt, 2, BEGAN + timedelta(seconds=120))
    assert isinstance(later, way.ReportProgress)
    assert later.change.attempt is not None
    assert later.change.attempt.progress is not None
    assert later.change.attempt.progress.statement == 2


def test_that_a_driver_runs_does_not_wait_for_its_progress() -> None:
    found = step(application("RUNNING"), _telling(1), now=BEGAN + timedelta(seconds=2))
    assert isinstance(found, way.ReportProgress)
    assert (found.change.phase, found.seconds_until_worth_it) == (Phase.RUNNING, 0)


def test_a_driver_that_ended_beside_a_container_that_goes_on_ends_its_attempt() -> None:
    """Spark operators look at pods whose phase changes, and this pod's is Running for as long as a proxy or a log shipper runs: its
    application says RUNNING for ever."""
    runs_on = application("RUNNING")
    runs_on["status"]["sparkApplicationId"] = "spark-1"
    driver = pod(TERMINATED)
    driver["status"] |= {"phase": "Running"}
    found = step(runs_on, driver, now=ENDED_AT + timedelta(days=1))
    assert found == way.EndPod(driver)
    soon = step(runs_on, driver, now=ENDED_AT + timedelta(seconds=1))
    assert isinstance(soon, way.ReportProgress)


@pytest.mark.parametrize("state", ["SUSPENDED", "PENDING_RERUN"])
def test_an_application_that_waits_for_its_drivers_pod_to_go_is_not_waited_for(state: str) -> None:
    """It was suspended, or its spec was edited. The Spark operator has deleted the pod, which our finalizer keeps: each would wait
    for the other for ever."""
    found = step(application(state), pod(TERMINATED, **GONE), now=ENDED_AT + timedelta(days=1))
    assert not isinstance(found, way.ReportProgress)


def test_an_application_that_was_deleted_after_its_driver_had_ended_was_not_deleted_while_it_ran() -> None:
    """The message itself says to delete it; and a Spark operator deletes it once its time to live is over."""
    killed = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-19T10:05:00Z"}}
    found = step(application("RUNNING", **GONE), pod(killed))
    assert isinstance(found, way.End)
    ended = closed(intent(), found.seen, LogFindings(), LATER, deleted=found.application_deleted)
    assert phase_after(ended)[1] == "DriverKilled"


def test_a_driver_that_was_told_before_its_application_was_over_is_known_to_have_started() -> None:
    """Else nothing tells, once its pod is gone, that there was one: and an application that wasn't told of it either has started no
    driver, according to the outcome."""
    found = step(application("SUBMITTED"), pod(TERMINATED), now=ENDED_AT)
    assert isinstance(found, way.ReportProgress)
    told_of = found.change.attempt
    assert told_of is not None
    assert told_of.driver is not None
    assert isinstance(step(application("FAILED"), attempt=told_of), way.LookForDriver)

"""What stands for an attempt, whatever became of finalizers and labels, and what only says that it does."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, AttemptDriver, DriverLoss, Outcome
from sluice.engines import RuntimeProfile, Stage
from sluice.engines.attempt import application_name
from sluice.lifecycle.attempt.intent_restoration import restored
from sluice.lifecycle.evidence.attempt_evidence import (
    EvidenceFailedError,
    JobEvidence,
    UnreadableRecordError,
    evidence_of,
    record_of,
)
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body
from unit.lifecycle.objects import (
    LEASE,
    NAME,
    RUNNING,
    TERMINATED,
    TOKEN,
    application,
    declared_dead,
    executor,
    loss,
    placeholder,
    pod,
    told_there,
)

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
INTENT = Attempt(number=1, token=TOKEN, hash="hash", application=NAME, granted_at=NOW)


def job(*attempts: Attempt, **metadata: Any) -> JobView:
    body = job_body("a")
    body["metadata"] |= metadata
    given = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in attempts]
    return JobView(
        body | {"status": {"attempts": given}}, {"default": RuntimeProfile(spark_version="4.2.0")}, NOW
    )


def found(view: JobView | None, *objects: dict[str, Any]) -> JobEvidence:
    pods = [body for body in objects if "kind" not in body]
    return evidence_of(LEASE.uid, view, [body for body in objects if "kind" in body], pods)


def test_intent_application_and_driver_are_one_attempt() -> None:
    one = found(job(INTENT), application("RUNNING"), pod(RUNNING)).of(INTENT)
    assert (one.intent, one.seen.stage) == (INTENT, Stage.RUNNING)
    assert one.application is not None
    assert one.pod is not None


def test_without_any_object_an_intent_is_evidence_by_itself() -> None:
    of_job = found(job(INTENT))
    assert of_job.of(INTENT).seen.stage is Stage.NOT_CREATED
    assert of_job.holds(1)
    assert not of_job.holds(2)


def test_an_outcome_alone_does_not_end_what_a_finalizer_still_marks() -> None:
    over = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED})
    assert found(job(over), application("COMPLETED")).holds(1)
    assert not found(job(over), application("COMPLETED", finalizers=None)).holds(1)


@pytest.mark.parametrize("state", [None, RUNNING, {"waiting": {"reason": "ContainerCreating"}}])
def test_a_driver_that_was_stripped_of_its_finalizer_holds_until_it_is_terminated(
    state: dict[str, Any] | None,
) -> None:
    assert found(None, pod(state, finalizers=None)).holds(1)
    assert not found(None, pod(TERMINATED, finalizers=None)).holds(1)


def test_an_application_without_owner_holds_as_any() -> None:
    """A job that was deleted with --cascade=orphan."""
    assert found(None, application("RUNNING", ownerReferences=[]), pod(RUNNING)).holds(1)


RECORD = application()["metadata"]["annotations"]
LABELS = application()["metadata"]["labels"]


@pytest.mark.parametrize("role", [{}, {"spark-role": "executor"}, {names.LABEL_PLACEHOLDER: "true"}])
@pytest.mark.parametrize("record", [None, RECORD])
@pytest.mark.parametrize("name", [NAME, f"{NAME}-copy"])
def test_a_pod_of_another_name_than_the_driver_says_nothing_of_the_driver(
    role: dict[str, str], record: dict[str, str] | None, name: str
) -> None:
    other = pod(TERMINATED, annotations=record, finalizers=None, labels=LABELS | role)
    other["metadata"]["name"] = name
    other["spec"]["schedulingGates"] = [{"name": names.SCHEDULING_GATE}]
    for pods in permutations([other, pod(RUNNING)]):
        of_job = found(job(INTENT), application("RUNNING"), *pods)
        assert of_job.of(INTENT).seen.stage is Stage.RUNNING
        assert of_job.holds(1)
        assert found(None, *pods).holds(1)


def test_a_copy_of_the_driver_called_like_the_application_holds_until_it_has_ended() -> None:
    over = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED})
    ended = pod(TERMINATED, finalizers=None)
    copied = pod(RUNNING)
    copied["metadata"]["name"] = NAME
    of_job = found(job(over), ended, copied)
    assert of_job.holds(1)
    assert of_job.of(over).beside == (
        "Pod etl/a-1 belongs to this job, too: its leases stay until that has ended as well",
    )
    copied["status"]["containerStatuses"][0]["state"] = TERMINATED
    copied["metadata"]["finalizers"] = []
    assert not found(job(over), ended, copied).holds(1)


def test_no_attempt_is_restored_from_a_copy_of_its_driver() -> None:
    """What it is a copy of may have ended: the attempt would run again."""
    name = application_name("a", LEASE.uid, 1)
    copied = pod(RUNNING)
    for called, is_restored in ((f"{name}-driver", True), (name, False)):
        copied["metadata"]["name"] = called
        assert (restored(job(), found(job(), copied), [LEASE]) is not None) is is_restored


def test_a_copy_of_an_application_is_seen_beside_the_first() -> None:
    of_job = found(job(INTENT), application("COMPLETED"), pod(TERMINATED), application("RUNNING", "copy"))
    assert of_job.of(INTENT).seen.stage is Stage.ENDED
    over = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED})
    let_go = [application("COMPLETED", finalizers=None), pod(TERMINATED, finalizers=None)]
    assert found(job(over), *let_go, application("RUNNING", "copy"), pod(RUNNING, "copy")).holds(1)


def test_an_application_of_another_token_under_the_attempts_name_is_not_of_it() -> None:
    foreign = application("COMPLETED")
    foreign["metadata"]["annotations"][names.ANNOTATION_TOKEN] = str(TOKEN + 1)
    of_job = found(job(INTENT), foreign)
    assert of_job.of(INTENT).application is None
    (doubt,) = of_job.doubts
    assert "its own token" in doubt.why


@pytest.mark.parametrize(
    "other", [replace(LEASE, uid="uid-b"), replace(LEASE, job="other/a"), replace(LEASE, job="")]
)
def test_a_record_of_another_job_is_no_evidence(other: Any) -> None:
    body = application("RUNNING")
    body["metadata"]["annotations"][names.ANNOTATION_LEASE] = other.to_json()
    of_job = found(None, body)
    assert of_job.by_application == {}
    assert len(of_job.doubts) == 1


def test_a_driver_whose_record_was_wiped_is_known_by_its_name() -> None:
    of_job = found(job(INTENT), pod(RUNNING, annotations=None, finalizers=None))
    assert of_job.of(INTENT).seen.stage is Stage.RUNNING


def test_a_placeholder_proves_that_no_driver_starts_but_holds_nothing() -> None:
    of_job = found(job(INTENT), application("FAILED"), placeholder())
    assert of_job.of(INTENT).seen.stage is Stage.NEVER_STARTS
    assert not found(None, placeholder()).holds(1)


GOING: Json = {"deletionTimestamp": "2026-11-19T10:06:00Z"}
LOST = INTENT.model_copy(update={"loss": loss()})


@pytest.mark.parametrize("where", ["job", "application"])
def test_who_knows_that_a_driver_is_dead_can_say_so(where: str) -> None:
    said = declared_dead()
    lost = application("RUNNING")
    if where == "application":
        lost["metadata"]["annotations"] |= said
    view = job(LOST, annotations=said if where == "job" else {})
    assert found(view, lost).of(LOST).seen.stage is Stage.ENDED
    assert found(job(LOST), application("RUNNING")).of(LOST).seen.stage is Stage.LOST


LATER_LOSS = loss(at=NOW)


@pytest.mark.parametrize(
    ("word", "told"),
    {
        "before any loss was told": (NAME, None),
        "before any loss was told, with a moment": (declared_dead()[names.ANNOTATION_DRIVER_DEAD], None),
        "with the name alone": (NAME, loss()),
        "of another loss": (declared_dead()[names.ANNOTATION_DRIVER_DEAD], LATER_LOSS),
        "of another attempt": (declared_dead(name="a-2")[names.ANNOTATION_DRIVER_DEAD], loss()),
        "of a moment alone": ("2026-11-19T10:30:00.123456Z", loss()),
    }.values(),
)
@pytest.mark.parametrize("uid", [None, "uid-of-a-1-driver"])
@pytest.mark.parametrize("where", ["job", "application", "both"])
def test_a_word_that_names_no_loss_that_was_told_counts_for_nothing(
    where: str, uid: str | None, word: str, told: DriverLoss | None
) -> None:
    """It was said when the driver still ran, or of an earlier loss; the uid of the driver's pod may never have been recorded."""
    said = {names.ANNOTATION_DRIVER_DEAD: word}
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid=uid)
    ran = INTENT.model_copy(update={"started_at": NOW, "driver": driver, "loss": told})
    lost = application("RUNNING")
    if where != "job":
        lost["metadata"]["annotations"] |= said
    one = found(job(ran, annotations={} if where == "application" else said), lost).of(ran)
    assert one.seen.stage is Stage.LOST
    assert one.holds
    assert one.void_words == (
        f"the annotation {names.ANNOTATION_DRIVER_DEAD}={word} names no loss that was told, and frees nothing; "
    )


def _silent(since: str, **metadata: Any) -> Json:
    body = pod(RUNNING, **metadata)
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": since}
    body["status"]["conditions"] = [ready, {"type": "ContainersReady", "status": "True"}]
    return body


FIRST, SECOND = "2026-11-19T10:04:00Z", "2026-11-19T10:09:00Z"


@pytest.mark.parametrize("uid", [None, "uid-of-a-1-driver"])
def test_a_word_on_one_silence_of_a_node_counts_for_no_later_one(uid: str | None) -> None:
    """The node came back in between, perhaps while the operator was away."""
    told = loss(pod(), silent_since=FIRST)
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid=uid)
    ran = INTENT.model_copy(update={"started_at": NOW, "driver": driver, "loss": told})
    view = job(ran, annotations=declared_dead(told))
    for since, stage in ((FIRST, Stage.ENDED), (SECOND, Stage.LOST)):
        assert found(view, application("RUNNING"), _silent(since, **GOING)).of(ran).seen.stage is stage


def test_a_word_on_a_driver_counts_after_its_silent_nodes_pod_was_collected_or_has_gone() -> None:
    told = loss(pod(), silent_since=FIRST)
    ran = INTENT.model_copy(update={"started_at": NOW, "loss": told})
    view = job(ran, annotations=declared_dead(told))
    collected = _silent(FIRST, **GOING)
    collected["status"]["phase"] = "Failed"
    for objects in ((application("RUNNING"), collected), (application("RUNNING"),), ()):
        assert found(view, *objects).of(ran).seen.stage is Stage.ENDED


def test_a_word_on_a_pod_that_was_gone_counts_for_none_that_is_seen_later() -> None:
    """Nothing recorded which pod was the driver."""
    ran = INTENT.model_copy(update={"started_at": NOW, "loss": loss()})
    view = job(ran, annotations=declared_dead())
    assert found(view, application("RUNNING")).of(ran).seen.stage is Stage.ENDED
    later = _silent(FIRST, **GOING)
    assert found(view, application("RUNNING"), later).of(ran).seen.stage is Stage.LOST
    of_another = INTENT.model_copy(update={"loss": loss(pod(name="a-2"), silent_since=FIRST)})
    view = job(of_another, annotations=declared_dead(of_another.loss))
    assert found(view, application("RUNNING"), later).of(of_another).seen.stage is Stage.LOST


def test_no_application_says_in_advance_how_the_driver_of_an_open_attempt_is_lost() -> None:
    """An account that may write on it could write the word beside it."""
    framed = application("RUNNING")
    framed["metadata"]["annotations"] |= told_there() | declared_dead()
    assert found(job(INTENT), framed).of(INTENT).seen.stage is Stage.LOST
    assert found(None, framed).by_application[NAME].seen.stage is Stage.ENDED, "no status of a job tells it"


@pytest.mark.parametrize("there", [{}, {names.ANNOTATION_DRIVER_LOST: "no record"}, told_there(LATER_LOSS)])
def test_what_is_left_without_a_job_is_freed_by_a_word_on_the_loss_that_is_noted_there(there: Json) -> None:
    for body in (application("RUNNING"), pod(finalizers=None) | {"status": {"phase": "Failed"}}):
        body["metadata"]["annotations"] |= declared_dead() | there
        assert found(None, body).holds(1)
        body["metadata"]["annotations"] |= told_there(loss(None if "kind" in body else body))
        one = found(None, body).by_application[NAME]
        assert one.seen.stage is Stage.ENDED


def test_a_word_that_counts_for_nothing_is_shown_in_short_and_without_what_cannot_be_printed() -> None:
    said = {names.ANNOTATION_DRIVER_DEAD: "a\x00\n\x1b[31m" + "x" * 1000}
    told = found(job(INTENT, annotations=said), application("RUNNING")).of(INTENT).void_words
    assert told.isprintable()
    assert len(told) < 250


def test_a_lost_driver_without_its_finalizer_holds_until_somebody_says_that_it_is_dead() -> None:
    lost = pod(finalizers=None)
    lost["status"]["phase"] = "Failed"
    over = INTENT.model_copy(update={"outcome": Outcome.UNKNOWN})
    assert found(job(over), lost).holds(1)
    told = loss(lost)
    lost["metadata"]["annotations"] |= declared_dead(told)
    assert found(job(over), lost).holds(1), "nobody has told of it"
    lost["metadata"]["annotations"] |= told_there(told)
    assert not found(job(over), lost).holds(1)


def test_another_pod_under_the_drivers_name_does_not_tell_what_became_of_the_driver() -> None:
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid="the-first")
    ran = INTENT.model_copy(update={"started_at": NOW, "driver": driver})
    for state in (RUNNING, TERMINATED, None):
        one = found(job(ran), application("RUNNING"), pod(state)).of(ran)
        assert one.seen.stage is Stage.LOST
        assert f"another pod bears its name now (uid uid-of-{NAME}-driver)" in one.seen.detail
        assert one.holds
    first = found(job(ran), application("COMPLETED"), pod(TERMINATED, uid="the-first")).of(ran)
    assert first.seen.stage is Stage.ENDED
    over = ran.model_copy(update={"outcome": Outcome.DRIVER_LOST})
    assert found(job(over), pod(RUNNING)).of(over).seen.stage is Stage.RUNNING


DEAD = declared_dead()


@pytest.mark.parametrize("driver", [None, AttemptDriver(pod=f"{NAME}-driver", pod_uid="the-first")])
@pytest.mark.parametrize(
    "impostor",
    [
        pod(None, annotations=RECORD | DEAD, **GOING) | {"spec": {}},
        pod(None, annotations=RECORD, **GOING) | {"spec": {}},
        placeholder(),
        placeholder() | {"metadata": placeholder()["metadata"] | GOING | {"annotations": DEAD}},
    ],
    ids=["without a node, with a word", "without a node", "placeholder", "placeholder with a word"],
)
@pytest.mark.parametrize("state", ["RUNNING", "COMPLETED", "FAILED"])
def test_of_a_driver_that_was_seen_no_pod_says_that_it_never_started(
    driver: AttemptDriver | None, impostor: Json, state: str
) -> None:
    """A driver's account can strip the driver's pod of its finalizers, delete it by force, and make one of its name."""
    ran = INTENT.model_copy(update={"started_at": NOW, "driver": driver})
    of_job = found(job(ran), application(state), impostor)
    assert of_job.of(ran).seen.stage is Stage.LOST
    assert of_job.holds(1)


@pytest.mark.parametrize("state", [RUNNING, TERMINATED, None])
def test_no_other_pod_says_that_the_driver_is_dead(state: Json | None) -> None:
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid="the-first")
    ran = INTENT.model_copy(update={"started_at": NOW, "driver": driver, "loss": loss()})
    impostor = pod(state, annotations=RECORD | DEAD | told_there(), **GOING)
    for objects in ((application("RUNNING"), impostor), (application("COMPLETED"), impostor), (impostor,)):
        assert found(job(ran), *objects).of(ran).seen.stage is Stage.LOST


def test_a_driver_on_a_silent_node_is_not_dead_because_its_own_pod_says_so() -> None:
    told = loss(pod())
    lost = pod(RUNNING, annotations=RECORD | declared_dead(told) | told_there(told), **GOING)
    lost["status"]["phase"] = "Failed"
    ran = INTENT.model_copy(update={"loss": told})
    assert found(job(ran), application("RUNNING"), lost).of(ran).seen.stage is Stage.LOST
    view = job(ran, annotations=declared_dead(told))
    assert found(view, application("RUNNING"), lost).of(ran).seen.stage is Stage.ENDED


def test_the_end_of_another_pod_is_not_told_as_that_of_the_driver_that_is_declared_dead() -> None:
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid="the-first")
    ran = INTENT.model_copy(update={"started_at": NOW, "driver": driver, "loss": loss()})
    for other in (pod(TERMINATED), placeholder()):
        seen = found(job(ran, annotations=DEAD), application("COMPLETED"), other).of(ran).seen
        assert (seen.stage, seen.exit_code, seen.message) == (Stage.ENDED, None, None)
        assert seen.detail.endswith("somebody declared it dead")


@pytest.mark.parametrize(("state", "stage"), [(RUNNING, Stage.RUNNING), (TERMINATED, Stage.ENDED)])
def test_once_the_driver_is_declared_dead_the_other_pod_speaks_for_itself(state: Json, stage: Stage) -> None:
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid="the-first")
    ran = INTENT.model_copy(update={"started_at": NOW, "driver": driver, "loss": loss()})
    view = job(ran, annotations=declared_dead())
    assert found(view, application("COMPLETED"), pod(state)).of(ran).seen.stage is stage


def test_a_second_application_of_the_job_is_seen_beside_the_open_attempt() -> None:
    """The second bears a copy of the record, or is of an earlier attempt and came late, or has nothing but our label."""
    late = replace(LEASE, attempt=2)
    nobody = application(name="nobody", annotations=None, finalizers=None)
    of_job = found(
        job(INTENT),
        application("RUNNING"),
        application(name="copy"),
        application(name="late", lease=late),
        nobody,
    )
    beside = of_job.of(INTENT).beside
    assert [sentence.split(" ")[1] for sentence in beside] == ["etl/copy", "etl/late", "etl/nobody"]
    assert "until that has ended" in beside[0]
    assert "it holds nothing" in beside[2]
    assert of_job.of(INTENT).application_name == NAME


def test_an_attempt_alone_has_nothing_beside_it() -> None:
    over = application("COMPLETED", name="over", finalizers=None)
    assert found(job(INTENT), application("RUNNING"), pod(RUNNING), over).of(INTENT).beside == ()


def test_its_lease_stays_until_the_second_has_ended_as_well() -> None:
    closed = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED})
    ended = application("COMPLETED", finalizers=None)
    assert found(job(closed), ended, application(name="copy")).holds(1)
    assert not found(job(closed), ended, application("COMPLETED", name="copy", finalizers=None)).holds(1)


def test_what_is_beside_it_leaves_room_for_other_words() -> None:
    copies = [application(name=f"copy-{number}-{'x' * 240}") for number in range(20)]
    one = found(job(INTENT), *copies).of(INTENT)
    assert len(one.beside) == 20
    assert sum(map(len, one.told_beside)) < 1300


def test_on_what_the_operator_fails_it_fails_at_once() -> None:
    with pytest.raises(AttributeError):
        found(job(INTENT), application() | {"status": 7})


def test_of_what_could_not_be_told_all_is_held() -> None:
    of_job = JobEvidence(failure="deep")
    assert of_job.holds_any
    assert of_job.holds(1)
    assert of_job.holds(2)
    with pytest.raises(EvidenceFailedError, match="deep"):
        of_job.of(INTENT)


def test_a_driver_that_ran_once_is_lost_and_not_still_to_come() -> None:
    ran = INTENT.model_copy(update={"started_at": NOW})
    assert found(job(ran)).of(ran).seen.stage is Stage.LOST


def test_what_runs_is_not_dead_because_somebody_says_so() -> None:
    told = loss(pod())
    ran = INTENT.model_copy(update={"loss": told})
    one = found(job(ran, annotations=declared_dead(told)), application("RUNNING"), pod(RUNNING)).of(ran)
    assert one.seen.stage is Stage.RUNNING


@pytest.mark.parametrize(
    ("objects", "namespace", "stage"),
    [
        ((application("FAILED"),), "etl", Stage.NEVER_STARTS),
        ((application("FAILED"),), "other", Stage.NO_DRIVER),
        ((application("RUNNING"), pod(RUNNING)), "etl", Stage.RUNNING),
        ((application("COMPLETED"),), "etl", Stage.LOST),
    ],
)
def test_where_nothing_can_be_created_no_driver_starts_any_more(
    objects: tuple[dict[str, Any], ...], namespace: str, stage: Stage
) -> None:
    pods = [body for body in objects if "kind" not in body]
    of_job = evidence_of(LEASE.uid, job(INTENT), [objects[0]], pods, ending_namespaces={namespace})
    assert of_job.of(INTENT).seen.stage is stage


def test_a_finalizer_on_the_drivers_pod_alone_holds() -> None:
    over = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED})
    assert found(job(over), application("COMPLETED", finalizers=None), pod(TERMINATED)).holds(1)


def test_a_name_is_known_in_its_jobs_namespace_alone() -> None:
    elsewhere = application(annotations=None, namespace="other")
    of_job = found(job(INTENT), elsewhere)
    assert of_job.of(INTENT).application is None
    assert [doubt.body for doubt in of_job.doubts] == [elsewhere]


@pytest.mark.parametrize(
    "token", ["0", "-1", str(1 << 62), str(1 << 50), "99999999999999999999", "9" * 5_000, "٣", "x"]
)
def test_a_token_that_no_operator_gives_is_no_record(token: str) -> None:
    body = application()
    body["metadata"]["annotations"] |= {names.ANNOTATION_TOKEN: token}
    with pytest.raises(UnreadableRecordError):
        record_of(body)


def test_what_is_missing_of_a_record_is_said_in_words() -> None:
    body = application()
    del body["metadata"]["annotations"][names.ANNOTATION_TOKEN]
    with pytest.raises(UnreadableRecordError, match=rf"\('{names.ANNOTATION_TOKEN}' is missing\)"):
        record_of(body)


def test_an_attempt_has_the_number_of_its_record() -> None:
    late = application(name="late", lease=replace(LEASE, attempt=2))
    assert found(None, late).by_application["late"].number == 2
    assert found(None, late).holds(2)
    assert not found(None, late).holds(1)


@pytest.mark.parametrize(
    "body",
    [
        application("COMPLETED", namespace="other", lease=replace(LEASE, job="other/x")),
        application("COMPLETED", namespace="other", lease=replace(LEASE, job="other/x"), finalizers=None),
        pod(TERMINATED, namespace="other", lease=replace(LEASE, job="other/x"), uid="forged"),
        placeholder() | {"metadata": placeholder()["metadata"] | {"namespace": "other", "uid": "forged"}},
    ],
)
def test_who_may_write_in_another_namespace_tells_nothing_of_the_job(body: dict[str, Any]) -> None:
    own = application("RUNNING"), pod(RUNNING)
    for objects in ((*own, body), (body, *own)):
        of_job = found(job(INTENT), *objects)
        one = of_job.of(INTENT)
        assert (one.intent, one.seen.stage, one.beside) == (INTENT, Stage.RUNNING, ())
        assert of_job.doubts == ()


def test_objects_of_one_name_in_two_namespaces_are_two_once_the_job_is_gone() -> None:
    forged = application("COMPLETED", namespace="other", lease=replace(LEASE, job="other/x"), finalizers=None)
    taken = placeholder() | {"metadata": placeholder()["metadata"] | {"namespace": "other", "uid": "forged"}}
    for objects in (
        (forged, application("RUNNING"), pod(RUNNING)),
        (application("RUNNING"), forged, pod(RUNNING)),
    ):
        assert found(None, *objects, taken).holds(1)


def test_executors_are_not_told_as_pods_of_nobody() -> None:
    ours = application("RUNNING"), pod(RUNNING)
    assert found(job(INTENT), *ours, executor()).of(INTENT).told_beside == ()
    marked = executor(finalizers=[names.FINALIZER_LEASE])
    assert found(job(INTENT), *ours, marked).of(INTENT).told_beside != ()


def test_a_driver_that_somebody_labels_as_an_executor_goes_on_to_hold() -> None:
    body = pod(RUNNING, finalizers=None)
    body["metadata"]["labels"] |= {"spark-role": "executor"}
    assert found(job(INTENT), body).holds(1)
    assert found(None, body).holds(1)


def test_a_driver_that_somebody_labels_as_a_placeholder_goes_on_to_hold() -> None:
    body = pod(RUNNING, finalizers=None)
    body["metadata"]["labels"] |= {names.LABEL_PLACEHOLDER: "true"}
    of_job = found(job(INTENT), application("RUNNING"), body)
    assert of_job.of(INTENT).seen.stage is Stage.RUNNING
    assert of_job.holds(1)


@pytest.mark.parametrize("changed", [{"attempt": 0}, {"attempt": -1}, {"attempt": 1 << 31}, {"job": "etl/"}])
def test_an_attempt_that_no_status_can_hold_is_no_record(changed: dict[str, Any]) -> None:
    with pytest.raises(UnreadableRecordError):
        record_of(application(lease=replace(LEASE, **changed)))

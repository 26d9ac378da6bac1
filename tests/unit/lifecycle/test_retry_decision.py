"""Which failures are followed by another attempt, whose word counts for that, and when it queues."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.durations import LONGEST_PAUSE
from sluice.api.job import DeltaWriteJobSpec, RetryCause
from sluice.api.job_status import Attempt, AttemptException, Commit, ConflictingCommit, Outcome, Phase
from sluice.api.reasons import CONFLICTS
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.attempt import withdrawal
from sluice.lifecycle.evidence.driver_ends import DELETED
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import as_body, status_after
from sluice.lifecycle.retries.retry_decision import (
    DEFAULT_ON,
    NEVER_RETRIED,
    Again,
    Final,
    RetryRules,
    cause_of,
    followed,
    is_to_have_a_slot,
    pause,
    rules_for,
    rules_of,
)
from sluice.predicates import Table
from sluice.tables import Declarations, TableFacts
from sluice_runner.retriable import CONFLICT_NAMES, TABLE
from unit.controller.bodies import job_body, policy_body

NOW = datetime(2026, 11, 19, 10, 5, tzinfo=UTC)
QUEUED = datetime(2026, 11, 19, 9, tzinfo=UTC)
SQL = "DELETE FROM delta.`/lake/orders` WHERE date = DATE '2026-11-19'"
RUN = {"run": {"appId": "sluice/slot/1", "firstToken": 7}}
LOST_A_RACE = AttemptException(
    class_="ConcurrentAppendException",
    message="added files",
    retriable=True,
    conflicting_commit=ConflictingCommit(version=5, operation="WRITE", foreign=True),
    advice="let it wait",
)


def ended(outcome: Outcome = Outcome.FAILED, number: int = 1, **changed: Any) -> Attempt:
    return Attempt(
        number=number,
        token=6 + number,
        hash="hash",
        application=f"a-{number}",
        granted_at=NOW - timedelta(minutes=5),
        ended_at=NOW,
        outcome=outcome,
        message="it failed",
    ).model_copy(update=changed)


def conflict(number: int = 1) -> Attempt:
    return ended(number=number, exception=LOST_A_RACE)


def declared(*retries: dict[str, Any], table: str = "/lake/orders") -> Declarations:
    """What policies say of the table and, where there are more of them, of others."""
    world = ClusterCache({})
    for number, retry in enumerate(retries):
        path = table if number == 0 else f"{table}-{number}"
        world.policy_seen(policy_body(f"p{number}", table={"path": path}, retry=retry))
    world.heed_policies()
    return world.declarations


def job(retry: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any) -> JobView:
    given = (spec or {"sql": SQL}) | ({} if retry is None else {"retry": retry})
    body = job_body("a", **given)
    told = {"phase": "Running", "queuedAt": QUEUED.isoformat(), **(status or {})}
    return JobView(body | {"status": told}, {"default": RuntimeProfile(spark_version="4.2.0")}, NOW)


def test_a_policy_has_no_job_run_again_on_a_table_that_would_forget_what_is_done() -> None:
    once = job()
    policies = declared({"limit": 3})
    assert rules_for(once, policies).limit == 3
    facts = TableFacts(
        columns=Table.of([]), properties={"delta.setTransactionRetentionDuration": "interval 1 day"}
    )
    assert rules_for(replace(once, facts={once.tables[0]: facts}), policies).limit == 0


@pytest.mark.parametrize("outcome", list(Outcome))
def test_each_outcome_has_its_class_or_none(outcome: Outcome) -> None:
    assert cause_of(ended(outcome)) == {
        Outcome.SUCCEEDED: None,
        Outcome.ALREADY_COMMITTED: None,
        Outcome.WITHDRAWN: None,
        Outcome.FAILED: RetryCause.ERROR,
        Outcome.KILLED: RetryCause.ERROR,
        Outcome.UNKNOWN: RetryCause.ERROR,
        Outcome.NOT_STARTED: RetryCause.NOT_STARTED,
        Outcome.DRIVER_LOST: RetryCause.DRIVER_LOST,
    }.get(outcome)


@pytest.mark.parametrize("known", TABLE, ids=lambda known: f"{known.java_class} {known.error_class}")
def test_what_the_runner_says_of_an_exception_decides(known: Any) -> None:
    class_ = known.java_class.rpartition(".")[2]
    found = cause_of(ended(exception=AttemptException(class_=class_, message="", retriable=known.retriable)))
    expected = RetryCause.CONFLICT if class_ in CONFLICT_NAMES else RetryCause.ERROR
    assert found == (expected if known.retriable else None)


def test_delta_s_conflicts_are_those_of_the_runner() -> None:
    assert {reason.value for reason in CONFLICTS} == CONFLICT_NAMES


@pytest.mark.parametrize("class_", sorted(NEVER_RETRIED))
@pytest.mark.parametrize("says", [None, True, False])
def test_what_a_person_has_to_look_at_is_never_retried(class_: str, says: bool | None) -> None:
    assert cause_of(ended(exception=AttemptException(class_=class_, message="", retriable=says))) is None


def test_a_driver_whose_application_somebody_deleted_is_not_wanted_again() -> None:
    killed = ended(Outcome.KILLED, message=f"{DELETED}: the driver was terminated")
    assert cause_of(killed) is None
    told = followed(job({"limit": 3, "on": ["Error"]}, RUN), killed, Declarations(), "gone", NOW)
    assert told == Final("gone; it is not retried, because somebody ended it")


def rules(retry: dict[str, Any] | None, declarations: Declarations, **spec: Any) -> RetryRules:
    seen = job(retry, **spec)
    return rules_of(seen.spec, seen.tables, declarations)


def test_nobody_says_anything_and_there_is_no_other_attempt() -> None:
    assert rules(None, Declarations()) == RetryRules(limit=0, backoff=30, on=DEFAULT_ON)
    assert {RetryCause.CONFLICT, RetryCause.DRIVER_LOST, RetryCause.NOT_STARTED} == DEFAULT_ON


def test_a_job_s_word_counts_field_by_field_before_its_policies() -> None:
    policies = declared({"limit": 5, "backoff": "1m", "on": ["Conflict", "Error"]})
    every = frozenset({RetryCause.CONFLICT, RetryCause.ERROR})
    assert rules(None, policies) == RetryRules(5, 60, every)
    assert rules({"limit": 2}, policies) == RetryRules(2, 60, every)
    assert rules({"backoff": "5s"}, policies) == RetryRules(5, 5, every)
    assert rules({"on": ["DriverLost"]}, policies) == RetryRules(5, 60, frozenset({RetryCause.DRIVER_LOST}))
    assert rules({"limit": 0}, policies).limit == 0


def test_of_several_policies_the_most_careful_counts() -> None:
    both = f"{SQL}; DELETE FROM delta.`/lake/orders-1`; DELETE FROM delta.`/lake/orders-2`"
    policies = declared(
        {"limit": 5, "backoff": "5s", "on": ["Conflict", "DriverLost"]},
        {"limit": 2, "backoff": "1m"},
        {"on": ["DriverLost", "Error"]},
    )
    assert rules(None, policies, sql=both) == RetryRules(2, 60, frozenset({RetryCause.DRIVER_LOST}))


def test_no_policy_makes_an_application_run_twice() -> None:
    application = DeltaWriteJobSpec.model_validate(
        {
            "application": {"engine": "kubeflow", "template": {"any": "thing"}},
            "footprint": [{"table": {"path": "/lake/orders"}, "operation": "Append"}],
        }
    )
    policies = declared({"limit": 5, "backoff": "1m", "on": ["Conflict"]})
    assert rules_of(application, job().tables, policies) == RetryRules()
    own = application.model_copy(update={"retry": job({"limit": 1}).spec.retry})
    assert rules_of(own, job().tables, policies).limit == 1


def an_application(*attempts: Attempt, **more: Any) -> JobView:
    told = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in attempts]
    return job(
        status={"attempts": told},
        application={"engine": "kubeflow", "template": {"any": "thing"}},
        footprint=[{"table": {"path": "/lake/orders"}, "operation": "Append"}],
        **more,
    )


COMMITTED = Commit(table="file:/lake/orders", version=3, statement=2, operation="WRITE")


@pytest.mark.parametrize(
    ("attempts", "may_begin_steps"),
    [
        ([ended(Outcome.WITHDRAWN)], True),
        ([ended(Outcome.NOT_STARTED), ended(Outcome.WITHDRAWN, 2)], True),
        ([ended(commits_known=True)], True),
        ([ended()], False),
        ([ended(commits_known=True, commits=(COMMITTED,))], False),
        ([ended(commits=(COMMITTED,)), ended(Outcome.WITHDRAWN, 2)], False),
        ([ended(Outcome.WITHDRAWN, number) for number in range(2, 12)], False),
    ],
    ids=["no node", "no driver", "nothing", "unknown", "a step", "a step before", "some are forgotten"],
)
def test_a_later_attempt_of_an_application_without_retry_has_a_run_only_where_nothing_can_have_been_done_without(
    attempts: list[Attempt], may_begin_steps: bool
) -> None:
    """Without one the program begins no step, and with one it takes a step for undone that no log tells of."""
    application = an_application(*attempts)
    assert is_to_have_a_slot(application, Declarations()) == may_begin_steps
    forgets = TableFacts(
        columns=Table.of([]), properties={"delta.setTransactionRetentionDuration": "interval 1 day"}
    )
    on_such_a_table = replace(application, facts={application.tables[0]: forgets})
    assert not is_to_have_a_slot(on_such_a_table, Declarations())


def test_the_first_attempt_of_an_application_has_a_run_only_where_it_may_be_retried() -> None:
    assert not is_to_have_a_slot(an_application(), Declarations())
    assert not is_to_have_a_slot(an_application(), declared({"limit": 5}))
    assert is_to_have_a_slot(an_application(retry={"limit": 1}), Declarations())


UNREPEATABLE = [
    f"CACHE TABLE c AS SELECT 1; {SQL}",
    "FROM delta.`/lake/src` INSERT INTO delta.`/lake/orders` SELECT * INSERT INTO delta.`/lake/b` SELECT *",
    "ALTER TABLE delta.`/lake/orders` DROP FEATURE deletionVectors",
    ";".join(["DELETE FROM t"] * 4096),
]


@pytest.mark.parametrize("sql", UNREPEATABLE, ids=lambda sql: sql[:20])
def test_what_another_attempt_could_not_leave_out_is_refused_with_retry_and_not_retried_by_a_policy(
    sql: str,
) -> None:
    with pytest.raises(NotUnderstoodError, match=r"^spec\.retry: .*remove retry$"):
        job({"limit": 1}, sql=sql).footprint_from_spec  # noqa: B018 - it says so itself
    policies, unlimited = declared({"limit": 5}), job(sql=sql)
    assert rules_for(unlimited, policies).limit == 0
    assert not is_to_have_a_slot(unlimited, policies)
    assert rules_for(job(), policies).limit == 5
    assert is_to_have_a_slot(job(), policies)
    assert job({"limit": 0}, sql=sql).footprint_from_spec.keys


@given(retry=st.integers(1, 10_000), backoff=st.integers(1, LONGEST_PAUSE), uid=st.text())
def test_a_pause_doubles_up_to_ten_minutes_and_varies_by_half(retry: int, backoff: int, uid: str) -> None:
    found = pause(RetryRules(3, backoff), retry, uid, retry).total_seconds()
    doubled = min(backoff * 2 ** (retry - 1), max(600, backoff))
    assert doubled * 0.5 - 1e-3 <= found <= doubled * 1.5 + 1e-3
    assert pause(RetryRules(3, backoff), retry, uid, retry).total_seconds() == found


def test_two_hundred_jobs_that_failed_at_once_do_not_come_back_at_once() -> None:
    pauses = sorted(pause(RetryRules(3), 1, f"uid-{n}", 1).total_seconds() for n in range(200))
    assert 15 <= pauses[0] < 17
    assert 43 < pauses[-1] <= 45
    assert max(sum(at <= other < at + 1 for other in pauses) for at in pauses) <= 25


def test_a_conflict_is_told_with_its_winner_and_the_job_queues_again_with_its_age() -> None:
    before = job({"limit": 3, "backoff": "20s"}, RUN)
    again = followed(
        before, conflict(), Declarations(), "version 5 by no Sluice job was committed first", NOW
    )
    assert isinstance(again, Again)
    assert again.cause is RetryCause.CONFLICT
    after = status_after(before, again.change, NOW)
    assert (after.phase, after.reason, after.queued_at) == (Phase.BACKING_OFF, "Retrying", QUEUED)
    at = NOW + pause(RetryRules(3, 20), 1, "uid-a", 1)
    assert (after.retries, after.retry_at) == (1, at)
    assert after.message == (
        "attempt 1 ended as Conflict: version 5 by no Sluice job was committed first; it queues again, keeping its age, at "
        f"{at:%H:%M:%S} UTC, for retry 1 of 3; what to change: let it wait"
    )
    assert [one.exception for one in after.attempts] == [LOST_A_RACE]
    assert after.finished_at is None
    backing_off = job({"limit": 3, "backoff": "20s"}, as_body(after))
    assert withdrawal.backs_off(backing_off, at - timedelta(seconds=1))
    assert not withdrawal.backs_off(backing_off, at)
    assert not withdrawal.backs_off(backing_off, NOW - timedelta(days=400)), "a clock that went back"
    assert backing_off.waited(at + timedelta(seconds=3)) == 3, "its patience begins anew"


def test_after_a_long_outage_of_the_operator_the_pause_is_over_already() -> None:
    late = NOW + timedelta(hours=2)
    before = job({"limit": 3}, RUN)
    again = followed(before, conflict(), Declarations(), "", late)
    assert isinstance(again, Again)
    queues = job({"limit": 3}, as_body(status_after(before, again.change, late)))
    assert not withdrawal.backs_off(queues, late)
    assert queues.waited(late) == 0, "nobody waited meanwhile"


@pytest.mark.parametrize("written", ["2026-11-21T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_what_somebody_writes_as_the_time_of_a_retry_keeps_no_job_for_longer_than_any_pause(
    written: str,
) -> None:
    spec = {"limit": 20, "backoff": "24h"}
    latest = NOW + max(
        pause(RetryRules(20, LONGEST_PAUSE), retry, f"uid-{retry}", 1) for retry in range(1, 21)
    )
    again = followed(job(spec, RUN), conflict(), Declarations(), "", NOW)
    assert isinstance(again, Again)
    told = as_body(status_after(job(spec, RUN), again.change, NOW)) | {"retryAt": written}
    backing_off = job(spec, told)
    assert withdrawal.backs_off(backing_off, latest)
    assert not withdrawal.backs_off(backing_off, NOW + timedelta(hours=36))
    waiting = job(spec, told | {"phase": "Waiting", "since": "2026-11-20T12:00:00Z"})
    assert waiting.waited(datetime(2026, 11, 20, 12, 0, 9, tzinfo=UTC)) == 9, "its patience counts as ever"
    at_the_end = job(spec, told | {"since": "9999-12-31T23:00:00Z"})
    assert at_the_end.retry_at == datetime.fromisoformat(written)


def test_a_node_whose_clock_is_ahead_keeps_nobody_out_for_longer() -> None:
    ahead = conflict().model_copy(update={"ended_at": NOW + timedelta(days=30)})
    again = followed(job({"limit": 3}, RUN), ahead, Declarations(), "", NOW)
    assert isinstance(again, Again)
    assert again.change.retry_at == NOW + pause(RetryRules(3), 1, "uid-a", 1)


def test_the_last_attempt_fails_with_its_exception_and_says_how_many_there_were() -> None:
    before = job({"limit": 2}, RUN | {"retries": 2})
    told = followed(before, conflict(3), Declarations(), "it lost", NOW)
    assert told == Final("after 3 attempts: it lost")


def test_the_number_of_retries_is_told_by_the_status_also_where_attempts_were_dropped() -> None:
    seen = job({"limit": 20}, RUN | {"retries": 13})
    again = followed(seen, conflict(14), Declarations(), "", NOW)
    assert isinstance(again, Again)
    assert again.change.retries == 14
    assert isinstance(
        followed(job({"limit": 13}, RUN | {"retries": 13}), conflict(14), Declarations(), "", NOW), Final
    )


def test_attempts_that_were_taken_back_count_for_nothing() -> None:
    taken_back = ended(Outcome.WITHDRAWN).model_dump(mode="json", by_alias=True, exclude_none=True)
    told = followed(
        job({"limit": 0}, {"attempts": [taken_back]}), conflict(2), Declarations(), "it lost", NOW
    )
    assert told == Final("it lost")


@pytest.mark.parametrize(
    ("on", "attempt", "again"),
    [
        (None, conflict(), True),
        (["DriverLost"], conflict(), False),
        (None, ended(Outcome.DRIVER_LOST), True),
        (["Conflict"], ended(Outcome.DRIVER_LOST), False),
        (None, ended(Outcome.NOT_STARTED), True),
        (["Conflict"], ended(Outcome.NOT_STARTED), False),
        (None, ended(Outcome.KILLED), False),
        (["Error"], ended(Outcome.KILLED), True),
        (["Error"], ended(Outcome.UNKNOWN), True),
    ],
)
def test_only_what_on_names_is_retried(on: list[str] | None, attempt: Attempt, again: bool) -> None:
    retry = {"limit": 1} | ({} if on is None else {"on": on})
    found = followed(job(retry, RUN), attempt, Declarations(), "failed", NOW)
    assert isinstance(found, Again) == again
    if isinstance(found, Final):
        assert "retry.on doesn't name" in found.message


def test_a_retry_without_a_limit_is_told_to_be_none() -> None:
    because = "it lost; it is not retried, because its retry sets no limit, and nobody else does"
    for retry in ({"on": ["Error"]}, {"backoff": "1m"}):
        assert followed(job(retry, RUN), conflict(), Declarations(), "it lost", NOW) == Final(because)
    waits_longer = declared({"backoff": "5m"})
    assert followed(job({"backoff": "1m"}, RUN), conflict(), waits_longer, "it lost", NOW) == Final(because)
    allows_none = declared({"limit": 0})
    assert followed(job({"backoff": "1m"}, RUN), conflict(), allows_none, "it lost", NOW) == Final("it lost")
    judged = conflict().model_copy(update={"exception": AttemptException(class_="HistoryLost", message="")})
    assert followed(job({"backoff": "1m"}, RUN), judged, Declarations(), "it lost", NOW) == Final("it lost")


@pytest.mark.parametrize(
    ("attempt", "spec", "again"),
    [
        (ended(Outcome.DRIVER_LOST), {"sql": SQL}, False),
        (ended(Outcome.KILLED), {"sql": SQL}, False),
        (conflict(), {"sql": SQL}, False),
        (conflict().model_copy(update={"commits_known": True}), {"sql": SQL}, True),
        (
            conflict().model_copy(
                update={
                    "commits_known": True,
                    "commits": (Commit(table="file:/t", version=1, statement=1, operation="WRITE"),),
                }
            ),
            {"sql": SQL},
            False,
        ),
        (ended(Outcome.NOT_STARTED), {"sql": SQL}, True),
        (ended(Outcome.DRIVER_LOST), {"sql": SQL, "runKey": "day"}, True),
        (
            ended(Outcome.DRIVER_LOST),
            {
                "write": {
                    "table": {"path": "/lake/orders"},
                    "source": {"sql": "SELECT 1 AS id"},
                    "txnAppId": "mine",
                    "txnVersion": 3,
                }
            },
            True,
        ),
    ],
)
def test_what_nobody_could_tell_apart_is_not_run_again(
    attempt: Attempt, spec: dict[str, Any], again: bool
) -> None:
    """A policy began to want retries while it ran, or somebody took the run out of its status."""
    retry = {"limit": 1, "on": ["Conflict", "DriverLost", "NotStarted", "Error"]}
    found = followed(job(retry, **spec), attempt, Declarations(), "failed", NOW)
    assert isinstance(found, Again) == again
    if isinstance(found, Final):
        assert "committed something, or may have" in found.message


def test_who_lost_a_driver_and_is_not_retried_is_told_what_to_do() -> None:
    lost = ended(Outcome.DRIVER_LOST).model_copy(update={"commits_known": True})
    told = followed(job(), lost, Declarations(), "evicted", NOW)
    assert isinstance(told, Final)
    assert told.message.endswith("kubectl annotate deltawritejob -n etl a --overwrite sluice.dev/retry=1")
    told = followed(job(), ended(Outcome.DRIVER_LOST), Declarations(), "evicted", NOW)
    assert isinstance(told, Final)
    assert "Look at its tables" in told.message


def test_a_message_of_any_length_leaves_room_for_what_follows() -> None:
    again = followed(job({"limit": 1}, RUN), conflict(), Declarations(), "x" * 100_000, NOW)
    assert isinstance(again, Again)
    message = status_after(job({"limit": 1}, RUN), again.change, NOW).message or ""
    assert len(message) <= 2048
    assert "retry 1 of 1" in message


def test_a_job_that_is_not_understood_any_more_is_not_retried() -> None:
    told = followed(job({"limit": 1}, sql=SQL, runtimeRef="gone"), conflict(), Declarations(), "failed", NOW)
    assert isinstance(told, Final)
    assert "no runtime profile 'gone'" in told.message


def test_why_it_is_not_retried_is_told_however_long_the_failure_s_own_words_are() -> None:
    told = followed(job({"limit": 3, "on": ["NotStarted"]}, RUN), conflict(), Declarations(), "x" * 2048, NOW)
    assert isinstance(told, Final)
    assert "it is not retried, because retry.on doesn't name Conflict" in told.message[:2048]


def test_a_retry_on_another_day_says_which() -> None:
    again = followed(job({"limit": 3, "backoff": "24h"}, RUN), conflict(), Declarations(), "it lost", NOW)
    assert isinstance(again, Again)
    assert again.change.retry_at is not None
    assert f"at {again.change.retry_at:%Y-%m-%d %H:%M:%S} UTC" in again.change.message

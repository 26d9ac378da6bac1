"""What is done so that a table becomes as wanted: one job at a time, none for nothing, and not for ever."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.job_status import Phase
from sluice.api.policy import DeltaTablePolicySpec, Enforcement
from sluice.api.policy_enforcement import MOST_FIELDS, Enforced
from sluice.policies.changes import fields_in, listed
from sluice.policies.enforcement_record import MOST_JOBS, enforced_in, patch_of_enforced
from sluice.policies.remediation import (
    MOST_FAILURES,
    NOT_ENFORCED,
    NOT_WANTED,
    ROUND,
    ROUNDS,
    Done,
    MakeJob,
    ObservedPolicy,
    OwnJob,
    RemediationDecision,
    RemedyKind,
    Stalled,
    WaitForJob,
    WithdrawJob,
    decide,
    number_in,
    too_many,
    why_not_yet,
)
from sluice.predicates import Table
from sluice.tables import TableFacts
from sluice.tables.table_observation import CommitSummary, LogHistory, TableObservation, TableState
from unit.policies.specs import spec_of

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
APPEND_ONLY = "delta.appendOnly"
FIELD = f"properties.{APPEND_ONLY}"
WANTS_IT = spec_of(enforcement="Enforce", properties={APPEND_ONLY: "true"})


def look(at: datetime = NOW, history: LogHistory | None = None, **state: Any) -> TableObservation:
    given: dict[str, Any] = {"version": 1, "columns": ("a", "b")} | state
    return TableObservation(
        at, TableState(**given), TableFacts(columns=Table.of({"a": "int"})), history=history or LogHistory()
    )


def known(
    *jobs: OwnJob, spec: DeltaTablePolicySpec = WANTS_IT, seen: TableObservation | None = None, **more: Any
) -> ObservedPolicy:
    given: dict[str, Any] = {"generation": 1, "version": (4, 0)} | more
    return ObservedPolicy("orders", "uid", spec=spec, jobs=jobs, look=seen, **given)


def job(number: int = 1, phase: Phase = Phase.SUCCEEDED, **more: Any) -> OwnJob:
    given: dict[str, Any] = {"fields": (FIELD,), "why": "it said so", "has_begun": True} | more
    if phase.is_terminal:
        given.setdefault("ended_at", NOW)
    return OwnJob(f"orders-properties-x-{number}", f"uid-{number}", number, phase, **given)


KEPT = Enforced(generation=1)


def _made(decision: RemediationDecision) -> MakeJob:
    assert isinstance(decision.step, MakeJob), decision
    return decision.step


def test_what_differs_is_set_by_one_job() -> None:
    made = _made(decide(known(seen=look()), KEPT, NOW))
    assert made.kind is RemedyKind.PROPERTIES
    assert made.sql == f"ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES ('{APPEND_ONLY}' = 'true')"
    assert made.fields == (FIELD,)
    assert made.name.startswith("orders-properties-")
    assert made.name.endswith("-1")


@pytest.mark.parametrize(
    ("spec", "seen"),
    [
        (WANTS_IT, look(properties={APPEND_ONLY: "true"})),
        (WANTS_IT, look(exists=False)),
        (WANTS_IT, look(unread="the store refuses")),
        (spec_of(properties={APPEND_ONLY: "true"}), look()),
        (spec_of(enforcement="Enforce", features=["deletionVectors"]), look()),
        (spec_of(enforcement="Enforce", partitionBy=["a"]), look()),
        (spec_of(enforcement="Enforce", properties={"delta.checkpointInterval": "4294967296"}), look()),
    ],
    ids=["as wanted", "no table", "unread", "Observe", "irreversible", "a fact", "nonsense"],
)
def test_nothing_is_made_where_nothing_may_be_changed(
    spec: DeltaTablePolicySpec, seen: TableObservation
) -> None:
    assert isinstance(decide(known(spec=spec, seen=seen), KEPT, NOW).step, Done)


def test_what_cannot_be_taken_back_is_made_where_the_policy_says_so() -> None:
    spec = spec_of(enforcement="Enforce", features=["deletionVectors"], allowIrreversible=True)
    assert "delta.enableDeletionVectors" in _made(decide(known(spec=spec, seen=look()), KEPT, NOW)).sql


def test_kinds_follow_each_other_and_the_second_waits_for_a_look_after_the_first() -> None:
    spec = spec_of(
        enforcement="Enforce", properties={APPEND_ONLY: "true"}, clusterBy=["a"], allowIrreversible=True
    )
    first = decide(known(spec=spec, seen=look()), KEPT, NOW)
    assert _made(first).kind is RemedyKind.PROPERTIES
    done = job(ended_at=NOW + MINUTE)
    after = decide(known(done, spec=spec, seen=look()), first.kept, NOW + 2 * MINUTE)
    assert isinstance(after.step, WaitForJob)
    assert after.step.look
    seen = look(NOW + 2 * MINUTE, properties={APPEND_ONLY: "true"})
    second = _made(decide(known(done, spec=spec, seen=seen), after.kept, NOW + 2 * MINUTE))
    assert (second.kind, second.fields) == (RemedyKind.CLUSTERING, ("clusterBy",))
    assert second.name.endswith("-2")


@pytest.mark.parametrize("phase", [one for one in Phase if not one.is_terminal])
def test_nothing_is_made_beside_a_job_that_is_under_way(phase: Phase) -> None:
    decision = decide(known(job(phase=phase), seen=look()), KEPT, NOW)
    assert isinstance(decision.step, WaitForJob)
    assert "orders-properties-x-1" in decision.step.why


def test_nothing_is_made_while_a_deleted_job_may_still_write() -> None:
    kept = decide(known(job(phase=Phase.RUNNING), seen=look()), KEPT, NOW).kept
    later = NOW + 10 * MINUTE
    gone = known(seen=look(later), lingering=frozenset({"uid-1"}))
    decision = decide(gone, kept, later)
    assert isinstance(decision.step, WaitForJob)
    assert "being ended" in decision.step.why


def test_a_job_that_waits_is_taken_back_once_what_it_changes_is_not_wanted() -> None:
    waits = job(phase=Phase.WAITING, has_begun=False, sql=_made(decide(known(seen=look()), KEPT, NOW)).sql)
    assert isinstance(decide(known(waits, seen=look()), KEPT, NOW).step, WaitForJob)
    others = known(waits, seen=look(properties={APPEND_ONLY: "true"}))
    observed = known(waits, spec=spec_of(properties={APPEND_ONLY: "true"}), seen=look(), generation=2)
    changed = known(
        waits,
        spec=spec_of(enforcement="Enforce", properties={APPEND_ONLY: "false"}),
        seen=look(),
        generation=2,
    )
    for one in (others, observed, changed):
        decision = decide(one, KEPT, NOW)
        assert isinstance(decision.step, WithdrawJob)
        assert decision.step.job == waits
        after = decide(replace(one, jobs=()), decision.kept, NOW)
        assert after.kept.failures == 0
    begun = replace(waits, has_begun=True)
    assert isinstance(decide(known(begun, seen=others.look), KEPT, NOW).step, WaitForJob)
    unseen = known(waits, seen=look(unread="the store refuses"))
    assert isinstance(decide(unseen, KEPT, NOW).step, WaitForJob)


def test_a_job_whose_attempt_has_ended_is_taken_back_where_its_next_one_is_needless() -> None:
    tried = job(phase=Phase.BACKING_OFF, has_begun=False, was_tried=True, sql="ALTER ...")
    as_wanted = look(properties={APPEND_ONLY: "true"})
    decision = decide(known(tried, seen=as_wanted), KEPT, NOW)
    assert isinstance(decision.step, WithdrawJob)
    after = decide(known(seen=as_wanted), decision.kept, NOW + MINUTE)
    assert after.step == WaitForJob("the table is being looked at", look=True), (
        "it may have changed the table"
    )
    assert after.kept.failures == 0


_SET_IT = f"ALTER TABLE delta.`s3://lake/orders` SET TBLPROPERTIES ('{APPEND_ONLY}' = 'true')"


@pytest.mark.parametrize(
    ("spec", "seen", "sql", "why"),
    [
        (WANTS_IT, look(), _SET_IT, None),
        (WANTS_IT, None, _SET_IT, "has not been read since the last job ended"),
        (WANTS_IT, look(properties={APPEND_ONLY: "true"}), _SET_IT, NOT_WANTED),
        (WANTS_IT, look(), "ALTER TABLE delta.`s3://lake/orders` CLUSTER BY NONE", NOT_WANTED),
        (WANTS_IT, look(), None, NOT_WANTED),
        (WANTS_IT, look(exists=False), _SET_IT, "does not exist yet"),
        (WANTS_IT, look(unread="the store refuses"), _SET_IT, "could not be read: the store refuses"),
        (spec_of(properties={APPEND_ONLY: "true"}), look(), _SET_IT, NOT_ENFORCED),
    ],
    ids=["needed", "unseen", "set", "another", "unknown", "no table", "unread", "Observe"],
)
def test_a_job_begins_only_where_it_changes_the_table_by_a_look_after_all_runs(
    spec: DeltaTablePolicySpec, seen: TableObservation | None, sql: str | None, why: str | None
) -> None:
    found = why_not_yet(spec, seen, (4, 0), sql)
    assert found == why if why is None else why in str(found)


@pytest.mark.parametrize(
    "seen",
    [look(properties={APPEND_ONLY: "true"}), look(), look(exists=False), look(unread="the store refuses")],
    ids=["set", "needed", "no table", "unread"],
)
@pytest.mark.parametrize("spec", [WANTS_IT, spec_of(properties={APPEND_ONLY: "true"})])
def test_a_job_that_is_kept_though_the_table_was_read_is_taken_back(
    spec: DeltaTablePolicySpec, seen: TableObservation
) -> None:
    waits = job(phase=Phase.WAITING, has_begun=False, sql=_SET_IT)
    step = decide(known(waits, spec=spec, seen=seen), KEPT, NOW).step
    kept = why_not_yet(spec, seen, (4, 0), _SET_IT)
    could_be_read = seen.state.exists and seen.state.unread is None
    is_observed = spec.enforcement is Enforcement.OBSERVE
    assert isinstance(step, WithdrawJob) == (kept is not None and (could_be_read or is_observed))


def test_a_look_from_before_a_job_ended_is_not_believed() -> None:
    ended = job(ended_at=NOW + MINUTE)
    decision = decide(known(ended, seen=look(NOW + MINUTE)), KEPT, NOW + 2 * MINUTE)
    assert decision.step == WaitForJob("the table is being looked at", look=True)
    gone = decide(known(seen=look(NOW + MINUTE)), decision.kept, NOW + 2 * MINUTE)
    assert gone.step == decision.step
    newer = decide(known(seen=look(NOW + MINUTE * 1.5)), decision.kept, NOW + 2 * MINUTE)
    assert isinstance(newer.step, MakeJob)


def test_a_clock_that_was_ahead_holds_nothing_up_for_longer_than_a_look() -> None:
    ended = job(ended_at=NOW + timedelta(days=400))
    kept = decide(known(ended, seen=look()), KEPT, NOW).kept
    assert isinstance(decide(known(ended, seen=look(NOW + MINUTE)), kept, NOW + MINUTE).step, MakeJob)


def _by(engine: str, version: int) -> LogHistory:
    return LogHistory(
        since=None, changed_by={APPEND_ONLY: CommitSummary(version, NOW, "SET TBLPROPERTIES", engine, None)}
    )


def test_a_fight_is_stopped_after_three_rounds_and_names_who_sets_it_back() -> None:
    kept, now, jobs = KEPT, NOW, 0
    decision = RemediationDecision(Done(), kept)
    for _ in range(10):
        decision = decide(known(seen=look(now, _by("delta-rs:1.6.6", 7))), kept, now)
        kept = decision.kept
        if isinstance(decision.step, Stalled):
            break
        jobs += 1
        assert _made(decision).name.endswith(f"-{jobs}")
        now += MINUTE
        kept = decide(known(job(jobs, ended_at=now), seen=look(NOW)), kept, now).kept
        now += MINUTE
    assert jobs == ROUNDS
    assert isinstance(decision.step, Stalled)
    assert decision.step.reason == "Fight"
    assert f"spec.{FIELD} was set 3 times" in decision.step.why
    assert "delta-rs:1.6.6 (SET TBLPROPERTIES) in version 7" in decision.step.why
    again = decide(known(seen=look(now)), kept, now)
    assert again.step == decision.step
    assert again.kept == kept
    assert isinstance(decide(known(seen=look(now), asked="enforce"), kept, now).step, MakeJob)
    assert isinstance(decide(known(seen=look(now), generation=2), kept, now).step, MakeJob)


def test_a_word_is_heeded_once() -> None:
    first = decide(known(seen=look(), asked="enforce.2"), KEPT, NOW)
    failed = decide(known(job(1, Phase.FAILED), seen=look(), asked="enforce.2"), first.kept, NOW)
    assert failed.kept.failures == 1


def test_what_is_set_back_long_after_is_no_fight() -> None:
    kept, now = KEPT, NOW
    for number in range(1, 10):
        decision = decide(known(seen=look(now)), kept, now)
        _made(decision)
        kept = decide(known(job(number, ended_at=now), seen=look(NOW)), decision.kept, now).kept
        now += ROUND + MINUTE


def test_what_is_as_wanted_for_long_is_no_fight_any_more() -> None:
    kept = decide(known(job(), seen=look(NOW)), KEPT, NOW).kept
    back = decide(known(seen=look(NOW + MINUTE)), kept, NOW + MINUTE)
    assert back.kept.set_back
    soon = decide(known(seen=look(NOW + 2 * MINUTE, properties={APPEND_ONLY: "true"})), back.kept, NOW)
    assert soon.kept.set_back
    later = NOW + ROUND + 2 * MINUTE
    settled = decide(known(seen=look(later, properties={APPEND_ONLY: "true"})), back.kept, later)
    assert not settled.kept.set_back


def test_a_failed_job_is_followed_by_another_after_a_pause_that_doubles_and_then_by_none() -> None:
    kept, now, pauses = KEPT, NOW, list[float]()
    decision = RemediationDecision(Done(), kept)
    for number in range(1, MOST_FAILURES + 1):
        _made(decide(known(seen=look(now + MINUTE)), kept, now + MINUTE))
        now += MINUTE
        failed = job(number, Phase.FAILED, ended_at=now, why="DELTA_SOMETHING")
        decision = decide(known(failed, seen=look(now + MINUTE)), kept, now)
        kept = decision.kept
        if isinstance(decision.step, WaitForJob):
            assert decision.step.until is not None
            assert f"orders-properties-x-{number}: DELTA_SOMETHING" in decision.step.why
            pauses.append((decision.step.until - now) / MINUTE)
            now = decision.step.until
    assert pauses == [1, 2, 4, 8]
    assert isinstance(decision.step, Stalled)
    assert decision.step.reason == "RemedyFailed"
    assert "DELTA_SOMETHING" in decision.step.why
    after_days = now + timedelta(days=9)
    assert isinstance(decide(known(seen=look(after_days)), kept, after_days).step, Stalled)
    assert isinstance(decide(known(seen=look(after_days), asked="enforce.1"), kept, after_days).step, MakeJob)
    mended = decide(known(seen=look(after_days, properties={APPEND_ONLY: "true"})), kept, after_days)
    assert isinstance(mended.step, Done)
    assert mended.kept.failures == 0


def test_a_job_that_is_gone_before_its_end_was_seen_counts_as_failed() -> None:
    kept = decide(known(job(phase=Phase.RUNNING), seen=look()), KEPT, NOW).kept
    decision = decide(known(seen=look(NOW + MINUTE)), kept, NOW + MINUTE)
    assert decision.kept.failures == 1
    assert "orders-properties-x-1 was deleted" in (decision.kept.failure or "")


def test_a_leader_that_ended_between_a_job_and_the_status_is_gone_on_from() -> None:
    """The job is there, and the status doesn't know of it: it is the last one, and the next has another name."""
    decision = decide(known(job(ended_at=NOW), seen=look(NOW)), KEPT, NOW)
    assert (decision.kept.number, decision.kept.counted) == (1, 1)
    assert _made(decide(known(seen=look(NOW + MINUTE)), decision.kept, NOW)).name.endswith("-2")


def test_few_finished_jobs_stay() -> None:
    jobs = [job(number) for number in range(1, 7)] + [job(number, Phase.FAILED) for number in range(7, 10)]
    kept = KEPT.model_copy(update={"counted": 8})
    assert [one.number for one in too_many(jobs, kept)] == [3, 2, 1, 7]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("jobs", [(), (job(MOST_JOBS * 10),)])
def test_a_number_that_somebody_made_up_costs_no_more_than_any_other(jobs: tuple[OwnJob, ...]) -> None:
    kept = Enforced(generation=1, number=MOST_JOBS)
    assert decide(known(*jobs, seen=look()), kept, NOW).kept.counted >= MOST_JOBS


def test_a_number_that_no_policy_comes_to_ends_it_instead_of_having_it_count_anew_at_each_turn() -> None:
    assert number_in(f"orders-properties-x-{MOST_JOBS}") == MOST_JOBS
    assert number_in(f"orders-properties-x-{MOST_JOBS + 1}") is None
    step = decide(known(job(MOST_JOBS), seen=look(NOW + MINUTE)), KEPT, NOW).step
    assert isinstance(step, Stalled)
    assert "Delete the policy and create it again" in step.why


@pytest.mark.parametrize("said", [{"number": MOST_JOBS + 1}, {"number": 1, "counted": 2}])
def test_numbers_that_no_operator_writes_are_as_if_nothing_was_kept(said: dict[str, int]) -> None:
    assert enforced_in({"status": {"enforced": {"generation": 1, **said}}}) == Enforced()


@pytest.mark.parametrize("failures", [1, MOST_FAILURES - 1])
def test_however_long_a_failure_is_it_is_told_with_what_follows_within_what_a_status_takes(
    failures: int,
) -> None:
    kept = KEPT.model_copy(update={"failures": failures})
    long = decide(known(job(phase=Phase.FAILED, why="x" * 5000), seen=look()), kept, NOW + MINUTE)
    again = decide(known(seen=look(NOW + 2 * MINUTE)), long.kept, NOW + MINUTE / 2)
    assert long.kept.failure is not None
    assert again.kept.message is not None
    assert again.kept.message == getattr(again.step, "why", None)
    assert len(again.kept.message) <= 2048


def test_more_fields_than_a_status_has_room_for_are_counted_as_far_as_it_has() -> None:
    fields = tuple(f"properties.p{number}" for number in range(MOST_FIELDS + 5))
    kept = decide(known(job(fields=fields)), KEPT, NOW).kept
    assert len(kept.fields_set) == MOST_FIELDS
    assert Enforced.as_stored(patch_of_enforced({}, kept)["enforced"]) == kept


@pytest.mark.parametrize("name", ["p" * 256, "one, two,three", "100 %", "größe=1"])
def test_whatever_a_property_is_called_who_sets_it_back_is_noticed(name: str) -> None:
    wanted = spec_of(enforcement="Enforce", properties={name: "1"})
    made = _made(decide(known(spec=wanted, seen=look()), KEPT, NOW))
    fields = fields_in(listed(made.fields))
    after = decide(known(job(fields=fields), spec=wanted, seen=look(NOW + MINUTE)), KEPT, NOW + MINUTE).kept
    assert [one.times for one in after.set_back] == [1]

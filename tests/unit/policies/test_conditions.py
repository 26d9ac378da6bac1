"""A policy is Ready only where its table is as it wants, and says what else it waits for, or who has to see to it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.policy_enforcement import EnforcedReason
from sluice.api.policy_status import DeltaTablePolicyStatus
from sluice.api.reasons import PolicyReason
from sluice.policies.conditions import LeftOut, Seen, state_of
from sluice.policies.status import patch_of
from unit.controller.bodies import merged, policy_body
from unit.policies.looks import AT, commit, look, no_table, other_things, unreadable

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
TABLE = {"path": "/lake/orders"}
FEED = {"delta.enableChangeDataFeed": "true"}
ENFORCED: Json = {"properties": FEED, "enforcement": "Enforce"}
FILES_KEPT = "delta.deletedFileRetentionDuration"
CLEANED_UP: Json = {"maintenance": {"vacuum": {"schedule": "@daily"}}}
KEPT_UP: Json = {"maintenance": {"optimize": {"schedule": "@daily"}}}


def policy(**spec: Any) -> Json:
    return policy_body("a", table=TABLE, **spec)


def told(body: Json, seen: Seen, left_out: LeftOut | None = None) -> DeltaTablePolicyStatus:
    """The status after it was written."""
    state = state_of(body, left_out, seen)
    before = body.get("status") or {}
    patch = {} if state is None else patch_of(body, state, NOW)
    after = merged(before, patch)
    body["status"] = after
    return DeltaTablePolicyStatus.model_validate(
        {name: told for name, told in after.items() if name != "enforced"}
    )


def standing(status: DeltaTablePolicyStatus) -> str:
    (one,) = (condition.type for condition in status.conditions if condition.status.value == "True")
    return f"{one} {status.reason}"


@pytest.mark.parametrize(
    ("spec", "seen", "wanted"),
    [
        ({}, Seen(), "Ready Counts"),
        ({}, Seen(look()), "Ready Counts"),
        ({}, Seen(no_table()), "Ready Counts"),
        ({}, Seen(unreadable("no answer")), "Ready Counts"),
        ({"partitionBy": ["date"]}, Seen(), "Reconciling NotReadYet"),
        ({"partitionBy": ["date"]}, Seen(look()), "Ready Counts"),
        ({"partitionBy": ["date"]}, Seen(no_table()), "Ready Counts"),
        ({"partitionBy": ["id"]}, Seen(look()), "Stalled Drifted"),
        ({"isolationLevel": "WriteSerializable"}, Seen(look()), "Stalled Drifted"),
        ({"properties": FEED}, Seen(), "Reconciling NotReadYet"),
        ({"properties": FEED}, Seen(no_table()), "Reconciling TableMissing"),
        ({"properties": FEED}, Seen(other_things()), "Stalled NotADeltaTable"),
        ({"properties": FEED}, Seen(other_things(), is_written=True), "Reconciling TableMissing"),
        ({}, Seen(other_things()), "Stalled NotADeltaTable"),
        ({}, Seen(other_things(), is_written=True), "Ready Counts"),
        ({"properties": FEED}, Seen(unreadable("no answer")), "Stalled TableUnread"),
        ({"properties": FEED}, Seen(look()), "Stalled Drifted"),
        ({"properties": FEED}, Seen(look(properties=FEED)), "Ready AsWanted"),
        ({"clusterBy": []}, Seen(look()), "Ready AsWanted"),
        ({"properties": FEED, "runtimeRef": "big"}, Seen(look(properties=FEED)), "Ready AsWanted"),
        ({"properties": FEED, "runtimeRef": "big"}, Seen(profiles=["a"]), "Reconciling NotReadYet"),
        (ENFORCED | {"runtimeRef": "big"}, Seen(profiles=["big"]), "Reconciling NotReadYet"),
        (
            ENFORCED | {"runtimeRef": "big"},
            Seen(look(properties=FEED), profiles=["a"]),
            "Stalled RuntimeUnknown",
        ),
        (KEPT_UP, Seen(profiles=["a"]), "Stalled RuntimeUnknown"),
        (KEPT_UP | {"allowedNamespaces": ["etl", "b"]}, Seen(profiles=["default"]), "Ready Counts"),
        (KEPT_UP | {"allowedNamespaces": ["b"]}, Seen(profiles=["default"]), "Stalled NamespaceNotAllowed"),
        (ENFORCED | {"allowedNamespaces": ["b"]}, Seen(profiles=["default"]), "Stalled NamespaceNotAllowed"),
        ({"enforcement": "Enforce", "allowedNamespaces": ["b"]}, Seen(profiles=["default"]), "Ready Counts"),
        ({"maintenance": {"vacuum": {"schedule": "@daily"}}}, Seen(), "Ready Counts"),
        (CLEANED_UP, Seen(look()), "Ready Counts"),
        (CLEANED_UP, Seen(look(properties={FILES_KEPT: "interval 2 days"})), "Stalled VacuumNeverRuns"),
        (CLEANED_UP, Seen(look(properties={FILES_KEPT: "for ever"})), "Stalled VacuumNeverRuns"),
        (CLEANED_UP, Seen(unreadable("no answer")), "Ready Counts"),
        (
            {"maintenance": {"vacuum": {"schedule": "@daily", "suspend": True}}},
            Seen(look(properties={FILES_KEPT: "interval 2 days"})),
            "Ready Counts",
        ),
        (
            CLEANED_UP | {"properties": {FILES_KEPT: "interval 7 days"}, "enforcement": "Enforce"},
            Seen(look(properties={FILES_KEPT: "interval 2 days"})),
            "Reconciling Changing",
        ),
        ({"maintenance": {"vacuum": {"schedule": "0 3 30 2 *"}}}, Seen(), "Stalled Impossible"),
        (
            {"maintenance": {"optimize": {"schedule": "@daily", "where": "d < :now"}}},
            Seen(),
            "Stalled Impossible",
        ),
    ],
)
def test_it_stands_as_its_table_does(spec: Json, seen: Seen, wanted: str) -> None:
    assert standing(told(policy(**spec), seen)) == wanted


@pytest.mark.parametrize(
    ("spec", "advised"),
    [
        (KEPT_UP | {"properties": FEED}, "add it, or take spec.maintenance away"),
        (ENFORCED, "add it, or say enforcement: Observe"),
        (ENFORCED | KEPT_UP, "add it, or say enforcement: Observe and take spec.maintenance away"),
    ],
)
def test_a_policy_whose_jobs_may_not_write_is_advised_only_what_would_help_it(
    spec: Json, advised: str
) -> None:
    status = told(policy(**spec, allowedNamespaces=["b"]), Seen(profiles=["default"]))
    assert f"none of its jobs may write the table: {advised}. " in str(status.message)


def test_that_no_vacuum_ever_runs_stays_told_until_a_look_or_a_change_tells_otherwise() -> None:
    body = policy(**CLEANED_UP)
    assert told(body, Seen(look(properties={FILES_KEPT: "interval 2 days"}))).reason == "VacuumNeverRuns"
    assert "at least 'interval 168 hours'" in body["status"]["message"]
    assert told(body, Seen()).reason == "VacuumNeverRuns"
    assert told(body, Seen(look())).reason == "Counts"


def test_where_the_table_differs_the_status_says_in_what_since_when_and_by_whom() -> None:
    back = replace(look().history, changed_by={"delta.enableChangeDataFeed": commit(3, "SET TBLPROPERTIES")})
    seen = Seen(look(properties={"delta.enableChangeDataFeed": "false"}, history=back))
    status = told(policy(properties=FEED), seen)
    (one,) = status.drift
    assert (one.field, one.wanted, one.found) == ("properties.delta.enableChangeDataFeed", "true", "false")
    assert (one.since, one.by) == (AT, "delta-rs:1.6.6 (SET TBLPROPERTIES) in version 3")
    assert status.drift_count == 1
    assert "Nothing is changed, because enforcement is Observe" in str(status.message)


def test_who_changed_it_stays_when_the_log_does_not_tell_any_more() -> None:
    back = replace(look().history, changed_by={"delta.enableChangeDataFeed": commit(3)})
    body = policy(properties=FEED)
    off = {"delta.enableChangeDataFeed": "false"}
    first = told(body, Seen(look(properties=off, history=back)))
    assert told(body, Seen(look(properties=off))).drift == first.drift
    assert told(body, Seen(look())).drift[0].by is None, "it is not the same difference"


def test_what_cannot_be_taken_back_says_what_is_missing() -> None:
    status = told(policy(features=["deletionVectors"]), Seen(look(), version=(4, 0)))
    (one,) = status.drift
    assert one.held_back
    assert "allowIrreversible: true" in str(status.message)


def test_what_was_read_once_stays_while_the_table_cannot_be_read_and_the_message_says_from_when_it_is() -> (
    None
):
    body = policy(properties=FEED)
    first = told(body, Seen(look(properties=FEED)))
    status = told(body, Seen(unreadable("no answer"), ran="etl/b reported version 9"))
    assert status.observed == first.observed
    assert status.drift_count is None
    assert "no answer. status.observed has what was read at 2026-11-19T10:00:00Z" in str(status.message)
    assert "etl/b reported version 9" in str(status.message)


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (None, "no answer. Nothing is known of it"),
        ("etl/b reported version 9", "no answer. All that is known of it: etl/b reported version 9"),
    ],
)
def test_a_table_that_was_never_read_is_known_by_what_runs_reported(ran: str | None, said: str) -> None:
    assert told(policy(properties=FEED), Seen(unreadable("no answer"), ran=ran)).message == said


def test_what_was_read_goes_with_the_table() -> None:
    body = policy(properties=FEED)
    assert told(body, Seen(look(properties=FEED))).observed is not None
    assert told(body, Seen(no_table())).observed is None
    told(body, Seen(look(properties=FEED)))
    body["spec"] = {"table": {"path": "/lake/other"}, "properties": FEED}
    body["metadata"]["generation"] = 2
    status = told(body, Seen())
    assert (standing(status), status.observed) == ("Reconciling NotReadYet", None)


def test_a_new_leader_that_has_seen_nothing_yet_leaves_a_status_as_it_is() -> None:
    for seen in (
        Seen(look(properties=FEED)),
        Seen(look()),
        Seen(no_table()),
        Seen(unreadable("no answer")),
    ):
        body = policy(properties=FEED)
        before = told(body, seen)
        assert state_of(body, None, Seen()) is None
        body["metadata"]["generation"] = 2
        after = told(body, Seen())
        assert standing(after) == "Reconciling NotReadYet"
        assert after.observed == before.observed


@pytest.mark.parametrize("reason", EnforcedReason)
def test_what_is_being_done_stands_in_place_of_the_differences(reason: EnforcedReason) -> None:
    body = policy(properties={"delta.appendOnly": "true"}, enforcement="Enforce")
    assert standing(told(body, Seen(look()))) == "Reconciling Changing"
    body["status"]["enforced"] = {"reason": reason.value, "message": "so it is"}
    status = told(body, Seen(look()))
    goes_on = reason in (EnforcedReason.CHANGING, EnforcedReason.RETRYING)
    assert standing(status) == f"{'Reconciling' if goes_on else 'Stalled'} {reason.value}"
    assert (status.message, status.drift_count) == ("so it is", 1)
    assert standing(told(body, Seen(look(properties={"delta.appendOnly": "true"})))) == "Ready AsWanted"


NEVER_DUE: Json = {"maintenance": {"vacuum": {"schedule": "0 3 30 2 *"}}}
NAME_LEADS_ELSEWHERE = LeftOut("etl/a", PolicyReason.AMBIGUOUS, "its name leads to two", goes_on=True)


def test_trouble_with_the_table_is_the_reason_and_what_else_is_wrong_is_in_the_message() -> None:
    body = policy(properties={"delta.appendOnly": "true"}, enforcement="Enforce", **NEVER_DUE)
    body["status"] = {"enforced": {"reason": EnforcedReason.FIGHT.value, "message": "set back each time"}}
    status = told(body, Seen(look()), NAME_LEADS_ELSEWHERE)
    assert standing(status) == "Stalled Fight"
    message = str(status.message)
    assert message.startswith("set back each time. ")
    assert "That maintenance is never done" in message
    assert message.endswith("its name leads to two")
    body["status"]["enforced"] = {}
    assert standing(told(body, Seen(look()), NAME_LEADS_ELSEWHERE)) == "Stalled Impossible"


def test_a_policy_whose_name_another_one_binds_elsewhere_is_compared_with_its_table_all_the_same() -> None:
    body = policy(properties=FEED)
    assert standing(told(body, Seen(), NAME_LEADS_ELSEWHERE)) == "Stalled Ambiguous"
    drifted = told(body, Seen(look()), NAME_LEADS_ELSEWHERE)
    assert (standing(drifted), drifted.drift_count) == ("Stalled Drifted", 1)
    assert str(drifted.message).endswith(". its name leads to two")
    as_wanted = told(body, Seen(look(properties=FEED)), NAME_LEADS_ELSEWHERE)
    assert (standing(as_wanted), as_wanted.message) == ("Stalled Ambiguous", "its name leads to two")
    assert as_wanted.drift_count == 0
    assert standing(told(body, Seen(look(properties=FEED)))) == "Ready AsWanted"


def test_where_what_is_left_cannot_be_changed_enforcing_waits_for_a_person() -> None:
    assert standing(told(policy(properties=FEED, enforcement="Enforce"), Seen(look()))) == "Stalled Drifted"


def test_nothing_is_written_as_long_as_nothing_but_the_time_differs() -> None:
    body = policy(properties=FEED)
    told(body, Seen(look(properties=FEED)))
    later = look(properties=FEED, at=AT + timedelta(hours=1))
    state = state_of(body, None, Seen(later))
    assert state is not None
    assert patch_of(body, state, NOW + timedelta(hours=1)) == {}
    moved = state_of(body, None, Seen(look(properties=FEED, at=AT + timedelta(hours=2), version=4)))
    assert moved is not None
    assert set(patch_of(body, moved, NOW)) == {"observed"}


def test_a_trouble_that_a_store_puts_into_other_words_each_time_is_not_written_again() -> None:
    body = policy(properties=FEED)
    long = "the log of s3://lake/orders cannot be read: the store answered 503"
    told(body, Seen(unreadable(f"{long} to request 4442587FB7D0A2F9 at 10:00:01.5")))
    again = state_of(body, None, Seen(unreadable(f"{long} to request 1EE87C4AB7D0A2F1 at 10:05:02")))
    assert again is not None
    assert patch_of(body, again, NOW) == {}


def test_another_trouble_is_written() -> None:
    body = policy(properties=FEED)
    told(body, Seen(unreadable("the store answered 503")))
    assert "403" in str(told(body, Seen(unreadable("the store answered 403"))).message)


def test_many_differences_are_counted_and_the_first_are_named() -> None:
    names = [f"my.own{number:02}" for number in range(64)]
    status = told(policy(properties=dict.fromkeys(names, "1"), partitionBy=["id"]), Seen(look()))
    assert len(status.drift) == 64
    assert status.drift_count == 65
    assert "62 more" in str(status.message)
    assert len(str(status.message)) <= 2048


def test_jobs_of_others_are_called_as_the_namespace_may_know_them() -> None:
    history = replace(
        look().history,
        last_by_operation={"MERGE": commit(2, "MERGE", job="other/x")},
        changed_by={"delta.enableChangeDataFeed": commit(2, job="other/x")},
    )
    off = {"delta.enableChangeDataFeed": "false"}
    seen = Seen(look(properties=off, history=history), named=lambda _: "somebody")
    status = told(policy(properties=FEED), seen)
    assert status.observed is not None
    assert status.observed.last_commits[0].job == "somebody"
    assert status.drift[0].by == "somebody in version 2"
    assert "other" not in status.model_dump_json()

"""A policy's status says whether all of it counts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.policy import DeltaTablePolicySpec, PolicyAdmission
from sluice.api.policy_status import DeltaTablePolicyStatus
from sluice.api.reasons import PolicyReason
from sluice.policies.conditions import LeftOut, PolicyState, Seen, state_of
from sluice.policies.status import patch_of
from unit.controller.bodies import policy_body
from unit.policies.looks import look

NOW = datetime(2026, 11, 19, tzinfo=UTC)
LATER = datetime(2026, 11, 20, tzinfo=UTC)
TABLE = {"path": "/lake/orders", "name": "sales.orders"}
COUNT = {
    *(
        "table",
        "properties",
        "features",
        "clusterBy",
        "partitionBy",
        "dialect",
        "isolationLevel",
        "logStore",
        "allowedNamespaces",
        "retry",
        "enforcement",
        "allowIrreversible",
        "runtimeRef",
        "maintenance",
    ),
    *(
        "admission.unknownFootprint",
        "admission.defaultTimeout",
        "admission.maxWriters",
        "admission.risk",
        "admission.ageAfter",
    ),
}


def _state(body: Json, left_out: LeftOut | None = None, seen: Seen | None = None) -> PolicyState:
    state = state_of(body, left_out, seen or Seen(look=look()))
    assert state is not None
    return state


def _told(
    body: Json, left_out: LeftOut | None = None, now: datetime = NOW, seen: Seen | None = None
) -> DeltaTablePolicyStatus:
    return DeltaTablePolicyStatus.model_validate(patch_of(body, _state(body, left_out, seen), now))


def _states(status: DeltaTablePolicyStatus) -> dict[str, str]:
    return {condition.type: condition.status.value for condition in status.conditions}


def test_each_field_of_a_policy_is_known_to_count() -> None:
    own = {field.alias or name for name, field in DeltaTablePolicySpec.model_fields.items()}
    admission = {f"admission.{field.alias or name}" for name, field in PolicyAdmission.model_fields.items()}
    assert own - {"admission"} | admission == COUNT


def test_a_policy_of_which_all_counts_is_ready_for_its_generation() -> None:
    spec: Json = {
        "table": TABLE,
        "logStore": "S3DynamoDB",
        "partitionBy": ["date"],
        "isolationLevel": "Serializable",
    }
    status = _told(policy_body("a", generation=7, **spec))
    assert _states(status) == {"Ready": "True", "Reconciling": "False", "Stalled": "False"}
    assert {condition.observed_generation for condition in status.conditions} == {7}
    assert (status.observed_generation, status.reason, status.table) == (7, "Counts", "file:/lake/orders")


def test_what_the_api_server_fills_in_by_default_asks_for_nothing() -> None:
    defaults: Json = {
        "admission": {"risk": "Strict", "unknownFootprint": "Exclusive"},
        "enforcement": "Observe",
        "allowIrreversible": False,
    }
    assert _told(policy_body("a", table=TABLE, **defaults)).reason == "Counts"


def test_one_that_is_left_out_or_not_understood_says_why() -> None:
    second = LeftOut("etl/a", PolicyReason.LEFT_OUT, "etl/b is older and about the same table")
    status = _told(policy_body("a", table=TABLE), second)
    assert (status.reason, status.message) == ("LeftOut", second.why)
    assert _states(status)["Stalled"] == "True"
    broken = LeftOut("etl/a", PolicyReason.NOT_UNDERSTOOD, "spec.logStore: is none of them")
    status = _told(policy_body("a", table=TABLE, logStore="Hope"), broken)
    assert (status.reason, status.message, status.table) == ("NotUnderstood", broken.why, None)


def test_nothing_is_written_when_nothing_changed() -> None:
    body = policy_body("a", table=TABLE)
    body["status"] = patch_of(body, _state(body), NOW)
    assert patch_of(body, _state(body), LATER) == {}


def test_times_stay_as_long_as_their_status_does() -> None:
    body = policy_body("a", table=TABLE)
    body["status"] = patch_of(body, _state(body), NOW)
    body["metadata"]["generation"] = 2
    stays = _told(body, now=LATER)
    assert {condition.last_transition_time for condition in stays.conditions} == {NOW}
    stalls = _told(body, LeftOut("etl/a", PolicyReason.LEFT_OUT, "another one"), LATER)
    times = {condition.type: condition.last_transition_time for condition in stalls.conditions}
    assert times == {"Ready": LATER, "Reconciling": NOW, "Stalled": LATER}


def test_a_table_that_is_not_known_any_more_is_taken_out_and_others_fields_stay() -> None:
    body = policy_body("a", table=TABLE)
    body["status"] = patch_of(body, _state(body), NOW) | {"maintenance": {"optimize": {}}}
    body["spec"]["logStore"] = "Hope"
    patch = patch_of(body, _state(body), NOW)
    assert patch["table"] is None
    assert patch["observed"] is None
    assert "maintenance" not in patch


@pytest.mark.parametrize("spec", [None, [], "x", {}, {"table": []}])
def test_one_without_a_spec_says_so(spec: Any) -> None:
    """Older and newer schemas may let it through."""
    body = policy_body("a") | {"spec": spec}
    for one in (body, {name: value for name, value in body.items() if name != "spec"}):
        assert (
            _state(one, LeftOut("etl/a", PolicyReason.NOT_UNDERSTOOD, "spec: ...")).verdict.message
            == "spec: ..."
        )


@pytest.mark.parametrize("status", [None, [], "x", 7])
def test_what_stands_in_the_place_of_its_status_is_written_over(status: Any) -> None:
    """Nothing is kept there that can't be found out again."""
    assert _told(policy_body("a", table=TABLE) | {"status": status}).reason == "Counts"


@pytest.mark.parametrize("conditions", [None, "x", 7, {}, [1], [{"type": "Ready"}], [{"type": None}]])
def test_a_status_that_somebody_wrote_is_written_anew(conditions: Any) -> None:
    body = policy_body("a", table=TABLE)
    body["status"] = {"conditions": conditions}
    assert _told(body).reason == "Counts"

"""Makes a policy's status: Ready if all of it counts, Stalled with what doesn't, by the kstatus convention."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.conditions import Condition, ConditionStatus
from sluice.api.not_yet import what_has_no_effect
from sluice.api.policy import DeltaTablePolicySpec
from sluice.lifecycle.status import difference
from sluice.tables import keys_of

_TRUE, _FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE
_LONGEST_MESSAGE = 2048
_OURS = ("observedGeneration", "table", "reason", "message", "conditions")


@dataclass(frozen=True)
class LeftOut:
    """A policy that does not count. Where its name leads counts all the same."""

    policy: str
    reason: str
    why: str


@dataclass(frozen=True)
class PolicyState:
    counts_wholly: bool
    reason: str
    message: str
    table: str | None = None


def state_of(body: Json, left_out: LeftOut | None) -> PolicyState:
    try:
        spec = DeltaTablePolicySpec.as_stored(body.get("spec"))
    except ValidationError:
        spec = None
    if spec is None or left_out is not None:
        reason = left_out.reason if left_out is not None else "NotUnderstood"
        why = left_out.why if left_out is not None else "it is not understood, and does not count"
        return PolicyState(counts_wholly=False, reason=reason, message=why, table=_table_of(spec))
    missing = tuple(what_has_no_effect(spec))
    if missing:
        message = f"{'; '.join(missing)}. The rest of it counts"
        return PolicyState(counts_wholly=False, reason="NotYet", message=message, table=_table_of(spec))
    return PolicyState(
        counts_wholly=True, reason="Counts", message="the whole policy is in effect", table=_table_of(spec)
    )


def patch_of(body: Json, state: PolicyState, now: datetime) -> Json:
    """Returns what is to be changed in its status; empty: nothing. What others have written there stays."""
    given = body.get("status")
    before = given if isinstance(given, dict) else {}
    message = state.message[:_LONGEST_MESSAGE]
    conditions = _conditions(before, body["metadata"]["generation"], state, message, now)
    wanted = {
        "observedGeneration": body["metadata"]["generation"],
        "reason": state.reason,
        "message": message,
        "conditions": [condition.model_dump(mode="json", by_alias=True) for condition in conditions],
    }
    if state.table is not None:
        wanted["table"] = state.table
    return difference({name: before[name] for name in _OURS if name in before}, wanted)


def _conditions(
    before: Json, generation: int, state: PolicyState, message: str, now: datetime
) -> tuple[Condition, ...]:
    given = before.get("conditions")
    read = map(_readable, given if isinstance(given, list) else ())
    known = {one.type: one for one in read if one is not None}
    states = {
        "Ready": _TRUE if state.counts_wholly else _FALSE,
        "Reconciling": _FALSE,
        "Stalled": _FALSE if state.counts_wholly else _TRUE,
    }
    return tuple(
        Condition(
            type=type_,
            status=status,
            observed_generation=generation,
            last_transition_time=known[type_].last_transition_time
            if type_ in known and known[type_].status is status
            else now,
            reason=state.reason,
            message=message,
        )
        for type_, status in states.items()
    )


def _readable(condition: Any) -> Condition | None:
    try:
        return Condition.as_stored(condition)
    except ValidationError:
        return None


def _table_of(spec: DeltaTablePolicySpec | None) -> str | None:
    """The table's location, or its name where no location is given."""
    if spec is None:
        return None
    name, location = keys_of(spec.table.name, spec.table.path)
    key = location or name
    return key.text if key is not None else None

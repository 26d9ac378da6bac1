"""Makes a policy's status, with conditions by the kstatus convention, and finds what of it is to be written."""

import re
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.conditions import Condition, ConditionStatus
from sluice.api.reasons import PolicyReason
from sluice.api.strings import without_surrogates
from sluice.lifecycle.job.status import difference
from sluice.policies.conditions import ConditionState, PolicyCondition, PolicyState

_LONGEST_MESSAGE = 2048
_OURS = (
    *("observedGeneration", "table", "reason", "message", "conditions"),
    *("observed", "drift", "driftCount"),
)
_TROUBLES = (PolicyReason.TABLE_UNREAD, PolicyReason.COUNTS)
_NEW_EACH_TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?|\b(?=\w*\d)\w{8,}\b")
"""Times, and numbers of requests, which stores put into their messages."""


def patch_of(body: Json, state: PolicyState, now: datetime) -> Json:
    """Returns what is to be changed in its status; empty: nothing. What others have written there stays."""
    given = body.get("status")
    before = given if isinstance(given, dict) else {}
    generation = body["metadata"]["generation"]
    message = _message(before, generation, state.verdict)
    conditions = _conditions(before, generation, state.verdict, message, now)
    known = {"table": state.table, "observed": state.told.observed, "driftCount": state.told.count}
    wanted: Json = {
        "observedGeneration": generation,
        "reason": state.verdict.reason.value,
        "message": message,
        "conditions": [condition.model_dump(mode="json", by_alias=True) for condition in conditions],
        "drift": list(state.told.drift),
        **{name: value for name, value in known.items() if value is not None},
    }
    return difference({name: before[name] for name in _OURS if name in before}, wanted)


def _message(before: Json, generation: int, verdict: ConditionState) -> str:
    """A trouble that stays is not told again and again in slightly other words."""
    message = without_surrogates(verdict.message)[:_LONGEST_MESSAGE]
    said = before.get("message")
    if (before.get("observedGeneration"), before.get("reason")) != (generation, verdict.reason.value):
        return message
    if verdict.reason not in _TROUBLES or not isinstance(said, str):
        return message
    return said if _NEW_EACH_TIME.sub("", said) == _NEW_EACH_TIME.sub("", message) else message


def _conditions(
    before: Json, generation: int, verdict: ConditionState, message: str, now: datetime
) -> tuple[Condition, ...]:
    given = before.get("conditions")
    read = map(_readable, given if isinstance(given, list) else ())
    known = {one.type: one for one in read if one is not None}
    states = {
        one.value: ConditionStatus.TRUE if one is verdict.standing else ConditionStatus.FALSE
        for one in PolicyCondition
    }
    return tuple(
        Condition(
            type=type_,
            status=status,
            observed_generation=generation,
            last_transition_time=known[type_].last_transition_time
            if type_ in known and known[type_].status is status
            else now,
            reason=verdict.reason.value,
            message=message,
        )
        for type_, status in states.items()
    )


def standing_in(body: Json) -> PolicyCondition | None:
    """The condition of a policy that is True, as its status says; None: it says none."""
    status = body.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    said = [one for one in conditions if isinstance(one, dict)] if isinstance(conditions, list) else []
    return next((one for one in PolicyCondition if any(_is_true(told, one) for told in said)), None)


def _is_true(condition: Json, standing: PolicyCondition) -> bool:
    is_true = condition.get("status") == ConditionStatus.TRUE.value
    return is_true and condition.get("type") == standing.value


def _readable(condition: Any) -> Condition | None:
    try:
        return Condition.as_stored(condition)
    except ValidationError:
        return None

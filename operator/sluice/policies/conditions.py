"""How a policy stands: whether all of it counts, and whether its table is as it wants."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.policy import DeltaTablePolicySpec, Enforcement
from sluice.api.policy_enforcement import Enforced, EnforcedReason
from sluice.api.reasons import PolicyReason
from sluice.delta.version import Version
from sluice.policies.desired_state import problems_with, wants_of_the_table
from sluice.policies.difference import AlterationPlan, Difference, plan_of
from sluice.policies.enforcement_record import enforced_in
from sluice.policies.job_permission import wants_jobs, why_none
from sluice.policies.maintenance_spec import upkeeps_of
from sluice.policies.observed_status import Named, drift_of, observed_of, unless_same
from sluice.policies.retention import why_never
from sluice.tables import keys_of
from sluice.tables.table_observation import TableObservation, TableState

_MOST_NAMED = 3
_LONGEST_NAME = 256
_WITHOUT_A_LOOK = frozenset(
    {
        PolicyReason.NOT_OWNER.value,
        PolicyReason.COUNTS.value,
        PolicyReason.IMPOSSIBLE.value,
        PolicyReason.NAMESPACE_NOT_ALLOWED.value,
        PolicyReason.RUNTIME_UNKNOWN.value,
        PolicyReason.LEFT_OUT.value,
        PolicyReason.AMBIGUOUS.value,
        PolicyReason.NOT_UNDERSTOOD.value,
    }
)
"""Reasons that are given whatever the table is."""

_BY_A_LOOK_AT_ANY = (PolicyReason.VACUUM_NEVER_RUNS, PolicyReason.NOT_A_DELTA_TABLE)
"""Reasons that a look gives also a policy that wants nothing of its table: they stay until the next look."""
_SAME_WORD = {
    reason.value: reason for reason in PolicyReason if reason.value in {one.value for one in EnforcedReason}
}
_GOES_ON = (PolicyReason.CHANGING, PolicyReason.RETRYING)


class PolicyCondition(StrEnum):
    """The condition that is True."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    """It gets there without a person."""
    STALLED = "Stalled"


class ConditionState(NamedTuple):
    standing: PolicyCondition
    reason: PolicyReason
    message: str


@dataclass(frozen=True)
class LeftOut:
    """A policy whose word on its table does not count, or not all of it."""

    policy: str
    reason: PolicyReason
    why: str
    goes_on: bool = False
    """Whether its table is compared, changed and maintained all the same."""


@dataclass(frozen=True)
class Seen:
    """What a policy is judged by besides itself."""

    look: TableObservation | None = None
    version: Version | None = None
    """Of Delta, that the jobs run which would change the table. None: not known."""
    conflicts: int = 0
    """Attempts of jobs that lost to another commit on the table within a day."""
    ran: str | None = None
    """What runs reported of the table, in a sentence. None: nothing."""
    elsewhere: str | None = None
    """Where a run found its name to lead, if that is not where it binds it, in a sentence."""
    named: Named = str
    """How jobs are called in its namespace."""
    is_written: bool = False
    """Whether a job that may write the table has begun, where something lies in its place: it may be the table's first version."""
    profiles: Collection[str] | None = None
    """Names of the profiles under which jobs can run. None: not known."""


@dataclass(frozen=True)
class TableStatus:
    """What the status says of the table."""

    observed: Json | None = None
    drift: tuple[Json, ...] = ()
    count: int | None = None
    """How many differences there are. None: nothing was compared."""


@dataclass(frozen=True)
class PolicyState:
    verdict: ConditionState
    table: str | None = None
    told: TableStatus = TableStatus()


def state_of(body: Json, left_out: LeftOut | None, seen: Seen) -> PolicyState | None:
    """None: its status is as it was left, and nothing was seen yet that is newer."""
    spec = spec_of(body)
    table = _table_of(spec)
    if left_out is not None and not left_out.goes_on:
        return PolicyState(ConditionState(PolicyCondition.STALLED, left_out.reason, left_out.why), table)
    if spec is None:
        why = "it is not understood, and does not count"
        return PolicyState(ConditionState(PolicyCondition.STALLED, PolicyReason.NOT_UNDERSTOOD, why), table)
    status = body.get("status")
    before: Json = status if isinstance(status, dict) else {}
    is_same_table = before.get("table") == table
    plan = None if seen.look is None else plan_of(spec, seen.look.state, seen.version)
    told = _told(spec, plan, seen, before if is_same_table else {}, table)
    verdict = _obstacle(spec, body["metadata"]["namespace"], seen.profiles) or _of_table(
        body, spec, plan, seen, told
    )
    is_judged = before.get("observedGeneration") == body["metadata"]["generation"] and is_same_table
    if verdict is None and is_judged and before.get("reason") not in _WITHOUT_A_LOOK:
        return None
    unread = ConditionState(
        PolicyCondition.RECONCILING, PolicyReason.NOT_READ_YET, "the table's log has not been read yet"
    )
    found = _together(verdict or unread, _besides(spec, left_out))
    if seen.elsewhere is not None:
        found = found._replace(message=f"{found.message}. {seen.elsewhere}")
    return PolicyState(found, table, told)


def _besides(spec: DeltaTablePolicySpec, left_out: LeftOut | None) -> Iterator[ConditionState]:
    """What else a person has to see to, while all that can be done is done."""
    never = upkeeps_of(spec.maintenance).problems
    if never:
        message = f"{'; '.join(never)}. That maintenance is never done; the rest of it counts"
        yield ConditionState(PolicyCondition.STALLED, PolicyReason.IMPOSSIBLE, message)
    if left_out is not None:
        yield ConditionState(PolicyCondition.STALLED, left_out.reason, left_out.why)


def _together(verdict: ConditionState, besides: Iterable[ConditionState]) -> ConditionState:
    """One verdict that says all of them: a trouble with the table comes first, as nothing goes on there."""
    troubles = (*((verdict,) if verdict.standing is PolicyCondition.STALLED else ()), *besides)
    if not troubles:
        return verdict
    return ConditionState(
        PolicyCondition.STALLED, troubles[0].reason, ". ".join(one.message for one in troubles)
    )


def _told(
    spec: DeltaTablePolicySpec, plan: AlterationPlan | None, seen: Seen, before: Json, table: str | None
) -> TableStatus:
    """`before`: what the status says of this table. What was read once stays until something else is read."""
    look = seen.look
    if look is None or plan is None:
        drift = before.get("drift")
        count = before.get("driftCount")
        return TableStatus(before.get("observed"), tuple(drift) if isinstance(drift, list) else (), count)
    if not look.state.exists:
        return TableStatus()
    if look.state.unread is not None:
        return TableStatus(before.get("observed"))
    observed = unless_same(before.get("observed"), observed_of(look, table or "", seen.conflicts, seen.named))
    drift = drift_of(spec, plan.differences, look.history, seen.named, before.get("drift"))
    shown = tuple(one.model_dump(mode="json", by_alias=True, exclude_defaults=True) for one in drift)
    return TableStatus(observed, shown, len(plan.differences))


def _obstacle(
    spec: DeltaTablePolicySpec, namespace: str, profiles: Collection[str] | None
) -> ConditionState | None:
    """What a person has to see to, whatever the table is."""
    problems = problems_with(spec)
    if problems:
        message = f"{'; '.join(problems)}. Nothing of the table is changed; how writes are admitted counts"
        return ConditionState(PolicyCondition.STALLED, PolicyReason.IMPOSSIBLE, message)
    none = None if profiles is None or not wants_jobs(spec) else why_none(spec, namespace, profiles)
    if none is not None:
        return ConditionState(
            PolicyCondition.STALLED, _SAME_WORD[none.reason.value], f"{none.why}. The rest of it counts"
        )
    return None


def _of_table(
    body: Json, spec: DeltaTablePolicySpec, plan: AlterationPlan | None, seen: Seen, told: TableStatus
) -> ConditionState | None:
    """None: it hasn't been read yet."""
    if seen.look is None or plan is None:
        is_compared = wants_of_the_table(spec) or _states_facts(spec)
        return None if is_compared or _was(body, *_BY_A_LOOK_AT_ANY) else _counts()
    if not seen.look.state.exists or seen.look.state.unread is not None:
        return _without_table(spec, seen.look.state, seen, told)
    if plan.changes and spec.enforcement is Enforcement.ENFORCE:
        return _of_changes(enforced_in(body), plan.differences)
    if plan.differences:
        return ConditionState(
            PolicyCondition.STALLED, PolicyReason.DRIFTED, _in_words(spec, plan.differences)
        )
    return _of_upkeep(spec, seen.look) or (
        ConditionState(PolicyCondition.READY, PolicyReason.AS_WANTED, "the table is as the policy wants")
        if wants_of_the_table(spec)
        else _counts()
    )


def _of_upkeep(spec: DeltaTablePolicySpec, look: TableObservation) -> ConditionState | None:
    """None: nothing of it is held back for ever."""
    wanted = None if spec.maintenance is None else spec.maintenance.vacuum
    never = why_never(wanted, look.state.properties)
    if never is None:
        return None
    return ConditionState(
        PolicyCondition.STALLED, PolicyReason.VACUUM_NEVER_RUNS, f"no VACUUM is run: {never}"
    )


def _was(body: Json, *reasons: PolicyReason) -> bool:
    status = body.get("status")
    return isinstance(status, dict) and status.get("reason") in {reason.value for reason in reasons}


def _of_changes(done: Enforced, differences: tuple[Difference, ...]) -> ConditionState:
    """What is being done about differences, or why nothing is any more."""
    if done.reason is None or done.reason not in _SAME_WORD or done.message is None:
        why = f"to be changed: {', '.join(one.field for one in differences if one.is_tried)}"
        return ConditionState(PolicyCondition.RECONCILING, PolicyReason.CHANGING, why)
    reason = _SAME_WORD[done.reason]
    return ConditionState(
        PolicyCondition.RECONCILING if reason in _GOES_ON else PolicyCondition.STALLED, reason, done.message
    )


def _without_table(
    spec: DeltaTablePolicySpec, state: TableState, seen: Seen, told: TableStatus
) -> ConditionState:
    """What is said where there is no table, or it can't be read."""
    unread = state.unread
    if state.holds is not None and not seen.is_written:
        why = (
            f"{state.holds[:_LONGEST_NAME]} lies in the table's folder, and no Delta log: correct spec.table.path, or make a Delta "
            "table of it (CONVERT TO DELTA). Where somebody writes its first version just now, it is looked at again"
        )
        return ConditionState(PolicyCondition.STALLED, PolicyReason.NOT_A_DELTA_TABLE, why)
    if not wants_of_the_table(spec):
        why = "there is no table yet" if unread is None else f"the table is not compared with it: {unread}"
        return _counts(f"; {why}" if _states_facts(spec) else "")
    if unread is None:
        why = "there is no table yet: once somebody has created it, it is compared with the policy"
        return ConditionState(PolicyCondition.RECONCILING, PolicyReason.TABLE_MISSING, why)
    return ConditionState(
        PolicyCondition.STALLED, PolicyReason.TABLE_UNREAD, f"{unread}. {_known_besides(seen, told)}"
    )


def _counts(more: str = "") -> ConditionState:
    return ConditionState(PolicyCondition.READY, PolicyReason.COUNTS, f"the whole policy is in effect{more}")


def _states_facts(spec: DeltaTablePolicySpec) -> bool:
    return spec.partition_by is not None or spec.isolation_level is not None


def _known_besides(seen: Seen, told: TableStatus) -> str:
    """What is known of a table that can't be read."""
    read_at = told.observed.get("readAt") if isinstance(told.observed, dict) else None
    if read_at is not None:
        before = f"status.observed has what was read at {read_at}"
        return before if seen.ran is None else f"{before}; {seen.ran}"
    return f"All that is known of it: {seen.ran}" if seen.ran is not None else "Nothing is known of it"


def _in_words(spec: DeltaTablePolicySpec, differences: tuple[Difference, ...]) -> str:
    named = "; ".join(_told_of(one) for one in differences[:_MOST_NAMED])
    left = len(differences) - _MOST_NAMED
    more = f"; and {left} more, see status.drift" if left > 0 else ""
    if spec.enforcement is Enforcement.OBSERVE and any(one.forbidden is None for one in differences):
        return f"{named}{more}. Nothing is changed, because enforcement is Observe"
    return f"{named}{more}"


def _told_of(one: Difference) -> str:
    said = f"{one.field}: wanted is {one.wanted}, found is {one.found}"
    if one.forbidden is not None:
        return f"{said}: {one.forbidden}"
    if one.held_back:
        return f"{said}: {one.irreversible}: say allowIrreversible: true if it shall be changed all the same"
    return said


def spec_of(body: Json) -> DeltaTablePolicySpec | None:
    """None: it is not understood, and does not count, as its status says."""
    try:
        return DeltaTablePolicySpec.as_stored(body.get("spec"))
    except ValidationError:
        return None


def _table_of(spec: DeltaTablePolicySpec | None) -> str | None:
    """The table's location, or its name where no location is given."""
    if spec is None:
        return None
    name, location = keys_of(spec.table.name, spec.table.path)
    key: Any = location or name
    return None if key is None else str(key)

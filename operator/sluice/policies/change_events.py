"""Which Events tell of what is done to a policy's table: as much as its status keeps, whenever that has changed."""

from collections.abc import Iterator

from sluice.api.policy_enforcement import Enforced, EnforcedReason
from sluice.api.reasons import EventReason
from sluice.lifecycle.attempt.job_events import JobEvent
from sluice.policies.remediation import MakeJob

_STALLED = frozenset(EnforcedReason) - {EnforcedReason.CHANGING, EnforcedReason.RETRYING}


def begun(step: MakeJob) -> JobEvent:
    return JobEvent(
        EventReason.TABLE_CHANGE_BEGUN, f"created DeltaWriteJob {step.name} to set {', '.join(step.fields)}"
    )


def announced(before: Enforced, after: Enforced) -> Iterator[JobEvent]:
    """What has come to be since the status was as before."""
    newly = [one.field for one in after.fields_set if one not in before.fields_set]
    # A field may be set back before its job's end is counted: then one status counts both.
    known = {one.field for one in before.fields_set}
    newly += [one.field for one in after.set_back if one not in before.set_back and one.field not in known]
    if newly:
        yield JobEvent(EventReason.TABLE_CHANGED, f"{after.job} has set {', '.join(newly)}")
    if after.generation == before.generation and after.failures > before.failures:
        yield JobEvent(EventReason.TABLE_CHANGE_FAILED, str(after.failure), is_warning=True)
    if after.reason in _STALLED and after.reason != before.reason:
        yield JobEvent(EventReason.TABLE_CHANGES_STALLED, f"{after.reason}: {after.message}", is_warning=True)

"""What a policy's status keeps of the changes that were made to its table, and what differs of it.

What somebody wrote over is as if nothing was kept: jobs that are there still tell of theirs."""

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.policy_enforcement import Enforced
from sluice.lifecycle.job.status import difference

FIELD = "enforced"
MOST_JOBS = 99_999_999
"""More than any policy makes: each has its number in its name."""


def enforced_in(policy: Json) -> Enforced:
    try:
        kept = Enforced.as_stored(_given(policy))
    except ValidationError:
        return Enforced()
    return kept if kept.counted <= kept.number <= MOST_JOBS else Enforced()


def patch_of_enforced(policy: Json, after: Enforced) -> Json:
    """What is to be changed in its status; empty: nothing."""
    before = _given(policy)
    wanted = after.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    changed = difference(before, wanted)
    return {FIELD: changed} if changed else {}


def _given(policy: Json) -> Json:
    status = policy.get("status")
    given = status.get(FIELD) if isinstance(status, dict) else None
    return given if isinstance(given, dict) else {}

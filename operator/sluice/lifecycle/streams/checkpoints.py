"""Whose a checkpoint is. It tells how far one stream has come: of two jobs that use it each would go on from the other's batches,
so that it stays its job's until that job has ended, also while that pauses or waits for another attempt."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from sluice.api.reasons import Reason
from sluice.lifecycle.evidence.finished_jobs import has_ended
from sluice.lifecycle.job.table_rules import RefusedByPolicy
from sluice.tables import key_of_path


def used_by(body: Any) -> frozenset[str]:
    """The checkpoints that a job names which has not ended, each in its one spelling. It is told from the object: of most there is
    none."""
    return frozenset() if has_ended(body) else named_by(body)


def named_by(body: Any) -> frozenset[str]:
    """The same of any job."""
    spec = body.get("spec")
    return frozenset(_keys(_given(spec))) if isinstance(spec, dict) else frozenset()


def _given(spec: dict[str, Any]) -> Iterator[Any]:
    for one in (spec.get("stream"), *_listed(spec.get("footprint"))):
        if isinstance(one, dict):
            yield one.get("checkpoint")


def _keys(given: Iterable[Any]) -> Iterator[str]:
    for one in given:
        if isinstance(one, str):
            yield key_of_path(one).text


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


Came = tuple[int, str, str]
"""Who comes first to a checkpoint: who is at work (0), then who has been (1), then the others (2), of these who was created first;
at last its uid."""
_AT_WORK = 0


def came(body: Any) -> Came:
    """Told from the object, because thousands may name one checkpoint."""
    status, metadata = body.get("status"), body["metadata"]
    attempts = _listed(status.get("attempts")) if isinstance(status, dict) else []
    told = [one for one in attempts if isinstance(one, dict)]
    is_at_work = any(one.get("outcome") is None for one in told)
    place = _AT_WORK if is_at_work else 1 if told else 2
    return place, str(metadata.get("creationTimestamp", "")), str(metadata["uid"])


def owner_of(users: Collection[Came], holds: Callable[[str], bool]) -> str | None:
    """The uid of the one that has the checkpoint, of all that have not ended and use it. `holds`: whether one holds leases."""
    first = min(users, default=None)
    if first is not None and first[0] != _AT_WORK:
        first = min((one for one in users if holds(one[-1])), default=first)
    return None if first is None else first[-1]


def was_refused(body: Any) -> bool:
    """Whether a job has ended because another one has its checkpoint, so that nobody gets that by its end."""
    status = body.get("status")
    return isinstance(status, dict) and status.get("reason") == Reason.CHECKPOINT_IN_USE.value


def in_use(checkpoint: str, owner: str) -> RefusedByPolicy:
    """`owner`: what the job's status may call the one whose it is."""
    return RefusedByPolicy(
        Reason.CHECKPOINT_IN_USE,
        f"not run, because {owner} uses the checkpoint {checkpoint} and has not ended: of two streams on one checkpoint each would "
        "go on from the other's batches. Delete that job, or give this one a checkpoint of its own, and create it again",
    )


def taken(checkpoint: str, owner: str) -> str:
    """Why a job that has ended has no other attempt."""
    return (
        f"{owner} uses its checkpoint {checkpoint} by now, and has not ended: of two streams on one checkpoint each would go on "
        "from the other's batches"
    )


def being_freed(checkpoint: str, owner: str) -> str:
    return f"waits until {owner} is gone, which is being deleted and uses the checkpoint {checkpoint}"

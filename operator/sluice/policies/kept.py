"""Which fields of a policy count today, and what the others would be for: a closed list, so that none is passed over unseen."""

from collections.abc import Iterator
from typing import Any

from sluice.api.base import Model
from sluice.api.policy import DeltaTablePolicySpec, PolicyAdmission

KEPT = frozenset({"table", "partition_by", "dialect", "isolation_level", "log_store"})

_NOBODY_COMPARES = "the table isn't compared with it"
_NOBODY_CREATES = "no jobs are created from policies"

NOT_KEPT = {
    "properties": _NOBODY_COMPARES,
    "features": _NOBODY_COMPARES,
    "cluster_by": _NOBODY_COMPARES,
    "enforcement": "nothing is changed to what the policy wants",
    "allow_irreversible": "nothing is changed to what the policy wants",
    "runtime_ref": _NOBODY_CREATES,
    "allowed_namespaces": "jobs of all namespaces may write the table",
    "retry": "no job is retried",
    "maintenance": _NOBODY_CREATES,
}
ADMISSION_NOT_KEPT = {
    "max_writers": "as many jobs write the table as cannot conflict",
    "risk": "jobs that may conflict wait for one another",
    "unknown_footprint": "a job that isn't understood runs alone",
    "default_timeout": "only the job's own admission.timeout ends its wait",
    "age_after": "jobs queue by priority and age alone",
}


def not_kept(spec: DeltaTablePolicySpec) -> tuple[str, ...]:
    """Each as a sentence with its place. What says no more than the default does is kept."""
    return (
        *_asked_for("spec", spec, NOT_KEPT),
        *_asked_for("spec.admission", spec.admission, ADMISSION_NOT_KEPT),
    )


def _asked_for(place: str, given: Model, not_kept: dict[str, str]) -> Iterator[str]:
    fields = type(given).model_fields
    for name, meanwhile in not_kept.items():
        if getattr(given, name) != _default(fields[name]):
            yield f"{place}.{fields[name].alias or name} isn't kept yet: {meanwhile}"


def _default(field: Any) -> object:
    return field.get_default(call_default_factory=True)


def fields_of_policies() -> tuple[set[str], set[str]]:
    """Of its spec, and of what it says of admission."""
    return set(DeltaTablePolicySpec.model_fields), set(PolicyAdmission.model_fields)

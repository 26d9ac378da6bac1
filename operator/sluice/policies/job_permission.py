"""Whether a policy can have jobs of its own, which are in its namespace and run under its profile; and whether it wants any."""

from collections.abc import Collection
from dataclasses import dataclass

from sluice.api.policy import DeltaTablePolicySpec, Enforcement
from sluice.api.policy_enforcement import EnforcedReason
from sluice.policies.desired_state import wants_of_the_table

DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class JobsForbidden:
    """Why none can be made."""

    reason: EnforcedReason
    why: str


def why_none(spec: DeltaTablePolicySpec, namespace: str, profiles: Collection[str]) -> JobsForbidden | None:
    """`profiles`: names of those that the operator has."""
    allowed = spec.allowed_namespaces
    if allowed is not None and namespace not in allowed:
        return JobsForbidden(
            EnforcedReason.NAMESPACE_NOT_ALLOWED,
            f"spec.allowedNamespaces: the policy's own namespace {namespace} is not among them, so that none of its jobs may write "
            f"the table: {_what_to_do(spec)}",
        )
    profile = spec.runtime_ref or DEFAULT_PROFILE
    if profile not in profiles:
        return JobsForbidden(
            EnforcedReason.RUNTIME_UNKNOWN,
            f"spec.runtimeRef: there is no runtime profile {profile!r}, and the policy's jobs would run under it; the operator "
            f"has {', '.join(sorted(profiles)) or 'none'}",
        )
    return None


def wants_jobs(spec: DeltaTablePolicySpec) -> bool:
    return _is_kept_up(spec) or _changes_the_table(spec)


def _what_to_do(spec: DeltaTablePolicySpec) -> str:
    """Only what would change something: a policy that observes already is not told to."""
    instead = " and ".join(
        said
        for said, helps in (
            ("say enforcement: Observe", _changes_the_table(spec)),
            ("take spec.maintenance away", _is_kept_up(spec)),
        )
        if helps
    )
    return f"add it, or {instead}" if instead else "add it"


def _is_kept_up(spec: DeltaTablePolicySpec) -> bool:
    plan = spec.maintenance
    return plan is not None and (plan.optimize is not None or plan.vacuum is not None)


def _changes_the_table(spec: DeltaTablePolicySpec) -> bool:
    return spec.enforcement is Enforcement.ENFORCE and wants_of_the_table(spec)

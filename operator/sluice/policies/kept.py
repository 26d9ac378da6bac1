"""Which fields of a policy count today. Together with those that have no effect yet they are all."""

from sluice.api.policy import DeltaTablePolicySpec, PolicyAdmission

KEPT = frozenset({"table", "partitionBy", "dialect", "isolationLevel", "logStore"})


def fields_of_policies() -> set[str]:
    """Returns the fields of its spec, and of what it says of admission, as manifests spell them."""
    own = {field.alias or name for name, field in DeltaTablePolicySpec.model_fields.items()}
    admission = {field.alias or name for name, field in PolicyAdmission.model_fields.items()}
    return (own - {"admission"}) | {f"admission.{name}" for name in admission}

"""Specs of policies, as manifests hold them."""

from typing import Any

from sluice.api.policy import DeltaTablePolicySpec


def spec_of(**fields: Any) -> DeltaTablePolicySpec:
    return DeltaTablePolicySpec.model_validate({"table": {"path": "s3://lake/orders"}, **fields})

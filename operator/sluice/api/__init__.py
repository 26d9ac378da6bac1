"""The two resources as models: the one source of crds/*.yaml, of validation offline and of what the operator reads.

Nothing here calls Kubernetes: a manifest can be checked on a laptop with the words that the API server would use.
"""

from sluice.api.job import DeltaWriteJob, DeltaWriteJobSpec
from sluice.api.job_status import DeltaWriteJobStatus
from sluice.api.policy import DeltaTablePolicy, DeltaTablePolicySpec
from sluice.api.policy_status import DeltaTablePolicyStatus

__all__ = [
    "DeltaTablePolicy",
    "DeltaTablePolicySpec",
    "DeltaTablePolicyStatus",
    "DeltaWriteJob",
    "DeltaWriteJobSpec",
    "DeltaWriteJobStatus",
]

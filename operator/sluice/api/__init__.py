"""The two resources as models: the one source of crds/*.yaml, of validation offline and of what the operator reads.

Nothing here calls Kubernetes: a manifest can be checked on a laptop with the words that the API server would use. The models
are loaded when one is first asked for: programs that only need names start in a fraction of the time.
"""

from typing import TYPE_CHECKING

from sluice.lazy_names import load_from

if TYPE_CHECKING:
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

_MODULE_OF = {
    "DeltaTablePolicy": "policy",
    "DeltaTablePolicySpec": "policy",
    "DeltaTablePolicyStatus": "policy_status",
    "DeltaWriteJob": "job",
    "DeltaWriteJobSpec": "job",
    "DeltaWriteJobStatus": "job_status",
}

__getattr__ = load_from(__name__, _MODULE_OF)

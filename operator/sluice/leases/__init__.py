"""The lease table in Redis: it fences former leaders, and is rebuilt from Kubernetes whenever it may have forgotten."""

from sluice.leases.model import Epochs, Grant, Lease, number_in
from sluice.leases.reach import Reach
from sluice.leases.store import (
    ForgottenError,
    FullError,
    LeaseStore,
    OtherInstallationError,
    RefusedError,
    StaleError,
)

__all__ = [
    "Epochs",
    "ForgottenError",
    "FullError",
    "Grant",
    "Lease",
    "LeaseStore",
    "OtherInstallationError",
    "Reach",
    "RefusedError",
    "StaleError",
    "number_in",
]

"""The lease table in Redis: the arbiter of who writes, rebuilt from Kubernetes whenever it may have forgotten."""

from sluice.leases.model import Epochs, Grant, Lease
from sluice.leases.store import ForgottenError, LeaseStore, RefusedError, StaleError

__all__ = ["Epochs", "ForgottenError", "Grant", "Lease", "LeaseStore", "RefusedError", "StaleError"]

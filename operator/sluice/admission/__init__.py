"""Who goes next: takes the queue and the holders, returns decisions; no I/O, no clock."""

from sluice.admission.queue import Blocking, Decision, Holder, Waiter, decide

__all__ = ["Blocking", "Decision", "Holder", "Waiter", "decide"]

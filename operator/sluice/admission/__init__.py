"""Decides who goes next: takes the queue and the holders, returns decisions; no I/O, no clock."""

from sluice.admission.queue import Queue
from sluice.admission.reference_decision import MOST_NAMED, Blocking, Decision, Holder, Waiter, decide

__all__ = ["MOST_NAMED", "Blocking", "Decision", "Holder", "Queue", "Waiter", "decide"]

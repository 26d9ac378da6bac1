"""Decides who goes next: takes the queue and the holders, returns decisions; no I/O, no clock."""

from sluice.admission.deciding import MOST_NAMED, Blocking, Decision, Holder, Waiter, decide
from sluice.admission.queue import Queue

__all__ = ["MOST_NAMED", "Blocking", "Decision", "Holder", "Queue", "Waiter", "decide"]

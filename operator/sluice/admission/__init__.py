"""Decides who goes next: takes the queue and the holders, returns decisions; no I/O, no clock."""

from sluice.admission.queue import Queue
from sluice.admission.reference_decision import (
    MOST_NAMED,
    AdmissionDecision,
    Blocking,
    Holder,
    Waiter,
    decide,
)

__all__ = ["MOST_NAMED", "AdmissionDecision", "Blocking", "Holder", "Queue", "Waiter", "decide"]

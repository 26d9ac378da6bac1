"""Runs a trace of jobs through the operator's own queue in virtual time, beside other ways to keep writers apart."""

from sluice.offline.simulation.run import Run
from sluice.offline.simulation.simulated import Simulation, simulated
from sluice.offline.simulation.trace import Trace, TracedJob

__all__ = ["Run", "Simulation", "Trace", "TracedJob", "simulated"]

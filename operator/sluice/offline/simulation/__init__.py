"""Runs a trace of jobs through the operator's own queue in virtual time, beside other ways to keep writers apart."""

from sluice.offline.simulation.run import SimulatedRun
from sluice.offline.simulation.simulation import Simulation, simulated
from sluice.offline.simulation.trace import Trace, TracedJob

__all__ = ["SimulatedRun", "Simulation", "Trace", "TracedJob", "simulated"]

"""How an attempt becomes a Spark application, and how its state is read. Why it was admitted is not known here."""

from sluice.engines.attempt import AttemptRun
from sluice.engines.observation import Observation, Stage, observe
from sluice.engines.profile import RuntimeProfile

__all__ = ["AttemptRun", "Observation", "RuntimeProfile", "Stage", "observe"]

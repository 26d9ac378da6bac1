"""Turns an attempt into a Spark application, and reads its state. Why it was admitted is not known here."""

from sluice.engines.attempt import AttemptRun
from sluice.engines.engine import Engine
from sluice.engines.kinds import ENGINES, UnknownEngineError, engine_for, engine_of
from sluice.engines.observation import Observation, Stage, observe
from sluice.engines.placeholder import is_placeholder, placeholder
from sluice.engines.profile import RuntimeProfile
from sluice.templates.pod import DRIVER_CONTAINER

__all__ = [
    "DRIVER_CONTAINER",
    "ENGINES",
    "AttemptRun",
    "Engine",
    "Observation",
    "RuntimeProfile",
    "Stage",
    "UnknownEngineError",
    "engine_for",
    "engine_of",
    "is_placeholder",
    "observe",
    "placeholder",
]

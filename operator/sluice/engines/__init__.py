"""Turns an attempt into a Spark application, and reads its state. Why it was admitted is not known here."""

from sluice.engines.attempt import AttemptRun
from sluice.engines.engine import Engine
from sluice.engines.kubeflow import Kubeflow
from sluice.engines.observation import Observation, Stage, is_placeholder, observe
from sluice.engines.profile import RuntimeProfile

ENGINE: Engine = Kubeflow()
"""The engine whose applications jobs become."""

__all__ = [
    "ENGINE",
    "AttemptRun",
    "Engine",
    "Observation",
    "RuntimeProfile",
    "Stage",
    "is_placeholder",
    "observe",
]

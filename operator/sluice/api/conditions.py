"""Conditions by the kstatus convention, which GitOps tools read to tell whether an object is done."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from sluice.api.base import Model
from sluice.api.bounds import Int64, Text


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Model):
    """One aspect of the object's state."""

    type: Annotated[str, Field(min_length=1, max_length=63)]
    """Ready: the wanted state is reached. Reconciling: work is under way. Stalled: it ended in failure, or cannot go
    on by itself. FootprintHeld, of a job: whether its commits touched only what it was judged to touch."""
    status: ConditionStatus
    """True, False or Unknown."""
    observed_generation: Annotated[Int64, Field(ge=0)]
    """Generation of the object that this condition describes."""
    last_transition_time: datetime
    """When status last changed."""
    reason: Annotated[str, Field(min_length=1, max_length=63)]
    """The reason in one word."""
    message: Text
    """The reason in a sentence."""


ConditionList = Annotated[
    tuple[Condition, ...],
    Field(
        max_length=8,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
]

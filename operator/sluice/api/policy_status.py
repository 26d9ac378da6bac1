"""The status that Sluice writes back into a DeltaTablePolicy."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from sluice.api.base import Model
from sluice.api.bounds import Int64, ShortText, Text
from sluice.api.conditions import ConditionList
from sluice.api.maintenance_status import MaintenanceStates


class ObservedTable(Model):
    """The table as its log describes it."""

    location: Annotated[str, Field(max_length=1024)] | None = None
    """Where it is."""
    version: Annotated[Int64, Field(ge=0)] | None = None
    """Its version when it was read."""
    partition_by: Annotated[tuple[ShortText, ...], Field(max_length=64)] = ()
    """Partition columns."""
    cluster_by: Annotated[tuple[ShortText, ...], Field(max_length=64)] = ()
    """Columns of liquid clustering."""
    features: Annotated[tuple[ShortText, ...], Field(max_length=64)] = ()
    """Table features."""
    properties: Annotated[dict[str, Text], Field(max_length=256)] | None = None
    """Table properties."""
    read_at: datetime | None = None
    """When the log was read."""


class Drift(Model):
    """One difference between what the table is and what the policy says."""

    field: ShortText
    """The policy's field, such as properties.delta.enableChangeDataFeed."""
    wanted: Text
    """What the policy says."""
    found: Text
    """What the log says."""


class DeltaTablePolicyStatus(Model):
    """What Sluice found."""

    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """Generation of the spec that this status speaks of."""
    table: Annotated[str, Field(max_length=1024)] | None = None
    """The table's identity."""
    conditions: ConditionList = ()
    """Ready, Reconciling and Stalled by the kstatus convention."""
    observed: ObservedTable | None = None
    """The table as its log describes it."""
    drift: Annotated[tuple[Drift, ...], Field(max_length=64)] = ()
    """Where the table differs from the policy."""
    maintenance: MaintenanceStates | None = None
    """Which runs of the maintenance were made and left out, and when the next ones are due."""
    reason: Annotated[str, Field(max_length=63)] | None = None
    """State in one word."""
    message: Text | None = None
    """State in a sentence."""

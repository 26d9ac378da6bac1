"""The status that Sluice writes back into a DeltaTablePolicy."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StrictBool

from sluice.api.base import Model
from sluice.api.bounds import Int32, Int64, ShortText, Text, cut_to
from sluice.api.conditions import ConditionList
from sluice.api.maintenance_status import MaintenanceStates
from sluice.api.policy_enforcement import Enforced

MOST_PROPERTIES, MOST_FEATURES, MOST_COLUMNS, MOST_OPERATIONS, MOST_DRIFT = 256, 64, 64, 16, 64

_Count = Annotated[Int64, Field(ge=0)]
_Location = Annotated[str, Field(max_length=1024)]


class Protocol(Model):
    """The table's protocol."""

    reader: Annotated[Int32, Field(ge=0)]
    """The reader version that it asks for."""
    writer: Annotated[Int32, Field(ge=0)]
    """The writer version that it asks for."""


class ObservedCommit(Model):
    """One commit, as the log names it."""

    operation: ShortText | None = None
    """Such as MERGE. Absent: the commit says nothing of itself."""
    version: _Count
    """Version of the table that it made."""
    at: datetime
    """When it was made, by the writer's clock."""
    engine: ShortText | None = None
    """What made it, such as delta-rs:1.6.6. Absent: it does not say."""
    job: ShortText | None = None
    """The Sluice job that made it, as namespace/name. Absent: no Sluice job did."""


class ForeignWriters(Model):
    """Commits that no Sluice job made."""

    commits: _Count = 0
    """How many were seen."""
    since: datetime | None = None
    """From when on they are counted. Absent: since the table was created."""
    last: ObservedCommit | None = None
    """The newest of them."""


class ObservedTable(Model):
    """The table as its log describes it."""

    location: _Location | None = None
    """Where it is."""
    version: _Count | None = None
    """Its version when it was read."""
    protocol: Protocol | None = None
    """Its protocol."""
    features: Annotated[tuple[ShortText, ...], Field(max_length=MOST_FEATURES)] = ()
    """Table features that the protocol has, whether or not they are in use; 64 of them at most."""
    properties: (
        Annotated[
            dict[str, Annotated[str, Field(max_length=256), cut_to(256)]], Field(max_length=MOST_PROPERTIES)
        ]
        | None
    ) = None
    """Table properties, Delta's own first; 256 of them at most, and 256 characters of each value."""
    partition_by: Annotated[tuple[ShortText, ...], Field(max_length=MOST_COLUMNS)] = ()
    """Partition columns."""
    cluster_by: Annotated[tuple[ShortText, ...], Field(max_length=MOST_COLUMNS)] = ()
    """Columns of liquid clustering, as far as the log could be read for them."""
    size: _Count | None = None
    """Bytes of the files of this version. Absent: not known."""
    files: _Count | None = None
    """How many files this version has. Absent: not known."""
    last_commits: Annotated[tuple[ObservedCommit, ...], Field(max_length=MOST_OPERATIONS)] = ()
    """The last commit of each operation, newest first, as far as they were read; 16 of them at most."""
    foreign_writers: ForeignWriters | None = None
    """Commits that no Sluice job made. Absent: none was seen."""
    conflicts_last_day: Annotated[Int32, Field(ge=0)] = 0
    """How many attempts of Sluice jobs have lost to another commit on this table within a day, as far as those jobs were
    still there when this operator began to lead."""
    read_at: datetime | None = None
    """When all this was first read just so. It is read again every few minutes (the operator's policyLook), and written again
    only when something of it differs."""


class Drift(Model):
    """One difference between what the table is and what the policy says."""

    field: ShortText
    """The policy's field, such as properties.delta.enableChangeDataFeed."""
    wanted: Text
    """What the policy says."""
    found: Text
    """What the log says."""
    since: datetime | None = None
    """When it was last changed in the table. Absent: the log does not tell any more, or it was never set."""
    by: Text | None = None
    """Who changed it then: the Sluice job, or else the engine and its operation. Absent likewise."""
    irreversible: Text | None = None
    """Why changing it cannot be taken back."""
    forbidden: Text | None = None
    """Why it is told and not tried, and what to do."""
    held_back: StrictBool = False
    """true: Enforce would change it with allowIrreversible: true, and does not without."""


class DeltaTablePolicyStatus(Model):
    """What Sluice found."""

    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """Generation of the spec that this status speaks of."""
    table: _Location | None = None
    """The table's identity."""
    conditions: ConditionList = ()
    """Ready, Reconciling and Stalled by the kstatus convention."""
    observed: ObservedTable | None = None
    """The table as its log describes it. Absent: it was never read, there is no table, or the policy does not count."""
    drift: Annotated[tuple[Drift, ...], Field(max_length=MOST_DRIFT)] = ()
    """Where the table differs from the policy; 64 differences at most."""
    drift_count: Annotated[Int32, Field(ge=0)] | None = None
    """How many differences there are. Absent: the table was not compared with the policy."""
    enforced: Enforced | None = None
    """What was done so that the table becomes as wanted. Absent: nothing ever had to be done."""
    maintenance: MaintenanceStates | None = None
    """Which runs of the maintenance were made and left out, when the next ones are due, and what one that is due waits for."""
    reason: Annotated[str, Field(max_length=63)] | None = None
    """State in one word."""
    message: Text | None = None
    """State in a sentence."""

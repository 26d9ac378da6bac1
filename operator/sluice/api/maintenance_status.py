"""What a policy's status says of its maintenance."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from sluice.api.base import Model
from sluice.api.bounds import ShortText, Text


class LeftOutRun(Model):
    """A run for which no job was created."""

    at: datetime
    """When it was due, or was asked for."""
    why: Text
    """Why there was no job."""


class MaintenanceState(Model):
    """One kind of a policy's maintenance."""

    schedule: ShortText | None = None
    """The schedule and time zone for which decidedUntil holds, or suspended."""
    decided_until: datetime | None = None
    """Of all runs up to then it is decided whether there is a job. Operators go on from here."""
    last_run_at: datetime | None = None
    """When the run that the last job is for was due, or was asked for."""
    last_job: Annotated[str, Field(max_length=253)] | None = None
    """The job that was created last; it may be gone."""
    last_left_out: LeftOutRun | None = None
    """The last run for which there was no job."""
    next_run_at: datetime | None = None
    """When the next run is due. Absent: none is."""
    message: Text | None = None
    """What a run that is due, or was asked for, waits for. Absent: none waits."""


class MaintenanceStates(Model):
    """The maintenance that the policy wants, and what people asked for."""

    optimize: MaintenanceState | None = None
    """Compaction of small files."""
    vacuum: MaintenanceState | None = None
    """Removal of files that no younger version needs."""
    asked: ShortText | None = None
    """The last word of the annotation sluice.dev/run that was heeded."""

"""What a policy's status keeps of the jobs that change its table, so that the next leader goes on where the last one was."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field

from sluice.api.base import Model
from sluice.api.bounds import Int32, Int64, ShortText, Text, cut_to


class EnforcedReason(StrEnum):
    """What is being done so that the table becomes as wanted, or why nothing is any more."""

    CHANGING = "Changing"
    RETRYING = "Retrying"
    FIGHT = "Fight"
    REMEDY_FAILED = "RemedyFailed"
    NAME_TAKEN = "NameTaken"
    NAMESPACE_NOT_ALLOWED = "NamespaceNotAllowed"
    RUNTIME_UNKNOWN = "RuntimeUnknown"
    API_SERVER_REFUSES = "ApiServerRefuses"


_Count = Annotated[Int32, Field(ge=0)]
MOST_FIELDS = 64


class FieldSet(Model):
    """A field that a job has set."""

    field: ShortText
    """The policy's field, such as properties.delta.enableChangeDataFeed."""
    at: datetime
    """When that job ended."""


class SetBack(Model):
    """A field that somebody set back after it was set."""

    field: ShortText
    """The policy's field."""
    times: _Count
    """How often, each time within a week after it was set."""
    at: datetime
    """When that was last found."""
    by: Text
    """Who did so, as the log tells it."""


class Enforced(Model):
    """What was done so that the table becomes as the policy wants."""

    generation: Annotated[Int64, Field(ge=0)] = 0
    """Generation of the spec under which failures and what was set back are counted."""
    reason: Annotated[str, Field(max_length=63)] | None = None
    """What is being done about differences, or why nothing is any more, in one word. Absent: nothing is to be done."""
    message: Text | None = None
    """The same in a sentence."""
    asked: ShortText | None = None
    """The last word of the annotation sluice.dev/run that was heeded, such as enforce.2."""
    number: _Count = 0
    """How many jobs were made for it."""
    counted: _Count = 0
    """Number of the last of these jobs whose end is counted here."""
    job: ShortText | None = None
    """Name of the last job."""
    job_uid: Annotated[str, Field(max_length=64), cut_to(64)] | None = None
    """Its uid."""
    ended_at: datetime | None = None
    """When the last of these jobs ended. What was seen of the table before is not believed any more."""
    failures: _Count = 0
    """How many of these jobs have failed in a row."""
    failed_at: datetime | None = None
    """When the last one failed."""
    failure: Text | None = None
    """Why."""
    fields_set: Annotated[tuple[FieldSet, ...], Field(max_length=MOST_FIELDS), cut_to(MOST_FIELDS)] = ()
    """Fields that these jobs have set, and that were not found set back since."""
    set_back: Annotated[tuple[SetBack, ...], Field(max_length=MOST_FIELDS), cut_to(MOST_FIELDS)] = ()
    """Fields that somebody sets back."""

    def within_bounds(self) -> Self:
        """The same, with what is too long for a status cut."""
        return type(self)(**dict(self))

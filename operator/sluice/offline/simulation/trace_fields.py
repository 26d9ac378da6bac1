"""One job of a trace, as a file writes it."""

from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt
from pydantic_core import PydanticCustomError

from sluice.api.base import Model, exactly_one
from sluice.api.bounds import NOT_BLANK, NOT_EMPTY, Int32, bounded_int
from sluice.api.durations import DURATION, seconds
from sluice.api.job import DeltaWriteJobSpec, Operation
from sluice.api.tables import TableRef
from sluice.api.validation import Checked, Validation
from sluice.offline.simulation.trace import EPOCH, milliseconds_at

_LATEST = 2200
_LONGEST_DAYS = 366
_DAY = 86_400_000
_NOT_A_DURATION = "must be seconds, such as 90 or 0.5, or a duration, such as 90s, 10m or 1h30m"
_NOT_A_MOMENT = "must be seconds since the trace began, such as 90, or a time, such as 2026-11-19T02:00:00Z"


def _moment(given: Any) -> int:
    """Milliseconds since 1970, or since the trace began. A time without a zone is in UTC."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError as error:
            raise _refused(_NOT_A_MOMENT) from error
    if isinstance(given, datetime):
        given = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
        if given < EPOCH or given.year >= _LATEST:
            raise _refused(f"must be between 1970 and {_LATEST}")
        return milliseconds_at(given)
    return _milliseconds(given, _NOT_A_MOMENT, (_LATEST - 1970) * 365 * _DAY)


def _duration(given: Any) -> int:
    if isinstance(given, str):
        if DURATION.holds(given):
            given = seconds(given)
        else:
            raise _refused(_NOT_A_DURATION)
    return _milliseconds(given, _NOT_A_DURATION, _LONGEST_DAYS * _DAY)


def _milliseconds(given: Any, otherwise: str, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise _refused(otherwise)
    if not 0 <= given * 1000 <= most:  # also what is no number
        raise _refused(f"must be from 0 to {most // 1000} seconds")
    return round(given * 1000)


def _refused(why: str) -> PydanticCustomError:
    return PydanticCustomError("rule", "{message}", {"message": why})


def _value(given: Any) -> Any:
    """The value of a partition as Delta's log writes it: YAML reads a date without quotes as one."""
    if isinstance(given, date) and not isinstance(given, datetime):
        return given.isoformat()
    if isinstance(given, bool | float | datetime):
        raise _refused("must be text: put it in quotes, as Delta's log writes it")
    return str(given) if isinstance(given, int) else given


PartitionValue = Annotated[str | None, BeforeValidator(_value)]
Partitions = tuple[dict[str, PartitionValue], ...]


class GivenTouch(Model):
    """What a job does to one table, partition by partition."""

    table: TableRef
    operation: Operation
    partitions: Annotated[Partitions, Checked(NOT_EMPTY)] | None = None
    """Where it writes. Absent: anywhere."""
    reads: Partitions | None = None
    """What it reads to decide what to write. Absent: the same, but nothing for Append and Stream."""


class GivenJob(Model):
    name: Annotated[str, Field(max_length=253), Checked(NOT_BLANK)]
    at: Annotated[StrictInt, BeforeValidator(_moment)]
    duration: Annotated[StrictInt, BeforeValidator(_duration)]
    priority: Annotated[Int32, bounded_int(-1000, 1000)] | None = None
    spec: DeltaWriteJobSpec | None = None
    touches: Annotated[tuple[GivenTouch, ...], Checked(NOT_EMPTY)] | None = None

    validations = (
        exactly_one(("spec", "touches"), "say what it does by exactly one of spec and touches"),
        Validation(
            "!has(self.priority) || !has(self.spec) || self.spec.priority == 0",
            "has a priority twice: here and in spec.priority",
            lambda job: job.priority is None or job.spec is None or job.spec.priority == 0,
        ),
    )

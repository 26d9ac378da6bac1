"""What the operator writes of itself into an annotation of its Lease object."""

import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, ValidationError

from sluice.api.base import Model
from sluice.api.conditions import ConditionStatus


class OperatorConditionType(StrEnum):
    """Each is True when all is well."""

    API_SERVER_REACHABLE = "ApiServerReachable"
    """The API server answers."""
    LEASE_TABLE_USABLE = "LeaseTableUsable"
    """Redis answers, and what it holds is known; if not, nothing is granted."""
    LISTS_COMPLETE = "ListsComplete"
    """All objects were listed; if not, nothing is judged."""
    HOLDERS_READABLE = "HoldersReadable"
    """Of everybody who may write it is known what; if not, their tables, or all, are held."""
    LEASES_EXPLAINED = "LeasesExplained"
    """For each lease an object stands; if not, it is held until one does, or until it is revoked."""


class OperatorCondition(Model):
    type: OperatorConditionType
    status: ConditionStatus
    last_transition_time: datetime
    """When status last changed."""
    reason: Annotated[str, Field(min_length=1, max_length=63)]
    message: Annotated[str, Field(max_length=1024)]


def written(conditions: Iterable[OperatorCondition]) -> str:
    return json.dumps(
        [condition.model_dump(mode="json", by_alias=True) for condition in conditions],
        separators=(",", ":"),
    )


def read(text: str) -> tuple[OperatorCondition, ...]:
    """What another version wrote and this one does not know is left out."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    conditions: dict[OperatorConditionType, OperatorCondition] = {}
    for one in found if isinstance(found, list) else ():
        try:
            condition = OperatorCondition.model_validate(one)
        except ValidationError:
            continue
        conditions[condition.type] = condition
    return tuple(conditions.values())

"""The status that the operator writes about itself into an annotation of its Lease object."""

import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, ValidationError

from sluice.api.base import Model
from sluice.api.conditions import ConditionStatus


class OperatorConditionType(StrEnum):
    """The aspects of the operator's state; each is True when all is well."""

    API_SERVER_REACHABLE = "ApiServerReachable"
    """The API server answers."""
    INSTALLATION_CLAIMED = "InstallationClaimed"
    """What the installation would act on is claimed among the installations of the cluster; if not, nothing is granted."""
    LEASE_TABLE_USABLE = "LeaseTableUsable"
    """Redis answers, and its contents are known; if not, nothing is granted."""
    LISTS_COMPLETE = "ListsComplete"
    """All objects have been listed; if not, nothing is judged."""
    HOLDERS_READABLE = "HoldersReadable"
    """The tables of every job that may write are known; if not, those jobs' tables, or all tables, are held."""
    LEASES_EXPLAINED = "LeasesExplained"
    """Every lease has an object that explains it; if not, the lease is held until it has one or is revoked."""
    SPARK_OPERATOR_INSTALLED = "SparkOperatorInstalled"
    """The API server serves the SparkApplications of all `engines`; if not, nothing is granted that runs on a missing one."""
    DEFINITIONS_CURRENT = "DefinitionsCurrent"
    """The cluster's definitions of Sluice's resources have all fields of this version; if not, nothing is granted."""
    RIGHTS_GRANTED = "RightsGranted"
    """The operator has all the rights that it needs."""
    FORMER_LEADERS_FENCED = "FormerLeadersFenced"
    """The API server refuses what a replaced leader sends late; if not, and it should, nothing is granted. Unknown: no admission
    policy is expected, and one replica alone may run."""
    TABLE_IDS_UNIQUE = "TableIdsUnique"
    """No table's log is a copy of one that `tableOwners` gives to other namespaces; if one is, their jobs wait for each other."""


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
    """Reads the annotation; leaves out what another version wrote and this one does not know."""
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

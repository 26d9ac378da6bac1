"""The Lease object by which an installation is known to be there."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sluice.api import names
from sluice.api.base import Json
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import LEASES
from sluice.online.access.connection import Installation
from sluice.online.access.errors import OnlineError

SILENT_AFTER = 30.0
"""Seconds: three times as long as a Lease is good for, because clocks differ."""


@dataclass(frozen=True)
class LeaderLease:
    """Who leads by a Lease object, as far as it tells."""

    name: str | None
    silent: float | None
    """Seconds since the Lease was renewed, by this machine's clock."""

    @property
    def leads(self) -> bool:
        return self.name is not None and self.silent is not None and self.silent <= SILENT_AFTER


def leader_in(lease: Json) -> LeaderLease:
    spec = lease.get("spec") or {}
    try:
        silent = (datetime.now(UTC) - datetime.fromisoformat(str(spec.get("renewTime")))).total_seconds()
    except (ValueError, TypeError):
        silent = None
    return LeaderLease(spec.get("holderIdentity") or None, silent)


async def lease_of(kube: Kube, at: Installation) -> Json:
    """Reads it; raises OnlineError where there is none: of an installation that isn't there nothing good can be said."""
    try:
        return await kube.get(LEASES, at.namespace, names.leader_lease(at.deployment))
    except NotFoundError as error:
        raise OnlineError(no_lease(at)) from error


def no_lease(at: Installation) -> str:
    return (
        f"there is no Lease {at.namespace}/{names.leader_lease(at.deployment)}: no operator of that name has led there yet; "
        "name the operator with --namespace and --deployment, or with --config"
    )

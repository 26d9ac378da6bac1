"""The Lease object by which an installation is known to be there."""

from sluice.api import names
from sluice.api.base import Json
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import LEASES
from sluice.online.connection import Installation
from sluice.online.errors import OnlineError


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

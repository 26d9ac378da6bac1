"""The end of a disaster: the leases that a lost installation left in Redis pass to this cluster's."""

import asyncio
from dataclasses import dataclass

from sluice.api import names
from sluice.installations.claims import Claim, Identity, Overlap, overlaps
from sluice.installations.register import Register, identity_of
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import LEASES
from sluice.leases.keys import Keys
from sluice.leases.stored_state import AdoptedMeanwhileError, StoredState, adopt, former
from sluice.online.access.connection import Installation, cluster, endpoint_of, redis_of
from sluice.online.access.errors import OnlineError

SILENT = 12.0
"""Seconds without a renewal after which nobody leads by a Lease: a leader renews it every few seconds."""


@dataclass(frozen=True)
class Adoption:
    """What would be taken over, or was."""

    ours: Identity
    redis: str
    seen: StoredState
    stale: tuple[Overlap, ...] = ()
    """Claims of installations that are gone, on the place of this one."""

    @property
    def is_needed(self) -> bool:
        return bool(self.stale) or self.seen.installation not in (None, str(self.ours))


async def look(at: Installation) -> Adoption:
    """Looks at both; raises OnlineError if the former installation still runs in this cluster."""
    async with redis_of(at) as redis:
        seen = await former(redis, Keys(at.deployment))
    address = endpoint_of(at).address
    async with cluster() as kube:
        ours = await identity_of(kube, at.namespace, at.deployment)
        await _must_be_gone(kube, ours, seen)
        return Adoption(ours, address, seen, await _stale(kube, ours, at, address))


async def carry_out(at: Installation, adoption: Adoption) -> None:
    async with redis_of(at) as redis, cluster() as kube:
        if adoption.seen.installation not in (None, str(adoption.ours)):
            try:
                await adopt(redis, Keys(at.deployment), adoption.seen, str(adoption.ours))
            except AdoptedMeanwhileError as error:
                raise OnlineError(f"not taken over: {error}") from error
        await Register(kube).remove({one.key for one in adoption.stale})


async def _must_be_gone(kube: Kube, ours: Identity, seen: StoredState) -> None:
    cluster_uid, _, rest = (seen.installation or "").partition("/")
    namespace, _, deployment = rest.partition("/")
    if cluster_uid != ours.cluster or seen.installation == str(ours):
        return  # of another cluster, of which nothing can be asked here
    if await _leads(kube, namespace, deployment):
        raise OnlineError(
            f"installation {seen.installation} runs in this cluster: stop it before its leases are taken over"
        )


async def _stale(kube: Kube, ours: Identity, at: Installation, address: str) -> tuple[Overlap, ...]:
    """The claims on the same place in Redis of installations that no longer run. Namespaces are the operator's own matter when
    it starts."""
    own = Claim(ours, ("",), address, Keys(at.deployment).prefix, "", "")
    found = overlaps(own, await Register(kube).claims())
    stale = []
    for one in found:
        if one.other is None or (one.other.redis, one.other.keys) != (own.redis, own.keys):
            continue
        if await _leads(kube, one.other.identity.namespace, one.other.identity.deployment):
            raise OnlineError(f"installation {one.other.identity} runs in this cluster: stop it first")
        stale.append(one)
    return tuple(stale)


async def _leads(kube: Kube, namespace: str, deployment: str) -> bool:
    """Whether anybody renews the Lease."""
    try:
        lease = await kube.get(LEASES, namespace, names.leader_lease(deployment))
        if not (lease["spec"].get("holderIdentity") or ""):
            return False
        await asyncio.sleep(SILENT)
        later = await kube.get(LEASES, namespace, names.leader_lease(deployment))
    except NotFoundError:
        return False
    return bool(lease["metadata"]["resourceVersion"] != later["metadata"]["resourceVersion"])

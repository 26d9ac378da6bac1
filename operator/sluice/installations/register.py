"""The claims of a cluster's installations: one ConfigMap, which is written only if it is still as it was read."""

import asyncio
import logging
import time

from sluice.api import names
from sluice.installations.claims import Claim, Identity, Overlap, claimed, first_of, overlaps
from sluice.installations.obstacles import REGISTER, obstacle
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.config_map import ConfigMap, Read
from sluice.kube.resources import LEASES, NAMESPACES

logger = logging.getLogger(__name__)


VOID_AFTER = 10.0
"""Seconds in which a leader notices that its Lease object is gone, and makes it anew: only after that is a claim without a
Lease void."""
REPLACED_WITHIN = 10.0
"""Seconds that whoever replaces an immutable register has between deleting it and creating it with its entries: a leader that
made a new one in between would do so without the claims of others, and the replacement would be refused."""


class OverlapError(Exception):
    """Another installation claims what this one would act on."""


class NotWrittenError(Exception):
    """The API server does not take the claim."""


async def identity_of(kube: Kube, namespace: str, deployment: str) -> Identity:
    cluster = await kube.get(NAMESPACES, "", names.CLAIMS_NAMESPACE)
    return Identity(cluster["metadata"]["uid"], namespace, deployment)


class Register:
    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._map = ConfigMap(kube, names.CLAIMS_NAMESPACE, names.CLAIMS)
        self._replaced_by = 0.0

    async def check(self, own: Claim) -> None:
        """Raises OverlapError if the claim can't be made."""
        await self._beside(own)

    async def claim(self, own: Claim) -> None:
        """Claims; raises OverlapError if the claim can't be made, and NotWrittenError if it can't be written."""
        while True:
            read, void = await self._beside(own)
            wanted = claimed(own, read.data, void)
            if wanted == read.data:
                return
            if read.is_immutable:
                self._replaced_by = time.monotonic() + REPLACED_WITHIN
            elif read.is_new and time.monotonic() < self._replaced_by:
                raise NotWrittenError(
                    _not_written(own, "it was immutable and was deleted: waiting for its replacement")
                )
            try:
                await self._map.write(read, wanted)
            except ConflictError:
                continue  # somebody else has claimed something
            except ApiError as error:
                why = obstacle(read, own.identity.key, wanted[own.identity.key]) or error
                raise NotWrittenError(_not_written(own, why)) from error
            for key in void:
                logger.warning("the claim %s is void and was removed: its installation's Lease is gone", key)
            return

    async def read(self) -> Read:
        return await self._map.read()

    async def claims(self) -> dict[str, str]:
        return (await self.read()).data

    async def remove(self, keys: set[str]) -> None:
        while True:
            read = await self._map.read()
            left = {key: text for key, text in read.data.items() if key not in keys}
            if left == read.data:
                return
            try:
                await self._map.write(read, left)
            except ConflictError:
                continue
            return

    async def _beside(self, own: Claim) -> tuple[Read, set[str]]:
        """Returns all claims as they are, and which of them are void."""
        void: set[str] = set()
        while True:
            read = await self._map.read()
            standing = [one for one in overlaps(own, read.data) if one.key not in void]
            if not standing:
                return read, void & read.data.keys()
            found = await self._void(standing)
            if not found:
                raise OverlapError(refusal(own.identity, standing[0]))
            void |= found

    async def _void(self, standing: list[Overlap]) -> set[str]:
        """Returns the claims of installations that have no Lease object, and make none in the time that they have."""
        gone = [one for one in standing if await self._has_no_lease(one)]
        if len(gone) < len(standing):
            return set()
        logger.warning(
            "overlapping claims of installations without a Lease: %s; waiting %.0f s to see whether one comes back",
            first_of([one.key for one in gone]),
            VOID_AFTER,
        )
        await asyncio.sleep(VOID_AFTER)
        return {one.key for one in gone if await self._has_no_lease(one)}

    async def _has_no_lease(self, one: Overlap) -> bool:
        if one.other is None:
            return False
        at = one.other.identity
        try:
            await self._kube.get(LEASES, at.namespace, names.leader_lease(at.deployment))
        except NotFoundError:
            return True
        return False


def _not_written(own: Claim, why: object) -> str:
    where = f"cannot be written into {REGISTER}, and no leader grants anything before it is there"
    return f"the claim {own.identity.key} {where}: {why}"


def refusal(own: Identity, overlap: Overlap) -> str:
    if overlap.other is None:
        return (
            f"installation {own} does not start: {REGISTER} has an entry {overlap.key}, and {overlap.why}: put it right, or "
            "remove it once that installation is gone"
        )
    at = overlap.other.identity
    return (
        f"installation {own} does not start beside {at}, which has been there since {overlap.other.since}: {overlap.why}. Give "
        f"each its own watchNamespaces, and a Redis database or a deployment name of its own; or, if that installation is gone "
        f"for good, delete its Lease: kubectl delete lease -n {at.namespace} {names.leader_lease(at.deployment)}"
    )

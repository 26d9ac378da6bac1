"""The claims of a cluster's installations: one ConfigMap, written only as it was read."""

import asyncio
import logging
from typing import Any

from sluice.api import names
from sluice.installations.claims import Claim, Identity, Overlap, claimed, overlaps
from sluice.kube.client import ConflictError, Kube, NotFoundError
from sluice.kube.resources import CONFIG_MAPS, LEASES, NAMESPACES

logger = logging.getLogger(__name__)

Json = dict[str, Any]

VOID_AFTER = 10.0
"""Seconds in which a leader notices that its Lease object is gone, and makes it anew: only then is a claim without one void."""


class OverlapError(Exception):
    """Another installation claims what this one would act on."""


async def identity_of(kube: Kube, namespace: str, deployment: str) -> Identity:
    cluster = await kube.get(NAMESPACES, "", names.CLAIMS_NAMESPACE)
    return Identity(cluster["metadata"]["uid"], namespace, deployment)


class Register:
    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def check(self, own: Claim) -> None:
        """OverlapError if it can't be claimed."""
        await self._beside(own)

    async def claim(self, own: Claim) -> None:
        """OverlapError if it can't be claimed."""
        while True:
            body, void = await self._beside(own)
            data = _data(body)
            wanted = claimed(own, data, void)
            if wanted == data:
                return
            try:
                await self._write(body | {"data": wanted})
            except ConflictError:
                continue  # somebody else has claimed something
            for key in void:
                logger.warning("the claim %s is void and was removed: its installation's Lease is gone", key)
            return

    async def claims(self) -> dict[str, str]:
        return _data(await self._read())

    async def remove(self, keys: set[str]) -> None:
        while True:
            body = await self._read()
            data = _data(body)
            left = {key: text for key, text in data.items() if key not in keys}
            if left == data:
                return
            try:
                await self._write(body | {"data": left})
            except ConflictError:
                continue
            return

    async def _beside(self, own: Claim) -> tuple[Json, set[str]]:
        """All claims as they are, and which of them are void."""
        void: set[str] = set()
        while True:
            body = await self._read()
            standing = [one for one in overlaps(own, _data(body)) if one.key not in void]
            if not standing:
                return body, void & _data(body).keys()
            found = await self._void(standing)
            if not found:
                raise OverlapError(refusal(own.identity, standing[0]))
            void |= found

    async def _void(self, standing: list[Overlap]) -> set[str]:
        """Those whose installation has no Lease object, and makes none while it has the time to."""
        gone = [one for one in standing if await self._has_no_lease(one)]
        if len(gone) < len(standing):
            return set()
        logger.warning(
            "overlapping claims of installations without a Lease: %s; waiting %.0f s whether one comes back",
            ", ".join(one.key for one in gone),
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

    async def _read(self) -> Json:
        try:
            return await self._kube.get(CONFIG_MAPS, names.CLAIMS_NAMESPACE, names.CLAIMS)
        except NotFoundError:
            return {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": names.CLAIMS, "namespace": names.CLAIMS_NAMESPACE},
            }

    async def _write(self, body: Json) -> None:
        """Fails with ConflictError if it is not as it was read any more."""
        if "resourceVersion" in body["metadata"]:
            await self._kube.replace(CONFIG_MAPS, names.CLAIMS_NAMESPACE, names.CLAIMS, body)
        else:
            await self._kube.create(CONFIG_MAPS, names.CLAIMS_NAMESPACE, body)


def _data(body: Json) -> dict[str, str]:
    return body.get("data") or {}


def refusal(own: Identity, overlap: Overlap) -> str:
    where = f"ConfigMap {names.CLAIMS_NAMESPACE}/{names.CLAIMS}"
    if overlap.other is None:
        return (
            f"installation {own} doesn't start: {where} has an entry {overlap.key}, and {overlap.why}: put it right, or take it "
            "out once that installation is gone"
        )
    at = overlap.other.identity
    return (
        f"installation {own} doesn't start beside {at}, which has been there since {overlap.other.since}: {overlap.why}. Give "
        f"each its own watchNamespaces, and a Redis database or a deployment name of its own; or, if that installation is gone "
        f"for good, delete its Lease: kubectl delete lease -n {at.namespace} {names.leader_lease(at.deployment)}"
    )

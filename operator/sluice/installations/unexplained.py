"""Leases that no object explains, written down in the operator's namespace: they outlive Redis and the leader that found
them, until they are explained or revoked."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sluice.api import names
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import CONFIG_MAPS
from sluice.leases.model import Epochs, Grant, Lease

Json = dict[str, Any]

MOST_IN_WORDS = 10


class UnexplainedLeases:
    def __init__(self, kube: Kube, namespace: str, deployment: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._name = names.unexplained_leases(deployment)

    async def read(self) -> list[Grant]:
        """ValueError if one of them can't be read."""
        return [self._grant(key, text) for key, text in self._data(await self._body()).items()]

    async def write(self, grants: Iterable[Grant]) -> None:
        """All of them, instead of those that were there. Fails with ConflictError if somebody else writes meanwhile."""
        wanted = {grant.lease.holder.replace("/", "."): _text(grant) for grant in grants}
        body = await self._body()
        if self._data(body) == wanted:
            return
        if "resourceVersion" in body["metadata"]:
            await self._kube.replace(CONFIG_MAPS, self._namespace, self._name, body | {"data": wanted})
        else:
            await self._kube.create(CONFIG_MAPS, self._namespace, body | {"data": wanted})

    async def _body(self) -> Json:
        try:
            return await self._kube.get(CONFIG_MAPS, self._namespace, self._name)
        except NotFoundError:
            return {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": self._name, "namespace": self._namespace},
            }

    @staticmethod
    def _data(body: Json) -> dict[str, str]:
        return body.get("data") or {}

    def _grant(self, key: str, text: str) -> Grant:
        try:
            fields = json.loads(text)
            token = fields["token"]
            grant = Grant(Lease.from_json(fields["lease"]), token)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(
                f"ConfigMap {self._namespace}/{self._name}: {key} can't be read ({error!r}), and it stands for a lease: put it "
                "right, or take it out once no driver of it runs"
            ) from error
        if type(token) is not int or not Epochs.is_token(token):
            raise ValueError(f"ConfigMap {self._namespace}/{self._name}: {key}: its token {token!r} is none")
        return grant


def in_words(leases: Sequence[Lease]) -> str:
    """For people, and what helps first: whoever tells it may cut the end off."""
    are, them = ("lease is", "it") if len(leases) == 1 else ("leases are", "one")
    commands = "; ".join(
        f"sluice leases revoke {lease.holder} (job {lease.job} on {', '.join(lease.tables)})"
        for lease in leases[:MOST_IN_WORDS]
    )
    return (
        f"{len(leases)} {are} held that no object explains (sluice leases list); once no driver of {them} runs, with --yes, -n "
        f"and the operator's namespace: {commands}"
    )


def _text(grant: Grant) -> str:
    return json.dumps({"lease": grant.lease.to_json(), "token": grant.token})

"""Leases as a cluster and its Redis tell of them, and their end by hand."""

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sluice.api import names
from sluice.installations.revocation import Answer, Request
from sluice.installations.unexplained import UnexplainedLeases
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import LEASES
from sluice.leases import Grant
from sluice.leases.former import former
from sluice.leases.keys import Keys
from sluice.online.connection import Installation, cluster, redis_of
from sluice.online.errors import OnlineError
from sluice.online.leader import lease_of, no_lease

POLL = 0.5


@dataclass(frozen=True)
class Known:
    """A lease, and whether anything explains it."""

    grant: Grant
    unexplained: bool


async def known(at: Installation) -> list[Known]:
    """Returns the leases that nothing explains, as the cluster says; and all others, if it is known where Redis is. Raises
    OnlineError where no operator has led: whoever forgets to name its namespace must not read that nothing is held."""
    unexplained = {grant.lease.holder: grant for grant in await _unexplained(at)}
    held = await _held(at) if at.redis_url is not None else []
    others = [Known(grant, unexplained=False) for grant in held if grant.lease.holder not in unexplained]
    found = [*others, *(Known(grant, unexplained=True) for grant in unexplained.values())]
    return sorted(found, key=lambda one: one.grant.token)


async def revoke(at: Installation, holder: str, patience: float) -> str:
    """Returns the leader's answer. Only the leader knows whether anything stands for the lease."""
    request = Request(uuid4().hex, holder)
    name = names.leader_lease(at.deployment)
    async with cluster() as kube:
        await _ask(kube, at, {names.ANNOTATION_REVOKE: request.to_json(), names.ANNOTATION_REVOKED: None})
        loop = asyncio.get_running_loop()
        until = loop.time() + patience
        while loop.time() < until:
            lease = await kube.get(LEASES, at.namespace, name)
            answer = _answer(lease, request)
            if answer is not None:
                if not answer.done:
                    raise OnlineError(f"not revoked: {answer.message}")
                return answer.message
            await asyncio.sleep(POLL)
        raise OnlineError(
            f"no answer within {patience:.0f} s: the operator of Lease {at.namespace}/{name} does not run, or is busy; "
            "the request stays, and is carried out as soon as one leads"
        )


async def _ask(kube: Kube, at: Installation, annotations: dict[str, str | None]) -> None:
    name = names.leader_lease(at.deployment)
    try:
        await kube.patch(LEASES, at.namespace, name, {"metadata": {"annotations": annotations}})
    except NotFoundError as error:
        raise OnlineError(no_lease(at)) from error


def _answer(lease: dict[str, Any], request: Request) -> Answer | None:
    annotations = lease["metadata"].get("annotations") or {}
    try:
        answer = Answer.from_json(annotations.get(names.ANNOTATION_REVOKED, ""))
    except ValueError:
        return None
    return answer if answer.id == request.id else None


async def _unexplained(at: Installation) -> list[Grant]:
    async with cluster() as kube:
        await lease_of(kube, at)
        try:
            return await UnexplainedLeases(kube, at.namespace, at.deployment).read()
        except ValueError as error:
            raise OnlineError(str(error)) from error


async def _held(at: Installation) -> list[Grant]:
    async with redis_of(at) as redis:
        try:
            return (await former(redis, Keys(at.deployment))).grants
        except ValueError as error:
            raise OnlineError(f"Redis: {error}") from error

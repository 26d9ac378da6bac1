"""The end of a lease by hand."""

import asyncio
from typing import Any
from uuid import uuid4

from sluice.api import names
from sluice.installations.revocation import RevocationAnswer, RevocationRequest
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import LEASES
from sluice.online.access.connection import Installation, cluster
from sluice.online.access.errors import OnlineError
from sluice.online.access.leader import no_lease

POLL = 0.5


async def revoke(at: Installation, holder: str, patience: float) -> str:
    """Returns the leader's answer. Only the leader knows whether anything stands for the lease."""
    request = RevocationRequest(uuid4().hex, holder)
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


def _answer(lease: dict[str, Any], request: RevocationRequest) -> RevocationAnswer | None:
    annotations = lease["metadata"].get("annotations") or {}
    try:
        answer = RevocationAnswer.from_json(annotations.get(names.ANNOTATION_REVOKED, ""))
    except ValueError:
        return None
    return answer if answer.id == request.id else None

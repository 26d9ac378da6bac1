"""Waits until no pod of an installation's operator may act any more."""

import asyncio
from collections.abc import Sequence

from sluice.api import names
from sluice.api.base import Json
from sluice.kube.client import Kube
from sluice.kube.resources import PODS
from sluice.online.access.connection import Installation
from sluice.online.access.errors import OnlineError

POLL = 0.5
_SELECTOR = f"{names.LABEL_CHART},app.kubernetes.io/component=operator,app.kubernetes.io/instance={{}}"
_ENDED = ("Failed", "Succeeded")


class NotStoppedError(OnlineError):
    """A pod may still act: to ask again at once gives the same answer."""


def may_act(pod: Json) -> bool:
    """False only if the pod's kubelet says that no container of it runs, nor will: an evicted pod stays so. What collects the
    pods of lost nodes writes Failed, too, and has not seen their containers."""
    status = pod.get("status") or {}
    if status.get("phase") not in _ENDED:
        return True
    states = [one.get("state") or {} for one in status.get("containerStatuses") or ()]
    if any(
        one["type"] == "DisruptionTarget" and one.get("reason") == "DeletionByPodGC"
        for one in status.get("conditions") or ()
    ):
        return not states or any("terminated" not in state for state in states)
    return any("running" in state for state in states)


async def until_stopped(kube: Kube, at: Installation, instance: str, patience: float) -> None:
    """Raises NotStoppedError if one may still act when the time is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + patience
    selector = _SELECTOR.format(instance)
    while acting := [pod for pod in (await kube.list(PODS, at.namespace, selector))["items"] if may_act(pod)]:
        if loop.time() > until:
            raise NotStoppedError(_in_words(at, acting, patience))
        await asyncio.sleep(POLL)


def _in_words(at: Installation, acting: Sequence[Json], patience: float) -> str:
    named = " and ".join(_named(pod) for pod in acting)
    pods = " ".join(pod["metadata"]["name"] for pod in acting)
    return (
        f"{at.deployment} in {at.namespace} may not be uninstalled yet: {patience:.0f} s after its operator was told to stop, "
        f"{named} may still act. Wait until it has ended; or, if its node is lost and you are sure that nothing of it runs there, "
        f"remove it: kubectl -n {at.namespace} delete pod {pods} --force --grace-period=0"
    )


def _named(pod: Json) -> str:
    node = pod["spec"].get("nodeName")
    place = f" on node {node}" if node else ""
    return f"pod {pod['metadata']['name']}{place} ({(pod.get('status') or {}).get('phase', 'Unknown')})"

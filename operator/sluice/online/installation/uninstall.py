"""Ends an installation: it may go when no driver of it lives, and it leaves nothing behind.

The operator is stopped before anybody looks: as long as it runs, it may start a driver after the look. Whoever is told to
stop in between lets it go on; one that is killed is made anew by its Job, and looks again.
"""

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass

from sluice.api import names
from sluice.api.finalizers import has_finalizer, removal_of
from sluice.installations.claims import claim_key, other_claims
from sluice.installations.register import Register
from sluice.installations.unexplained_leases import UnexplainedLeases, in_words
from sluice.kube.client import Kube, NotFoundError
from sluice.kube.resources import CONFIG_MAPS, DEPLOYMENTS, LEASES, PODS, Resource
from sluice.online.access.connection import Installation, cluster
from sluice.online.access.errors import OnlineError
from sluice.online.installation.operator_pods import until_stopped
from sluice.online.installation.passwords import remove_password
from sluice.online.leases.driver_objects import held_in, why_needed


class StillNeededError(OnlineError):
    """A driver lives or a lease is held: to ask again at once gives the same answer."""


@dataclass(frozen=True)
class Release:
    """What Helm installed."""

    at: Installation
    instance: str
    """The release's name, by which its pods are labelled."""
    takes_definitions: bool = False
    """Whether the resource definitions go with it, and with them the jobs of all installations."""
    replicas: int = 1
    """How many operators it runs."""


async def stop_unless_needed(release: Release, patience: float) -> None:
    """Stops the operator for good. Raises StillNeededError, and lets it go on, as long as a driver lives or a lease is held, and
    NotStoppedError if it doesn't stop in this time."""
    at = release.at
    _cancelled_when_told_to_stop()
    async with cluster() as kube:
        if release.takes_definitions and (others := await _others(kube, at)):
            raise StillNeededError(
                f"{at.deployment} in {at.namespace} may not be uninstalled: the resource definitions would go with it (crds.keep"
                f" is false), and with them all jobs of {others}. Set crds.keep=true, or uninstall the others first; if one is "
                f"gone for good, remove its entry from ConfigMap {names.CLAIMS_NAMESPACE}/{names.CLAIMS}"
            )
        try:
            await _scale(kube, at, 0)
            await until_stopped(kube, at, release.instance, patience)
            why = await _needed_for(kube, at)
            if not why:
                await _free_names(kube, at)
        except BaseException:
            await _scale(kube, at, release.replicas)
            raise
        if why:
            await _scale(kube, at, release.replicas)
            raise StillNeededError(
                f"{at.deployment} in {at.namespace} may not be uninstalled yet, and goes on: {why}"
            )


async def tidy_up(at: Installation, secret: str | None) -> None:
    """Removes what the operator made for itself, and the claim by which it would stand in the way of another installation."""
    async with cluster() as kube:
        await _delete(kube, CONFIG_MAPS, at, names.unexplained_leases(at.deployment))
        await _delete(kube, CONFIG_MAPS, at, names.reported_names(at.deployment))
        await _delete(kube, CONFIG_MAPS, at, names.epoch_parameter(at.deployment))
        await _delete(kube, LEASES, at, names.leader_lease(at.deployment))
        if secret is not None:
            await remove_password(kube, at.namespace, secret)
        # The claim goes last: until then nobody takes this installation's place.
        await Register(kube).remove({claim_key(at.namespace, at.deployment)})


def _cancelled_when_told_to_stop() -> None:
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


async def _others(kube: Kube, at: Installation) -> str:
    """The other installations that claim something; empty: there is none."""
    own = claim_key(at.namespace, at.deployment)
    keys = [key.partition(".") for key in sorted(await Register(kube).claims()) if key != own]
    return ", ".join(
        f"{deployment} in {namespace}" for namespace, _, deployment in keys
    )  # each has to go first


async def _scale(kube: Kube, at: Installation, replicas: int) -> None:
    with suppress(NotFoundError):  # somebody has deleted it: then it has stopped
        await kube.patch(
            DEPLOYMENTS, at.namespace, at.deployment, {"spec": {"replicas": replicas}}, sub="scale"
        )


async def _needed_for(kube: Kube, at: Installation) -> str:
    """Why it can't go; empty: it can."""
    held = [one async for one in held_in(kube, at.watch_namespaces, at.engines)]
    if why := why_needed(at, held, await Register(kube).claims()):
        return why
    try:
        records = await UnexplainedLeases(kube, at.namespace, at.deployment).read()
    except ValueError as error:
        return str(error)
    return in_words([record.grant.lease for record in records], at.revoke_command) if records else ""


async def _free_names(kube: Kube, at: Installation) -> None:
    """Takes the finalizers of the placeholders off, which no operator does from now on. Those of another installation stay."""
    placed = [
        pod
        for namespace in at.watch_namespaces or (None,)
        async for page in kube.pages(PODS, namespace, names.LABEL_PLACEHOLDER)
        for pod in page["items"]
        if has_finalizer(pod, names.FINALIZER_PLACEHOLDER)
    ]
    if not placed:
        return
    others = other_claims(claim_key(at.namespace, at.deployment), await Register(kube).claims())
    for pod in placed:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if not any(claim.covers(namespace) for claim in others):
            with suppress(NotFoundError):
                await kube.patch_by_tests(PODS, namespace, name, removal_of(names.FINALIZER_PLACEHOLDER, pod))


async def _delete(kube: Kube, resource: Resource, at: Installation, name: str) -> None:
    try:
        await kube.delete(resource, at.namespace, name)
    except NotFoundError:
        return  # it never made one

"""Asks a cluster for the jobs and the policies that its queues follow from, in pages."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from sluice.api import names
from sluice.api.base import Json
from sluice.installations.claims import unclaimed
from sluice.installations.register import Register
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import JOBS, POLICIES, Resource
from sluice.online.access.connection import cluster
from sluice.online.access.driver_pods import driver_pods
from sluice.online.access.errors import OnlineError
from sluice.online.access.job_objects import HOLDING, phase_of
from sluice.online.queue.queue_answers import queues_json
from sluice.online.queue.table_queues import Policies, queues_of

FORBIDDEN = 403


async def queues(namespace: str | None, table: str | None) -> Json:
    """The queues of the jobs in a namespace, or in all that there are."""
    not_seen: list[str] = []
    async with cluster() as kube:
        jobs = await _jobs(kube, namespace)
        policies = await _policies(kube, namespace, not_seen)
        runs = any(phase_of(job) in HOLDING for job in jobs)
        pods = await driver_pods(kube, [namespace] if namespace is not None else []) if runs else {}
        now = datetime.now(UTC)
        found = queues_of(jobs, Policies(policies), now, table)
        found = replace(found, unwatched=await _unwatched(kube, found.not_judged))
    if pods is None:
        not_seen.append("the drivers' pods, so that how far runs have come is up to a minute older")
    if namespace is not None:
        not_seen.append(
            f"jobs of other namespaces than {namespace}, which may be ahead of these: -A shows them"
        )
    return queues_json(found, pods or {}, namespace, not_seen, now)


async def _unwatched(kube: Kube, not_judged: Collection[str]) -> tuple[str, ...]:
    """The namespaces of these jobs that no installation has claimed; none where the claims can't be read."""
    if not not_judged:
        return ()
    try:
        return unclaimed((job.partition("/")[0] for job in not_judged), await Register(kube).claims())
    except ApiError as error:
        if not error.status:
            raise
        return ()


async def _jobs(kube: Kube, namespace: str | None) -> list[Json]:
    try:
        return await every(kube, JOBS, namespace)
    except ApiError as error:
        if error.status != FORBIDDEN or namespace is not None:
            raise
        raise OnlineError(
            f"you may not list {names.JOB_PLURAL} in all namespaces ({error}): name one in which you may by --namespace"
        ) from error


async def _policies(kube: Kube, namespace: str | None, not_seen: list[str]) -> list[Json]:
    """A policy counts for all namespaces, wherever it is: those of one namespace are taken where no others may be seen."""
    try:
        return await every(kube, POLICIES, None)
    except ApiError as error:
        if error.status != FORBIDDEN:
            raise
        not_seen.append(f"policies of all namespaces, so that ages, limits and names may be others: {error}")
    if namespace is None:
        return []
    try:
        return await every(kube, POLICIES, namespace)
    except ApiError as error:
        if error.status != FORBIDDEN:
            raise
        not_seen.append(f"policies of namespace {namespace}: {error}")
        return []


async def every(kube: Kube, resource: Resource, namespace: str | None) -> list[Json]:
    """Lists all objects of a kind, page by page."""
    return [body async for page in kube.pages(resource, namespace) for body in page["items"]]

"""The jobs that a shell may offer: asked for while somebody waits for the next letter, so in one short request."""

import asyncio

from sluice.kube.client import Kube
from sluice.kube.resources import JOBS
from sluice.online.access.connection import cluster
from sluice.online.access.job_names import namespace_or_usual

SECONDS = 2.0
MOST = 500


async def offered(begun: str, namespace: str | None) -> list[str]:
    """Names that begin so, as NAME, or as NAMESPACE/NAME where a namespace is begun with. Raises TimeoutError, or
    whatever keeps the cluster from answering."""
    named, slash, name = begun.rpartition("/")
    where = named if slash else namespace_or_usual(namespace)
    async with asyncio.timeout(SECONDS), cluster() as kube:
        return [f"{named}{slash}{one}" for one in await _names(kube, where) if one.startswith(name)]


async def _names(kube: Kube, namespace: str) -> list[str]:
    async for page in kube.pages(JOBS, namespace):
        return sorted(str(body["metadata"]["name"]) for body in page["items"][:MOST])
    return []

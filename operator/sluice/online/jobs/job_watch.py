"""What becomes of some jobs of one namespace, whatever becomes of the API server meanwhile: one that is away is asked again until
it is there, and after each gap everything is listed anew, so that no change is missed for good."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import aiohttp

from sluice.api.base import Json
from sluice.kube.client import ApiError, ExpiredError, Kube
from sluice.kube.resources import JOBS

PAUSE = 1.0
REFUSAL_SECONDS = 60.0
"""Seconds for which refusals are borne once the jobs were seen: an API server that has just started refuses what it allows
later."""


@dataclass(frozen=True)
class JobSighting:
    name: str
    body: Json | None
    """None: it isn't there, and nobody saw what it was in the end."""
    is_gone: bool = False


async def sights(
    kube: Kube, namespace: str, names: frozenset[str], lost: Callable[[str | None], None]
) -> AsyncIterator[JobSighting]:
    """Yields each job as it is and then as it becomes, for ever. `lost` is told why nothing is seen, and None once something is
    seen again. Raises ApiError if the API server refuses it, or can't be asked in the beginning."""
    fields = f"metadata.name={next(iter(names))}" if len(names) == 1 else ""
    well_at: float | None = None
    is_lost = False
    while True:
        try:
            version, there = await _as_they_are(kube, namespace, names, fields)
            well_at = time.monotonic()
            if is_lost:
                is_lost = False
                lost(None)
            for name in sorted(names):
                yield JobSighting(name, there.get(name), is_gone=name not in there)
            while True:
                async for change in _changes(kube, namespace, version, fields):
                    body = change["object"]
                    version = str(body["metadata"]["resourceVersion"])
                    if change["type"] != "BOOKMARK" and body["metadata"]["name"] in names:
                        yield JobSighting(body["metadata"]["name"], body, is_gone=change["type"] == "DELETED")
                well_at = time.monotonic()
        except ExpiredError:
            await asyncio.sleep(PAUSE)  # what was missed is listed
        except (ApiError, aiohttp.ClientError, OSError) as error:
            if well_at is None or (_is_refused(error) and time.monotonic() - well_at > REFUSAL_SECONDS):
                raise
            if not is_lost:
                is_lost = True
                lost(str(error) or type(error).__name__)
            await asyncio.sleep(PAUSE)


def _is_refused(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.is_definite


async def _as_they_are(
    kube: Kube, namespace: str, names: frozenset[str], fields: str
) -> tuple[str, dict[str, Json]]:
    """Returns the jobs that are there, by name, and the version after which their changes follow."""
    version = ""
    there: dict[str, Json] = {}
    async for page in kube.pages(JOBS, namespace, fields=fields):
        version = str(page["metadata"]["resourceVersion"])
        there |= {
            body["metadata"]["name"]: body for body in page["items"] if body["metadata"]["name"] in names
        }
    return version, there


async def _changes(kube: Kube, namespace: str, version: str, fields: str) -> AsyncIterator[Json]:
    """Yields the changes until the server ends the watch, which it does regularly."""
    began = time.monotonic()
    async for change in kube.watch(JOBS, namespace, version, fields=fields):
        yield change
    if time.monotonic() - began < PAUSE:
        await asyncio.sleep(PAUSE)  # a server that ends watches at once isn't asked in a tight loop

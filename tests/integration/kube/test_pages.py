"""Lists of a real API server in several pages, while the objects change."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from integration.objects import Objects
from integration.waiting import PATIENCE
from sluice.api import names
from sluice.api.base import Json
from sluice.kube import client
from sluice.kube.client import Kube
from sluice.kube.mirror import Mirror, uid_of, version_of
from sluice.kube.paged_list import list_into
from sluice.kube.resources import JOBS, KUBEFLOW_APPLICATIONS, Resource
from sluice.kube.watch_loop import Watcher

PAGE, PAGES = 20, 3
NAMES = [f"n-{number:02}" for number in range(PAGE * PAGES)]
"""The names in the API server's order: the first are on the first page."""

BODIES: dict[Resource, Json] = {
    JOBS: {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "spec": {"sql": "DELETE FROM delta.`/lake/t`"},
    },
    KUBEFLOW_APPLICATIONS: {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "spec": {
            "type": "Python",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": "local:///x.py",
            "driver": {},
            "executor": {},
        },
    },
}


class Disturbed(Kube):
    """Between two pages objects of read pages and of pages to come are changed, deleted and created."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.listed: list[str] = []

    async def pages(
        self, resource: Resource, namespace: str | None, selector: str = "", *, fields: str = ""
    ) -> AsyncIterator[Json]:
        turn = 0
        async for page in super().pages(resource, namespace, selector, fields=fields):
            yield page
            turn += 1
            self.listed += [body["metadata"]["name"] for body in page["items"]]
            if namespace is not None and turn < PAGES:
                await self._disturb(resource, namespace, turn)

    async def _disturb(self, resource: Resource, namespace: str, turn: int) -> None:
        for base in (0, PAGE * (PAGES - 1)):
            changed, deleted, replaced = NAMES[base + 3 * turn : base + 3 * turn + 3]
            await self.patch(resource, namespace, changed, {"metadata": {"labels": {"turn": str(turn)}}})
            await self.delete(resource, namespace, deleted)
            await self.delete(resource, namespace, replaced)
            for name in (replaced, f"m-{base}-{turn}", f"o-{base}-{turn}"):
                await create(self, resource, namespace, name)


async def create(kube: Kube, resource: Resource, namespace: str, name: str) -> None:
    await kube.create(resource, namespace, BODIES[resource] | {"metadata": {"name": name}})


@pytest.mark.parametrize("resource", [JOBS, KUBEFLOW_APPLICATIONS], ids=lambda resource: resource.plural)
async def test_a_list_in_pages_ends_right_while_objects_change_between_them(
    resource: Resource, kubeconfig: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAGE", PAGE)
    namespace = objects.namespace
    disturbed, quiet = await Disturbed.connect(str(kubeconfig)), await Kube.connect(str(kubeconfig))
    await asyncio.gather(*(create(quiet, resource, namespace, name) for name in NAMES))
    told = asyncio.Event()
    mirror = Mirror(resource, lambda _, __: told.set())
    watcher = Watcher(quiet, mirror, namespace)
    following = asyncio.create_task(watcher.run())
    try:
        await watcher.listed.wait()
        await list_into(mirror, disturbed, namespace)
        assert disturbed.listed == NAMES, "the pages are not of one moment"
        expected = _versions((await quiet.list(resource, namespace))["items"])
        async with asyncio.timeout(PATIENCE):
            while _versions(mirror.values()) != expected:
                told.clear()
                await told.wait()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await disturbed.close()
        await quiet.close()


def _versions(bodies: list[Json]) -> dict[str, int]:
    return {uid_of(body): version_of(body) for body in bodies}

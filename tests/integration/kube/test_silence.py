"""Watches of a real API server on connections that stay open and say nothing any more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from kubernetes.config import kube_config

from integration.objects import Objects
from integration.swallowing import SwallowingProxy, swallowing_proxy
from sluice.api import names
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work import policy_watch
from sluice.engines import RuntimeProfile
from sluice.kube import client
from sluice.kube.client import Kube
from sluice.kube.watch_loop import Watcher

WATCH_SECONDS, WATCH_GRACE = 4, 2
"""Shorter than in earnest: a test waits as long."""
NOTICED = 60.0
"""Seconds. kopf alone takes 70."""


@dataclass(frozen=True)
class Following:
    """All kinds are followed through a proxy, as the operator does; what happens is told to the API server directly."""

    world: ClusterCache
    proxy: SwallowingProxy
    objects: Objects

    def happens(self, name: str) -> None:
        job = {"apiVersion": names.API_VERSION, "kind": names.JOB_KIND, "metadata": {"name": name}}
        self.objects.create("deltawritejob", job | {"spec": {"sql": "DELETE FROM delta.`/lake/t`"}})
        labels = {names.LABEL_JOB_UID: name}
        container = {"name": "spark-kubernetes-driver", "image": "none"}
        pod = {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container]}}
        self.objects.create("pod", pod)

    async def sees(self, *expected: str) -> None:
        try:
            async with asyncio.timeout(NOTICED):
                while self._seen != (set(expected), set(expected)):
                    await self.world.wait_for_change(1.0)
                    self.world.take_changes()
        except TimeoutError:
            raise AssertionError(f"not within {NOTICED} s: {self._seen}") from None

    @property
    def _seen(self) -> tuple[set[str], set[str]]:
        return {job.name for job in self.world.jobs.values()}, self.world.pods.uids


@pytest.fixture
async def following(
    kubeconfig: Path, objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Following]:
    async with swallowing_proxy(*_address(kubeconfig)) as (proxy, port):
        detour = tmp_path / "kubeconfig"
        _write_detour(kubeconfig, detour, port)
        monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(detour))
        for module in (client, policy_watch):
            monkeypatch.setattr(module, "WATCH_SECONDS", WATCH_SECONDS)
            monkeypatch.setattr(module, "WATCH_GRACE", WATCH_GRACE)
        world = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")})
        async with _followed(world, objects.namespace, detour):
            yield Following(world, proxy, objects)


def _write_detour(kubeconfig: Path, detour: Path, port: int) -> None:
    """The kubeconfig of a way through the proxy."""
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    detour.write_text(yaml.safe_dump(content), encoding="utf-8")


def _address(kubeconfig: Path) -> tuple[str, int]:
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    server = urlsplit(content["clusters"][0]["cluster"]["server"])
    return server.hostname or "", server.port or 0


@asynccontextmanager
async def _followed(world: ClusterCache, namespace: str, kubeconfig: Path) -> AsyncIterator[None]:
    kube, stop = await Kube.connect(str(kubeconfig)), asyncio.Event()
    tasks = [asyncio.create_task(policy_watch.follow(world, kube, (namespace,), stop))]
    tasks += [asyncio.create_task(Watcher(kube, known, namespace).run()) for known in world.mirrors[1:]]
    try:
        yield
    finally:
        stop.set()
        for task in tasks[1:]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        await kube.close()
    assert done[0] is None


async def test_a_watch_that_falls_silent_is_noticed(following: Following) -> None:
    following.happens("before")
    await following.sees("before")
    assert following.proxy.swallow() >= 4
    following.happens("meanwhile")
    await asyncio.sleep(1)
    assert "meanwhile" not in following.world.pods.uids
    await following.sees("before", "meanwhile")


async def test_after_everything_was_forgotten_all_is_brought_again(following: Following) -> None:
    following.happens("there")
    await following.sees("there")
    following.world.forget()
    await following.sees("there")

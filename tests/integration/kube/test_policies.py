"""Policies of a real API server, as kopf brings them."""

import asyncio
import gc
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import kube_config

from integration.kube.sockets import open_sockets
from integration.objects import Objects
from sluice.api import names
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work import policy_watch
from sluice.controller.process.shutdown import end
from sluice.engines import RuntimeProfile
from sluice.kube.client import Kube

POLICY: dict[str, Any] = {
    "apiVersion": names.API_VERSION,
    "kind": names.POLICY_KIND,
    "metadata": {"name": "orders"},
    "spec": {"table": {"path": "/lake/orders"}},
}


async def test_kopf_leaves_no_connection_open_however_often_it_is_told_to_end(
    kubeconfig: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own way of closing is the last task of it that ends, and gives up when it is told twice. No connection waits for the
    API server to answer its goodbye, either."""
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig))
    monkeypatch.setattr(policy_watch, "end", partial(end, ask_again=0.0))
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    before = open_sockets()
    world, stop = ClusterCache({"default": RuntimeProfile(spark_version="4.2.0")}), asyncio.Event()
    kube = await Kube.connect(str(kubeconfig))
    following = asyncio.create_task(policy_watch.follow(world, kube, (objects.namespace,), stop))
    objects.create("deltatablepolicy", POLICY)
    async with asyncio.timeout(60):
        while not len(world.policies):
            await world.wait_for_change(1.0)
            world.take_changes()
    stop.set()
    await following
    await kube.close()
    assert open_sockets() == before
    del following
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []

"""Connections to a real API server."""

import asyncio
from pathlib import Path

import pytest

from integration.kube.sockets import open_sockets
from integration.objects import Objects
from sluice.kube.client import Kube
from sluice.kube.mirror import Mirror
from sluice.kube.resources import JOBS
from sluice.kube.watch_loop import Watcher


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.2], ids="after {} s".format)
async def test_no_connection_is_open_once_a_client_is_closed_though_its_watch_was_given_up(
    seconds: float, kubeconfig: Path, objects: Objects
) -> None:
    before = open_sockets()
    kube = await Kube.connect(str(kubeconfig))
    watcher = Watcher(kube, Mirror(JOBS, lambda _, __: None), objects.namespace)
    following = asyncio.create_task(watcher.run())
    await watcher.listed.wait()
    await asyncio.sleep(seconds)  # the moment at which it is given up is what is tested
    assert open_sockets() > before
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await kube.close()
    assert open_sockets() == before

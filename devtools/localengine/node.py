"""The Node object that stands for this machine.

Without it a pod of ours would be bound to a node that doesn't exist, and a cluster's pod garbage collector deletes such pods; it
is marked unschedulable and tainted, so that a real scheduler leaves it alone.
"""

from __future__ import annotations

import os
from datetime import datetime

from localengine.objects import NODES, delete, find
from localengine.states import timestamp
from sluice.api.base import Json
from sluice.kube.client import Kube, NotFoundError

TAINT = "localengine.sluice.dev/processes"


class Node:
    def __init__(self, kube: Kube, name: str) -> None:
        self._kube = kube
        self.name = name

    async def beat(self, now: datetime) -> None:
        """Registers the node, or tells that it is still there."""
        status = {"status": self._status(now)}
        try:
            await self._kube.patch(NODES, None, self.name, status, sub="status")
        except NotFoundError:
            await self._kube.create(NODES, None, self._object())
            await self._kube.patch(NODES, None, self.name, status, sub="status")

    async def remove(self) -> None:
        node = await find(self._kube, NODES, None, self.name)
        if node is not None:
            await delete(self._kube, NODES, node)

    def _object(self) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": {"kubernetes.io/hostname": self.name}},
            "spec": {
                "unschedulable": True,
                "taints": [{"key": TAINT, "value": "true", "effect": "NoSchedule"}],
            },
        }

    def _status(self, now: datetime) -> Json:
        beat = timestamp(now)
        cores = str(os.cpu_count() or 1)
        room = {"cpu": cores, "memory": str(_memory_bytes()), "pods": "110"}
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "LocalEngineReady",
            "message": "drivers run as processes",
        }
        return {
            "capacity": room,
            "allocatable": room,
            "addresses": [
                {"type": "Hostname", "address": self.name},
                {"type": "InternalIP", "address": "127.0.0.1"},
            ],
            "conditions": [{**ready, "lastHeartbeatTime": beat, "lastTransitionTime": beat}],
        }


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

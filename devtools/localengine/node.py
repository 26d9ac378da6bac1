"""The Node object that stands for this machine.

Without it a pod of ours would be bound to a node that doesn't exist, and a cluster's pod garbage collector deletes such pods; it
is marked unschedulable and tainted, so that a real scheduler leaves it alone.
"""

from __future__ import annotations

import os
from datetime import datetime

from kubernetes.aio.client.exceptions import ApiException

from localengine.api import NODES, Api
from localengine.application import Json
from localengine.states import timestamp

TAINT = "localengine.sluice.dev/processes"


class Node:
    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self.name = name

    async def beat(self, now: datetime) -> None:
        """Registers the node, or tells that it is still there."""
        path = f"{NODES}/{self.name}/status"
        try:
            await self._api.merge(path, {"status": self._status(now)})
        except ApiException as error:
            if error.status != 404:
                raise
            await self._api.create(NODES, self._object())
            await self._api.merge(path, {"status": self._status(now)})

    async def remove(self) -> None:
        node = await self._api.get(f"{NODES}/{self.name}")
        if node is not None:
            await self._api.delete(f"{NODES}/{self.name}", node["metadata"]["uid"])

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

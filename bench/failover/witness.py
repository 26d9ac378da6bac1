"""What becomes of the lead, seen from outside: by the Lease object, the policies' parameter, a dry-run, and Redis' MONITOR.

All times are of this machine's clock, which Redis' MONITOR tells, too.
"""

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from bench.admission.cluster import NAMESPACE, Cluster
from redis.asyncio import Redis

from sluice.api import names
from sluice.api.base import Json
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import CONFIG_MAPS, LEASES
from sluice.leases.keys import Keys

PROBE_EVERY = 0.02
IS_OVER = "is over"
_KEYS = Keys(names.DEPLOYMENT)
_LOOPBACK = "127.0.0.1"
_LONGEST_LINE = 1 << 28
"""Bytes: a rebuild is one line with all leases."""
_TOLD = re.compile(rb'^\+(?P<at>\d+\.\d+) \[\d+ lua\] "(?P<command>.*)"\r\n$', re.DOTALL)
"""A command that was given by a script."""


@dataclass
class Handover:
    """From the moment at which a leader is killed, or told to stop."""

    began: float
    former: str
    """Who led."""
    epoch: int
    """The epoch that was in force."""
    held: frozenset[str]
    """The holders of leases, by Redis."""
    taken: float | None = None
    parameter_raised: float | None = None
    older_refused: float | None = None
    """When a dry-run of a write under the former epoch was first refused."""
    listed: float | None = None
    """When the next leader last asked Redis what it holds before it rebuilt it: it does so once all has been listed."""
    rebuilt: float | None = None
    granted: dict[str, float] = field(default_factory=dict)
    """When each new lease was granted, by the uid of its job."""

    @property
    def epoch_is_in_force(self) -> bool:
        return self.older_refused is not None

    def hear(self, line: bytes) -> None:
        """Takes in a line of MONITOR."""
        told = _TOLD.match(line)
        if told is None or (at := float(told["at"])) < self.began:
            return
        match told["command"].decode().split('" "', 3):
            case ["HGETALL", _KEYS.leases] if self.rebuilt is None:
                self.listed = at
            case ["SET", _KEYS.epoch, _] if self.rebuilt is None:
                self.rebuilt = at
            case ["HSET", _KEYS.leases, holder, _] if self.rebuilt is not None and holder not in self.held:
                self.granted.setdefault(holder.partition("/")[0], at)

    def seconds(self) -> Iterator[tuple[str, float]]:
        """How long each step took from the beginning, as far as it came."""
        first = min(self.granted.values(), default=None)
        steps = {
            "the Lease is taken": self.taken,
            "the parameter is raised": self.parameter_raised,
            "a write of the former epoch is refused": self.older_refused,
            "all is listed": self.listed,
            "Redis is rebuilt": self.rebuilt,
            "the first new grant": first,
        }
        for step, at in steps.items():
            if at is not None:
                yield step, at - self.began


class Witness:
    """An asynchronous context manager."""

    def __init__(self, cluster: Cluster, redis_port: int, operators: Path) -> None:
        """`operators`: the kubeconfig of the account whose writes the policies judge."""
        self._cluster = cluster
        self._redis_port = redis_port
        self._redis = Redis(host=_LOOPBACK, port=redis_port, decode_responses=True)
        self._account = operators
        self._kube: Kube | None = None
        self._seen: Handover | None = None
        self._leads = ""

    async def __aenter__(self) -> Self:
        self._kube = await Kube.connect(str(self._account))
        watching = asyncio.Event()
        self._cluster.soon(self._listen(watching))
        self._cluster.soon(self._cluster.watch(LEASES, self._see_lease))
        self._cluster.soon(self._cluster.watch(CONFIG_MAPS, self._see_parameter))
        await watching.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._seen = None
        await self._redis.aclose()
        if self._kube is not None:
            await self._kube.close()

    async def held(self) -> frozenset[str]:
        return frozenset(map(str, await self._redis.hkeys(_KEYS.leases)))

    async def begins(self) -> Handover:
        """Whatever happens from now on belongs to this one."""
        epoch = int(str(await self._redis.get(_KEYS.epoch)))
        self._seen = Handover(time.time(), self._leads, epoch, await self.held())
        return self._seen

    def _see_lease(self, body: Json) -> None:
        if body["metadata"]["name"] != names.leader_lease(names.DEPLOYMENT):
            return
        self._leads, before = body["spec"].get("holderIdentity") or "", self._leads
        seen = self._seen
        if seen is not None and seen.taken is None and self._leads not in ("", before, seen.former):
            seen.taken = time.time()

    def _see_parameter(self, body: Json) -> None:
        seen = self._seen
        if body["metadata"]["name"] != names.epoch_parameter(names.DEPLOYMENT) or seen is None:
            return
        if seen.parameter_raised is None and int(body["data"][names.EPOCH_KEY]) > seen.epoch:
            seen.parameter_raised = time.time()
            self._cluster.soon(self._probe(seen))

    async def _probe(self, seen: Handover) -> None:
        """Asks until a write of the former epoch is refused."""
        while seen.older_refused is None:
            if await self._refuses(seen.epoch):
                seen.older_refused = time.time()
            await asyncio.sleep(PROBE_EVERY)

    async def _refuses(self, epoch: int) -> bool:
        if self._kube is None:
            return True
        metadata = {
            "name": names.epoch_probe(names.DEPLOYMENT, names.JUDGED_BY_EPOCH[0]),
            "namespace": NAMESPACE,
            "labels": {names.LABEL_JOB_UID: "none"},
            "annotations": {names.ANNOTATION_WRITER_EPOCH: str(epoch)},
        }
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        try:
            await self._kube.create(CONFIG_MAPS, NAMESPACE, body, only_try=True)
        except ApiError as error:
            if IS_OVER in str(error):
                return True
            raise
        return False

    async def _listen(self, watching: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection(_LOOPBACK, self._redis_port, limit=_LONGEST_LINE)
        try:
            writer.write(b"MONITOR\r\n")
            await reader.readline()
            watching.set()
            while line := await reader.readline():
                if self._seen is not None:
                    self._seen.hear(line)
        finally:
            writer.close()

"""Everything that a round of faults needs: servers of its own, replicas behind wires, the played engine and the witnesses."""

import os
import ssl
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.toolchain import cache
from integration import evidence
from integration.chart.helm import RELEASE, Helm
from integration.connection import connected
from integration.faults.audited import AuditedStack, Landed, landed
from integration.faults.engine import Engine
from integration.faults.monitor import Command, Monitor
from integration.faults.replicas import Place, Replicas
from integration.leases.redis_process import RedisProcess, running_redis
from integration.objects import Objects, Server
from integration.operator.fenced import fenced
from integration.operator.played import Played
from sluice.api.names import ANNOTATION_EPOCH, EPOCH_KEY, epoch_parameter, leader_lease
from sluice.leases.keys import Keys

LAST = 6
"""Replicas whose logs are kept with a failure."""


@dataclass
class Installation:
    cluster: Played
    replicas: Replicas
    engine: Engine
    stack: AuditedStack
    redis: RedisProcess
    monitor: Monitor
    rounds: Iterator[int] = field(default_factory=lambda: count(1))
    """Their numbers: a round that failed leaves its jobs, and the next one has names of its own."""

    @property
    def operator(self) -> str:
        """The user name of the operators."""
        return f"system:serviceaccount:{self.cluster.namespace}:{RELEASE}"

    def evidence(self) -> Iterator[evidence.Part]:
        yield from self.cluster.evidence()
        yield str(self.stack.audit_log), evidence.end_of(self.stack.audit_log)
        for log in self.replicas.logs[-LAST:]:
            yield str(log), evidence.end_of(log)

    def one_epoch(self) -> int | None:
        """The epoch, if the Lease object, the policy's parameter and Redis have the same one."""
        lease = self.cluster.objects.get("lease", leader_lease(RELEASE)) or {}
        annotations = (lease.get("metadata") or {}).get("annotations") or {}
        parameter = (self.cluster.objects.get("configmap", epoch_parameter(RELEASE)) or {}).get("data") or {}
        with self.redis.client() as client:
            own = client.get(Keys(RELEASE).epoch)
        told = {annotations.get(ANNOTATION_EPOCH), parameter.get(EPOCH_KEY), own}
        return int(str(own)) if own is not None and len(told) == 1 else None

    def begin_to_watch(self) -> None:
        """What took place before is not asked for any more."""
        os.truncate(self.stack.audit_log, 0)
        self.monitor.take()

    def took_place(self) -> tuple[list[Landed], list[Command]]:
        """What landed since then, as the servers tell; whole lines."""
        text = self.stack.audit_log.read_bytes()
        return landed(text[: text.rfind(b"\n") + 1].decode().splitlines()), self.monitor.take()


@contextmanager
def installed(stack: AuditedStack, redis_program: Path, folder: Path, seed: int) -> Iterator[Installation]:
    with ExitStack() as until_the_end:
        redis = until_the_end.enter_context(running_redis(redis_program, folder / "redis"))
        monitor = until_the_end.enter_context(Monitor(redis.port))
        objects = Objects(Server.of(stack.kubeconfig), f"faults-{uuid.uuid4().hex[:10]}")
        objects.create_namespace()
        until_the_end.callback(objects.leave_namespace)
        helm = Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")
        fence = until_the_end.enter_context(fenced(helm, objects, stack.kubeconfig, folder))
        fence.install()
        api = until_the_end.enter_context(connected(stack.kubeconfig))
        cluster = Played(api, objects, redis.url)
        trusted = ssl.create_default_context(cafile=str(stack.api.certificate))
        place = Place(stack.server, trusted, fence.kubeconfig, redis.port, folder)
        chance = Random(seed)  # noqa: S311 - not a secret
        replicas = until_the_end.enter_context(Replicas(place, objects))
        engine = until_the_end.enter_context(Engine(cluster, chance))
        replicas.leads().process.says("the lease table was rebuilt")
        yield Installation(cluster, replicas, engine, stack, redis, monitor)
